//! `everturn resume`: resumes a session.

use everturn::format::Transition;

use super::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::lifecycle::transition;

/// Resume a paused session
///
/// The session continues exactly where it was paused.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn resume session-abc123

Output with --json:
  {"session":"session-abc123","path":"…"}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    session: String,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    transition(context, &args.session, Transition::Resume)
}
