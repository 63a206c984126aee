//! Reads the input of a command from stdin.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use everturn::tree::{JsonTree, ValueKind};

use crate::error::Error;
use crate::exit::Exit;
use crate::output::Output;
use crate::printable::Printable;

fn unreadable(cause: io::Error) -> Error {
    Error::new(Exit::Request, "cannot read the input").caused_by(cause)
}

/// Reads all of stdin: `what` it should be, such as "a JSON object".
pub(crate) fn text(what: &str) -> Result<String, Error> {
    if io::stdin().is_terminal() {
        Output::status(&format!("reading {what} from the terminal; Ctrl-D ends it"));
    }
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text).map_err(unreadable)?;
    if text.trim().is_empty() {
        return Err(
            Error::new(Exit::Request, "the input is empty").hint(format!("give {what} on stdin"))
        );
    }
    Ok(text)
}

/// Reads all of stdin as text, which may be empty. A terminal has no text.
pub(crate) fn optional_text() -> Result<String, Error> {
    let mut text = String::new();
    if !io::stdin().is_terminal() {
        io::stdin().lock().read_to_string(&mut text).map_err(unreadable)?;
    }
    Ok(text)
}

/// Reads all of stdin as one JSON object.
pub(crate) fn object() -> Result<JsonTree, Error> {
    tree(&text("a JSON object")?, "the input").and_then(|tree| match tree.kind() {
        ValueKind::Object => Ok(tree),
        other => Err(Error::new(Exit::Request, format!("the input is {other}, not an object"))
            .hint("give a JSON object on stdin")),
    })
}

/// Parses JSON; `what` names its origin in errors.
pub(crate) fn tree(text: &str, what: &str) -> Result<JsonTree, Error> {
    JsonTree::parse(text).map_err(|bad| {
        Error::new(Exit::Request, format!("{what} is not JSON"))
            .caused_by(bad)
            .hint("fix the JSON at that position and try again")
    })
}

/// Returns the non-empty lines of stdin with their numbers.
pub(crate) fn lines() -> impl Iterator<Item = Result<(u64, String), Error>> {
    let lines = (1..).zip(io::stdin().lock().lines());
    lines
        .map(|(number, line)| line.map(|line| (number, line)).map_err(unreadable))
        .filter(|line| !line.as_ref().is_ok_and(|(_, line)| line.trim().is_empty()))
}

/// Reads a secret: from the terminal without echo, or all of stdin.
pub(crate) fn secret(name: &str) -> Result<String, Error> {
    if io::stdin().is_terminal() {
        return ask_secret(name).map_err(unreadable);
    }
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// Disables the echo of the terminal until dropped.
struct EchoGuard;

impl EchoGuard {
    fn begin() -> io::Result<EchoGuard> {
        enable_raw_mode()?;
        Ok(EchoGuard)
    }
}

impl Drop for EchoGuard {
    fn drop(&mut self) {
        // A failure cannot be handled: the terminal is gone.
        disable_raw_mode().ok();
        Output::status("");
    }
}

fn ask_secret(name: &str) -> io::Result<String> {
    let name = Printable::new(name);
    write!(anstream::stderr(), "secret for {} (not shown): ", name.as_str())?;
    let _silent = EchoGuard::begin()?;
    let mut typed = String::new();
    loop {
        let Event::Key(key) = event::read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return Ok(typed),
            KeyCode::Char('c' | 'd') if control => return Err(io::ErrorKind::Interrupted.into()),
            KeyCode::Char(character) if !control => typed.push(character),
            KeyCode::Backspace => drop(typed.pop()),
            _ => {}
        }
    }
}
