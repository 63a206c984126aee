//! `everturn archive`: packs a completed session into one file.

use everturn::format::Transition;

use super::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::lifecycle::transition;

/// Pack a completed session into an archive
///
/// The archive is read back and compared before the session's directory is moved to the trash, from
/// which it can be restored.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn archive session-abc123

Output with --json:
  {"session":"session-abc123","path":"…","trashed":"…"}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    session: String,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    transition(context, &args.session, Transition::Archive)
}
