//! Output: data goes to stdout through one buffered writer ([`Output`]); everything else goes to stderr.

use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ColorChoice;

use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::printable::{EscapedSink, EscapedText, Printable};

/// Whether messages on stderr are suppressed.
static SILENT: AtomicBool = AtomicBool::new(false);

/// Suppresses messages from now on.
pub(crate) fn be_silent() {
    SILENT.store(true, Ordering::Relaxed);
}

/// The data output of a command, on stdout.
///
/// The lock is held as long as this lives, so no other output can come between its lines. `write!` and `writeln!` work
/// on it and fail with an [`EarlyExit`].
pub(crate) struct Output {
    /// `None` while another part of the program writes to stdout.
    stdout: Option<BufWriter<StdoutLock<'static>>>,
}

impl Output {
    /// Locks stdout for this command.
    pub(crate) fn stdout() -> Output {
        Output { stdout: Some(BufWriter::new(io::stdout().lock())) }
    }

    /// Leaves stdout to another part of the program until something is printed again.
    pub(crate) fn release(&mut self) -> Result<(), EarlyExit> {
        self.flush()?;
        self.stdout = None;
        Ok(())
    }

    fn locked(&mut self) -> &mut BufWriter<StdoutLock<'static>> {
        self.stdout.get_or_insert_with(|| BufWriter::new(io::stdout().lock()))
    }

    /// Prints bytes that the program made itself, such as a manual page, or a screen whose text is escaped already.
    pub(crate) fn write_own(&mut self, bytes: &[u8]) -> Result<(), EarlyExit> {
        self.locked().write_all(bytes).map_err(stdout_failed)
    }

    /// Prints escaped text.
    pub(crate) fn write_printable(&mut self, text: &Printable) -> Result<(), EarlyExit> {
        self.locked().write_all(text.as_str().as_bytes()).map_err(stdout_failed)
    }

    /// Prints formatted text, escaped; called by `write!` and `writeln!`.
    pub(crate) fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> Result<(), EarlyExit> {
        EscapedText::write(self.locked(), text).map_err(stdout_failed)
    }

    /// Stdout for text that another part of the program writes; it is escaped.
    pub(crate) fn text_sink(&mut self) -> EscapedSink<'_> {
        EscapedSink::new(self.locked())
    }

    /// Stdout for a document that is not text, such as a PDF.
    pub(crate) fn binary_sink(&mut self) -> &mut dyn Write {
        self.locked()
    }

    /// Prints a status message to stderr, escaped; scripts use the data and the exit code.
    pub(crate) fn status(text: &str) {
        if SILENT.load(Ordering::Relaxed) {
            return;
        }
        // A failure to print a message is not worth an error.
        writeln!(anstream::stderr(), "{}", Printable::new(text).as_str()).ok();
    }

    /// Flushes all output so far.
    pub(crate) fn flush(&mut self) -> Result<(), EarlyExit> {
        self.locked().flush().map_err(stdout_failed)
    }
}

/// Formats a count with its singular or plural noun.
pub(crate) fn count_noun(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Escapes untrusted text, so that it cannot affect the screen.
pub(crate) fn escape_controls(text: &str) -> String {
    Printable::new(text).as_str().to_owned()
}

/// Converts a failed write to stdout: a closed pipe is not an error.
pub(crate) fn stdout_failed(cause: io::Error) -> EarlyExit {
    if cause.kind() == io::ErrorKind::BrokenPipe {
        return EarlyExit::ReaderGone;
    }
    Error::new(Exit::Request, "cannot write to standard output").caused_by(cause).into()
}

/// Returns whether data on stdout may be coloured.
pub(crate) fn coloured() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Sets the colour choice for the whole process, including clap's messages.
///
/// `Auto` colours on a terminal unless `NO_COLOR` is set; an explicit choice beats `NO_COLOR`.
pub(crate) fn choose_colour(choice: ColorChoice) {
    match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_not_called_as_many() {
        let entries = |count| count_noun(count, "entry", "entries");
        assert_eq!([0, 1, 2].map(entries), ["0 entries", "1 entry", "2 entries"]);
    }
}
