//! The surviving records of the two logs of a damaged campaign, each with its correct number.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::ROW_PARTS;
use crate::error::CampaignError;
use crate::log::{ChangeKind, ChangeRecord, LogRecord, OWN, RecordPosition, TurnRow};
use crate::paths::CampaignFile;
use crate::session::{Campaign, read_optional};
use everturn_json::json::value_end;
use everturn_json::names::FilePath;
use everturn_rpg::draft::tree_of;
use everturn_rpg::row::{turn_id, turn_number};
use everturn_session::repair::numbering::{MOST_LOST, NumberClaim, assign_numbers};
use everturn_session::repair::{IntactRecords, intact_records, line_end};
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::document::JsonStyle;
use everturn_value::intact::read_intact;
use everturn_value::tree::{JsonTree, ValueKind};

/// The records of a log, before they are parsed.
pub(super) struct LogLines {
    pub(super) file: FilePath,
    /// The content of the file, if it exists.
    pub(super) before: Option<Vec<u8>>,
    texts: Vec<String>,
    /// The line terminator.
    pub(super) end: &'static str,
    /// The number of positions with something other than a record.
    bad: usize,
    /// What is left of a record at the end of the file that was not written completely.
    torn: Option<JsonTree>,
}

impl LogLines {
    pub(super) fn read(campaign: &Campaign, file: CampaignFile) -> Result<LogLines, CampaignError> {
        let file = campaign.file(file);
        let before = read_optional(&campaign.store, &file)?;
        let bytes = before.as_deref().unwrap_or_default();
        let end = line_end(bytes);
        let IntactRecords { texts, bad } = intact_records(&file, bytes, is_record)?;
        let torn = torn_record(bytes);
        Ok(LogLines { file, before, texts, end, bad, torn })
    }

    /// Returns the valid records of this log, and the number of others.
    fn parsed<R: LogRecord>(&self) -> (Vec<(R, String)>, usize) {
        let mut aside = self.bad;
        let mut records = Vec::new();
        for text in &self.texts {
            let tree = JsonTree::parse(text.as_str()).map_err(|bad| bad.to_string());
            let place = RecordPosition { line: None, offset: 0, length: 0 };
            match tree.and_then(|tree| R::parse(tree, place)) {
                Ok(record) => records.push((record, text.clone())),
                Err(_) => aside += 1,
            }
        }
        (records, aside)
    }
}

/// Returns what is left of an incomplete object on the last line.
fn torn_record(bytes: &[u8]) -> Option<JsonTree> {
    let start = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let line = bytes.get(start..)?.trim_ascii_start();
    if line.first() != Some(&b'{') || value_end(line, 0).is_ok() {
        return None;
    }
    Some(read_intact(line).map_or_else(JsonTree::object, |left| left.tree))
}

/// Returns whether a value is a row or a change.
fn is_record(tree: &JsonTree) -> bool {
    let place = || RecordPosition { line: None, offset: 0, length: 0 };
    TurnRow::parse(tree.clone(), place()).is_ok()
        || ChangeRecord::parse(tree.clone(), place()).is_ok()
}

/// A surviving change.
pub(super) struct NotedChange {
    pub(super) change: ChangeRecord,
    pub(super) text: String,
}

/// The surviving changes in order, at most one for each turn.
pub(super) struct SurvivingChanges {
    pub(super) all: Vec<NotedChange>,
    /// The number of positions in the log with something else.
    pub(super) aside: usize,
}

pub(super) fn changes(lines: &LogLines, rows: &LogLines) -> SurvivingChanges {
    let (mut found, mut aside) = lines.parsed::<ChangeRecord>();
    let known: BTreeSet<u64> = rows.parsed::<TurnRow>().0.iter().map(|(row, _)| row.turn).collect();
    let own = |change: &ChangeRecord| NumberClaim { number: change.turn, hint: change.named };
    let turns = found.iter().map(|(change, _)| change).filter(|change| change.kind.has_row());
    let said: Vec<NumberClaim> = turns.map(own).collect();
    let mut numbers =
        assign_numbers(&said, 0, &|turn| known.contains(&turn)).into_iter().peekable();
    let mut last = 0;
    for (change, _) in &mut found {
        if change.kind.has_row() {
            change.turn = numbers.next().unwrap_or(change.turn);
            last = change.turn;
        } else if let Some(named) = change.named.filter(|named| *named != change.turn) {
            // It belongs to the turn before it, unless another program has played since.
            let next = numbers.peek().copied().unwrap_or(u64::MAX);
            let fits = |turn: u64| turn >= last && turn < next && known.contains(&turn);
            change.turn = if fits(change.turn) || !fits(named) { change.turn } else { named };
        }
    }
    let first = found.iter().map(|(change, _)| change).find(|change| change.kind.has_row());
    let first = first.map(|change| change.turn);
    if let (Some((base, _)), Some(first)) = (found.first_mut(), first)
        && base.kind == ChangeKind::Base
        && base.turn >= first
    {
        base.turn = first.saturating_sub(1);
    }
    found.sort_by_key(|(change, _)| (change.turn, !change.kind.has_row()));
    let mut all: Vec<NotedChange> = Vec::new();
    for (change, text) in found {
        let is_again = all.last().is_some_and(|NotedChange { change: before, .. }| {
            let same_turn = change.kind.has_row() && before.turn == change.turn;
            change.is_same_change(before) || same_turn && before.kind.has_row()
        });
        if is_again {
            aside += 1;
        } else {
            all.push(NotedChange { change, text });
        }
    }
    SurvivingChanges { all, aside }
}

/// A surviving row, or a filler.
pub(super) struct RecoveredRow {
    pub(super) tree: JsonTree,
    /// Its current text, if that is kept.
    text: Option<String>,
}

impl RecoveredRow {
    pub(super) fn new(tree: JsonTree) -> RecoveredRow {
        RecoveredRow { tree, text: None }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.tree.value_at(&[OWN, "lost"]).is_some()
    }

    /// Sets a field.
    pub(super) fn set(&mut self, path: &[&str], value: JsonTree) {
        let mut tree = self.tree.clone();
        let done =
            Delta::set(DeltaPath::array(path.iter().copied()), value).apply_in_place(&mut tree);
        if done.is_ok() {
            (self.tree, self.text) = (tree, None);
        }
    }

    /// Records that a part of it was damaged.
    pub(super) fn mark(&mut self) {
        self.set(&[OWN, "mended"], tree_of(&true));
    }

    pub(super) fn line(&self) -> String {
        self.text.clone().unwrap_or_else(|| self.tree.to_text(&JsonStyle::SPACED_ASCII))
    }
}

/// The rows by turn.
pub(super) struct SurvivingRows {
    pub(super) by_turn: BTreeMap<u64, RecoveredRow>,
    /// The number of positions in the log with something other than a row, or with a duplicate row.
    pub(super) aside: usize,
    /// The number of rows that got a missing part, or were merged with another row.
    pub(super) repaired: usize,
}

pub(super) fn rows(lines: &LogLines, changes: &SurvivingChanges) -> SurvivingRows {
    let (mut found, mut aside) = lines.parsed::<TurnRow>();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let all = found.len();
    found.retain(|(_, text)| seen.insert(text.clone()));
    aside += all - found.len();
    let turns = changes.all.iter().filter(|noted| noted.change.kind.has_row());
    let known: BTreeSet<u64> = turns.map(|noted| noted.change.turn).collect();
    let said: Vec<NumberClaim> =
        found.iter().map(|(row, _)| NumberClaim { number: row.turn, hint: None }).collect();
    let numbers = assign_numbers(&said, 0, &|turn| known.contains(&turn));
    let mut rows = SurvivingRows { by_turn: BTreeMap::new(), aside, repaired: 0 };
    for ((found, text), number) in found.iter().zip(numbers) {
        let mut row = RecoveredRow { tree: found.row.clone(), text: Some(text.clone()) };
        if number != found.turn {
            row.set(&["turn_id"], tree_of(&turn_id(number)));
            row.mark();
        }
        fill_missing_fields(&mut row);
        rows.repaired += usize::from(row.text.is_none());
        match rows.by_turn.get_mut(&number) {
            Some(first) => {
                let also = first.tree.len_at(&[OWN, "also"]);
                if also.is_none() {
                    first.set(&[OWN, "also"], tree_of(&[(); 0]));
                }
                first.set(&[OWN, "also", &also.unwrap_or(0).to_string()], row.tree);
                rows.repaired += 1;
            }
            None => drop(rows.by_turn.insert(number, row)),
        }
    }
    if let Some(torn) = &lines.torn {
        rows.add_torn(torn);
    }
    rows
}

impl SurvivingRows {
    /// Adds what is left of the last row. Its turn was played, so that its number is not used again.
    fn add_torn(&mut self, torn: &JsonTree) {
        let last = self.by_turn.keys().next_back().copied().unwrap_or(0);
        let named = torn.string_at(&["turn_id"]).and_then(|id| turn_number(&id));
        let turn = named.filter(|turn| *turn > last && *turn <= last + MOST_LOST);
        let turn = turn.unwrap_or(last + 1);
        let mut row = RecoveredRow::new(torn.clone());
        row.set(&["turn_id"], tree_of(&turn_id(turn)));
        fill_missing_fields(&mut row);
        row.mark();
        self.by_turn.insert(turn, row);
        self.repaired += 1;
    }
}

/// Adds missing fields to a row.
fn fill_missing_fields(row: &mut RecoveredRow) {
    for (part, wanted) in ROW_PARTS {
        if row.tree.value_at(&[part]).is_some_and(|found| found.kind() == *wanted) {
            continue;
        }
        let nothing = match wanted {
            ValueKind::String => tree_of(""),
            ValueKind::Array => tree_of(&[(); 0]),
            _ => JsonTree::object(),
        };
        row.set(&[part], nothing);
        row.mark();
    }
}
