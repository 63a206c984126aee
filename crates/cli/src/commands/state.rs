//! `everturn state`: prints the state at a turn.

use everturn::document::JsonStyle;
use everturn::finding::FindingCode;
use everturn::model::SessionState;
use everturn::tree::JsonTree;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::{exit_after, print_findings};
use crate::json::JsonObject;
use crate::output::escape_controls;
use crate::sessions::resolve_turn;

/// Print the state of a session, now or at a turn
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn state latest
  everturn state session-abc123 --turn 200 --scope player
  everturn state latest --json | jq .state.world.npcs
  everturn state tale --at msg-012
  everturn state session-abc123 --at scene-004 --path world.npcs.luna

Output with --json:
  {"session":"session-abc123","turn":200,"state":{"world":{…},"player":{…},"scene":null}}"#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`
    session: String,

    /// Print the state after this turn; default: the last turn
    #[arg(long, value_name = "N")]
    turn: Option<u64>,

    /// Print the state after this entry: its ID, a mark, the number of a turn, or a scene, which means
    /// its first turn
    #[arg(long, value_name = "ENTRY", conflicts_with = "turn")]
    at: Option<String>,

    /// Only this part of the state, such as world, player or scene
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,

    /// Only the value at this path: keys with dots between them, starting with the scope, such as
    /// world.npcs.luna; or a JSON array of keys
    #[arg(long, value_name = "PATH", conflicts_with = "scope")]
    path: Option<String>,
}

/// Returns the value at a path.
fn value_at(state: &SessionState, path: &str) -> Result<JsonTree, Error> {
    let keys: Vec<String> = match serde_json::from_str(path) {
        Ok(keys) => keys,
        Err(_) => path.split('.').map(str::to_owned).collect(),
    };
    let wanted = keys.first().map(String::as_str).unwrap_or_default();
    let below: Vec<&str> = keys.iter().skip(1).map(String::as_str).collect();
    scopes(state, Some(wanted))?;
    let found = state.get(wanted).and_then(|tree| tree.value_at(&below));
    found.ok_or_else(|| Error::new(Exit::Request, format!("the state has no value at {path:?}")))
}

/// Returns the requested scopes as members of one object.
fn scopes(state: &SessionState, wanted: Option<&str>) -> Result<JsonObject, Error> {
    let mut object = JsonObject::new();
    for (name, tree) in &state.scopes {
        if wanted.is_none_or(|wanted| wanted == name) {
            object = object.tree(name, tree);
        }
    }
    if let Some(wanted) = wanted.filter(|wanted| state.get(wanted).is_none()) {
        let names: Vec<&str> = state.scopes.iter().map(|(name, _)| name.as_str()).collect();
        return Err(Error::new(Exit::Request, format!("unknown scope {wanted:?}"))
            .hint(format!("known scopes: {}", names.join(", "))));
    }
    Ok(object)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (found, reader) = context.read(&args.session)?;
    let turn = match &args.at {
        Some(name) => Some(resolve_turn(&found, &*reader, name)?),
        None => args.turn,
    };
    let state = reader.state(turn).map_err(|error| found.failed(error))?;
    let scope = args.scope.as_deref();
    let part = args.path.as_deref().map(|path| value_at(&state, path)).transpose()?;
    let object = scopes(&state, scope)?.close();
    if context.json {
        let answer = JsonObject::new().text("session", &found.place.id).number("turn", state.turn);
        let answer = match (&args.path, &part) {
            (Some(path), Some(part)) => answer.text("path", path).tree("state", part),
            _ => answer.raw("state", &object),
        };
        writeln!(context.out, "{}", answer.close())?;
    } else {
        let tree = match part.or_else(|| state.get(scope?).cloned()) {
            Some(tree) => tree,
            None => JsonTree::parse(object).map_err(|bad| {
                Error::new(Exit::Internal, "the state is not JSON").caused_by(bad)
            })?,
        };
        writeln!(context.out, "{}", escape_controls(&tree.to_text(&JsonStyle::PRETTY_RAW)))?;
    }
    context.out.flush()?;
    print_findings(&state.findings);
    // What a torn line has changed is missing in the state.
    let is_torn = state.findings.iter().any(|finding| finding.code == FindingCode::TornTail);
    Ok(if is_torn { Exit::Damaged } else { exit_after(&state.findings) })
}
