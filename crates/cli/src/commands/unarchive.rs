//! `everturn unarchive`: unpacks an archived session.

use everturn::format::Transition;

use super::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::lifecycle::transition;

/// Unpack an archived session
///
/// The whole archive is checked before anything is written. It is moved to the trash afterwards.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn unarchive session-abc123

Output with --json:
  {"session":"session-abc123","path":"…","trashed":"…"}"#)]
pub(crate) struct Args {
    /// The archived session: its ID or a path
    #[arg(value_name = "ARCHIVE")]
    session: String,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    transition(context, &args.session, Transition::Unarchive)
}
