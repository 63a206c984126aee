//! [`Console`]: reads lines from a terminal with line editing, or from a pipe.

use std::io::{self, BufRead, IsTerminal, Read, StdinLock};

use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor};

use super::completion::PlayCompleter;
use super::page::ScreenOptions;
use crate::settings;

/// The maximum length of a line.
pub(super) const LONGEST: usize = 1 << 20;

/// The maximum width of text, for readability.
const WIDEST: usize = 100;

/// The number of lines in the history.
const HISTORY: usize = 500;

const PROMPT: &str = "> ";

/// An input of the player.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ConsoleInput {
    Line(String),
    /// A line that is too long or not valid text.
    Unfit(&'static str),
    /// Ctrl-C at the prompt.
    Interrupted,
    /// Ctrl-D, or the end of the input.
    End,
}

/// Returns whether stdin and stdout are terminals.
pub(super) fn at_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The source of lines.
pub(super) enum Console {
    Terminal(Box<Editor<PlayCompleter, DefaultHistory>>),
    Pipe(StdinLock<'static>),
}

impl Console {
    /// Opens a terminal if stdin and stdout are one, otherwise a pipe.
    pub(super) fn open() -> io::Result<Console> {
        if !at_terminal() {
            return Ok(Console::Pipe(io::stdin().lock()));
        }
        let config = Config::builder().max_history_size(HISTORY).map_err(failure)?;
        let config = config.history_ignore_dups(true).map_err(failure)?;
        let config = config.completion_type(CompletionType::List).build();
        let mut editor = Editor::with_config(config).map_err(failure)?;
        editor.set_helper(Some(PlayCompleter::default()));
        Ok(Console::Terminal(Box::new(editor)))
    }

    /// Sets the names that Tab completes.
    pub(super) fn complete_names(&mut self, names: Vec<String>) {
        if let Console::Terminal(editor) = self
            && let Some(completer) = editor.helper_mut()
        {
            completer.names = names;
        }
    }

    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Console::Terminal(_))
    }

    /// Returns the current display options: the window size may have changed.
    pub(super) fn screen(&self) -> ScreenOptions {
        let width = match self {
            Console::Terminal(_) => crossterm::terminal::size().ok().map(|(width, _)| width.into()),
            Console::Pipe(_) => settings::columns(),
        };
        let choice = anstream::AutoStream::choice(&io::stdout());
        let colour = choice != anstream::ColorChoice::Never;
        ScreenOptions { width: width.unwrap_or(80).clamp(20, WIDEST), colour }
    }

    /// Adds a line to the history.
    pub(super) fn remember(&mut self, line: &str) {
        if let Console::Terminal(editor) = self {
            // A failure to store history is not fatal.
            editor.add_history_entry(line).ok();
        }
    }

    /// Waits for the next line.
    pub(super) fn ask(&mut self) -> io::Result<ConsoleInput> {
        match self {
            Console::Pipe(input) => read_line(input),
            Console::Terminal(editor) => match editor.readline(PROMPT) {
                Ok(line) if line.len() > LONGEST => Ok(ConsoleInput::Unfit(TOO_LONG)),
                Ok(line) => Ok(ConsoleInput::Line(line)),
                Err(ReadlineError::Interrupted) => Ok(ConsoleInput::Interrupted),
                Err(ReadlineError::Eof) => Ok(ConsoleInput::End),
                Err(error) => Err(failure(error)),
            },
        }
    }
}

const TOO_LONG: &str = "The line is too long: the limit is 1 MiB.";

fn failure(error: ReadlineError) -> io::Error {
    match error {
        ReadlineError::Io(error) => error,
        other => io::Error::other(other),
    }
}

/// Reads the next line of a pipe. Of a line that is too long, only the permitted length is kept in memory.
fn read_line(input: &mut impl BufRead) -> io::Result<ConsoleInput> {
    let mut line = Vec::new();
    let most = LONGEST as u64 + 1;
    input.by_ref().take(most).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(ConsoleInput::End);
    }
    if line.last() != Some(&b'\n') && line.len() > LONGEST {
        input.skip_until(b'\n')?;
        return Ok(ConsoleInput::Unfit(TOO_LONG));
    }
    let line = String::from_utf8(line);
    Ok(line.map_or(ConsoleInput::Unfit("The line is not UTF-8."), ConsoleInput::Line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_gives_lines_of_any_length_and_says_which_are_unfit() {
        let long = "x".repeat(LONGEST);
        let mut input = Vec::new();
        input.extend(format!("one\n{long}\n{long}y and more\nlast").as_bytes());
        let mut input = io::Cursor::new(input);
        let mut next = || read_line(&mut input).unwrap();
        assert_eq!(next(), ConsoleInput::Line("one\n".to_owned()));
        assert_eq!(next(), ConsoleInput::Line(format!("{long}\n")));
        assert_eq!(next(), ConsoleInput::Unfit(TOO_LONG));
        assert_eq!(next(), ConsoleInput::Line("last".to_owned()));
        assert_eq!(next(), ConsoleInput::End);
        let mut wrong = io::Cursor::new(b"\xff\nfine\n".to_vec());
        assert!(matches!(read_line(&mut wrong).unwrap(), ConsoleInput::Unfit(_)));
        assert_eq!(read_line(&mut wrong).unwrap(), ConsoleInput::Line("fine\n".to_owned()));
    }
}
