//! `everturn adopt`: takes over state files that were edited by hand.

use everturn::format::Operation;

use super::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::report::report_outcome;
use crate::settings;

/// Store state files that were edited by hand as a turn
///
/// For modding and debugging. Edited state files are otherwise ignored, and reported as damage.
/// Changes that the log lacks are stored as a turn by the actor `system`, which can be undone. The
/// edited files are kept below .everturn/trash.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn adopt session-abc123

Output with --json:
  {"session":"session-abc123","turn":8}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    session: String,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let found = context.find_to_write(&args.session)?;
    let adoption = found.layout.adoption(Operation::Adopt).map_err(|error| found.failed(error))?;
    let stored = adoption.adopt(&found.root.store(), &found.place, settings::now());
    let stored = stored.map_err(|error| found.failed(error))?;
    report_outcome(context, &found.place.id, &stored, "")?;
    found.root.close()?;
    Ok(Exit::Success)
}
