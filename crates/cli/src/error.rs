//! [`Error`]: the error of a command, with its causes, a hint, and an exit code; [`EarlyExit`]: why a command stopped.

use std::error::Error as StdError;
use std::fmt;
use std::io::{self, Write};

use clap::builder::Styles;

use crate::exit::Exit;
use crate::printable::Printable;

/// Why a command stopped early.
#[derive(Debug)]
pub(crate) enum EarlyExit {
    /// The reader of the output closed it, as `head` does: not an error, and nothing to report.
    ReaderGone,
    /// An error that requires action.
    Failed(Error),
}

impl From<Error> for EarlyExit {
    fn from(error: Error) -> EarlyExit {
        EarlyExit::Failed(error)
    }
}

/// An error as shown to the user: the problem and its location, the causes, and the next step.
#[derive(Debug)]
pub(crate) struct Error {
    exit: Exit,
    message: String,
    cause: Option<Box<dyn StdError + Send + Sync>>,
    hint: Option<String>,
}

impl Error {
    /// Creates an error. `exit` says who must act; `message` is a lower-case fragment that names the location.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Error {
        Error { exit, message: message.into(), cause: None, hint: None }
    }

    /// Replaces the message; causes, hint and exit code stay.
    pub(crate) fn saying(self, message: impl Into<String>) -> Error {
        Error { message: message.into(), ..self }
    }

    /// Prefixes the message with a location.
    pub(crate) fn at(self, place: &str) -> Error {
        Error { message: format!("{place}: {}", self.message), ..self }
    }

    /// Adds the error that caused this one; its own causes are printed as well.
    pub(crate) fn caused_by(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        self.cause = Some(cause.into());
        self
    }

    /// Adds the next step, ideally a command that can be run as it is.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the exit code of the error.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Writes `error: what: cause: cause`, then `Hint: next step` if there is one, each on its own line.
    pub(crate) fn write_to(&self, stream: &mut impl Write) -> io::Result<()> {
        // The same styles as the usage errors of clap.
        let styles = Styles::styled();
        let (error, hint) = (styles.get_error(), styles.get_valid());
        writeln!(stream, "{error}error:{error:#} {}", one_line(self))?;
        if let Some(next) = &self.hint {
            writeln!(stream, "{hint}Hint:{hint:#} {}", one_line(next))?;
        }
        stream.flush()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let first: Option<&dyn StdError> = self.cause.as_deref().map(|cause| cause as _);
        std::iter::successors(first, |cause| (*cause).source())
            .try_for_each(|cause| write!(f, ": {cause}"))
    }
}

/// Escapes control characters: a message may quote a file, which must neither break the line nor control the terminal.
fn one_line(text: &impl ToString) -> String {
    let text = text.to_string().replace('\n', "\\n").replace('\t', "\\t");
    Printable::new(&text).as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("line 3 is not JSON")]
    struct OuterError(#[source] io::Error);

    fn check(error: &Error, expect: &str) {
        let mut printed = anstream::StripStream::new(Vec::new());
        error.write_to(&mut printed).unwrap();
        assert_eq!(String::from_utf8(printed.into_inner()).unwrap(), expect);
    }

    #[test]
    fn an_error_is_one_line_with_every_cause() {
        let error = Error::new(Exit::Damaged, "cannot read turn_log.jsonl");
        check(&error, "error: cannot read turn_log.jsonl\n");
        check(
            &error.caused_by(OuterError(io::Error::other("disk on fire"))),
            "error: cannot read turn_log.jsonl: line 3 is not JSON: disk on fire\n",
        );
    }

    #[test]
    fn a_hint_has_its_own_line() {
        check(
            &Error::new(Exit::Busy, "the session is taken").hint("everturn ls"),
            "error: the session is taken\nHint: everturn ls\n",
        );
    }

    #[test]
    fn control_characters_cannot_break_the_line_or_drive_the_terminal() {
        check(
            &Error::new(Exit::Request, "no session \"a\nb\"").caused_by("\u{1b}[31m…"),
            "error: no session \"a\\nb\": \\u{1b}[31m…\n",
        );
    }
}
