//! `everturn regenerate`: regenerates a message, or switches to another version.

use everturn::model::Revision;

use super::Context;
use super::edit::{read_text, revise};
use crate::error::EarlyExit;
use crate::exit::Exit;

/// Regenerate a message, or switch to another version
///
/// The new text is read from stdin. Earlier versions are kept, and --choose switches back to one.
/// If the message is the last one, the tools are reset to their state before it, and the changes in
/// the new text are applied.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn regenerate tale 12 < new-version.txt
  everturn regenerate tale msg-012 --choose 1

Output with --json:
  {"session":"tale","turn":12,"id":"msg-012"}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    session: String,

    /// The message: its number, its ID, or a mark
    message: String,

    /// Switch to an earlier version, counted from 1, oldest first
    #[arg(long, value_name = "N")]
    choose: Option<u64>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let choose = args.choose;
    revise(context, &args.session, Some(&args.message), |turn| match choose {
        Some(which) => Ok(Revision::Choose { turn, which }),
        None => Ok(Revision::Regenerate { turn, text: read_text()? }),
    })
}
