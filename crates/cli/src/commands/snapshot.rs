//! `everturn snapshot`: stores a snapshot of the whole state.

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::report::report_outcome;
use crate::settings;

/// Store a snapshot of the current state
///
/// Snapshots are taken automatically from time to time; an additional one makes access to this turn faster.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn snapshot latest

Output with --json:
  {"session":"session-abc123","turn":7,"snapshot":"snapshot-0007"}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    session: String,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (found, mut editor) = context.edit(&args.session)?;
    let written = editor.snapshot(settings::now()).map_err(|error| found.failed(error))?;
    report_outcome(context, &found.place.id, &written, "snapshot")?;
    editor.close(settings::now()).map_err(Error::from)?;
    found.root.close()?;
    Ok(Exit::Success)
}
