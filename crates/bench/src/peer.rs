//! The interface of a peer: [`PeerRow`] describes a row, [`StorePeer`] is an open store, [`Saver`] saves turns.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn::store::StoreError;
use thiserror::Error;

use crate::workload::WorkloadTurn;

/// How many sessions are saved at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// One thread saves the turns of one session.
    OneWriter,
    /// Many threads save at once, each the turns of its own session.
    ManySessions,
}

impl Scenario {
    /// All scenarios, in the order of the report.
    pub(crate) const ALL: [Scenario; 2] = [Scenario::OneWriter, Scenario::ManySessions];

    /// The name in `--json`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Scenario::OneWriter => "one-writer",
            Scenario::ManySessions => "many-sessions",
        }
    }

    /// Returns the number of threads, each of which saves its own session.
    pub(crate) fn sessions(self) -> u32 {
        match self {
            Scenario::OneWriter => 1,
            Scenario::ManySessions => 64,
        }
    }

    /// Returns the row that the others are compared with.
    pub(crate) fn baseline(self) -> &'static str {
        match self {
            Scenario::OneWriter => "raw-one-file",
            Scenario::ManySessions => "raw-file-per-session",
        }
    }
}

/// The durability of a save that has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The turn survives a power cut.
    AtReturn,
    /// A power cut may lose the turn.
    NotAtPowerCut,
}

/// How the sessions of a scenario share a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each session has its own saver; the peer handles concurrency.
    OwnSaver,
    /// One saver behind a mutex.
    Mutex,
    /// One saver in its own thread, which saves all turns waiting in its channel as one batch.
    WriterThread,
}

/// The order of a database's tables. Each row uses the order that suits its scenario best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableOrder {
    /// By session and turn, without an index: the least work for a single writing session.
    BySession,
    /// By arrival, with an index by session and turn: the turns of many sessions share few pages.
    ByArrival,
}

/// A row of the report: a peer, its set-up, and how sessions share it.
///
/// A new peer is a file in [`peers`](crate::peers) with its rows, and one line in the registry there.
#[derive(Debug)]
pub(crate) struct PeerRow {
    /// The name, for `--peer` and `--json`; unique.
    pub(crate) name: &'static str,
    /// Rows of one family give the same guarantee in different ways; the best of them is named.
    pub(crate) family: &'static str,
    /// The set-up in a few words.
    pub(crate) about: &'static str,
    /// The scenario in which the row is measured.
    pub(crate) scenario: Scenario,
    /// The durability of a save that has returned.
    pub(crate) durability: Durability,
    /// How sessions share the peer.
    pub(crate) sharing: Sharing,
    /// Creates an empty store in an empty directory.
    pub(crate) create: fn(&Path) -> Result<Box<dyn StorePeer>, PeerError>,
    /// Reads every record of a closed store, turns and deltas, in any order.
    pub(crate) read_back: fn(&Path) -> Result<Vec<Vec<u8>>, PeerError>,
}

/// An open store. Dropping it, after its savers, closes it.
pub(crate) trait StorePeer {
    /// Returns the saver of a thread. `session` numbers the threads from 0.
    fn saver(&self, session: u32) -> Result<Box<dyn Saver>, PeerError>;

    /// Returns the number of flushes by all savers so far, where known.
    fn flushes(&self) -> Option<u64> {
        None
    }
}

/// Saves turns for one thread.
pub(crate) trait Saver: Send {
    /// Saves `turns` completely, in one transaction where the peer has transactions. When it returns, they are as
    /// durable as the row says. Only a [`Sharing::WriterThread`] passes more than one turn.
    fn save(&mut self, turns: &[Arc<WorkloadTurn>]) -> Result<(), PeerError>;
}

/// An error of a peer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum PeerError {
    /// A file operation failed.
    #[error("{}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// SQLite failed.
    #[error("sqlite")]
    Sqlite(#[from] rusqlite::Error),
    /// SQLite uses another journal mode than the row requires.
    #[error("sqlite uses journal mode {mode:?} instead of \"wal\"")]
    JournalMode {
        /// The mode it reports.
        mode: String,
    },
    /// redb failed.
    #[error("redb")]
    Redb(#[source] Box<redb::Error>),
    /// fjall failed.
    #[error("fjall")]
    Fjall(#[from] fjall::Error),
    /// Everturn failed.
    #[error("everturn")]
    Everturn(#[source] Box<StoreError>),
    /// A game session of Everturn failed.
    #[error("everturn")]
    Game(#[source] Box<everturn::game::GameError>),
    /// A text is not valid JSON.
    #[error("json")]
    Json(#[from] serde_json::Error),
    /// A session differs from what was stored.
    #[error("{0}")]
    Session(String),
    /// The writer thread could not save the batch; the text is its error.
    #[error("the writer thread failed: {0}")]
    Batch(String),
    /// The writer thread ended while savers still had turns for it.
    #[error("the writer thread has ended")]
    WriterGone,
}
