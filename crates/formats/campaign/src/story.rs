//! The turns of the story: those of the log that were neither undone nor replaced.
//!
//! The log is only appended to. A row says in its `everturn` field what it does to earlier turns: `undo` and `redo` in
//! rows that are no turns of the story, `replaces` in a new version of a turn. The latest row decides about a turn.

use std::collections::{BTreeMap, BTreeSet};

use super::error::CampaignError;
use super::log::{OWN, RecordLog, TurnRow};
use super::session::Campaign;
use everturn_value::tree::JsonTree;

/// What a row does to earlier turns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RowMarks {
    pub(crate) undo: Vec<u64>,
    pub(crate) redo: Vec<u64>,
    pub(crate) replaces: Vec<u64>,
}

impl RowMarks {
    pub(crate) fn of(row: &JsonTree) -> RowMarks {
        let numbers = |key: &str| {
            let list = row.value_at(&[OWN, key]).map(|list| list.children()).unwrap_or_default();
            list.iter().filter_map(|(_, turn)| turn.to_line().parse().ok()).collect()
        };
        RowMarks { undo: numbers("undo"), redo: numbers("redo"), replaces: numbers("replaces") }
    }

    /// Returns whether the row is a turn of the story.
    pub(crate) fn is_story(&self) -> bool {
        self.undo.is_empty() && self.redo.is_empty()
    }
}

/// The rows of a log from its end, with what later rows say about them.
pub(crate) struct StoryRows {
    rows: RecordLog<TurnRow>,
    /// Whether a turn is in the story, as far as rows have been read.
    pub(crate) decided: BTreeMap<u64, bool>,
}

impl StoryRows {
    pub(crate) fn new(campaign: &Campaign) -> Result<StoryRows, CampaignError> {
        Ok(StoryRows { rows: campaign.rows_back()?, decided: BTreeMap::new() })
    }

    /// Returns the next row, what it does, and whether it is a turn of the story.
    pub(crate) fn next_row(&mut self) -> Option<Result<(TurnRow, RowMarks, bool), CampaignError>> {
        let row = match self.rows.next()? {
            Ok(row) => row,
            Err(error) => return Some(Err(error)),
        };
        let marks = RowMarks::of(&row.row);
        let is_live = marks.is_story() && self.decided.get(&row.turn) != Some(&false);
        for turn in &marks.redo {
            self.decided.entry(*turn).or_insert(true);
        }
        for turn in marks.undo.iter().chain(&marks.replaces) {
            self.decided.entry(*turn).or_insert(false);
        }
        Some(Ok((row, marks, is_live)))
    }
}

/// The turns of the story, from its end.
impl Iterator for StoryRows {
    type Item = Result<TurnRow, CampaignError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next_row()? {
                Ok((row, _, true)) => return Some(Ok(row)),
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The last turn of the story, with all versions.
pub(crate) struct LastTurn {
    /// The rows of its versions, oldest first.
    pub(crate) versions: Vec<TurnRow>,
    /// The turn of the version in the story.
    pub(crate) current: u64,
}

impl LastTurn {
    /// Returns the last turn of the story, with all versions, or `None` before the first turn.
    pub(crate) fn read(campaign: &Campaign) -> Result<Option<LastTurn>, CampaignError> {
        let mut rows = StoryRows::new(campaign)?;
        let mut current = None;
        let mut read: Vec<(TurnRow, RowMarks)> = Vec::new();
        while let Some(row) = rows.next_row() {
            let (row, marks, is_live) = row?;
            let turn = row.turn;
            current = current.or(is_live.then_some(turn));
            read.push((row, marks));
            if current.is_some_and(|current| turn <= first_version(&read, current)) {
                break;
            }
        }
        let Some(current) = current else { return Ok(None) };
        // Its versions are the first one, and every turn that replaces one of them.
        let mut wanted = BTreeSet::from([first_version(&read, current)]);
        for (row, marks) in read.iter().rev() {
            if marks.replaces.iter().any(|turn| wanted.contains(turn)) {
                wanted.insert(row.turn);
            }
        }
        let mut versions: Vec<TurnRow> = read.into_iter().map(|(row, _)| row).collect();
        versions.retain(|row| wanted.contains(&row.turn));
        versions.reverse();
        Ok(Some(LastTurn { versions, current }))
    }

    /// Returns the turn of the first version.
    pub(crate) fn first(&self) -> u64 {
        self.versions.first().map_or(self.current, |row| row.turn)
    }
}

/// Follows the versions of a turn back to the first one, as far as the rows have been read.
pub(crate) fn first_version(rows: &[(TurnRow, RowMarks)], turn: u64) -> u64 {
    let mut first = turn;
    loop {
        let row = rows.iter().find(|(row, _)| row.turn == first);
        match row.and_then(|(_, marks)| marks.replaces.iter().min()) {
            Some(earlier) if *earlier < first => first = *earlier,
            _ => return first,
        }
    }
}

/// Returns the rows that are not in the story: undone and replaced turns, and the rows that undo and redo.
pub(crate) fn rows_outside(campaign: &Campaign) -> Result<BTreeSet<u64>, CampaignError> {
    let mut rows = StoryRows::new(campaign)?;
    let mut outside = BTreeSet::new();
    while let Some(row) = rows.next_row() {
        let (row, _, is_live) = row?;
        if !is_live {
            outside.insert(row.turn);
        }
    }
    Ok(outside)
}

/// Returns the versions of the last turn of the story, oldest first, and the position of the current one.
pub(crate) fn last_versions(
    campaign: &Campaign,
) -> Result<Option<(Vec<TurnRow>, usize)>, CampaignError> {
    let Some(last) = LastTurn::read(campaign)? else { return Ok(None) };
    let current = last.versions.iter().position(|row| row.turn == last.current);
    Ok(Some((last.versions, current.unwrap_or(0))))
}
