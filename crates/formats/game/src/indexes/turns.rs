//! `turn-index.json`: the turns of each file, and the offsets of some of them.

use serde_json::Value;

use super::text::{self, IndexFields, IndexText, MOST_NAME, clip, quote};
use super::thinned_list::{AROUND, ListEntry, NUMBER, ThinnedList};
use super::{IndexError, TurnFacts};

/// The budget of `files`, in bytes.
const MOST_FILES: usize = 200_000;

/// The maximum number of offsets.
const MOST_OFFSETS: usize = 1000;

/// The initial step: the offsets of turns that are multiples of it are kept.
const FIRST_STEP: u64 = 50;

/// The maximum length of a file name; the names of the format are shorter, whatever the numbers in them.
pub(super) const MOST_FILE_NAME: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TurnIndex {
    total: u64,
    files: ThinnedList<TurnFile>,
    /// Offsets of the first turn, of multiples of `step`, and of the last turn.
    offsets: Vec<TurnOffset>,
    step: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct TurnFile {
    file: String,
    first: u64,
    last: u64,
    events: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct TurnOffset {
    turn: u64,
    file: String,
    line: u64,
    offset: u64,
}

impl TurnIndex {
    pub(super) fn new() -> TurnIndex {
        TurnIndex {
            total: 0,
            files: ThinnedList::new(MOST_FILES),
            offsets: Vec::new(),
            step: FIRST_STEP,
        }
    }

    pub(super) fn add(&mut self, facts: &TurnFacts<'_>) {
        let TurnFacts { turn, line, offset, .. } = *facts;
        let file = clip(facts.file, MOST_FILE_NAME).into_owned();
        let events = facts.events.len() as u64;
        self.total = self.total.saturating_add(1);
        match self.files.newest() {
            Some(newest) if newest.file == file => {
                newest.first = newest.first.min(turn);
                newest.last = newest.last.max(turn);
                newest.events = newest.events.saturating_add(events);
            }
            _ => {
                let file = file.clone();
                self.files.push(TurnFile { file, first: turn, last: turn, events });
            }
        }
        self.add_offset(TurnOffset { turn, file, line, offset });
    }

    fn add_offset(&mut self, place: TurnOffset) {
        if self.offsets.last().is_some_and(|last| last.turn >= place.turn) {
            return;
        }
        let is_last_for_now = |last: &mut TurnOffset| !last.turn.is_multiple_of(self.step);
        if self.offsets.len() > 1 {
            self.offsets.pop_if(is_last_for_now);
        }
        let last = place.turn;
        self.offsets.push(place);
        if self.offsets.len() > MOST_OFFSETS {
            self.step = self.step.saturating_mul(2);
            let first = self.offsets.first().map(|place| place.turn);
            self.offsets.retain(|place| {
                place.turn.is_multiple_of(self.step)
                    || place.turn == last
                    || Some(place.turn) == first
            });
        }
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let (from, to) = (clip(from, MOST_FILE_NAME), clip(to, MOST_FILE_NAME));
        if let Some(file) = self.files.find(|file| file.file == from) {
            file.file = to.clone().into_owned();
        }
        let from_the_end = self.offsets.iter_mut().rev();
        let inside = from_the_end.skip_while(|place| place.file != from);
        for place in inside.take_while(|place| place.file == from) {
            place.file = to.clone().into_owned();
        }
    }

    pub(super) fn write(&self, page: &mut IndexText, through: u64) {
        page.plain("totalTurns", self.total);
        page.plain("throughTurn", through);
        self.files.write(page, "files");
        page.plain("offsetStep", self.step);
        let places = self.offsets.iter().map(|place| (place.turn.to_string(), place.line()));
        page.object("turnOffsets", places);
    }

    pub(super) fn read(fields: &IndexFields, through: u64) -> Result<TurnIndex, IndexError> {
        let step = fields.number("offsetStep")?;
        if !step.is_multiple_of(FIRST_STEP) || !(step / FIRST_STEP).is_power_of_two() {
            return Err(fields.bad("offsetStep"));
        }
        let mut offsets: Vec<TurnOffset> = Vec::new();
        for (turn, value) in fields.object("turnOffsets")? {
            let bad = || fields.bad(format!("turnOffsets.{}", clip(turn, MOST_NAME)));
            let place = TurnOffset::read(turn, value).ok_or_else(bad)?;
            if offsets.last().is_some_and(|last| last.turn >= place.turn) {
                return Err(bad());
            }
            offsets.push(place);
        }
        let between = offsets.get(1..offsets.len().saturating_sub(1)).unwrap_or_default();
        let fits = offsets.len() <= MOST_OFFSETS
            && between.iter().all(|place| place.turn.is_multiple_of(step))
            && offsets.last().map_or(0, |last| last.turn) == through;
        if !fits {
            return Err(fields.bad("turnOffsets"));
        }
        let files = ThinnedList::read(fields, "files", MOST_FILES)?;
        Ok(TurnIndex { total: fields.number("totalTurns")?, files, offsets, step })
    }

    /// Returns how many files and offsets are listed.
    #[cfg(test)]
    pub(super) fn listed(&self) -> [usize; 2] {
        [self.files.entries().len(), self.offsets.len()]
    }
}

impl ListEntry for TurnFile {
    fn line(&self) -> String {
        let TurnFile { file, first, last, events } = self;
        let file = quote(file);
        format!("{{ \"file\": {file}, \"range\": [{first}, {last}], \"eventCount\": {events} }}")
    }

    fn read(entry: &Value) -> Option<TurnFile> {
        let (first, last) = text::range(entry, "range")?;
        let file = text::string(entry, "file", MOST_FILE_NAME)?;
        Some(TurnFile { file, first, last, events: text::number(entry, "eventCount")? })
    }

    fn weight(&self) -> usize {
        const FIXED: usize = r#"{ "file": "", "range": [, ], "eventCount":  }"#.len();
        FIXED + MOST_FILE_NAME + 3 * NUMBER + AROUND
    }
}

impl TurnOffset {
    fn line(&self) -> String {
        let TurnOffset { file, line, offset, .. } = self;
        format!("{{ \"file\": {}, \"line\": {line}, \"offset\": {offset} }}", quote(file))
    }

    fn read(key: &str, value: &Value) -> Option<TurnOffset> {
        let turn = key.parse().ok().filter(|turn: &u64| turn.to_string() == key)?;
        let file = text::string(value, "file", MOST_FILE_NAME)?;
        let (line, offset) = (text::number(value, "line")?, text::number(value, "offset")?);
        Some(TurnOffset { turn, file, line, offset })
    }
}
