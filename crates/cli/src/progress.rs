//! [`Progress`]: a progress line on stderr, redrawn in place, if stderr is a terminal.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use everturn::store::RecoveryProgress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::escape_controls;

/// How often the line is redrawn without progress.
const TICK: Duration = Duration::from_millis(120);

/// The template for a known number of bytes.
const BYTES: &str = "{spinner} {prefix}  [{bar:30}]  {bytes} of {total_bytes}, {percent} %";

/// How long a recovery may take before its progress is shown.
const SOON: Duration = Duration::from_millis(300);

/// The progress line for the recovery of a dead process's commits, shown if it takes a while.
#[derive(Clone)]
pub(crate) struct Recovery {
    state: Arc<Mutex<RecoveryState>>,
}

#[derive(Default)]
enum RecoveryState {
    #[default]
    NotBegun,
    /// It has begun, and the line appears if it takes long enough.
    Begun,
    Shown(Progress),
    Finished,
}

impl Recovery {
    pub(crate) fn new() -> Recovery {
        Recovery { state: Arc::default() }
    }

    /// Returns the progress callback for the store.
    pub(crate) fn progress(&self) -> RecoveryProgress {
        let recovery = self.clone();
        RecoveryProgress::new(move |done, total| {
            let mut state = recovery.lock();
            match &*state {
                RecoveryState::NotBegun => {
                    *state = RecoveryState::Begun;
                    let later = recovery.clone();
                    thread::spawn(move || {
                        thread::sleep(SOON);
                        later.show();
                    });
                }
                RecoveryState::Shown(line) => line.files(done, total),
                RecoveryState::Begun | RecoveryState::Finished => {}
            }
        })
    }

    fn show(&self) {
        let mut state = self.lock();
        if matches!(*state, RecoveryState::Begun) {
            let line = Progress::new("recovering commits of a process that died");
            *state = RecoveryState::Shown(line);
        }
    }

    /// Removes the line.
    pub(crate) fn finish(&self) {
        let state = std::mem::replace(&mut *self.lock(), RecoveryState::Finished);
        if let RecoveryState::Shown(line) = state {
            line.finish();
        }
    }

    fn lock(&self) -> MutexGuard<'_, RecoveryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The progress line. Its clones draw the same line.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Starts the line with the current activity, such as `checking`.
    pub(crate) fn new(doing: &'static str) -> Progress {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} {prefix} {human_pos}  {wide_msg}")
        {
            bar.set_style(style);
        }
        bar.set_prefix(doing);
        bar.enable_steady_tick(TICK);
        Progress { bar }
    }

    /// Returns whether the line is visible.
    pub(crate) fn is_shown(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Shows the next item of work.
    pub(crate) fn step(&self, name: &str) {
        if self.is_shown() {
            self.bar.inc(1);
            self.bar.set_message(escape_controls(name).replace('\n', " "));
        }
    }

    /// Shows the number of bytes done.
    pub(crate) fn bytes(&self, done: u64, total: u64) {
        if self.is_shown() {
            if self.bar.length() != Some(total) {
                if let Ok(style) = ProgressStyle::with_template(BYTES) {
                    self.bar.set_style(style.progress_chars("=> "));
                }
                self.bar.set_length(total);
            }
            self.bar.set_position(done);
        }
    }

    /// Shows the number of files done.
    pub(crate) fn files(&self, done: usize, total: usize) {
        if self.is_shown() {
            self.bar.set_position(done as u64);
            if total > 0 {
                self.bar.set_message(format!("of {total} files"));
            }
        }
    }

    /// Shows the number of entries done.
    pub(crate) fn entries(&self, done: u64, total: u64) {
        if self.is_shown() {
            self.bar.set_position(done);
            let share = (done * 100).checked_div(total).unwrap_or(0);
            self.bar.set_message(format!("of {total} entries, {share} %"));
        }
    }

    /// Hides the line while something else is printed, which must not use the line.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Removes the line for good.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
