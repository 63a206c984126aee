//! Sessions that become files for people: how that goes, and what went wrong, in the words of the user.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use everturn::layout::LayoutError;
use everturn_export::{Export, ExportError, Format, Progress as HowFar, Report};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::Error;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::target::{Existing, Target};

/// How many names a hint lists.
const NAMES_IN_HINT: usize = 8;

/// The format that a file's name says, if none is named.
pub(crate) fn format_of(path: &Path) -> Result<Format, Error> {
    Format::of(path).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
        Error::new(Exit::Request, format!("the name {} does not say the format", path.display()))
            .hint(format!("let it end in one of .{}", names.join(", .")))
    })
}

/// What went wrong with an export.
pub(crate) fn failed(error: ExportError, session: impl FnOnce(LayoutError) -> Error) -> Error {
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
                false => error.hint(format!("those who speak are {}", names.join(", "))),
            }
        }
        ExportError::Stopped => Error::new(Exit::Request, "stopped; nothing was written"),
        ExportError::Write(cause) => {
            Error::new(Exit::Request, "cannot write the export").caused_by(cause)
        }
        other => Error::new(Exit::Request, other.to_string()),
    }
}

/// Writes an export, shows how far it has come, and ends it when the user wants that.
pub(crate) fn write(
    export: &Export<'_>,
    format: Format,
    sink: &mut dyn Write,
) -> Result<Report, ExportError> {
    let ended = Arc::new(AtomicBool::new(false));
    let registered: Result<Vec<_>, io::Error> = [SIGHUP, SIGINT, SIGTERM]
        .into_iter()
        .map(|signal| signal_hook::flag::register(signal, Arc::clone(&ended)))
        .collect();
    let registered = registered?;
    let line = Progress::new("exporting");
    let done = export.write(format, sink, &mut |how_far| {
        match how_far {
            HowFar::Looking(_) => line.step("turns looked at"),
            HowFar::Writing { done, total } => line.entries(done, total),
        }
        match ended.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    line.finish();
    for signal in registered {
        signal_hook::low_level::unregister(signal);
    }
    done
}

/// Writes an export to a file, which is there whole or not at all.
pub(crate) fn write_file(
    export: &Export<'_>,
    format: Format,
    path: &Path,
    existing: Existing,
    session: impl FnOnce(LayoutError) -> Error,
) -> Result<Report, Error> {
    let mut target = Target::create(path, existing)?;
    let report = write(export, format, &mut target).map_err(|error| match error {
        ExportError::Write(cause) => {
            Error::new(Exit::Request, format!("cannot write {}", path.display())).caused_by(cause)
        }
        error => failed(error, session),
    })?;
    target.finish()?;
    Ok(report)
}
