//! [`ServeOptions`]: what a server serves, where, and within which limits.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use everturn::format::SessionFormat;
use everturn::store::{LockOwner, Store};
use everturn_requests::Access;
use jiff::Timestamp;

use crate::audit::AuditRecord;
use crate::narration::NarratorMaker;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServeAddress {
    /// A TCP address; port 0 lets the system choose one.
    Tcp(SocketAddr),
    /// A Unix socket, which only its owner may use.
    Unix(PathBuf),
}

/// Opens the store of a source that is not a directory; `true` opens it for writing.
#[derive(Clone)]
pub struct SourceOpener(Arc<OpenSource>);

type OpenSource = dyn Fn(bool) -> Result<Arc<dyn Store>, String> + Send + Sync;

impl SourceOpener {
    /// Creates an opener. Its error says why the source cannot be opened.
    pub fn new(
        open: impl Fn(bool) -> Result<Arc<dyn Store>, String> + Send + Sync + 'static,
    ) -> SourceOpener {
        SourceOpener(Arc::new(open))
    }

    pub(crate) fn open(&self, to_write: bool) -> Result<Arc<dyn Store>, String> {
        (self.0)(to_write)
    }
}

impl fmt::Debug for SourceOpener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceOpener").finish_non_exhaustive()
    }
}

/// A directory of sessions, or a root on a server of a database.
#[derive(Debug, Clone)]
pub struct ServedSource {
    /// The name in keys of sessions, unique among the sources.
    pub name: String,
    /// The directory.
    pub dir: PathBuf,
    /// The formats to look for, in groups: a group is used only if the groups before it found nothing.
    pub formats: Vec<Vec<&'static dyn SessionFormat>>,
    /// The only file or directory below it that belongs to the source.
    pub only: Option<String>,
    /// Whether new sessions are created here; the directory is created with the first one.
    pub is_main: bool,
    /// Opens a source that is not a directory; `dir` is its address then.
    pub server: Option<SourceOpener>,
}

/// Limits on what clients may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServeLimits {
    /// Connections at a time.
    pub connections: usize,
    /// Bytes of a body.
    pub body: usize,
    /// Requests that work with sessions at a time, and requests that wait for that.
    pub workers: usize,
    /// Requests that may wait for a worker.
    pub queue: usize,
    /// The time to send the head of a request.
    pub head_time: Duration,
    /// The time for a request, from its head to the start of the answer.
    pub request_time: Duration,
    /// Requests per second, after a burst of four times as many.
    pub rate: u32,
    /// Requests without or with wrong credentials per second, after a burst of four times as many.
    pub refused_rate: u32,
}

impl Default for ServeLimits {
    fn default() -> ServeLimits {
        ServeLimits {
            connections: 2048,
            body: 16 << 20,
            workers: 32,
            queue: 1024,
            head_time: Duration::from_secs(10),
            request_time: Duration::from_secs(60),
            rate: 5000,
            refused_rate: 5,
        }
    }
}

/// What a server serves, and how. The clock and the process belong to the program.
#[derive(Clone)]
pub struct ServeOptions {
    /// Where to listen.
    pub address: ServeAddress,
    /// Names under which clients may reach the server, besides its address and `localhost`.
    pub hosts: Vec<String>,
    /// Whether requests may change sessions.
    pub access: Access,
    /// Whether agents that connect with MCP may change sessions, too.
    pub agents_may_write: bool,
    /// The sources, in the order of lists.
    pub sources: Vec<ServedSource>,
    /// Who narrates campaigns that are played through the server.
    pub narrator: NarratorMaker,
    /// The directory of the search index and of cached summaries.
    pub catalog: Option<PathBuf>,
    /// This process, as lock files name it.
    pub owner: LockOwner,
    /// The present time.
    pub now: fn() -> Timestamp,
    /// The system time, which file times are compared with.
    pub system_time: fn() -> SystemTime,
    /// Receives a record of every change and of every secret that was revealed.
    pub audit: Arc<dyn Fn(&AuditRecord) + Send + Sync>,
    /// The limits.
    pub limits: ServeLimits,
}

impl fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServeOptions")
            .field("address", &self.address)
            .field("access", &self.access)
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}
