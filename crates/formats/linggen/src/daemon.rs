//! The daemon that runs agents: its process ID in `ling.pid`.

use std::sync::Arc;

use super::error::LinggenError;
use super::runs::DaemonState;
use everturn_json::names::FilePath;
use everturn_store::{Durability, FileMode, Fingerprint, Precondition, Step, Store, read_optional};

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

/// The path of the daemon's output.
#[must_use]
pub fn daemon_log() -> FilePath {
    FilePath::root().join_static("ling.log")
}

/// Records that the daemon runs as this process, and creates the file of its output. Fails if another daemon is running,
/// which `alive` determines.
pub fn record_daemon(
    store: &Arc<dyn Store>,
    pid: u32,
    alive: impl FnOnce(u32) -> bool,
) -> Result<(), LinggenError> {
    let writer = store.lock(&[pid_file(), daemon_log()])?;
    match read_pid(store, alive)? {
        PidFile::Alive(other) if other != pid => {
            return Err(LinggenError::input(format!("the daemon is running as process {other}")));
        }
        _ => {}
    }
    let before = read_optional(store, &pid_file())?;
    let expect =
        before.map_or(Precondition::Absent, |bytes| Precondition::Content(Fingerprint::of(&bytes)));
    let (bytes, mode) = (pid.to_string().into_bytes(), FileMode::Default);
    let mut steps = vec![Step::Replace { file: pid_file(), expect, bytes, mode }];
    if read_optional(store, &daemon_log())?.is_none() {
        let (expect, bytes) = (Precondition::Absent, Vec::new());
        steps.push(Step::Replace { file: daemon_log(), expect, bytes, mode });
    }
    writer.commit(steps, Durability::Synced)?;
    Ok(writer.release()?)
}

/// Removes `ling.pid`. Returns whether there was one. Fails if the daemon is running, which `alive` determines.
pub fn forget_daemon(
    store: &Arc<dyn Store>,
    alive: impl FnOnce(u32) -> bool,
) -> Result<bool, LinggenError> {
    let writer = store.lock(&[pid_file()])?;
    let found = read_pid(store, alive)?;
    if let PidFile::Alive(pid) = found {
        return Err(LinggenError::input(format!("the daemon is running as process {pid}")));
    }
    let is_there = found != PidFile::Missing;
    if is_there {
        writer.commit(vec![Step::Remove { path: pid_file() }], Durability::Synced)?;
    }
    writer.release()?;
    Ok(is_there)
}
