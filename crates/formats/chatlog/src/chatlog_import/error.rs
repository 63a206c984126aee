//! Why a database could not be read.

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

/// Why nothing came out of a database.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// It is not there, or cannot be opened.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: Arc<std::io::Error>,
    },
    /// It is a file of another kind.
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
    /// Changes wait beside the database and cannot be seen without writing.
    #[error("{} has changes that are not in the database yet; open it once with the program it belongs to, or with sqlite3", log.display())]
    Waiting {
        /// The file that holds them.
        log: PathBuf,
    },
    /// The file that tells how to undo a half-done change cannot be used.
    #[error("{} is damaged, so that a half-done change cannot be undone: {why}", journal.display())]
    Journal {
        /// The file.
        journal: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It is damaged so far that nothing can be read.
    #[error("{} is damaged: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: Arc<rusqlite::Error>,
    },
    /// It belongs to another program.
    #[error("{} is the database of another program: {why}", path.display())]
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
        /// What SQLite says.
        source: Arc<rusqlite::Error>,
    },
}
