//! Surveys the turn log: turn numbers, file names, IDs of events.

use std::collections::{HashMap, HashSet};

use super::counters::id_parts;
use super::{Survey, at_line};
use crate::error::GameError;
use crate::log::{LogItem, LogLine, RecordLog};
use crate::paths::{LogFile, LogKind};
use crate::scenes::is_start;
use crate::turn::{Event, OWN, TurnRecord};
use crate::writer::LONGEST_PAUSE;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;

/// How many gaps between turns are remembered with their positions.
const MOST_GAPS: usize = 10_000;

/// Data from the preceding lines.
#[derive(Default)]
struct PrecedingLines {
    turn: Option<u64>,
    /// Skipped turns, with the line after them; they may still follow.
    gaps: Vec<(u64, u64, Finding)>,
    /// The time of each turn, where numbers may restart.
    times: HashMap<u64, Option<i64>>,
}

/// Data from the lines of one file.
struct FileSummary {
    path: FilePath,
    file: LogFile,
    first: Option<u64>,
    last: Option<u64>,
    /// The offset of the last line.
    last_offset: u64,
    outside: LineCount,
    superseded: LineCount,
    restarted: LineCount,
}

/// Lines that are reported together, at the position of the first.
#[derive(Default)]
struct LineCount {
    lines: u64,
    first: Option<LogLine>,
    turn: u64,
}

impl LineCount {
    fn add(&mut self, line: &LogLine, turn: u64) {
        self.lines += 1;
        if self.first.is_none() {
            (self.first, self.turn) = (Some(line.clone()), turn);
        }
    }
}

impl Survey<'_> {
    /// Reads all turns.
    pub(super) fn turns(&mut self) -> Result<(), GameError> {
        self.overlaps(LogKind::Turns);
        let mut before = PrecedingLines::default();
        let lowest = self.files.snapshots.first().map_or(0, |(file, _)| file.turn);
        for (file, path) in self.files.clone().turns.clone() {
            self.begin(&path);
            let rows = RecordLog::open(&self.session.store, &path, 0..u64::MAX, TurnRecord::parse);
            let Some(rows) = self.readable(&path, rows)? else { continue };
            let mut within = FileSummary {
                path: path.clone(),
                file,
                first: None,
                last: None,
                last_offset: 0,
                outside: LineCount::default(),
                superseded: LineCount::default(),
                restarted: LineCount::default(),
            };
            for piece in rows {
                match self.readable(&path, piece)? {
                    None => break,
                    Some(LogItem::Finding(finding)) => self.bad_piece(finding),
                    Some(LogItem::Row(turn, line)) => {
                        self.facts.checked.records += 1;
                        self.number(&turn, &line, lowest, &mut before, &mut within);
                        self.events(&turn, &line, &path);
                        self.repaired(&turn, &line, &path);
                        self.count(&turn, &line, &path)?;
                    }
                }
            }
            self.end_of_file(&within);
        }
        if !self.blind {
            for (first, last, finding) in before.gaps {
                for (from, to) in self.facts.recount.by_turn.missing(first, last) {
                    let which = if from == to {
                        format!("turn {from} is")
                    } else {
                        format!("turns {from} to {to} are")
                    };
                    let mut finding = finding.clone();
                    finding.message = format!("{which} missing");
                    self.report(finding);
                }
            }
        }
        Ok(())
    }

    /// Reports a part of a log that is not a record.
    pub(super) fn bad_piece(&mut self, finding: Finding) {
        if finding.code != FindingCode::BadRecord {
            self.facts.bad_logs.insert(finding.file.clone());
        }
        self.report(finding);
    }

    /// Reports files whose names cover the same turns.
    pub(super) fn overlaps(&mut self, log: LogKind) {
        let files = self.files.clone();
        let mut end: Option<(u64, &FilePath)> = None;
        let mut open: Option<&FilePath> = None;
        for (file, path) in files.log(log) {
            let other = match (end, open) {
                (Some((end, other)), _) if file.first.is_some_and(|first| first <= end) => {
                    Some(other)
                }
                (_, Some(other)) if file.last.is_none() => Some(other),
                _ => None,
            };
            if let Some(other) = other {
                let name = other.name().map(|name| name.to_string()).unwrap_or_default();
                self.note(path, FindingCode::FileOverlap, format!("its turns overlap with {name}"));
            }
            match file.last {
                Some(last) if end.is_none_or(|(end, _)| last > end) => end = Some((last, path)),
                Some(_) => {}
                None => open = Some(path),
            }
        }
    }

    /// Checks the number of a turn against the turns before it and the file name.
    fn number(
        &mut self,
        turn: &TurnRecord,
        line: &LogLine,
        lowest: u64,
        before: &mut PrecedingLines,
        within: &mut FileSummary,
    ) {
        let number = turn.turn;
        let file = within.file;
        if file.first.is_some_and(|first| number < first)
            || file.last.is_some_and(|last| number > last)
        {
            within.outside.add(line, number);
        }
        within.first = Some(within.first.map_or(number, |first| first.min(number)));
        within.last = within.last.max(Some(number));
        within.last_offset = line.offset;
        let highest = self.facts.recount.last().unwrap_or(lowest.min(number));
        let seen = self.facts.recount.by_turn.get(number).is_some();
        if self.session.rules().repeats_turns() {
            match before.times.insert(number, turn.time) {
                Some(time) if time == turn.time && time.is_some() => {
                    within.superseded.add(line, number);
                }
                Some(_) => within.restarted.add(line, number),
                None if before.turn.is_some_and(|last| number < last) => {
                    within.restarted.add(line, number);
                }
                None => {}
            }
        } else if seen {
            let last = before.turn.unwrap_or_default();
            let message = format!("duplicate turn {number} after turn {last}");
            self.note_line(&within.path, line, FindingCode::DuplicateTurn, message);
        } else if let Some(last) = before.turn.filter(|last| number < *last) {
            let message = format!("turn {number} comes after turn {last}");
            self.note_line(&within.path, line, FindingCode::TurnOrder, message);
        }
        if number > highest + 1 && before.gaps.len() < MOST_GAPS {
            let finding = at_line(&within.path, line, FindingCode::MissingTurns, "");
            before.gaps.push((highest + 1, number - 1, finding));
        }
        before.turn = Some(number);
    }

    /// Reports the findings about a file after all of it was read.
    fn end_of_file(&mut self, within: &FileSummary) {
        let path = &within.path;
        let told: [(&LineCount, FindingCode, &str); 3] = [
            (&within.outside, FindingCode::WrongRange, "are outside the range in the file name"),
            (
                &within.superseded,
                FindingCode::SupersededTurn,
                "are repeated, and the later lines take precedence",
            ),
            (&within.restarted, FindingCode::RestartedTurns, "repeat earlier turn numbers"),
        ];
        for (count, code, words) in told {
            if let Some(line) = &count.first {
                let message =
                    format!("{} lines {words}, the first at turn {}", count.lines, count.turn);
                self.note_line(path, line, code, message);
            }
        }
        let named = (within.file.first, within.file.last);
        let found = (within.first, within.last);
        let closed = self.session.rules().renames_full_logs() && within.file.last.is_some();
        if closed && !self.blind && within.outside.lines == 0 && named != found {
            let text = match found {
                (Some(first), Some(last)) => format!("it contains only turns {first} to {last}"),
                _ => "it contains no turns".to_owned(),
            };
            self.note(
                path,
                FindingCode::WrongRange,
                format!("{text}, which does not match its name"),
            );
        }
        self.log_size(path, within.last_offset);
    }

    /// Reports the notes that a repair has left in a turn.
    fn repaired(&mut self, turn: &TurnRecord, line: &LogLine, path: &FilePath) {
        // Searching for the name first is cheaper than parsing the fields.
        if !line.slice.as_str().contains(OWN) {
            return;
        }
        let number = turn.turn;
        for (key, code, message) in [
            (
                "lost",
                FindingCode::LostTurn,
                format!("turn {number} is lost; this is its placeholder"),
            ),
            ("mended", FindingCode::LostTurn, format!("a part of turn {number} was lost")),
            (
                "also",
                FindingCode::TwinTurn,
                format!("turn {number} has another record, which is kept in this one"),
            ),
        ] {
            if turn.raw.value_at(&[OWN, key]).is_some() {
                self.note_line(path, line, code, message);
            }
        }
    }

    /// Checks the IDs of a turn's events.
    fn events(&mut self, turn: &TurnRecord, line: &LogLine, path: &FilePath) {
        let events = turn.events();
        let mut seen = HashSet::new();
        let mut regular = true;
        for (place, event) in (1..).zip(events.iter()) {
            let id = event.id.as_str();
            match id_parts(id) {
                Some((of, number)) => {
                    regular &= of == turn.turn && number == place;
                    if of != turn.turn {
                        let message = format!("event {id} is in turn {}", turn.turn);
                        self.note_line(path, line, FindingCode::WrongId, message);
                    }
                }
                None => regular = false,
            }
            let again = !id.is_empty() && !seen.insert(id);
            if again {
                self.note_line(
                    path,
                    line,
                    FindingCode::DuplicateId,
                    format!("duplicate event {id}"),
                );
            }
        }
        if !regular {
            self.facts.recount.odd_turns.insert(turn.turn, 0);
            for event in events.iter() {
                let new = self.facts.recount.odd_events.insert(&event.id);
                let unusual = !event.id.is_empty()
                    && id_parts(&event.id).is_none()
                    && seen.remove(event.id.as_str());
                if !new && unusual && !self.session.rules().repeats_turns() {
                    let message = format!("duplicate event {}", event.id);
                    self.note_line(path, line, FindingCode::DuplicateId, message);
                }
            }
        }
        let count = u32::try_from(events.len()).unwrap_or(u32::MAX);
        self.count_events(&events, turn.turn);
        self.facts.recount.by_turn.insert(turn.turn, count);
    }

    fn count_events(&mut self, events: &[Event], turn: u64) {
        let recount = &mut self.facts.recount;
        recount.events += events.len() as u64;
        if events.iter().any(is_start) {
            recount.scene_starts.insert(turn, 1);
        }
        recount.conflicts +=
            events.iter().filter(|event| event.kind == "conflict_end").count() as u64;
    }

    /// Adds a turn to the totals.
    fn count(
        &mut self,
        turn: &TurnRecord,
        line: &LogLine,
        path: &FilePath,
    ) -> Result<(), GameError> {
        let recount = &mut self.facts.recount;
        recount.turns += 1;
        if let Some(time) = turn.time {
            let gap = recount.last_time.map_or(0, |last| time.saturating_sub(last));
            if (1..=LONGEST_PAUSE).contains(&gap) {
                recount.played += u64::try_from(gap).unwrap_or(0);
            }
            recount.last_time = Some(time);
        }
        let begins = turn.events().iter().any(is_start);
        if let Some(scene) = &turn.scene
            && !recount.scenes_named.contains_key(scene)
        {
            // Another program may start a scene without an event, or in the turn before: then its file tells that it
            // exists.
            if !std::mem::take(&mut recount.scene_pending) {
                let has_file = self.session.has_scene_file(scene).map_err(GameError::from);
                if self.readable(path, has_file)? == Some(true) {
                    self.facts.recount.scene_starts.insert(turn.turn, 1);
                }
            }
            let message =
                format!("turn {} belongs to scene {scene}, which does not exist", turn.turn);
            let finding = at_line(path, line, FindingCode::MissingScene, message);
            self.facts.recount.scenes_named.insert(scene.clone(), finding);
        } else if begins {
            recount.scene_pending = true;
        }
        let recount = &mut self.facts.recount;
        if recount.last() == Some(turn.turn) {
            recount.scene.clone_from(&turn.scene);
            recount.game_time = turn.raw.value_at(&["gameTime"]).filter(|time| !time.is_null());
        }
        Ok(())
    }
}
