//! The writer of a campaign: [`CampaignWriter`] stores every turn, and every other change, in one commit.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::document::CampaignDocument;
use super::error::CampaignError;
use super::log::{ChangeKind, ChangeRecord, KEY, OWN};
use super::paths::{CampaignFile, CheckpointName, campaign_dir, world_dir, world_file};
use super::session::{Campaign, read_optional};
use everturn_json::finding::Finding;
use everturn_json::names::SessionId;
use everturn_rpg::WorldError;
use everturn_rpg::document_view::CampaignView;
use everturn_rpg::draft::CampaignDraft;
use everturn_rpg::narrator::{Narrator, NarratorOutput};
use everturn_rpg::settings;
use everturn_rpg::turn::{self, PlayedTurn};
use everturn_rpg::upgrade::upgrade;
use everturn_session::format::SessionError;
use everturn_session::marks::MarkDocument;
use everturn_session::model::{Mark, NewMark};
use everturn_store::{
    AppendAt, CommitReceipt, Durability, FileMode, Fingerprint, Precondition, Step, Store,
    StoreError, Writer,
};
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::document::{JsonStyle, LineEnding, render_line};
use everturn_value::tree::JsonTree;

/// How many of the last rows a narrator receives.
const RECENT: usize = 50;

/// The input of a player.
#[derive(Debug, Clone, Copy)]
pub struct Submission<'a> {
    /// The text.
    pub user_input: &'a str,
    /// The actor, if it is not the active one.
    pub actor: Option<&'a str>,
    /// The seed for the IDs of new actors: the library has no randomness of its own.
    pub seed: u64,
}

impl<'a> Submission<'a> {
    /// Creates an input for the active actor.
    #[must_use]
    pub fn new(user_input: &'a str) -> Submission<'a> {
        Submission { user_input, actor: None, seed: 0 }
    }
}

/// The result of playing a turn.
#[derive(Debug, Clone)]
pub struct PlayOutcome {
    /// The turn number.
    pub turn: u64,
    /// The row as stored in the log.
    pub row: JsonTree,
    /// Problems that were repaired before it could be written.
    pub findings: Vec<Finding>,
}

impl PlayOutcome {
    /// Adds findings from before the change.
    pub(crate) fn with(mut self, findings: Vec<Finding>) -> PlayOutcome {
        self.findings.splice(0..0, findings);
        self
    }
}

/// The only writer of a campaign.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_campaign::{CampaignWriter, NewCampaign, NarratorOutput, RecordedNarrator, Submission, create};
/// use everturn_store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-14T16:05:00Z".parse()?;
/// let id = create(&store, &NewCampaign::default(), now)?;
/// let mut campaign = CampaignWriter::open(store, &id)?;
/// let mut narrator = RecordedNarrator::new([NarratorOutput::text("A torch flares up.")]);
/// let played = campaign.submit(&Submission::new("I light a torch."), &mut narrator, now)?;
/// assert_eq!(played.row.string_at(&["turn_id"]).as_deref(), Some("turn_0001"));
/// campaign.release()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CampaignWriter {
    pub(crate) campaign: Campaign,
    pub(crate) writer: Box<dyn Writer>,
    /// The length of the log, and its line terminator.
    log_end: u64,
    line_end: LineEnding,
    /// Whether the change log exists.
    has_changes: bool,
    checkpoints: Vec<CheckpointName>,
    recent: VecDeque<JsonTree>,
}

/// A change to be stored.
pub(crate) struct PendingChange {
    pub(crate) kind: ChangeKind,
    pub(crate) tree: JsonTree,
    pub(crate) deltas: Vec<Delta>,
    /// The row, if the change is a turn.
    pub(crate) row: Option<Value>,
}

impl CampaignWriter {
    /// Opens a campaign for playing. Fails with [`StoreError::Busy`] while another writer has it open, and if it is
    /// paused or completed, see [`set_status`](super::set_status).
    pub fn open(store: Arc<dyn Store>, id: &SessionId) -> Result<CampaignWriter, CampaignError> {
        let writer = store.lock(&[campaign_dir(id)])?;
        let campaign = Campaign::open(store, id)?;
        campaign.state()?;
        campaign.must_be_active()?;
        campaign.must_have_last_rows()?;
        let mut opened = CampaignWriter {
            campaign,
            writer,
            log_end: 0,
            line_end: LineEnding::Lf,
            has_changes: false,
            checkpoints: Vec::new(),
            recent: VecDeque::new(),
        };
        opened.load_document()?;
        Ok(opened)
    }

    /// Reads the data that belongs to the document.
    pub(crate) fn load_document(&mut self) -> Result<(), CampaignError> {
        let campaign = &self.campaign;
        let store = &campaign.store;
        let log = campaign.file(CampaignFile::Log);
        self.log_end = store.stat(&log)?.map_or(0, |stat| stat.len);
        let tail = match self.log_end {
            0 => Vec::new(),
            end => store.read(&log, end.saturating_sub(2)..end)?,
        };
        self.line_end = if tail == b"\r\n" { LineEnding::CrLf } else { LineEnding::Lf };
        self.has_changes = store.stat(&campaign.file(CampaignFile::Deltas))?.is_some();
        self.checkpoints = campaign.checkpoints()?;
        // A log that is temporarily missing must not restart the turn numbers.
        match campaign.last_row()? {
            Some(last) => self.campaign.turn = last.turn,
            None if campaign.turn > 0 => {
                return Err(CampaignError::damaged(&log, "it had turns when it was first read"));
            }
            None => {}
        }
        self.load_recent()
    }

    /// Reads the last turns of the story.
    pub(crate) fn load_recent(&mut self) -> Result<(), CampaignError> {
        self.recent.clear();
        for row in self.campaign.story_back()?.take(RECENT) {
            self.recent.push_front(row?.row);
        }
        Ok(())
    }

    /// Reloads the campaign if another program has written meanwhile.
    pub(crate) fn refresh(&mut self) -> Result<(), CampaignError> {
        let campaign = &self.campaign;
        let end =
            campaign.store.stat(&campaign.file(CampaignFile::Log))?.map_or(0, |stat| stat.len);
        let bytes = read_optional(&campaign.store, &campaign.file(CampaignFile::Campaign))?;
        let found = bytes.as_deref().map(Fingerprint::of);
        let known = campaign.stored.as_ref().map(CampaignDocument::fingerprint);
        if end == self.log_end && found == known {
            return Ok(());
        }
        let (store, id) = (Arc::clone(&campaign.store), campaign.id.clone());
        self.campaign = Campaign::open(store, &id)?;
        self.campaign.state()?;
        self.campaign.must_have_last_rows()?;
        self.load_document()
    }

    /// Returns the campaign as readers see it.
    #[must_use]
    pub fn campaign(&self) -> &Campaign {
        &self.campaign
    }

    /// Returns the last turn.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.campaign.turn
    }

    /// Returns the state after the last turn.
    pub fn state(&self) -> Result<&JsonTree, CampaignError> {
        self.campaign.state()
    }

    /// Plays a turn: asks the narrator, and up to twice more while it contradicts the state, then stores row and state
    /// together. On error nothing is stored.
    pub fn submit(
        &mut self,
        submission: &Submission<'_>,
        narrator: &mut dyn Narrator,
        now: Timestamp,
    ) -> Result<PlayOutcome, CampaignError> {
        self.submit_with_key(submission, None, narrator, now)
    }

    /// As [`submit`](CampaignWriter::submit); the idempotency key is stored with the row.
    pub fn submit_with_key(
        &mut self,
        submission: &Submission<'_>,
        key: Option<&str>,
        narrator: &mut dyn Narrator,
        now: Timestamp,
    ) -> Result<PlayOutcome, CampaignError> {
        self.refresh()?;
        let draft = CampaignDraft::new(self.campaign.state()?.clone());
        self.play_on(draft, submission, key, narrator, None, now)
    }

    /// Plays a turn on a draft of the state, and stores it with the changes of the draft. If it replaces another turn,
    /// that one leaves the story.
    pub(crate) fn play_on(
        &mut self,
        before: CampaignDraft,
        submission: &Submission<'_>,
        key: Option<&str>,
        narrator: &mut dyn Narrator,
        replaced: Option<u64>,
        now: Timestamp,
    ) -> Result<PlayOutcome, CampaignError> {
        let store = &self.campaign.store;
        let worlds = |id: &SessionId| -> Result<Option<JsonTree>, WorldError> {
            read_world(store, id).map_err(|error| -> WorldError { Arc::new(error) })
        };
        let (state, mut deltas, _) = before.into_parts();
        let known = self.recent.len() - usize::from(replaced.is_some() && !self.recent.is_empty());
        let setting = turn::TurnSetup {
            campaign: &state,
            user_input: submission.user_input,
            actor: submission.actor,
            turn: self.campaign.turn.saturating_add(1),
            recent: self.recent.make_contiguous().get(..known).unwrap_or_default(),
            worlds: &worlds,
            now,
            seed: submission.seed,
        };
        let PlayedTurn { draft, mut row } = turn::play(&setting, narrator)?;
        if let (Some(key), Some(fields)) = (key, row.as_object_mut()) {
            fields.insert(KEY.to_owned(), key.into());
        }
        let (tree, more, made) = draft.into_parts();
        deltas.extend(more);
        for (id, world) in &made {
            self.write_world(id, world)?;
        }
        if let (Some(replaced), Value::Object(fields)) = (replaced, &mut row) {
            fields.insert(OWN.to_owned(), json!({"replaces": [replaced]}));
        }
        let (row, findings) =
            self.store(PendingChange { kind: ChangeKind::Turn, tree, deltas, row: Some(row) })?;
        if replaced.is_some() {
            self.load_recent()?;
        }
        Ok(PlayOutcome { turn: self.campaign.turn, row, findings })
    }

    /// Writes a world, which belongs to no single campaign. If the turn that created it is then not stored, the world
    /// remains unused.
    fn write_world(&self, id: &SessionId, world: &JsonTree) -> Result<(), CampaignError> {
        let writer = self.campaign.store.lock(&[world_dir(id)])?;
        let bytes = world.to_text(&JsonStyle::PRETTY_ASCII).into_bytes();
        let (file, expect, mode) = (world_file(id), Precondition::Absent, FileMode::Default);
        let step = Step::Replace { file, expect, bytes, mode };
        match writer.commit(vec![step], Durability::Synced) {
            // Another campaign was faster; the world is the same whichever campaign creates it.
            Ok(_) | Err(StoreError::Taken { .. }) => Ok(writer.release()?),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns a narrator's answer to an input. It is not checked, and nothing is stored.
    pub fn preview(
        &mut self,
        user_input: &str,
        narrator: &mut dyn Narrator,
    ) -> Result<NarratorOutput, CampaignError> {
        self.refresh()?;
        let recent = self.recent.make_contiguous();
        let campaign = &self.campaign;
        Ok(turn::preview(campaign.state()?, user_input, campaign.turn, recent, narrator)?)
    }

    /// Changes settings atomically: if one of them is invalid, none is changed. Returns the keys whose values have
    /// changed.
    pub fn patch_settings(
        &mut self,
        changes: &[(String, Value)],
    ) -> Result<Vec<&'static str>, CampaignError> {
        self.refresh()?;
        let mut draft = CampaignDraft::new(self.campaign.state()?.clone());
        let changed = settings::patch(&mut draft, changes)?;
        self.store_draft(ChangeKind::Settings, draft)?;
        Ok(changed)
    }

    /// Makes a party member the active actor. Returns whether that is a change.
    pub fn select_actor(&mut self, actor: &str) -> Result<bool, CampaignError> {
        self.refresh()?;
        let mut draft = CampaignDraft::new(self.campaign.state()?.clone());
        if !draft.view().party().iter().any(|member| member == actor) {
            return Err(CampaignError::NotInParty { actor: actor.to_owned() });
        }
        draft.set(&["selected", "active_actor_id"], actor)?;
        let changed = draft.has_changed();
        self.store_draft(ChangeKind::Actor, draft)?;
        Ok(changed)
    }

    /// Upgrades a campaign of the first rules to the second ones. Returns whether that is a change.
    pub fn upgrade(&mut self) -> Result<bool, CampaignError> {
        self.refresh()?;
        let mut draft = CampaignDraft::new(self.campaign.state()?.clone());
        let changed = upgrade(&mut draft)?;
        self.store_draft(ChangeKind::Upgrade, draft)?;
        Ok(changed)
    }

    fn store_draft(&mut self, kind: ChangeKind, draft: CampaignDraft) -> Result<(), CampaignError> {
        if !draft.has_changed() {
            return Ok(());
        }
        let (tree, deltas, _) = draft.into_parts();
        self.store(PendingChange { kind, tree, deltas, row: None })?;
        Ok(())
    }

    /// Stores a change in one commit, and returns the row as written.
    pub(crate) fn store(
        &mut self,
        entry: PendingChange,
    ) -> Result<(JsonTree, Vec<Finding>), CampaignError> {
        let PendingChange { kind, tree, deltas, row } = entry;
        let campaign = &self.campaign;
        let Some(before) = &campaign.stored else {
            return Err(CampaignError::NoCampaign { id: campaign.id.clone() });
        };
        let turn = if row.is_some() { campaign.turn.saturating_add(1) } else { campaign.turn };
        let after = if deltas.is_empty() { before.clone() } else { before.with(tree) };
        let mut steps = Vec::new();
        let mut line = String::new();
        if let Some(row) = &row {
            line = render_line(row, &JsonStyle::SPACED_ASCII).map_err(|error| {
                CampaignError::input(format!("the row cannot be written: {error}"))
            })?;
            let lines = [line.as_str(), self.line_end.as_str()].concat().into_bytes();
            let (file, at) = (campaign.file(CampaignFile::Log), AppendAt::Offset(self.log_end));
            steps.push(Step::Append { file, at, lines });
        }
        if !deltas.is_empty() {
            let expect = Precondition::Content(before.fingerprint());
            let (file, bytes) = (campaign.file(CampaignFile::Campaign), after.bytes());
            steps.push(Step::Replace { file, expect, bytes, mode: FileMode::Default });
        }
        steps.push(self.change_step(turn, kind, &deltas, before));
        let checkpoints = match row {
            Some(_) => self.plan_checkpoints(turn, &after, &mut steps),
            None => self.checkpoints.clone(),
        };
        let receipt = self.writer.commit(steps, Durability::Synced)?;
        self.update_cache(turn, after, &line, &receipt);
        self.checkpoints = checkpoints;
        let end = line.len();
        Ok((JsonTree::from_trusted(line.into(), 0..end), receipt.findings))
    }

    /// Updates the cached data after a commit.
    fn update_cache(
        &mut self,
        turn: u64,
        after: CampaignDocument,
        line: &str,
        receipt: &CommitReceipt,
    ) {
        self.campaign.turn = turn;
        self.campaign.stored = Some(after);
        self.has_changes = true;
        if line.is_empty() {
            return;
        }
        let length = (line.len() + self.line_end.as_str().len()) as u64;
        self.log_end = receipt.appended.first().copied().unwrap_or_default() + length;
        self.recent.push_back(JsonTree::from_trusted_str(line));
        while self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    /// Returns the step that appends the line of a change. The very first one follows the whole document before it.
    fn change_step(
        &self,
        turn: u64,
        kind: ChangeKind,
        deltas: &[Delta],
        before: &CampaignDocument,
    ) -> Step {
        let mut lines = String::new();
        if !self.has_changes {
            let base = Delta::set(DeltaPath::root(), before.tree.clone());
            lines.push_str(&ChangeRecord::line(self.campaign.turn, ChangeKind::Base, &[base]));
        }
        lines.push_str(&ChangeRecord::line(turn, kind, deltas));
        let (file, lines) = (self.campaign.file(CampaignFile::Deltas), lines.into_bytes());
        Step::Append { file, at: AppendAt::End, lines }
    }

    /// Writes a checkpoint of this turn, if checkpoints are enabled, and removes surplus ones.
    fn plan_checkpoints(
        &self,
        turn: u64,
        after: &CampaignDocument,
        steps: &mut Vec<Step>,
    ) -> Vec<CheckpointName> {
        let most = CampaignView::new(&after.tree).max_checkpoints();
        let dir = &self.campaign.dir;
        let mut kept = self.checkpoints.clone();
        if most > 0 {
            let checkpoint = CheckpointName { turn };
            let (file, expect) = (checkpoint.path(dir), Precondition::Anything);
            let (bytes, mode) = (after.bytes(), FileMode::Default);
            steps.push(Step::Replace { file, expect, bytes, mode });
            kept.retain(|known| known.turn < turn);
            kept.push(checkpoint);
        }
        let too_many = kept.len().saturating_sub(most);
        for old in kept.drain(..too_many) {
            steps.push(Step::Remove { path: old.path(dir) });
        }
        kept
    }

    /// Adds a mark.
    pub fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, SessionError> {
        self.refresh()?;
        let marks = MarkDocument::open(&self.campaign.store, &self.campaign.dir)?;
        let (mark, step) = marks.add(new, self.turn(), now)?;
        self.writer.commit(vec![step], Durability::Synced)?;
        Ok(mark)
    }

    /// Removes a mark by its ID, and returns it.
    pub fn remove_mark(&mut self, id: &str, now: Timestamp) -> Result<Mark, SessionError> {
        let marks = MarkDocument::open(&self.campaign.store, &self.campaign.dir)?;
        let (mark, step) = marks.remove(id, now)?;
        self.writer.commit(vec![step], Durability::Synced)?;
        Ok(mark)
    }

    /// Releases the campaign.
    pub fn release(self) -> Result<(), CampaignError> {
        Ok(self.writer.release()?)
    }
}

/// Reads a world, if it exists.
fn read_world(store: &Arc<dyn Store>, id: &SessionId) -> Result<Option<JsonTree>, CampaignError> {
    let file = world_file(id);
    let bytes = read_optional(store, &file)?;
    bytes.map(|bytes| Ok(CampaignDocument::parse(&file, &bytes)?.tree)).transpose()
}
