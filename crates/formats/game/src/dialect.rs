//! The two dialects of game sessions: [`Dialect`] names one, [`GameDialect`] is what differs between them.
//!
//! `SpecDialect` and `UpstreamDialect` implement the trait, each in a module of its own. All other modules ask
//! [`Session::rules`] instead of comparing dialects; a [`Dialect`] is named only where one is chosen.

mod line_builder;
mod spec;
#[cfg(test)]
mod tests;
mod upstream;

use jiff::Timestamp;

use self::spec::SpecDialect;
use self::upstream::UpstreamDialect;
use super::branch::Truncation;
use super::changes::{ChangeRecord, ChangeText, DeltaGroup};
use super::error::GameError;
use super::log::{LogItem, RecordLog};
use super::meta::GameMeta;
use super::paths::{DocumentFile, LogFile, LogKind, SnapshotFile};
use super::session::Session;
use super::state::{GameState, Scope};
use super::turn::{TurnInput, TurnLineParts, TurnRecord};
use super::writer::GameWriter;
use super::writer::turns::TurnDraft;
use everturn_json::names::{FilePath, SceneId, SessionId};
use everturn_store::Step;
use everturn_value::delta::Delta;
use everturn_value::tree::{JsonTree, TextSlice, ValueKind};

pub(crate) use upstream::IncrementTotals;

/// The dialect of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The documented dialect: groups of changes with scopes and dotted paths, log files that are renamed when they are
    /// full, metadata with the current position. New sessions use it.
    Spec,
    /// The dialect of the upstream program: one line per change with `target` and `operation`, log files named after
    /// fixed hundreds of turns, a third state file, metadata without a position. The states are rewritten with every
    /// turn.
    Upstream,
}

impl Dialect {
    /// Returns the rules of the dialect.
    pub(crate) fn rules(self) -> &'static dyn GameDialect {
        match self {
            Dialect::Spec => &SpecDialect,
            Dialect::Upstream => &UpstreamDialect,
        }
    }

    /// Returns the dialect of a line of the change log, or `None` if it matches neither. Sessions are read line by
    /// line: a session may have lines of both.
    pub(crate) fn of_change(text: &ChangeText<'_>) -> Option<Dialect> {
        match (&text.deltas, &text.operation) {
            (Some(_), _) => Some(Dialect::Spec),
            (None, Some(_)) => Some(Dialect::Upstream),
            (None, None) => None,
        }
    }

    /// Detects the dialect of a session from the metadata, otherwise from the lines and names of the logs and from a
    /// file that only upstream sessions have.
    pub(crate) fn detect(session: &Session) -> Result<Dialect, GameError> {
        let at = |key: &str| session.metadata().and_then(|meta| meta.value_at(&[key]));
        if at("current").is_some() || at("files").is_some() {
            return Ok(Dialect::Spec);
        }
        let files = session.files()?;
        for (_, path) in &files.deltas {
            let rows =
                RecordLog::open(&session.store, path, 0..u64::MAX, |slice| Ok(slice.clone()))?;
            for piece in rows {
                if let LogItem::Row(slice, _) = piece?
                    && let Ok(text) = ChangeText::parse(slice.as_str())
                    && let Some(dialect) = Dialect::of_change(&text)
                {
                    return Ok(dialect);
                }
            }
        }
        let named = at("player").is_some_and(|player| player.kind() == ValueKind::String);
        let npcs = session.store.stat(&DocumentFile::Npcs.in_dir(&session.dir))?;
        if at("startTime").is_some() || named || npcs.is_some() {
            return Ok(Dialect::Upstream);
        }
        if at("version").is_some() {
            return Ok(Dialect::Spec);
        }
        let current = files.turns.iter().any(|(file, _)| file.last.is_none());
        Ok(if files.turns.is_empty() || current { Dialect::Spec } else { Dialect::Upstream })
    }
}

/// What differs between the dialects.
///
/// The first methods are plain facts, which decide what other modules can check, repair or skip. The others name files
/// and records, convert lines, and return the files that are written beside the logs.
pub(crate) trait GameDialect {
    /// Returns whether the last file of a log is named as the current one, and is renamed after its exact turns when it
    /// is full. Otherwise files are named after fixed ranges of turns from their first line on.
    fn renames_full_logs(&self) -> bool;

    /// Returns whether turn numbers may repeat in a log: because counting restarts, or because a line is appended again
    /// in place of an earlier one.
    fn repeats_turns(&self) -> bool;

    /// Returns whether the log has every change, so that states, snapshots and scenes can be verified and rebuilt from
    /// it.
    fn logs_every_change(&self) -> bool;

    /// Returns whether the metadata has the status, the last turn, the counts and the checksums of the states, and is
    /// updated with every turn. Otherwise it is optional and belongs to another program.
    fn keeps_metadata(&self) -> bool;

    /// Returns whether the state files may be behind the log, and are written from time to time together with snapshots
    /// and indexes. Otherwise they are written with every turn, snapshots only on request, and there are no indexes.
    fn defers_states(&self) -> bool;

    /// Returns whether scenes have IDs, and files of their own. Otherwise the scene is a part of the world, and only the
    /// lines of turns name it.
    fn has_scene_files(&self) -> bool;

    /// Returns whether characters may have a state file of their own.
    fn has_npcs_file(&self) -> bool;

    /// Returns the file for the lines of a turn; `first` is the first turn of the last file of the log.
    fn log_file(&self, log: LogKind, first: u64, turn: u64) -> LogFile;

    /// Returns the file of the snapshot at a turn.
    fn snapshot_file(&self, turn: u64) -> SnapshotFile;

    /// Returns the ID of an event of a turn, counted from 1.
    fn event_id(&self, session: &SessionId, turn: u64, number: u64) -> String;

    /// Returns the ID of a group of changes; `sequence` is the number of its first line in the turn, counted from 1.
    fn change_id(&self, session: &SessionId, turn: u64, sequence: u64) -> String;

    /// Returns how many lines a group of changes takes.
    fn line_count(&self, group: &DeltaGroup) -> u64;

    /// Returns the line of a turn, with its newline.
    fn turn_line(&self, parts: &TurnLineParts<'_>, input: &TurnInput) -> String;

    /// Writes the lines of a group of changes, each with a newline. `cause` is the kind of the event that caused it.
    fn write_change(&self, change: &ChangeRecord, cause: &str, out: &mut String);

    /// Reads the changes of a line of the change log.
    fn read_change(&self, text: &ChangeText<'_>, slice: &TextSlice) -> Result<DeltaGroup, String>;

    /// Returns the results of increments whose lines have only the amount.
    fn increment_totals(&self, _session: &Session) -> Result<IncrementTotals, GameError> {
        Ok(IncrementTotals::default())
    }

    /// Fails if a session of this dialect with this state cannot have the change with this number in a turn.
    fn check_delta(
        &self,
        number: usize,
        scope: Scope,
        delta: &Delta,
        state: &GameState,
    ) -> Result<(), GameError>;

    /// Returns a given group of changes as it is applied to `state` and stored.
    fn stored_group(&self, group: &DeltaGroup, state: &GameState) -> DeltaGroup;

    /// Rewrites the changes of a group, which were applied last and led to `after`, so that other programs apply them in
    /// the same way. `special` are those that [`portable::is_special`](super::portable::is_special) has named before.
    fn rewrite_group(&self, group: &mut DeltaGroup, special: &[bool], after: &JsonTree);

    /// Returns the current scene of a state, or `null`.
    fn scene(&self, state: &GameState) -> JsonTree;

    /// Returns whether a scene has not ended.
    fn is_active_scene(&self, scene: &JsonTree) -> bool;

    /// Returns the ID of the scene after a turn with these changes, which are already applied.
    fn scene_after(&self, game: &GameWriter, changes: &[ChangeRecord]) -> Option<String>;

    /// Returns a free ID for the next scene.
    fn next_scene_id(&self, game: &GameWriter, now: Timestamp) -> Result<SceneId, GameError>;

    /// Prepares a session and its metadata for appending turns, and returns the state as it is kept from then on. `last`
    /// is the last turn.
    fn prepare_writing(
        &self,
        session: &mut Session,
        meta: &mut GameMeta,
        state: GameState,
        last: Option<&TurnRecord>,
    ) -> Result<GameState, GameError>;

    /// Updates the metadata for a turn, and returns the steps that belong to its commit besides the lines.
    fn turn_files(
        &self,
        game: &mut GameWriter,
        input: &TurnInput,
        draft: &TurnDraft,
        scene: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<Step>, GameError>;

    /// Updates the metadata for a session that is truncated to a turn, and returns the steps that write its state files
    /// to `dir`.
    fn truncated_files(
        &self,
        session: &Session,
        cut: &Truncation,
        dir: &FilePath,
        state: &GameState,
        meta: &mut GameMeta,
        now: Timestamp,
    ) -> Result<Vec<Step>, GameError>;
}
