//! Surveys a whole session: its contents, its totals and its problems.
//!
//! Everything is read once, in bounded memory: first the turns, then the changes, which are compared with the snapshots
//! and states on the way. Checks use the findings, repairs use the [`SurveyResult`].

mod changes;
mod counters;
mod directory;
mod documents;
mod metadata;
mod scenes;
mod snapshots;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::error::GameError;
use super::files::GameFiles;
use super::log::LogLine;
use super::meta::GameMeta;
use super::paths::{GameStatus, LogKind, SnapshotFile, scene_path};
use super::session::Session;
use everturn_json::finding::{Finding, FindingCode, Severity};
use everturn_json::names::{FilePath, SceneId};
use everturn_session::finding_sink::{CheckStats, FindingSink};
use everturn_value::tree::{JsonTree, ValueDigest};

pub(crate) use counters::{SeenIds, TurnCounts, id_parts};
pub(crate) use metadata::expected as expected_metadata;

/// How to treat files that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnreadablePolicy {
    /// Report a finding, and survey the rest.
    Report,
    /// Fail: nothing must be decided on incomplete data.
    Refuse,
}

/// The totals of both logs.
#[derive(Debug, Default)]
pub(crate) struct LogTotals {
    /// The number of turn lines.
    pub(crate) turns: u64,
    pub(crate) events: u64,
    pub(crate) conflicts: u64,
    /// The number of single changes.
    pub(crate) deltas: u64,
    /// The number of events of each turn.
    pub(crate) by_turn: TurnCounts,
    /// Turns whose events do not have the usual IDs.
    pub(crate) odd_turns: TurnCounts,
    /// The number of changes of each turn.
    pub(crate) deltas_by_turn: TurnCounts,
    /// The number of change lines of each turn.
    pub(crate) lines_by_turn: TurnCounts,
    /// The turns in which scenes start.
    pub(crate) scene_starts: TurnCounts,
    /// Whether a scene has started that no turn has named yet.
    pub(crate) scene_pending: bool,
    /// Time between turns that counts as played, in milliseconds.
    pub(crate) played: u64,
    pub(crate) last_time: Option<i64>,
    /// The scene and the game time of the turn with the highest number.
    pub(crate) scene: Option<String>,
    pub(crate) game_time: Option<JsonTree>,
    /// IDs of events that do not have the usual form.
    pub(crate) odd_events: SeenIds,
    /// The scenes that turns refer to, with the first line that does so.
    pub(crate) scenes_named: BTreeMap<String, Finding>,
    /// The highest turn of a change.
    pub(crate) last_change: u64,
}

impl LogTotals {
    /// Returns the highest turn that has a line.
    pub(crate) fn last(&self) -> Option<u64> {
        self.by_turn.last()
    }
}

/// The states in the state files; unusable ones are missing.
#[derive(Debug, Default, Clone)]
pub(crate) struct SurveyedStates {
    /// Their turn, if the metadata have it.
    pub(crate) turn: Option<u64>,
    pub(crate) world: Option<JsonTree>,
    pub(crate) player: Option<JsonTree>,
    pub(crate) scene: Option<JsonTree>,
    pub(crate) npcs: Option<JsonTree>,
    /// Whether they are, byte for byte, as they were written.
    pub(crate) verified: bool,
}

/// The result of a survey.
#[derive(Debug, Default)]
pub(crate) struct SurveyResult {
    pub(crate) recount: LogTotals,
    pub(crate) stored: SurveyedStates,
    /// The files that were read.
    pub(crate) covered: BTreeSet<FilePath>,
    pub(crate) checked: CheckStats,
    /// Whether anything is wrong with the logs, or they do not lead to the states.
    pub(crate) wrong_logs: bool,
    /// Logs in which some line is not exactly one record.
    pub(crate) bad_logs: BTreeSet<FilePath>,
    pub(crate) good_snapshots: Vec<(SnapshotFile, FilePath)>,
    /// Whether Everturn has taken one of them.
    pub(crate) is_own: bool,
    /// The last of them that has no checksums, which another program has written.
    pub(crate) last_plain: Option<u64>,
    /// Whether the first of them was taken by a repair, as a new starting point.
    pub(crate) starts_with_repair: bool,
    pub(crate) bad_snapshots: Vec<FilePath>,
    /// Good snapshots that do not follow from the changes or have wrong facts about themselves.
    pub(crate) odd_snapshots: BTreeSet<u64>,
    /// The snapshot from which the first good one follows, if stated.
    pub(crate) first_from: Option<String>,
    /// The first good snapshot that does not follow from another one.
    pub(crate) beginning: Option<u64>,
    /// Ranges of more than a hundred turns without a snapshot: from the first turn up to the second.
    pub(crate) stretches: Vec<(u64, u64)>,
    /// The scene that the changes produce at the end.
    pub(crate) last_scene: Option<String>,
    /// Whether the state files cannot be used or do not follow from the changes.
    pub(crate) wrong_states: bool,
    /// The turn in which each scene of the changes starts, and the digests of those that have ended.
    pub(crate) scenes_begun: BTreeMap<String, u64>,
    pub(crate) scenes_over: BTreeMap<String, ValueDigest>,
    /// Scenes whose files are missing, cannot be used, or do not follow from the changes.
    pub(crate) wrong_scenes: BTreeSet<String>,
    pub(crate) stale_indexes: Vec<FilePath>,
    /// Documents in which an object has a key twice.
    pub(crate) repeated: BTreeSet<FilePath>,
    pub(crate) wrong_metadata: bool,
    /// Whether the document of marks is damaged.
    pub(crate) wrong_marks: bool,
    /// Another session whose documents are here, of which this one must be a copy.
    pub(crate) other_session: Option<String>,
}

impl SurveyResult {
    /// Returns whether a repair can write state files that cannot be used now.
    pub(crate) fn restores_states(&self, session: &Session) -> bool {
        let is_foreign = session.noted_states().is_none() && !self.is_own;
        let parts = self.stored.world.is_none() || self.stored.player.is_none();
        let scene = self.stored.scene.is_none() && self.last_scene_file(session).is_some();
        self.has_state() && (!is_foreign || parts || scene)
    }

    /// Returns the file of the current scene, if the changes produce that scene.
    pub(crate) fn last_scene_file(&self, session: &Session) -> Option<FilePath> {
        let id = SceneId::parse(self.last_scene.as_deref()?).ok()?;
        let path = scene_path(&session.dir, &id).ok()?;
        (session.named_file("currentScene") == Some(path.clone())).then_some(path)
    }

    /// Returns whether some state is known.
    pub(crate) fn has_state(&self) -> bool {
        self.first_known().is_some()
    }

    /// Returns the first turn whose state is stored.
    pub(crate) fn first_known(&self) -> Option<u64> {
        let snapshots = self.good_snapshots.iter().map(|(file, _)| file.turn);
        snapshots.chain(self.stored.turn.filter(|_| self.stored.verified)).min()
    }
}

/// The location of a session, as far as its path shows it.
#[derive(Debug, Clone)]
pub struct GameLocation {
    pub(crate) dir: FilePath,
    pub(crate) id: Option<String>,
    pub(crate) status: Option<GameStatus>,
}

struct Survey<'a> {
    session: &'a Session,
    place: &'a GameLocation,
    watch: &'a mut dyn FindingSink,
    unreadable: UnreadablePolicy,
    /// Whether something could not be read, so that counts prove nothing.
    blind: bool,
    meta: Option<&'a GameMeta>,
    /// Whether it was made from another session, whose IDs it then has.
    inherited: bool,
    files: Arc<GameFiles>,
    facts: SurveyResult,
}

/// Surveys a session.
pub(crate) fn survey(
    session: &Session,
    place: &GameLocation,
    unreadable: UnreadablePolicy,
    watch: &mut dyn FindingSink,
) -> Result<SurveyResult, GameError> {
    let meta = session.meta.as_ref();
    let has = |key: &str| meta.is_some_and(|meta| meta.tree.value_at(&[key]).is_some());
    let mut survey = Survey {
        session,
        place,
        watch,
        unreadable,
        blind: false,
        meta,
        inherited: has("lineage") || has("migratedFrom"),
        files: session.files()?,
        facts: SurveyResult::default(),
    };
    if let Some(Err(newer)) = meta.map(|meta| meta.check_version(&session.id)) {
        survey.note(
            &super::paths::DocumentFile::Meta.in_dir(&session.dir),
            FindingCode::NewerVersion,
            newer.to_string(),
        );
        return Ok(survey.facts);
    }
    survey.metadata_file()?;
    survey.turns()?;
    survey.states()?;
    survey.changes()?;
    let rules = session.rules();
    if rules.logs_every_change() {
        survey.unknown_states()?;
    }
    if rules.has_scene_files() {
        survey.scene_files()?;
    }
    if rules.defers_states() {
        survey.indexes()?;
    }
    if rules.keeps_metadata() {
        survey.compare_metadata()?;
    }
    survey.check_directory()?;
    Ok(survey.facts)
}

impl Survey<'_> {
    fn report(&mut self, finding: Finding) {
        let in_log = |log: LogKind| finding.file.is_within(&log.dir(&self.session.dir));
        let differs =
            matches!(finding.code, FindingCode::SnapshotDiffers | FindingCode::StateDiffers);
        let is_log = in_log(LogKind::Turns) || in_log(LogKind::Deltas);
        self.facts.wrong_logs |= differs || is_log && finding.code.severity() == Severity::Finding;
        self.facts.checked.count(&finding);
        self.watch.finding(finding);
    }

    /// Reports a finding about a file as a whole.
    fn note(&mut self, file: &FilePath, code: FindingCode, message: impl Into<String>) {
        self.report(Finding::new(file, code, message));
    }

    /// Reports a finding about a line.
    fn note_line(
        &mut self,
        file: &FilePath,
        line: &LogLine,
        code: FindingCode,
        message: impl Into<String>,
    ) {
        self.report(at_line(file, line, code, message));
    }

    /// Returns the value that was read, or `None` if reading failed and that is tolerated.
    fn readable<T>(
        &mut self,
        file: &FilePath,
        result: Result<T, GameError>,
    ) -> Result<Option<T>, GameError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if self.unreadable == UnreadablePolicy::Report => {
                self.blind = true;
                let reason = match &error {
                    GameError::Store(everturn_store::StoreError::Io { source, .. }) => {
                        source.to_string()
                    }
                    other => other.to_string(),
                };
                self.note(file, FindingCode::Unreadable, format!("cannot be read: {reason}"));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Records that a file is about to be read.
    fn begin(&mut self, file: &FilePath) {
        self.watch.file(file);
        self.facts.checked.files += 1;
        self.facts.covered.insert(file.clone());
    }
}

/// Returns a finding about a line.
fn at_line(
    file: &FilePath,
    line: &LogLine,
    code: FindingCode,
    message: impl Into<String>,
) -> Finding {
    Finding::new(file, code, message).at_line(line.line).at_offset(line.offset)
}
