//! The program that runs agents: its number, as `ling.pid` tells it.

use std::sync::Arc;

use super::error::LinggenError;
use super::runs::DaemonState;
use everturn_json::names::FilePath;
use everturn_store::{Store, read_optional};

/// What `ling.pid` says, and whether it is so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PidFile {
    /// There is none.
    Missing,
    /// The process is alive.
    Alive(u32),
    /// The process is gone, and has left its file.
    Stale(u32),
    /// It is no number.
    Damaged(String),
}

impl PidFile {
    /// What that means for runs that have not ended. A number that cannot be read proves nothing.
    #[must_use]
    pub fn daemon(&self) -> DaemonState {
        match self {
            PidFile::Alive(_) => DaemonState::Alive,
            PidFile::Stale(_) => DaemonState::Gone,
            PidFile::Missing | PidFile::Damaged(_) => DaemonState::Unknown,
        }
    }
}

/// The file.
#[must_use]
pub fn pid_file() -> FilePath {
    FilePath::root().join_static("ling.pid")
}

/// Reads `ling.pid`; `alive` tells whether there is a process of that number.
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
