//! A look at a whole session: what is there, what it adds up to, and what is wrong with it.
//!
//! Everything is read once, in bounded memory: turns first, then the changes, with the snapshots and the states
//! compared on the way. Whoever checks gets the findings, whoever repairs goes by the [`Facts`].

mod changes;
mod documents;
mod metadata;
mod places;
mod scenes;
mod snapshots;
mod tally;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::error::GameError;
use super::files::Files;
use super::form::Form;
use super::log::Line;
use super::meta::Meta;
use super::names::{Log, SnapshotFile, Status};
use super::session::Session;
use everturn_json::finding::{Code, Finding, Severity};
use everturn_json::names::FilePath;
use everturn_session::watch::{Checked, Watch};
use everturn_value::tree::{Digest, Tree};

pub(crate) use metadata::expected as expected_metadata;
pub(crate) use tally::{Ids, Runs, id_parts};

/// What to do about files that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It is a finding, and the rest is looked at.
    Report,
    /// Nothing must be done on the strength of what is left.
    Refuse,
}

/// What the lines of both logs add up to.
#[derive(Debug, Default)]
pub(crate) struct Recount {
    /// Lines of turns.
    pub(crate) turns: u64,
    pub(crate) events: u64,
    pub(crate) conflicts: u64,
    /// Single changes.
    pub(crate) deltas: u64,
    /// How many events each turn has.
    pub(crate) by_turn: Runs,
    /// Turns whose events do not have the usual ids.
    pub(crate) odd_turns: Runs,
    /// How many changes each turn has.
    pub(crate) deltas_by_turn: Runs,
    /// The turns in which scenes begin.
    pub(crate) scene_starts: Runs,
    /// Time between turns that counts as played, in milliseconds.
    pub(crate) played: u64,
    pub(crate) last_time: Option<i64>,
    /// The scene and the time in the game of the turn with the highest number.
    pub(crate) scene: Option<String>,
    pub(crate) game_time: Option<Tree>,
    /// Ids of events that do not follow the usual form.
    pub(crate) odd_events: Ids,
    /// The scenes that turns name, with the first line that does so.
    pub(crate) scenes_named: BTreeMap<String, Finding>,
    /// The highest turn of a change.
    pub(crate) last_change: u64,
}

impl Recount {
    /// The highest turn that has a line.
    pub(crate) fn last(&self) -> Option<u64> {
        self.by_turn.last()
    }
}

/// The states as their files have them; those that cannot be used are missing.
#[derive(Debug, Default, Clone)]
pub(crate) struct Stored {
    /// The turn they are of, if the metadata say so.
    pub(crate) turn: Option<u64>,
    pub(crate) world: Option<Tree>,
    pub(crate) player: Option<Tree>,
    pub(crate) scene: Option<Tree>,
    pub(crate) npcs: Option<Tree>,
    /// Whether they are, byte for byte, what was written.
    pub(crate) verified: bool,
}

/// What was learned about a session.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) recount: Recount,
    pub(crate) stored: Stored,
    /// The files that were looked at.
    pub(crate) covered: BTreeSet<FilePath>,
    pub(crate) checked: Checked,
    /// Whether anything is wrong with the logs, or they do not lead to the states.
    pub(crate) wrong_logs: bool,
    /// Logs that have something besides one record on each line.
    pub(crate) bad_logs: BTreeSet<FilePath>,
    pub(crate) good_snapshots: Vec<(SnapshotFile, FilePath)>,
    pub(crate) bad_snapshots: Vec<FilePath>,
    /// Snapshots that are good, but do not follow from the changes or say something wrong about themselves.
    pub(crate) odd_snapshots: BTreeSet<u64>,
    /// The snapshot from which the first good one follows, if it says so.
    pub(crate) first_from: Option<String>,
    /// The first good snapshot that does not follow from another one.
    pub(crate) beginning: Option<u64>,
    /// Stretches of more than a hundred turns without a snapshot: after this one, up to that one.
    pub(crate) stretches: Vec<(u64, u64)>,
    /// Whether the state files cannot be used or do not follow from the changes.
    pub(crate) wrong_states: bool,
    /// The turn in which each scene of the changes begins, and what those that are over came to.
    pub(crate) scenes_begun: BTreeMap<String, u64>,
    pub(crate) scenes_over: BTreeMap<String, Digest>,
    /// Scenes whose files are missing, cannot be used, or do not follow from the changes.
    pub(crate) wrong_scenes: BTreeSet<String>,
    pub(crate) stale_indexes: Vec<FilePath>,
    /// Documents in which an object has a key twice.
    pub(crate) repeated: BTreeSet<FilePath>,
    pub(crate) wrong_metadata: bool,
    /// Whether documents of another session are here, so that this one must be a copy of that.
    pub(crate) other_session: Option<String>,
}

/// Where a session is, as far as its path tells.
#[derive(Debug, Clone)]
pub struct Place {
    pub(crate) dir: FilePath,
    pub(crate) id: Option<String>,
    pub(crate) status: Option<Status>,
}

struct Survey<'a> {
    session: &'a Session,
    place: &'a Place,
    watch: &'a mut dyn Watch,
    unreadable: Unreadable,
    /// Whether something could not be read, so that counts prove nothing.
    blind: bool,
    meta: Option<&'a Meta>,
    /// Whether it was made from another session, whose ids it then has.
    inherited: bool,
    files: Arc<Files>,
    facts: Facts,
}

/// Looks at all of a session.
pub(crate) fn survey(
    session: &Session,
    place: &Place,
    unreadable: Unreadable,
    watch: &mut dyn Watch,
) -> Result<Facts, GameError> {
    let meta = session.meta.as_ref();
    let has = |key: &str| meta.is_some_and(|meta| meta.tree.at(&[key]).is_some());
    let mut survey = Survey {
        session,
        place,
        watch,
        unreadable,
        blind: false,
        meta,
        inherited: has("lineage") || has("migratedFrom"),
        files: session.files()?,
        facts: Facts::default(),
    };
    if let Some(Err(newer)) = meta.map(|meta| meta.check_version(&session.id)) {
        survey.note(
            &super::names::Document::Meta.in_dir(&session.dir),
            Code::NewerVersion,
            newer.to_string(),
        );
        return Ok(survey.facts);
    }
    survey.metadata_file()?;
    survey.turns()?;
    survey.states()?;
    survey.changes()?;
    if session.form == Form::Documented {
        survey.scene_files()?;
        survey.indexes()?;
        survey.compare_metadata()?;
    }
    survey.places()?;
    Ok(survey.facts)
}

impl Survey<'_> {
    fn report(&mut self, finding: Finding) {
        let in_log = |log: Log| finding.file.is_within(&log.dir(&self.session.dir));
        let differs = matches!(finding.code, Code::SnapshotDiffers | Code::StateDiffers);
        let is_log = in_log(Log::Turns) || in_log(Log::Deltas);
        self.facts.wrong_logs |= differs || is_log && finding.code.severity() == Severity::Finding;
        self.facts.checked.count(&finding);
        self.watch.finding(finding);
    }

    /// Reports something about a file as a whole.
    fn note(&mut self, file: &FilePath, code: Code, message: impl Into<String>) {
        let (file, message) = (file.clone(), message.into());
        self.report(Finding { file, line: None, offset: None, code, message });
    }

    /// Reports something about a line.
    fn note_line(&mut self, file: &FilePath, line: &Line, code: Code, message: impl Into<String>) {
        self.report(at_line(file, line, code, message));
    }

    /// What was read, or nothing if it could not be and that is tolerated.
    fn readable<T>(
        &mut self,
        file: &FilePath,
        result: Result<T, GameError>,
    ) -> Result<Option<T>, GameError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if self.unreadable == Unreadable::Report => {
                self.blind = true;
                let reason = match &error {
                    GameError::Store(everturn_store::StoreError::Io { source, .. }) => {
                        source.to_string()
                    }
                    other => other.to_string(),
                };
                self.note(file, Code::Unreadable, format!("cannot be read: {reason}"));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// A file is about to be read.
    fn begin(&mut self, file: &FilePath) {
        self.watch.file(file);
        self.facts.checked.files += 1;
        self.facts.covered.insert(file.clone());
    }
}

/// A finding about a line.
fn at_line(file: &FilePath, line: &Line, code: Code, message: impl Into<String>) -> Finding {
    let (line, offset) = (Some(line.line), Some(line.offset));
    Finding { file: file.clone(), line, offset, code, message: message.into() }
}
