//! The daemon that runs agents: its process ID in `ling.pid`.

use std::sync::Arc;

use super::error::LinggenError;
use super::runs::DaemonState;
use everturn_json::names::FilePath;
use everturn_store::{Store, read_optional};

/// The state of `ling.pid`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PidFile {
    /// There is no file.
    Missing,
    /// The process is alive.
    Alive(u32),
    /// The process is gone, and has left its file.
    Stale(u32),
    /// The content is not a number.
    Damaged(String),
}

impl PidFile {
    /// The state of the daemon for runs that have not ended. An unreadable number proves nothing.
    #[must_use]
    pub fn daemon(&self) -> DaemonState {
        match self {
            PidFile::Alive(_) => DaemonState::Alive,
            PidFile::Stale(_) => DaemonState::Gone,
            PidFile::Missing | PidFile::Damaged(_) => DaemonState::Unknown,
        }
    }
}

/// The path of the file.
#[must_use]
pub fn pid_file() -> FilePath {
    FilePath::root().join_static("ling.pid")
}

/// Reads `ling.pid`; `alive` returns whether a process with that ID exists.
pub fn read_pid(
    store: &Arc<dyn Store>,
    alive: impl FnOnce(u32) -> bool,
) -> Result<PidFile, LinggenError> {
    let Some(bytes) = read_optional(store, &pid_file())? else { return Ok(PidFile::Missing) };
    let text = String::from_utf8_lossy(&bytes);
    Ok(match text.trim().parse::<u32>() {
        Ok(pid) if pid > 0 && alive(pid) => PidFile::Alive(pid),
        Ok(pid) if pid > 0 => PidFile::Stale(pid),
        _ => PidFile::Damaged(text.chars().take(40).collect()),
    })
}
