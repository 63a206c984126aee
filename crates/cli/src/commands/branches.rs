//! `everturn branches`: lists the branches of a session.

use everturn::model::SessionBranch;
use everturn_catalog::{CatalogSession, SummaryDetail};

use super::Context;
use crate::catalog::collection;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::{Output, escape_controls};
use crate::sessions::FoundSession;

/// List the branches of a session
///
/// Some programs can continue a conversation from any message, so their sessions are trees. The
/// main line, which `show` prints, leads to the newest message; all other records are in branches.
/// Duplicate records are branches too, so no record is left out.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn branches latest
  everturn show latest --branch 1af7fc5e
  everturn branches claude-code:1af7fc5e --json

A branch with --json:
  {"id":"u2","from":1,"turns":2,"updated":"2026-01-01T10:00:00Z","title":"Go left."}
  on one line; "from" is the last turn shared with the main line, or null."#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`
    session: String,
}

fn json(branch: &SessionBranch) -> String {
    let object = JsonObject::new().text("id", &branch.id);
    let object = match branch.from {
        Some(from) => object.number("from", from),
        None => object.raw("from", "null"),
    };
    let object = object.number("turns", branch.turns).time("updated", branch.updated);
    object.text("title", &branch.title).close()
}

fn line(branch: &SessionBranch, width: usize) -> String {
    let from = branch.from.map_or_else(|| "by itself".to_owned(), |from| format!("after {from}"));
    let turns = match branch.turns {
        1 => "1 turn".to_owned(),
        turns => format!("{turns} turns"),
    };
    let line = format!("{:width$}  {from:9}  {turns:>8}  {}", branch.id, branch.title);
    escape_controls(&line).replace('\n', " ")
}

/// Returns the sessions that were forked from a session, or set aside when it was rewound.
fn children(context: &Context, found: &FoundSession) -> Result<Vec<String>, Error> {
    let sessions = collection(context)?.sessions(SummaryDetail::All)?.sessions;
    let is_child = |session: &&CatalogSession| {
        session.summary.layout == found.layout.name()
            && session.summary.parent.as_ref() == Some(&found.place.id)
    };
    let ids = sessions.iter().filter(is_child).map(|session| session.summary.session.id.clone());
    Ok(ids.collect())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (found, reader) = context.read(&args.session)?;
    let branches = reader.branches().map_err(|error| found.failed(error))?;
    let width = branches.iter().map(|branch| branch.id.chars().count()).max().unwrap_or(0);
    for branch in &branches {
        let text = if context.json { json(branch) } else { line(branch, width) };
        writeln!(context.out, "{text}")?;
    }
    context.out.flush()?;
    if branches.is_empty() && !context.json {
        let id = &found.place.id;
        let began = children(context, &found)?;
        match began.is_empty() {
            true => Output::status(&format!("session {id} has no branches")),
            false => Output::status(&format!(
                "session {id} has no branches; sessions forked from it: {}",
                began.join(", ")
            )),
        }
    }
    Ok(Exit::Success)
}
