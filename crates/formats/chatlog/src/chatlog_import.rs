//! Imports chat logs from the database of the program that plays them.
//!
//! The program keeps everything in one SQLite database and never writes the documents that it describes. Here each
//! session becomes a chat log, and each character, lorebook and support tool a document of its own. The database is
//! only read, and no file is created beside it.
//!
//! Every row that is read is kept, repaired or set aside, and the report counts them. Values without a place in a
//! document are kept in a member `source` of the object they belong to. Service keys are not read at all.

mod database;
mod documents;
mod error;
mod journal;
mod ledger;
mod marks;
mod messages;
mod rows;
mod sessions;
mod states;
mod value;

use std::path::Path;

use everturn_json::names::Name;
use everturn_value::tree::JsonTree;

pub use error::ImportError;
pub use ledger::{ImportNote, ImportReport, RejectedRow, RowCounts};

/// A document imported from the database.
#[derive(Debug, Clone)]
pub struct ImportedDocument {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The document.
    pub document: JsonTree,
}

/// The contents of a database.
#[derive(Debug, Clone, Default)]
pub struct DatabaseImport {
    /// The chat logs, one per session.
    pub logs: Vec<ImportedDocument>,
    /// The characters, as cards.
    pub cards: Vec<ImportedDocument>,
    /// The lorebooks.
    pub lorebooks: Vec<ImportedDocument>,
    /// The definitions of support tools.
    pub tools: Vec<ImportedDocument>,
    /// The outcome for each row.
    pub report: ImportReport,
}

/// Reads the database called `name` in the directory `dir`.
pub fn read(dir: &Path, name: &Name) -> Result<DatabaseImport, ImportError> {
    let database = database::ImportDatabase::open(dir, name)?;
    let mut ledger = ledger::ImportLedger::default();
    for what in database.damage() {
        ledger.note("", None, what);
    }
    let shelves = documents::ReferencedDocuments::read(&database, &mut ledger)?;
    let logs = sessions::read(&database, &shelves, &mut ledger)?;
    for (table, rows) in database.others()? {
        ledger.skipped(table, rows);
    }
    let documents::ReferencedDocuments { cards, lorebooks, tools } = shelves;
    Ok(DatabaseImport { logs, cards, lorebooks, tools, report: ledger.report() })
}
