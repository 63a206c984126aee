//! What a peer must offer to be measured, and what a row of the table says about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn::store::StoreError;
use thiserror::Error;

use crate::workload::WorkloadTurn;

/// Who saves at the same time.
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

    /// How many threads save, each for its own session.
    pub(crate) fn sessions(self) -> u32 {
        match self {
            Scenario::OneWriter => 1,
            Scenario::ManySessions => 64,
        }
    }

    /// The row that the others are compared with.
    pub(crate) fn baseline(self) -> &'static str {
        match self {
            Scenario::OneWriter => "raw-one-file",
            Scenario::ManySessions => "raw-file-per-session",
        }
    }
}

/// What is certain when a save has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The turn survives a power cut.
    AtReturn,
    /// A power cut may take the turn away again.
    NotAtPowerCut,
}

/// How the sessions of a scenario come to share a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each session has a saver of its own; the peer itself sees to the rest.
    OwnSaver,
    /// One saver behind a mutex.
    Mutex,
    /// One saver in a thread of its own, which saves in one batch all turns that wait in its channel.
    WriterThread,
}

/// How the tables of a database are ordered. Each row has what suits its scenario best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableOrder {
    /// By session and turn, without an index: the least work while one session writes.
    BySession,
    /// By arrival, with an index by session and turn: the turns of many sessions share few pages.
    ByArrival,
}

/// One row of the report: a peer, how it is set up, and how sessions share it.
///
/// A new peer is a file in [`peers`](crate::peers) with its rows, and one line in the registry there.
#[derive(Debug)]
pub(crate) struct PeerRow {
    /// The name, for `--peer` and `--json`; unique.
    pub(crate) name: &'static str,
    /// Rows of one family make the same promise in different ways; the best of them is named.
    pub(crate) family: &'static str,
    /// The set-up in a few words, for people.
    pub(crate) about: &'static str,
    /// Where the row is measured.
    pub(crate) scenario: Scenario,
    /// What a returned save is worth.
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
    /// What one thread saves through. `session` numbers the threads from 0.
    fn saver(&self, session: u32) -> Result<Box<dyn Saver>, PeerError>;

    /// How many times a file was flushed by all savers so far, where that is known.
    fn flushes(&self) -> Option<u64> {
        None
    }
}

/// Saves turns for one thread.
pub(crate) trait Saver: Send {
    /// Saves `turns` whole, in one transaction where the peer has such a thing. When it returns,
    /// they are as durable as the row says. More than one turn comes only from a
    /// [`Sharing::WriterThread`].
    fn save(&mut self, turns: &[Arc<WorkloadTurn>]) -> Result<(), PeerError>;
}

/// Why a peer could not do its part.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum PeerError {
    /// The file system refused.
    #[error("{}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// SQLite refused.
    #[error("sqlite")]
    Sqlite(#[from] rusqlite::Error),
    /// SQLite runs in another journal mode than the row says.
    #[error("sqlite uses journal mode {mode:?} instead of \"wal\"")]
    JournalMode {
        /// The mode it reports.
        mode: String,
    },
    /// redb refused.
    #[error("redb")]
    Redb(#[source] Box<redb::Error>),
    /// fjall refused.
    #[error("fjall")]
    Fjall(#[from] fjall::Error),
    /// Everturn refused.
    #[error("everturn")]
    Everturn(#[source] Box<StoreError>),
    /// A session of Everturn refused.
    #[error("everturn")]
    Game(#[source] Box<everturn::game::GameError>),
    /// A text that should be JSON is not.
    #[error("json")]
    Json(#[from] serde_json::Error),
    /// A session is not what was stored.
    #[error("{0}")]
    Session(String),
    /// The writer thread could not save the batch; the text is its error.
    #[error("the writer thread failed: {0}")]
    Batch(String),
    /// The writer thread ended while savers still had turns for it.
    #[error("the writer thread is gone")]
    WriterGone,
}
