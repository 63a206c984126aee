//! The outcome for each row of an import.
//!
//! `ImportLedger` collects the outcomes, and [`ImportReport`] is the result.

use std::collections::BTreeMap;

use everturn_value::tree::JsonTree;

/// The number of rows read from a table, and their outcomes: `read = kept + repaired + set_aside`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows that were read.
    pub read: u64,
    /// Rows that are unchanged in a document.
    pub kept: u64,
    /// Rows that are in a document after a repair.
    pub repaired: u64,
    /// Rows that are in no document.
    pub set_aside: u64,
}

/// A note about the import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportNote {
    /// The table; empty if it is about the whole database.
    pub table: String,
    /// The row number in the table.
    pub row: Option<i64>,
    /// The text of the note.
    pub what: String,
}

/// A row that belongs to no document.
#[derive(Debug, Clone)]
pub struct RejectedRow {
    /// The table.
    pub table: String,
    /// The row number in the table.
    pub row: i64,
    /// The reason.
    pub why: String,
    /// The row, by column name.
    pub content: JsonTree,
}

/// The outcomes of all rows of a database.
#[derive(Debug, Clone, Default)]
pub struct ImportReport {
    /// The counts, by table.
    pub tables: BTreeMap<String, RowCounts>,
    /// The notes.
    pub notes: Vec<ImportNote>,
    /// Rows that are in no document.
    pub set_aside: Vec<RejectedRow>,
    /// The ids of chat logs that were made of messages whose session is lost.
    pub recovered: Vec<String>,
    /// The ids of messages whose text the program had lost when it saved them.
    pub lost: Vec<String>,
    /// Tables that are not imported, with their row counts.
    pub skipped: Vec<(String, u64)>,
}

impl ImportReport {
    /// The counts of all tables together.
    #[must_use]
    pub fn total(&self) -> RowCounts {
        self.tables.values().fold(RowCounts::default(), |sum, tally| RowCounts {
            read: sum.read + tally.read,
            kept: sum.kept + tally.kept,
            repaired: sum.repaired + tally.repaired,
            set_aside: sum.set_aside + tally.set_aside,
        })
    }
}

/// Builds an [`ImportReport`].
#[derive(Default)]
pub(super) struct ImportLedger(ImportReport);

impl ImportLedger {
    fn tally(&mut self, table: &str) -> &mut RowCounts {
        self.0.tables.entry(table.to_owned()).or_default()
    }

    pub(super) fn read(&mut self, table: &str) {
        self.tally(table).read += 1;
    }

    /// Counts a row that is in a document; `repairs` lists its repairs.
    pub(super) fn placed(&mut self, table: &str, row: i64, repairs: Vec<String>) {
        let tally = self.tally(table);
        match repairs.is_empty() {
            true => tally.kept += 1,
            false => tally.repaired += 1,
        }
        repairs.into_iter().for_each(|what| self.note(table, Some(row), what));
    }

    pub(super) fn set_aside(&mut self, aside: RejectedRow) {
        self.tally(&aside.table).set_aside += 1;
        self.0.set_aside.push(aside);
    }

    pub(super) fn note(&mut self, table: &str, row: Option<i64>, what: String) {
        self.0.notes.push(ImportNote { table: table.to_owned(), row, what });
    }

    pub(super) fn recovered(&mut self, session: String) {
        self.0.recovered.push(session);
    }

    pub(super) fn lost(&mut self, message: String) {
        self.0.lost.push(message);
    }

    pub(super) fn skipped(&mut self, table: String, rows: u64) {
        self.0.skipped.push((table, rows));
    }

    pub(super) fn report(self) -> ImportReport {
        self.0
    }
}
