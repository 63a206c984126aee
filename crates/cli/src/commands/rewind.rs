//! `everturn rewind`: goes back to an earlier turn, and keeps the rest.

use everturn::format::Operation;

use super::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::json::JsonObject;
use crate::lifecycle::with_byte_progress;
use crate::output::Output;
use crate::sessions::resolve_turn;
use crate::settings;

/// Rewind a session to an earlier turn
///
/// Text and state are rewound together. Nothing is lost: the original is kept as a branch, which is
/// a separate, paused session.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn rewind session-abc123 40
  everturn rewind latest --turn 40
  everturn rewind tale 'before the gate'

Output with --json:
  {"session":"session-abc123","turn":40,"branch":"session-abc123-branch-57"}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    session: String,

    /// The turn to rewind to, which becomes the last turn: its number, a mark, an entry, or a scene,
    /// which means its first turn
    #[arg(value_name = "TURN", required_unless_present = "turn")]
    last: Option<String>,

    /// The same as TURN
    #[arg(long, value_name = "N", conflicts_with = "last")]
    turn: Option<u64>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let found = context.find_to_write(&args.session)?;
    let turn = match &args.last {
        Some(name) => resolve_turn(&found, &*found.open()?, name)?,
        // One of them is required.
        None => args.turn.unwrap_or_default(),
    };
    let store = found.root.store();
    let editing = found.editing(Operation::Rewind)?;
    let branch = with_byte_progress("copying", |progress| {
        editing.rewind(&store, &found.place, turn, settings::now(), progress)
    });
    let branch = branch.map_err(|error| found.failed(error))?;
    if context.json {
        let answer = JsonObject::new()
            .text("session", &found.place.id)
            .number("turn", branch.turn)
            .text("branch", &branch.session.id);
        writeln!(context.out, "{}", answer.close())?;
    } else {
        writeln!(context.out, "{} turn {}", found.place.id, branch.turn)?;
        Output::status(&format!("the original turns are in {}", branch.session.id));
    }
    context.out.flush()?;
    print_findings(&branch.findings);
    found.root.close()?;
    Ok(Exit::Success)
}
