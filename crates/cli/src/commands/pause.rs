//! `everturn pause`: pauses a session.

use everturn::format::Transition;

use super::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::lifecycle::transition;

/// Pause a session
///
/// Moves the session from the active to the paused sessions. It can still be read.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn pause latest

Output with --json:
  {"session":"session-abc123","path":"…"}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    session: String,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    transition(context, &args.session, Transition::Pause)
}
