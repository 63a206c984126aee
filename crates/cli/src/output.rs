//! Where words go: data to stdout through one buffered writer; everything else goes to stderr.

use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ColorChoice;

use crate::error::{EarlyExit, Error};
use crate::exit::Exit;

/// Whether nothing is said on stderr.
static SILENT: AtomicBool = AtomicBool::new(false);

/// Says nothing from now on.
pub(crate) fn be_silent() {
    SILENT.store(true, Ordering::Relaxed);
}

/// The data a command prints, on stdout.
///
/// The lock is held as long as this lives, so nothing else can come between its lines. `write!` and
/// `writeln!` work on it and fail with a [`EarlyExit`].
pub(crate) struct Output {
    stdout: BufWriter<StdoutLock<'static>>,
}

impl Output {
    /// Takes stdout for this command.
    pub(crate) fn stdout() -> Output {
        Output { stdout: BufWriter::new(io::stdout().lock()) }
    }

    /// Prints bytes as they are.
    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> Result<(), EarlyExit> {
        self.stdout.write_all(bytes).map_err(stdout_failed)
    }

    /// Prints formatted text; called by `write!` and `writeln!`.
    pub(crate) fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> Result<(), EarlyExit> {
        self.stdout.write_fmt(text).map_err(stdout_failed)
    }

    /// Says on stderr what was done, for people; scripts go by the data and the exit code.
    pub(crate) fn status(text: &str) {
        if SILENT.load(Ordering::Relaxed) {
            return;
        }
        // Nobody is helped by an error about a remark that nobody can read.
        writeln!(anstream::stderr(), "{text}").ok();
    }

    /// Hands everything printed so far to the reader.
    pub(crate) fn flush(&mut self) -> Result<(), EarlyExit> {
        self.stdout.flush().map_err(stdout_failed)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stdout.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}

/// Whether a character does something to the screen other than being shown there: control characters drive the
/// terminal, and some others turn the text around them the other way round.
pub(crate) fn drives_screen(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A number of things, with the word for one or for many.
pub(crate) fn count_noun(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Text that somebody else wrote, for people: it must do nothing to the screen but be there.
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

/// Sorts a failed write to stdout: a reader that has left is no fault.
pub(crate) fn stdout_failed(cause: io::Error) -> EarlyExit {
    if cause.kind() == io::ErrorKind::BrokenPipe {
        return EarlyExit::ReaderGone;
    }
    Error::new(Exit::Request, "cannot write to standard output").caused_by(cause).into()
}

/// Whether data on stdout may be coloured.
pub(crate) fn coloured() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Decides for the whole process, clap's messages included, when to colour.
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
        // A mark that only says how its neighbours run is part of many texts.
        check("שלום\u{200f}!", "שלום\u{200f}!");
    }
}
