//! Forks and rewinds: [`fork`] starts a new campaign from a turn, [`CampaignWriter::rewind`] returns to a turn.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::create::claim;
use super::document::CampaignDocument;
use super::error::CampaignError;
use super::lifecycle::OwnDocument;
use super::log::ChangeRecord;
use super::paths::{CampaignFile, CheckpointName, campaign_dir};
use super::session::{Campaign, read_optional};
use super::writer::CampaignWriter;
use everturn_json::finding::Finding;
use everturn_json::names::{FilePath, SessionId};
use everturn_rpg::draft::CampaignDraft;
use everturn_session::marks;
use everturn_session::model::BranchKind;
use everturn_store::disk::FileKind;
use everturn_store::{Durability, Step, Store, Writer};
use everturn_value::tree::JsonTree;

/// The result of a fork or a rewind.
#[derive(Debug, Clone)]
pub struct CampaignFork {
    /// The new campaign.
    pub id: SessionId,
    /// The last turn that both share.
    pub turn: u64,
    /// Findings from computing the state at that turn.
    pub findings: Vec<Finding>,
}

/// Creates a campaign that continues from a turn of another, which stays as it is.
pub fn fork(
    store: &Arc<dyn Store>,
    parent: &SessionId,
    turn: u64,
    id: Option<&SessionId>,
) -> Result<CampaignFork, CampaignError> {
    fork_session(store, parent, turn, id, None)
}

/// As [`fork`]; the new campaign notes the time, if it is known.
pub(crate) fn fork_session(
    store: &Arc<dyn Store>,
    parent: &SessionId,
    turn: u64,
    id: Option<&SessionId>,
    now: Option<Timestamp>,
) -> Result<CampaignFork, CampaignError> {
    // Another process must not be in the middle of a turn while the parent is copied.
    let mut writer = store.lock(&[campaign_dir(parent)])?;
    let campaign = Campaign::open(Arc::clone(store), parent)?;
    let cut = Truncation::at(&campaign, turn)?;
    let branched = create_branch(&campaign, &mut *writer, BranchKind::Fork, id, cut, now)?;
    writer.release()?;
    Ok(branched)
}

impl CampaignWriter {
    /// As [`fork`], for the writer of the campaign.
    pub fn fork(
        &mut self,
        turn: u64,
        id: Option<&SessionId>,
    ) -> Result<CampaignFork, CampaignError> {
        self.refresh()?;
        let cut = Truncation::at(&self.campaign, turn)?;
        create_branch(&self.campaign, &mut *self.writer, BranchKind::Fork, id, cut, None)
    }

    /// Rewinds to a turn, state and log together. The campaign as it was becomes a branch in the same commit, so nothing
    /// is lost. A rewind to the last turn changes nothing but creates the branch all the same.
    pub fn rewind(&mut self, turn: u64) -> Result<CampaignFork, CampaignError> {
        self.rewind_session(turn, None)
    }

    /// As [`CampaignWriter::rewind`]; the campaign notes the time, if it is known.
    pub(crate) fn rewind_session(
        &mut self,
        turn: u64,
        now: Option<Timestamp>,
    ) -> Result<CampaignFork, CampaignError> {
        self.refresh()?;
        let cut = Truncation::at(&self.campaign, turn)?;
        let kind = BranchKind::Rewind;
        let branched = create_branch(&self.campaign, &mut *self.writer, kind, None, cut, now)?;
        let (store, id) = (Arc::clone(&self.campaign.store), self.campaign.id.clone());
        self.campaign = Campaign::open(store, &id)?;
        self.load_document()?;
        Ok(branched)
    }
}

/// A campaign as it was at a turn.
struct Truncation {
    turn: u64,
    state: JsonTree,
    /// The lengths to which the two logs are truncated.
    log: u64,
    changes: u64,
    findings: Vec<Finding>,
}

impl Truncation {
    fn at(campaign: &Campaign, turn: u64) -> Result<Truncation, CampaignError> {
        let moment = campaign.state_at(turn)?;
        let (mut log, mut changes) = (0, 0);
        for row in campaign.rows_back()? {
            let row = row?;
            if row.turn <= turn {
                log = row.offset + row.length;
                break;
            }
        }
        for change in campaign.changes_back()? {
            let ChangeRecord { turn: of, span: (offset, length), .. } = change?;
            if of <= turn {
                changes = offset + length;
                break;
            }
        }
        Ok(Truncation { turn, state: moment.state, log, changes, findings: moment.findings })
    }

    /// Returns the start of a log, with the newline of its last line.
    fn head(bytes: &[u8], length: u64) -> Option<Vec<u8>> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let head = bytes.get(..length).filter(|head| !head.is_empty())?;
        let rest = bytes.get(length..).unwrap_or_default();
        let end: &[u8] = if rest.starts_with(b"\r\n") { b"\r\n" } else { b"\n" };
        Some([head, end].concat())
    }

    /// Returns the new content of a file of the campaign, or `None` if it is removed.
    fn file(&self, name: &str, bytes: Vec<u8>) -> Option<Vec<u8>> {
        if name == CampaignFile::Log.as_str() {
            return Truncation::head(&bytes, self.log);
        }
        if name == CampaignFile::Deltas.as_str() {
            return Truncation::head(&bytes, self.changes);
        }
        if name == marks::FILE {
            return Some(marks::truncate_marks(&bytes, self.turn).unwrap_or(bytes));
        }
        Some(bytes)
    }

    /// Returns the steps that truncate a campaign.
    fn steps(&self, campaign: &Campaign) -> Result<Vec<Step>, CampaignError> {
        let mut steps = Vec::new();
        for file in [CampaignFile::Log, CampaignFile::Deltas] {
            let path = campaign.file(file);
            let Some(bytes) = read_optional(&campaign.store, &path)? else { continue };
            let length = bytes.len();
            match self.file(file.as_str(), bytes) {
                Some(head) if head.len() == length => {}
                Some(head) => steps.push(Step::replace(path, head)),
                None => steps.push(Step::Remove { path }),
            }
        }
        let marked = marks::truncated_marks(&campaign.store, &campaign.dir, self.turn)?;
        steps.extend(marked.map(|bytes| Step::replace(marks::marks_file(&campaign.dir), bytes)));
        if let Some(stored) = &campaign.stored
            && !stored.tree.is_same(&self.state)
        {
            let bytes = stored.with(self.state.clone()).bytes();
            steps.push(Step::replace(campaign.file(CampaignFile::Campaign), bytes));
        }
        for checkpoint in campaign.checkpoints()? {
            if checkpoint.turn > self.turn {
                steps.push(Step::Remove { path: checkpoint.path(&campaign.dir) });
            }
        }
        Ok(steps)
    }
}

/// Creates a branch of a campaign with the writer of the campaign, in one commit. A rewind truncates the campaign in the
/// same commit.
fn create_branch(
    campaign: &Campaign,
    writer: &mut dyn Writer,
    kind: BranchKind,
    id: Option<&SessionId>,
    cut: Truncation,
    now: Option<Timestamp>,
) -> Result<CampaignFork, CampaignError> {
    if id == Some(&campaign.id) {
        return Err(CampaignError::Taken { id: campaign.id.clone() });
    }
    let id = claim(&campaign.store, writer, id)?;
    let planned = branch_steps(campaign, kind, &id, &cut, now);
    let committed = planned.and_then(|steps| Ok(writer.commit(steps, Durability::Synced)?));
    // The writer may live on, and the branch must be free for others.
    let released = writer.release_added_scopes();
    committed?;
    released?;
    Ok(CampaignFork { id, turn: cut.turn, findings: cut.findings })
}

fn branch_steps(
    campaign: &Campaign,
    kind: BranchKind,
    id: &SessionId,
    cut: &Truncation,
    now: Option<Timestamp>,
) -> Result<Vec<Step>, CampaignError> {
    let lineage = json!({"parent": campaign.id.as_str(), "turn": cut.turn, "kind": kind.as_str()});
    match kind {
        BranchKind::Fork => {
            let own = match now {
                Some(now) => json!({"lineage": lineage, "changed": now.to_string()}),
                None => json!({"lineage": lineage}),
            };
            copy(campaign, id, &own, Some(cut))
        }
        BranchKind::Rewind => {
            let mut steps = copy(campaign, id, &json!({"lineage": lineage}), None)?;
            steps.extend(cut.steps(campaign)?);
            if let Some(now) = now {
                let mut own = OwnDocument::open(campaign)?;
                own.set("changed", &now.to_string())?;
                steps.push(own.into_step());
            }
            Ok(steps)
        }
    }
}

/// Returns the steps that copy a campaign, whole or truncated, under another ID; `own` is its `everturn.json`.
fn copy(
    campaign: &Campaign,
    id: &SessionId,
    own: &serde_json::Value,
    cut: Option<&Truncation>,
) -> Result<Vec<Step>, CampaignError> {
    let stored = campaign.stored.as_ref();
    let stored = stored.ok_or_else(|| CampaignError::NoCampaign { id: campaign.id.clone() })?;
    let dir = campaign_dir(id);
    let mut steps = Vec::new();
    for file in files_of(&campaign.store, &campaign.dir)? {
        let Some(target) = file.rebased(&campaign.dir, &dir) else { continue };
        let inside = file.as_str().strip_prefix(campaign.dir.as_str()).unwrap_or_default();
        let name = inside.trim_start_matches('/');
        if name == CampaignFile::Campaign.as_str() || name == CampaignFile::Lineage.as_str() {
            continue;
        }
        let checkpoint = name.strip_prefix("checkpoints/").and_then(CheckpointName::parse);
        if cut.is_some_and(|cut| checkpoint.is_some_and(|checkpoint| checkpoint.turn > cut.turn)) {
            continue;
        }
        let bytes = campaign.store.read(&file, 0..u64::MAX)?;
        let bytes = match cut {
            Some(cut) => cut.file(name, bytes),
            None => Some(bytes),
        };
        steps.extend(bytes.map(|bytes| Step::replace(target, bytes)));
    }
    let state = cut.map_or(&stored.tree, |cut| &cut.state);
    let mut draft = CampaignDraft::new(state.clone());
    draft.set(&["id"], id.as_str())?;
    let document = stored.with(draft.into_parts().0);
    steps.push(Step::replace(CampaignFile::Campaign.in_dir(&dir), document.bytes()));
    let own = CampaignDocument::new(own).map(|own| own.bytes()).unwrap_or_default();
    steps.push(Step::replace(CampaignFile::Lineage.in_dir(&dir), own));
    Ok(steps)
}

/// Returns every file of a directory, recursively, except for links.
fn files_of(store: &Arc<dyn Store>, dir: &FilePath) -> Result<Vec<FilePath>, CampaignError> {
    let (mut files, mut waiting) = (Vec::new(), vec![dir.clone()]);
    while let Some(dir) = waiting.pop() {
        for entry in store.list(&dir)?.entries.iter().filter(|entry| !entry.linked) {
            match entry.kind {
                FileKind::Dir => waiting.push(dir.join(&entry.name)),
                FileKind::File => files.push(dir.join(&entry.name)),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}
