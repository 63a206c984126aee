//! `everturn browse`: browses sessions on the terminal.

use std::io::{self, IsTerminal};

use super::Context;
use crate::browse;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;

/// Browse all sessions: list, preview, search as you type
///
/// Whatever is typed narrows the list, and finds what was said. Enter opens what is selected; keys to replay and to
/// export it are shown at the bottom. It needs a terminal.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn browse
  everturn browse --layout game --root ~/site")]
pub(crate) struct Args {}

pub(super) fn run(_args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    if context.json || !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let what = "browsing needs a terminal, and prints no data";
        return Err(Error::new(Exit::Request, what).hint("everturn ls, everturn search").into());
    }
    browse::run(context)
}
