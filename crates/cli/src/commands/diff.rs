//! `everturn diff`: shows the changes between two turns.

use super::Context;
use crate::changes;
use crate::context::next_command;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::{exit_after, print_findings};
use crate::output::Output;

/// Print the changes of the state between two turns
///
/// The states after both turns are compared, scope by scope. Changes that were reverted in between
/// are not listed.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn diff latest 0 20
  everturn diff latest --turn 20
  everturn diff session-abc123 100 200 --json | jq -r .path

A change with --json:
  {"scope":"world","op":"set","path":"npcs.luna.trust","value":5,"previousValue":0}
  A path whose keys contain dots is an array of its keys."#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`
    session: String,

    /// The turn to start from
    #[arg(required_unless_present = "turn")]
    from: Option<u64>,

    /// The turn to compare with
    #[arg(required_unless_present = "turn")]
    to: Option<u64>,

    /// Print the changes of this turn
    #[arg(long, value_name = "N", conflicts_with_all = ["from", "to"], value_parser = clap::value_parser!(u64).range(1..))]
    turn: Option<u64>,

    /// Only this part of the state, such as world, player or scene
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (from, to) = match (args.turn, args.from, args.to) {
        (Some(turn), ..) => (turn - 1, turn),
        // Both are required without --turn.
        (None, from, to) => (from.unwrap_or_default(), to.unwrap_or_default()),
    };
    let (found, reader) = context.read(&args.session)?;
    let state = |turn| reader.state(Some(turn)).map_err(|error| found.failed(error));
    let (before, after) = (state(from)?, state(to)?);
    let unknown = |scope: &&String| before.get(scope).is_none() && after.get(scope).is_none();
    if let Some(scope) = args.scope.as_ref().filter(unknown) {
        return Err(Error::new(Exit::Request, format!("unknown scope {scope:?}"))
            .hint(next_command(&format!("state {}", found.place.id)))
            .into());
    }
    let changes = before.changes_to(&after).map_err(|cause| {
        Error::new(Exit::Internal, "the states cannot be compared").caused_by(cause)
    })?;
    let wanted = |scope: &str| args.scope.as_ref().is_none_or(|wanted| wanted == scope);
    let mut count = 0;
    for change in changes.iter().filter(|change| wanted(&change.scope)) {
        count += 1;
        let text = if context.json { changes::json(change) } else { changes::line(change) };
        writeln!(context.out, "{text}")?;
    }
    context.out.flush()?;
    if count == 0 && !context.json {
        Output::status(&format!("no changes between turns {from} and {to}"));
    }
    let findings = [before.findings, after.findings].concat();
    print_findings(&findings);
    Ok(exit_after(&findings))
}
