//! `everturn browse`: browses sessions on the terminal.

use std::io::{self, IsTerminal};

use super::Context;
use crate::browse;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;

/// Browse all sessions: list, preview, search as you type
///
/// Typing filters the list and searches the text of the sessions. Enter opens the selected item;
/// the keys for replay and export are shown at the bottom. Requires a terminal.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn browse
  everturn browse --layout game --root ~/site")]
pub(crate) struct Args {}

pub(super) fn run(_args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    if context.json || !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let what = "browse requires a terminal and prints no data";
        return Err(Error::new(Exit::Request, what).hint("everturn ls, everturn search").into());
    }
    browse::run(context)
}
