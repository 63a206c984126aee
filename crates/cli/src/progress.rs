//! How far long work has come: a line on stderr that is redrawn, if stderr is a terminal.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use everturn::store::RecoveryProgress;
use indicatif::{ProgressBar, ProgressStyle};

/// How often the line moves although nothing happens.
const TICK: Duration = Duration::from_millis(120);

/// What is shown of bytes, of which one knows how many there are.
const BYTES: &str = "{spinner} {prefix}  [{bar:30}]  {bytes} of {total_bytes}, {percent} %";

/// How long a recovery may take before anything is shown of it.
const SOON: Duration = Duration::from_millis(300);

/// The line that is shown while commits of a process that died are recovered, if that takes a while.
#[derive(Clone)]
pub(crate) struct Recovery {
    begun: Instant,
    line: Arc<OnceLock<Progress>>,
}

impl Recovery {
    pub(crate) fn new() -> Recovery {
        Recovery { begun: Instant::now(), line: Arc::default() }
    }

    /// What the store tells its progress.
    pub(crate) fn progress(&self) -> RecoveryProgress {
        let Recovery { begun, line } = self.clone();
        RecoveryProgress::new(move |done, total| {
            if begun.elapsed() >= SOON {
                let line =
                    line.get_or_init(|| Progress::new("recovering commits of a process that died"));
                line.files(done, total);
            }
        })
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        if let Some(line) = self.line.get() {
            line.finish();
        }
    }
}

/// The line. Its copies draw the same one.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Starts the line with what is being done, such as `checking`.
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

    /// Whether anybody sees it.
    pub(crate) fn is_shown(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// The next thing is being worked on.
    pub(crate) fn step(&self, name: &str) {
        if self.is_shown() {
            self.bar.inc(1);
            self.bar.set_message(name.to_owned());
        }
    }

    /// So many bytes of so many are done.
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

    /// So many files of so many are done.
    pub(crate) fn files(&self, done: usize, total: usize) {
        if self.is_shown() {
            self.bar.set_position(done as u64);
            self.bar.set_message(format!("of {total} files"));
        }
    }

    /// So many entries of so many are done.
    pub(crate) fn entries(&self, done: u64, total: u64) {
        if self.is_shown() {
            self.bar.set_position(done);
            let share = (done * 100).checked_div(total).unwrap_or(0);
            self.bar.set_message(format!("of {total} entries, {share} %"));
        }
    }

    /// Takes the line away while something else is printed, which must not touch the line.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Takes the line away for good.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
