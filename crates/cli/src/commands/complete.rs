//! `everturn complete`: a session that is over.

use everturn::layout::Stage;

use super::Context;
use crate::error::Stop;
use crate::exit::Exit;
use crate::stages::move_on;

/// End a session for good
///
/// A last snapshot is taken, and snapshots that are no longer needed are put away within the session:
/// the last ten, those of scene ends, and one every hundred turns stay. It can be read as before.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn complete session-abc123

The answer with --json:
  {"session":"session-abc123","path":"…"}"#)]
pub(crate) struct Args {
    /// The session: an id or the beginning of one, a path, or `latest`
    session: String,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    move_on(context, &args.session, Stage::Complete)
}
