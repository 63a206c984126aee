//! Measures the memory of an operation: it runs in a separate process, which reports its peak.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;

use super::measurements::{BenchSession, GameOp, MemoryPeak};
use super::peer::{LoadedState, ReplayDepth};
use super::peers::PEERS;
use crate::files;
use crate::peer::PeerError;

/// What the process does: one operation on one session.
#[derive(Debug, Args)]
pub(crate) struct MemoryTask {
    /// The peer
    #[arg(long)]
    peer: String,
    /// Number of turns in each session
    #[arg(long)]
    turns: u64,
    /// The operation
    op: GameOp,
    /// The directory of the session
    dir: PathBuf,
}

/// Returns the peaks of the reading operations on a session; a replay reads all of its turns.
pub(super) fn peaks(site: &BenchSession) -> Result<Vec<MemoryPeak>, PeerError> {
    let mut peaks = Vec::new();
    for op in [GameOp::Resume, GameOp::Jump, GameOp::Replay] {
        let output = Command::new(files::this_program()?)
            .args(["game-memory", "--peer", site.peer.name, "--turns", &site.last().to_string()])
            .arg(op.name())
            .arg(&site.dir)
            .stderr(Stdio::inherit())
            .output()
            .map_err(files::at(&site.dir))?;
        if !output.status.success() {
            return Err(PeerError::Session(format!("the process for {} failed", op.name())));
        }
        let peak = String::from_utf8_lossy(&output.stdout).trim().parse().ok();
        peaks.push(MemoryPeak { op, size: site.size, peer: site.peer.name, peak });
    }
    Ok(peaks)
}

impl MemoryTask {
    /// Runs the operation; returns the peak memory in kB.
    pub(crate) fn execute(&self) -> Result<Option<u64>, PeerError> {
        let peer = PEERS.iter().find(|peer| peer.name == self.peer);
        let peer = peer.ok_or_else(|| PeerError::Session(format!("no peer {}", self.peer)))?;
        let mut reader = (peer.read)(&self.dir)?;
        let held: LoadedState = match self.op {
            GameOp::Replay => reader.replay(1..=self.turns, ReplayDepth::AsFound)?.1,
            GameOp::Jump => reader.jump(self.turns.div_ceil(2))?,
            GameOp::Resume | GameOp::Save | GameOp::Snapshot => reader.resume()?,
        };
        drop(held);
        let status = files::read_if_there("/proc/self/status").unwrap_or_default();
        Ok(peak(&status))
    }
}

/// Parses the peak in kB from the text of `/proc/self/status`.
fn peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn the_peak_stands_in_the_status_of_a_process() {
        let status = "Name:\tbench\nVmPeak:\t  999 kB\nVmHWM:\t    5240 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(peak(status), Some(5240));
        assert_eq!(peak("Name:\tbench\n"), None);
        assert_eq!(peak("VmHWM:\tmany kB\n"), None);
    }

    #[test]
    fn operations_are_found_by_the_names_that_they_have() {
        for op in GameOp::ALL {
            assert_eq!(GameOp::from_str(op.name(), false), Ok(op));
        }
    }
}
