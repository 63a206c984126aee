//! Asks for confirmation before actions that are hard to undo.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::error::Error;
use crate::exit::Exit;
use crate::output::Output;
use crate::printable::Printable;

/// Returns whether the user confirmed, by `--yes` or at the terminal. Without a terminal there is no prompt.
pub(crate) fn confirm(yes: bool, question: &str, otherwise: &str) -> Result<bool, Error> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        Output::status(&format!("{otherwise}; re-run with --yes to apply"));
        return Ok(false);
    }
    let failed =
        |cause: io::Error| Error::new(Exit::Request, "cannot read the answer").caused_by(cause);
    let mut stderr = io::stderr().lock();
    let question = Printable::new(question);
    write!(stderr, "{} [y/N] ", question.as_str()).and_then(|()| stderr.flush()).map_err(failed)?;
    drop(stderr);
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(failed)?;
    let agreed = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    if !agreed {
        Output::status(otherwise);
    }
    Ok(agreed)
}
