//! Surveys the change log: applies the changes one by one, and compares snapshots and states on the way.

use std::collections::HashSet;

use super::counters::id_parts;
use super::{Survey, snapshots};
use crate::changes::ChangeRecord;
use crate::error::GameError;
use crate::log::{LogItem, LogLine, RecordLog};
use crate::paths::{DocumentFile, LogFile, LogKind, SnapshotFile};
use crate::scenes::{scene_id_of, started_scene};
use crate::state::{GameState, Scope};
use crate::turn::{OWN, UNFIT};
use everturn_json::finding::FindingCode;
use everturn_json::names::FilePath;
use everturn_value::tree::JsonTree;

/// A point in the log at which a state is known.
enum ReplayCheckpoint {
    Snapshot(SnapshotFile, FilePath),
    /// The state files.
    States,
}

/// Lines that are reported as one finding, at the position of the first.
#[derive(Default)]
struct GroupedFinding {
    first: Option<(LogLine, String)>,
    more: u64,
    last: u64,
}

impl GroupedFinding {
    fn add(&mut self, line: &LogLine, message: impl FnOnce() -> String) {
        self.last = line.line;
        match &self.first {
            Some(_) => self.more += 1,
            None => self.first = Some((line.clone(), message())),
        }
    }
}

/// The progress of the replay.
struct ReplayProgress {
    marks: std::vec::IntoIter<(u64, ReplayCheckpoint)>,
    next: Option<(u64, ReplayCheckpoint)>,
    /// The state, once one is known.
    state: Option<GameState>,
    /// Changes up to this turn are included in the state.
    since: u64,
    /// Changes up to this turn could not all be read.
    missed: u64,
    /// The turn of the previous line.
    turn: u64,
    /// The numbers in the IDs of that turn.
    numbers: HashSet<u64>,
    /// The offset of the first line of that turn.
    offset: u64,
    /// Changes without a turn or event, and changes that do not apply.
    dangling: GroupedFinding,
    unfit: GroupedFinding,
}

impl Survey<'_> {
    /// Where stored states are compared with the changes, by turn. Snapshots come before the states of the same turn.
    fn replay_checkpoints(&self) -> Vec<(u64, ReplayCheckpoint)> {
        let snapshots = self.files.snapshots.iter();
        let mut checkpoints: Vec<(u64, ReplayCheckpoint)> = snapshots
            .map(|(file, path)| (file.turn, ReplayCheckpoint::Snapshot(*file, path.clone())))
            .collect();
        let rules = self.session.rules();
        if let Some(turn) = self.facts.stored.turn.filter(|_| rules.logs_every_change()) {
            checkpoints.push((turn, ReplayCheckpoint::States));
        }
        checkpoints.sort_by_key(|(turn, it)| (*turn, matches!(it, ReplayCheckpoint::States)));
        checkpoints
    }

    /// Reads all changes.
    pub(super) fn changes(&mut self) -> Result<(), GameError> {
        self.overlaps(LogKind::Deltas);
        let files = self.files.clone();
        let mut marks = self.replay_checkpoints().into_iter();
        let mut track = ReplayProgress {
            next: marks.next(),
            marks,
            state: None,
            since: 0,
            missed: 0,
            turn: 0,
            numbers: HashSet::new(),
            offset: 0,
            dangling: GroupedFinding::default(),
            unfit: GroupedFinding::default(),
        };
        let mut closed = 0;
        // A log that cannot be read is reported below.
        let totals = self.session.increment_totals().ok();
        for (file, path) in &files.deltas {
            self.begin(path);
            let rows = RecordLog::open(&self.session.store, path, 0..u64::MAX, ChangeRecord::parse);
            let Some(rows) = self.readable(path, rows)? else {
                track.miss(*file);
                continue;
            };
            let mut outside = None;
            for piece in rows {
                match self.readable(path, piece)? {
                    None => {
                        track.miss(*file);
                        break;
                    }
                    Some(LogItem::Finding(finding)) => self.bad_piece(finding),
                    Some(LogItem::Row(mut change, line)) => {
                        if let Some(totals) = &totals {
                            totals.resolve(&mut change);
                        }
                        self.facts.checked.records += 1;
                        if is_outside(*file, closed, change.turn) && outside.is_none() {
                            outside = Some((line.clone(), change.turn));
                        }
                        self.pass_marks(&mut track, change.turn, Some(path))?;
                        self.change(&mut track, change, &line, path);
                    }
                }
            }
            if let Some((line, turn)) = outside {
                let message =
                    format!("a change of turn {turn} is outside the range in the file name");
                self.note_line(path, &line, FindingCode::WrongRange, message);
            }
            self.report_group(path, FindingCode::DanglingChange, &mut track.dangling);
            self.report_group(path, FindingCode::BadChange, &mut track.unfit);
            closed = closed.max(file.last.unwrap_or(0));
            self.log_size(path, track.offset);
            track.offset = 0;
            if let Some(state) = &mut track.state {
                state.detach_texts();
            }
        }
        self.pass_marks(&mut track, u64::MAX, None)?;
        self.facts.last_scene = track.state.as_ref().and_then(|state| scene_id_of(&state.scene));
        if self.session.rules().defers_states() && !self.blind {
            self.check_snapshot_gaps();
        }
        Ok(())
    }

    /// Reports lines as one finding.
    fn report_group(&mut self, path: &FilePath, code: FindingCode, lines: &mut GroupedFinding) {
        let GroupedFinding { first, more, last } = std::mem::take(lines);
        let Some((line, mut message)) = first else { return };
        if more > 0 {
            message.push_str(&format!(", and {more} more up to line {last}"));
        }
        self.note_line(path, &line, code, message);
    }

    /// Compares the known states before `turn`, whose line is in `path`.
    fn pass_marks(
        &mut self,
        track: &mut ReplayProgress,
        turn: u64,
        path: Option<&FilePath>,
    ) -> Result<(), GameError> {
        let passes = |track: &ReplayProgress| track.next.as_ref().is_some_and(|(at, _)| *at < turn);
        if let Some(path) = path.filter(|_| passes(track)) {
            self.report_group(path, FindingCode::BadChange, &mut track.unfit);
        }
        while passes(track) {
            let Some((at, mark)) = track.next.take() else { break };
            track.next = track.marks.next();
            match mark {
                ReplayCheckpoint::Snapshot(file, path) => {
                    let found = self.snapshot(file, &path)?;
                    if let Some((snapshot, facts)) = found
                        && self.is_trusted(&path, &snapshot, &facts, track.state.as_ref())
                    {
                        self.compare_snapshot(&path, &snapshot, &facts, track.state.as_ref());
                        self.scene_passed(track.state.as_ref(), &snapshot.state);
                        let known = at >= track.missed;
                        (track.state, track.since) = (known.then_some(snapshot.state), at);
                    }
                }
                ReplayCheckpoint::States => self.compare_states(track.state.as_ref()),
            }
        }
        Ok(())
    }

    /// Checks a line, and applies it.
    fn change(
        &mut self,
        track: &mut ReplayProgress,
        mut change: ChangeRecord,
        line: &LogLine,
        path: &FilePath,
    ) {
        if change.turn < track.turn && !self.session.rules().repeats_turns() {
            let message =
                format!("a change of turn {} comes after one of turn {}", change.turn, track.turn);
            self.note_line(path, line, FindingCode::TurnOrder, message);
        }
        // The first line of a file starts at its beginning, whatever the turn.
        if change.turn != track.turn {
            track.numbers.clear();
            track.offset = line.offset;
        }
        track.turn = track.turn.max(change.turn);
        self.count_change(&change);
        self.change_id(track, &change, line, path);
        match self.dangling(&change) {
            Some(message) => track.dangling.add(line, || message),
            None => self.report_group(path, FindingCode::DanglingChange, &mut track.dangling),
        }
        // Searching for the name first is cheaper than parsing the fields.
        if line.slice.as_str().contains(UNFIT)
            && JsonTree::parse(line.slice.as_str())
                .is_ok_and(|tree| tree.value_at(&[OWN, UNFIT]).is_some())
        {
            let message = format!(
                "change {} of turn {} has no effect: what it changes is lost",
                change.id, change.turn
            );
            self.note_line(path, line, FindingCode::LostTurn, message);
        }
        let Some(state) = track.state.as_mut().filter(|_| change.turn > track.since) else {
            return;
        };
        if !self.session.rules().logs_every_change() {
            // The log proves nothing.
            return;
        }
        let scene = (change.group.scope == Scope::Scene).then(|| state.scene.clone());
        match state.apply(&mut change.group) {
            Err((_, error)) => {
                let message =
                    || format!("a change that cannot be applied to the state is skipped: {error}");
                track.unfit.add(line, message);
            }
            Ok(()) => {
                if let Some(scene) = scene {
                    let now = state.scene.clone();
                    self.scene_changed(&scene, &now, change.turn);
                }
            }
        }
    }

    fn count_change(&mut self, change: &ChangeRecord) {
        let count = u32::try_from(change.group.deltas.len()).unwrap_or(u32::MAX);
        let recount = &mut self.facts.recount;
        recount.deltas += u64::from(count);
        recount.deltas_by_turn.add(change.turn, count);
        recount.lines_by_turn.add(change.turn, 1);
        recount.last_change = recount.last_change.max(change.turn);
        if started_scene(change).is_some() {
            recount.scene_starts.insert(change.turn, 1);
        }
    }

    fn change_id(
        &mut self,
        track: &mut ReplayProgress,
        change: &ChangeRecord,
        line: &LogLine,
        path: &FilePath,
    ) {
        let Some((turn, number)) = id_parts(&change.id) else { return };
        if turn != change.turn {
            let message = format!("change {} belongs to turn {}", change.id, change.turn);
            self.note_line(path, line, FindingCode::WrongId, message);
        } else if !track.numbers.insert(number) && !self.session.rules().repeats_turns() {
            let message = format!("duplicate change {}", change.id);
            self.note_line(path, line, FindingCode::DuplicateId, message);
        }
    }

    /// Describes what is missing: the turn or the event of a change.
    fn dangling(&self, change: &ChangeRecord) -> Option<String> {
        if self.blind {
            return None;
        }
        let (id, turn) = (&change.id, change.turn);
        let Some(events) = self.facts.recount.by_turn.get(turn) else {
            return Some(format!("change {id} belongs to turn {turn}, which does not exist"));
        };
        let event = change.event.as_deref().filter(|event| !event.is_empty())?;
        let odd = self.facts.recount.odd_turns.get(turn).is_some();
        let regular = !odd
            && id_parts(event).is_some_and(|(of, number)| {
                of == turn && number >= 1 && number <= u64::from(events)
            });
        (!regular && !self.facts.recount.odd_events.may_have(event))
            .then(|| format!("change {id} belongs to event {event}, which does not exist"))
    }

    /// Compares the state files with the replayed state.
    fn compare_states(&mut self, replayed: Option<&GameState>) {
        let stored = self.facts.stored.clone();
        let Some(replayed) = replayed.filter(|_| !self.blind) else { return };
        let dir = &self.session.dir;
        let scene = self.session.named_file("currentScene");
        let parts = [
            (Scope::World, stored.world, Some(DocumentFile::World.in_dir(dir))),
            (Scope::Player, stored.player, Some(DocumentFile::Player.in_dir(dir))),
            (Scope::Scene, stored.scene, scene),
        ];
        for (scope, tree, path) in parts {
            let (Some(tree), Some(path)) = (tree, path) else { continue };
            let with = |tree: JsonTree| {
                let mut state = GameState::empty();
                *state.get_mut(scope) = tree;
                state
            };
            let expected = replayed.get(scope).cloned().unwrap_or_else(JsonTree::null);
            let differs = snapshots::differences(&with(expected), &with(tree));
            if !differs.is_empty() {
                self.facts.wrong_states = true;
                let turn = stored.turn.unwrap_or_default();
                let message = format!(
                    "it differs from the state that the changes produce at turn {turn}: {}",
                    differs.join(", ")
                );
                self.note(&path, FindingCode::StateDiffers, message);
            }
        }
    }
}

/// Returns whether a change belongs to another file, judged by the file name.
fn is_outside(file: LogFile, closed: u64, turn: u64) -> bool {
    match (file.first, file.last) {
        (Some(first), Some(last)) => turn < first || turn > last,
        (Some(first), None) => turn < first,
        (None, _) => turn <= closed,
    }
}

impl ReplayProgress {
    /// Records that the changes of a file are missing: no state is known until the next snapshot after them.
    fn miss(&mut self, file: LogFile) {
        self.state = None;
        self.missed = self.missed.max(file.last.unwrap_or(u64::MAX));
    }
}
