//! Output: data goes to stdout through one buffered writer ([`Output`]); everything else goes to stderr.

use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ColorChoice;

use crate::error::{EarlyExit, Error};
use crate::escaping::drives_screen;
use crate::exit::Exit;
use crate::pager::Pager;

/// Whether messages on stderr are suppressed.
static SILENT: AtomicBool = AtomicBool::new(false);

/// Suppresses messages from now on.
pub(crate) fn be_silent() {
    SILENT.store(true, Ordering::Relaxed);
}

/// Whether errors are printed as JSON.
static JSON_ERRORS: AtomicBool = AtomicBool::new(false);

/// Chooses whether errors are printed as JSON.
pub(crate) fn choose_json_errors(choice: bool) {
    JSON_ERRORS.store(choice, Ordering::Relaxed);
}

/// Returns whether errors are printed as JSON.
pub(crate) fn are_errors_json() -> bool {
    JSON_ERRORS.load(Ordering::Relaxed)
}

/// The data output of a command, on stdout.
///
/// The lock is held as long as this lives, so no other output can come between its lines. `write!` and `writeln!` work
/// on it and fail with an [`EarlyExit`].
pub(crate) struct Output {
    /// `None` while another part of the program writes to stdout.
    stdout: Option<BufWriter<StdoutLock<'static>>>,
    /// The program that shows the output page by page instead.
    pager: Option<BufWriter<Pager>>,
}

impl Output {
    /// Locks stdout for this command.
    pub(crate) fn stdout() -> Output {
        Output { stdout: Some(BufWriter::new(io::stdout().lock())), pager: None }
    }

    /// Leaves stdout to another part of the program until something is printed again.
    pub(crate) fn release(&mut self) -> Result<(), EarlyExit> {
        self.flush()?;
        self.stdout = None;
        Ok(())
    }

    /// Shows the output from now on page by page, if it goes to a terminal.
    pub(crate) fn page(&mut self) -> Result<(), EarlyExit> {
        self.flush()?;
        if let Some(pager) = Pager::start() {
            self.stdout = None;
            self.pager = Some(BufWriter::new(pager));
        }
        Ok(())
    }

    fn locked(&mut self) -> &mut dyn Write {
        match &mut self.pager {
            Some(pager) => pager,
            None => self.stdout.get_or_insert_with(|| BufWriter::new(io::stdout().lock())),
        }
    }

    /// Prints bytes unchanged.
    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> Result<(), EarlyExit> {
        self.locked().write_all(bytes).map_err(stdout_failed)
    }

    /// Prints formatted text; called by `write!` and `writeln!`.
    pub(crate) fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> Result<(), EarlyExit> {
        self.locked().write_fmt(text).map_err(stdout_failed)
    }

    /// Prints a status message to stderr; scripts use the data and the exit code.
    pub(crate) fn status(text: &str) {
        if SILENT.load(Ordering::Relaxed) {
            return;
        }
        // A failure to print a message is not worth an error.
        writeln!(anstream::stderr(), "{text}").ok();
    }

    /// Flushes all output so far.
    pub(crate) fn flush(&mut self) -> Result<(), EarlyExit> {
        self.locked().flush().map_err(stdout_failed)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.locked().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.locked().flush()
    }
}

/// Formats a count with its singular or plural noun.
pub(crate) fn count_noun(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Escapes untrusted text, so that it cannot affect the screen.
pub(crate) fn escape_controls(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if drives_screen(character) && !matches!(character, '\n' | '\t') {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
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

    #[test]
    fn what_others_wrote_does_nothing_to_the_screen() {
        let check = |text: &str, expect: &str| assert_eq!(escape_controls(text), expect);
        check("Grüße, 你好,\n\tשלום", "Grüße, 你好,\n\tשלום");
        check("\u{1b}[31mred\u{7}", "\\u{1b}[31mred\\u{7}");
        check("user\u{202e}nimda", "user\\u{202e}nimda");
        check("\u{2066}isolated\u{2069}", "\\u{2066}isolated\\u{2069}");
        // A mark that only sets the direction of its neighbours is part of many texts.
        check("שלום\u{200f}!", "שלום\u{200f}!");
    }
}
