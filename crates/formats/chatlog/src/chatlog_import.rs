//! Chat logs out of the database of the program that plays them.
//!
//! The program keeps everything in one SQLite database and never writes the documents that it describes. Here each
//! session becomes a chat log, and each character, lorebook and support tool a document of its own. The database is
//! only read, and no file is made beside it.
//!
//! Every row that is read is kept, repaired or set aside, and the report counts them. What a document has no place
//! for stands in a member `source` of the thing it belongs to. Keys of services are not read at all.

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

/// A document that came out of the database.
#[derive(Debug, Clone)]
pub struct ImportedDocument {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// The document.
    pub document: JsonTree,
}

/// Everything that came out of a database.
#[derive(Debug, Clone, Default)]
pub struct DatabaseImport {
    /// The chat logs, one for each session.
    pub logs: Vec<ImportedDocument>,
    /// The characters, as cards.
    pub cards: Vec<ImportedDocument>,
    /// The lorebooks.
    pub lorebooks: Vec<ImportedDocument>,
    /// The definitions of support tools.
    pub tools: Vec<ImportedDocument>,
    /// What became of the rows.
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
