//! `everturn undo`: undoes the last turns with a new turn.

use super::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::report::{report_close, report_outcome};
use crate::settings;

/// Undo the last turns
///
/// Stores a new turn that restores the state before them. The turns stay in the log, and an undo
/// can be undone.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn undo latest
  everturn undo session-abc123 3

Output with --json:
  {"session":"session-abc123","turn":8}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    session: String,

    /// The number of turns to undo
    #[arg(default_value_t = 1)]
    turns: u64,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (found, mut editor) = context.edit(&args.session)?;
    let now = settings::now();
    let written = editor.undo(args.turns, now).map_err(|error| found.failed(error))?;
    report_outcome(context, &found.place.id, &written, "id")?;
    report_close(editor.close(now));
    found.root.close()?;
    Ok(Exit::Success)
}
