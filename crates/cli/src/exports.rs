//! Runs exports with progress and cancellation, and converts their errors.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use everturn::format::SessionError;
use everturn_export::{Export, ExportError, ExportFormat, ExportProgress as HowFar, ExportReport};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::atomic_file::{AtomicFile, ExistingFile};
use crate::error::Error;
use crate::exit::Exit;
use crate::progress::Progress;

/// The maximum number of names in a hint.
const NAMES_IN_HINT: usize = 8;

/// Returns the format for a file name.
pub(crate) fn format_of(path: &Path) -> Result<ExportFormat, Error> {
    ExportFormat::from_path(path).ok_or_else(|| {
        let names: Vec<&str> = ExportFormat::ALL.iter().map(|format| format.as_str()).collect();
        Error::new(Exit::Request, format!("cannot infer the format from {}", path.display()))
            .hint(format!("use one of the extensions .{}", names.join(", .")))
    })
}

/// Converts an export error.
pub(crate) fn failed(error: ExportError, session: impl FnOnce(SessionError) -> Error) -> Error {
    match error {
        ExportError::Session(error) => session(error),
        ExportError::NoSpeaker { ref speakers, .. } => {
            let mut names: Vec<&str> =
                speakers.iter().map(String::as_str).take(NAMES_IN_HINT).collect();
            if speakers.len() > NAMES_IN_HINT {
                names.push("…");
            }
            let error = Error::new(Exit::Request, error.to_string());
            match names.is_empty() {
                true => error,
                false => error.hint(format!("known speakers: {}", names.join(", "))),
            }
        }
        ExportError::Stopped => Error::new(Exit::Request, "stopped; nothing was written"),
        ExportError::Write(cause) => {
            Error::new(Exit::Request, "cannot write the export").caused_by(cause)
        }
        other => Error::new(Exit::Request, other.to_string()),
    }
}

/// Detects an interrupt by the user, from creation until it is dropped.
struct InterruptGuard {
    ended: Arc<AtomicBool>,
    signals: Vec<SigId>,
}

impl InterruptGuard {
    fn install() -> io::Result<InterruptGuard> {
        let ended = Arc::new(AtomicBool::new(false));
        let mut wish = InterruptGuard { ended: Arc::clone(&ended), signals: Vec::new() };
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            wish.signals.push(signal_hook::flag::register(signal, Arc::clone(&ended))?);
        }
        Ok(wish)
    }
}

impl Drop for InterruptGuard {
    fn drop(&mut self) {
        for signal in self.signals.drain(..) {
            signal_hook::low_level::unregister(signal);
        }
    }
}

/// Writes an export, shows the progress, and stops when the user interrupts it.
pub(crate) fn write(
    export: &Export<'_>,
    format: ExportFormat,
    sink: &mut dyn Write,
) -> Result<ExportReport, ExportError> {
    write_interruptible(export, format, sink, &InterruptGuard::install()?)
}

fn write_interruptible(
    export: &Export<'_>,
    format: ExportFormat,
    sink: &mut dyn Write,
    wish: &InterruptGuard,
) -> Result<ExportReport, ExportError> {
    let line = Progress::new("exporting");
    let done = export.write(format, sink, &mut |how_far| {
        match how_far {
            HowFar::Looking(_) => line.step("turns read"),
            HowFar::Writing { done, total } => line.entries(done, total),
        }
        match wish.ended.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    line.finish();
    done
}

/// Writes an export to a file, which appears completely or not at all.
pub(crate) fn write_file(
    export: &Export<'_>,
    format: ExportFormat,
    path: &Path,
    existing: ExistingFile,
    session: impl FnOnce(SessionError) -> Error,
) -> Result<ExportReport, Error> {
    let cannot = |cause: io::Error| {
        Error::new(Exit::Request, format!("cannot write {}", path.display())).caused_by(cause)
    };
    // Active from before a partial file exists until it is complete or removed.
    let wish = InterruptGuard::install().map_err(cannot)?;
    let mut target = AtomicFile::create(path, existing)?;
    let report =
        write_interruptible(export, format, &mut target, &wish).map_err(|error| match error {
            ExportError::Write(cause) => cannot(cause),
            error => failed(error, session),
        })?;
    target.finish()?;
    Ok(report)
}
