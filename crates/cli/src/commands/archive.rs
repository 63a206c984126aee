//! `everturn archive`: a completed session in one file.

use everturn::layout::Stage;

use super::Context;
use crate::error::Stop;
use crate::exit::Exit;
use crate::stages::move_on;

/// Pack a completed session into one file
///
/// The archive is read back and compared before the session's directory goes to the trash, from which it
/// can be restored.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn archive session-abc123

The answer with --json:
  {"session":"session-abc123","path":"…","trashed":"…"}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    session: String,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    move_on(context, &args.session, Stage::Archive)
}
