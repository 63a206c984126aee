//! What a command is given on stdin.

use std::io::{self, BufRead, IsTerminal, Read};

use everturn::tree::{Kind, Tree};

use crate::error::Error;
use crate::exit::Exit;
use crate::output::Output;

fn unreadable(cause: io::Error) -> Error {
    Error::new(Exit::Request, "cannot read the input").caused_by(cause)
}

/// All of stdin, as text.
pub(crate) fn text() -> Result<String, Error> {
    if io::stdin().is_terminal() {
        Output::status("reading JSON from the terminal; Ctrl-D ends it");
    }
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text).map_err(unreadable)?;
    if text.trim().is_empty() {
        return Err(
            Error::new(Exit::Request, "the input is empty").hint("give a JSON object on stdin")
        );
    }
    Ok(text)
}

/// All of stdin, as one JSON object.
pub(crate) fn object() -> Result<Tree, Error> {
    tree(&text()?, "the input").and_then(|tree| match tree.kind() {
        Kind::Object => Ok(tree),
        other => Err(Error::new(Exit::Request, format!("the input is {other}, not an object"))
            .hint("give a JSON object on stdin")),
    })
}

/// JSON that was given as `what`.
pub(crate) fn tree(text: &str, what: &str) -> Result<Tree, Error> {
    Tree::parse(text).map_err(|bad| {
        Error::new(Exit::Request, format!("{what} is not JSON"))
            .caused_by(bad)
            .hint("mend the JSON at that place and try again")
    })
}

/// The lines of stdin with their numbers, without those that are empty.
pub(crate) fn lines() -> impl Iterator<Item = Result<(u64, String), Error>> {
    let lines = (1..).zip(io::stdin().lock().lines());
    lines
        .map(|(number, line)| line.map(|line| (number, line)).map_err(unreadable))
        .filter(|line| !line.as_ref().is_ok_and(|(_, line)| line.trim().is_empty()))
}
