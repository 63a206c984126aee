//! The errors of an import.

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

/// Why a database could not be imported.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// It does not exist, or cannot be opened.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system error.
        source: Arc<std::io::Error>,
    },
    /// It is not a database.
    #[error("{} is not an SQLite database: {why}", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        why: String,
    },
    /// Another program is writing.
    #[error("{} is locked by another program; close it and try again", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// A pending log beside the database holds changes that cannot be read without writing.
    #[error("{} has changes that are not in the database yet; open it once with its own program or with sqlite3", log.display())]
    Waiting {
        /// The log file.
        log: PathBuf,
    },
    /// The rollback journal of an unfinished change cannot be used.
    #[error("{} is damaged, so an incomplete change cannot be rolled back: {why}", journal.display())]
    Journal {
        /// The file.
        journal: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It is too damaged to be read.
    #[error("{} is damaged: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        source: Arc<rusqlite::Error>,
    },
    /// It belongs to another program.
    #[error("{} is a database of another program: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it lacks.
        why: String,
    },
    /// SQLite failed for another reason.
    #[error("cannot read {}: {source}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        source: Arc<rusqlite::Error>,
    },
}
