//! The writers that run while the disk records. Each is a thread that drives real processes, records what was
//! acknowledged, and kills some of the processes.

pub(crate) mod files;
pub(crate) mod lifecycle;
pub(crate) mod session;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use fastrand::Rng;

use crate::error::PowercutError;
use crate::everturn::{Everturn, Outcome};
use crate::recorder::Disk;

/// The percentage of processes that are killed.
const KILLED: u8 = 25;

/// How many more times a recovery that restored something is listed.
const PREFERENCE: usize = 4;

/// The exit status of a command that finds the root busy, and how often it is retried.
const BUSY: i32 = 5;
const ATTEMPTS: u32 = 20;

/// The positions before and after a recovery.
pub(crate) type Window = (usize, usize);

/// The state that all writers of a recording share.
pub(crate) struct Stage<'a> {
    /// The binary under test.
    pub(crate) everturn: &'a Everturn,
    /// The disk that records.
    pub(crate) disk: &'a Disk,
    /// The mount point.
    pub(crate) top: &'a Path,
    /// Set when it is time to stop.
    pub(crate) stop: &'a AtomicBool,
    /// The windows of recoveries: between a kill and the end of the next process.
    pub(crate) recoveries: &'a Mutex<Vec<Window>>,
}

impl Stage<'_> {
    /// Returns the position of the recording.
    pub(crate) fn position(&self) -> usize {
        self.disk.position()
    }

    /// Returns whether to continue.
    pub(crate) fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Returns the absolute path of a root.
    pub(crate) fn root(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }

    /// Runs a command on a root.
    pub(crate) fn run(
        &self,
        root: &str,
        arguments: &[String],
        input: &str,
    ) -> Result<Outcome, PowercutError> {
        self.everturn.run(&self.arguments(root, arguments), input)
    }

    /// Returns the arguments of a command on a root.
    pub(crate) fn arguments(&self, root: &str, arguments: &[String]) -> Vec<String> {
        let mut all = vec!["--root".to_owned(), self.root(root).display().to_string()];
        all.extend_from_slice(arguments);
        all
    }

    /// Lists a recovery several more times: it has restored something that was never flushed, and a cut there finds
    /// what a cut elsewhere does not.
    pub(crate) fn prefer_recovery(&self, window: Window) {
        let mut recoveries = self.recoveries.lock().unwrap_or_else(PoisonError::into_inner);
        recoveries.extend([window; PREFERENCE]);
    }

    /// Runs a process that recovers the log of a killed one, and returns the window of the recovery.
    pub(crate) fn recover(
        &self,
        root: &str,
        scope: &str,
    ) -> Result<(Outcome, Window), PowercutError> {
        let begun = self.position();
        let mut outcome = self.everturn.recover(&self.root(root), scope)?;
        let mut attempts = 1;
        while outcome.code == Some(BUSY) && attempts < ATTEMPTS {
            outcome = self.everturn.recover(&self.root(root), scope)?;
            attempts += 1;
        }
        let window = (begun, self.position());
        self.recoveries.lock().unwrap_or_else(PoisonError::into_inner).push(window);
        Ok((outcome, window))
    }
}

/// Returns a text: mostly short, sometimes longer than a page of the disk.
pub(crate) fn filler(rng: &mut Rng) -> String {
    let most = match rng.u8(..100) {
        0..=49 => 40,
        50..=79 => 600,
        80..=96 => 3_000,
        _ => 30_000,
    };
    "x".repeat(rng.usize(..most))
}
