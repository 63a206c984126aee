//! `everturn fork`: forks a session at an earlier turn.

use everturn::format::Operation;
use everturn::model::ForkOptions;

use super::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::json::JsonObject;
use crate::lifecycle::with_byte_progress;
use crate::sessions::resolve_turn;
use crate::settings;

/// Fork a new session at a turn
///
/// The new session has all turns up to that turn and records its parent. The original session is not changed.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn fork latest
  everturn fork session-abc123 --turn 40 --id what-if
  everturn fork tale --from 'before the gate'

Output with --json:
  {"session":"what-if","turn":40,"parent":"session-abc123","path":"…"}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    session: String,

    /// The last turn of the new session; default: the last turn of the original
    #[arg(long, value_name = "N")]
    turn: Option<u64>,

    /// The mark, or the ID of the entry, at which the new session ends
    #[arg(long, value_name = "MARK", conflicts_with = "turn")]
    from: Option<String>,

    /// The ID of the new session; default: derived from the ID of the original
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let found = context.find_to_write(&args.session)?;
    let store = found.root.store();
    let turn = match &args.from {
        Some(name) => {
            let reader = found.layout.open(&store, &found.place);
            Some(resolve_turn(&found, &*reader.map_err(|error| found.failed(error))?, name)?)
        }
        None => args.turn,
    };
    if let Some(id) = &args.id {
        super::new::check_session_id(id)?;
    }
    let how = ForkOptions { id: args.id.clone(), turn };
    let editing = found.editing(Operation::Fork)?;
    let fork = with_byte_progress("copying", |progress| {
        editing.fork(&store, &found.place, &how, settings::now(), progress)
    });
    let fork = fork.map_err(|error| found.failed(error))?;
    if context.json {
        let answer = JsonObject::new()
            .text("session", &fork.session.id)
            .number("turn", fork.turn)
            .text("parent", &found.place.id)
            .text("path", &found.root.shown(&fork.session.path));
        writeln!(context.out, "{}", answer.close())?;
    } else {
        writeln!(context.out, "{} turn {}", fork.session.id, fork.turn)?;
    }
    context.out.flush()?;
    print_findings(&fork.findings);
    found.root.close()?;
    Ok(Exit::Success)
}
