//! `everturn branches`: lists the branches of a session.

use everturn::model::{SessionBranch, SessionSummary};
use everturn_catalog::CatalogSession;

use super::Context;
use crate::catalog::sessions_in;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::{Output, escape_controls};
use crate::sessions::FoundSession;

/// List the branches of a session
///
/// Forks, and the sessions that a rewind sets aside, are listed as `session`. Some programs can
/// continue a conversation from any message, so their sessions are trees. The main line, which
/// `show` prints, leads to the newest message; all other records are in branches, including
/// duplicates.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn branches latest
  everturn show latest --branch 1af7fc5e
  everturn branches claude-code:1af7fc5e --json

A branch with --json:
  {"id":"u2","kind":"branch","from":1,"turns":2,
   "updated":"2026-01-01T10:00:00Z","title":"Go left."}
  on one line. "kind" is "session" for a session of its own; "from" is the
  last turn shared with the main line, or null."#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`
    session: String,
}

/// A branch in the session itself, or another session that was forked from it.
enum ListedBranch {
    Inside(SessionBranch),
    Session(SessionSummary),
}

impl ListedBranch {
    fn id(&self) -> &str {
        match self {
            ListedBranch::Inside(branch) => &branch.id,
            ListedBranch::Session(summary) => &summary.session.id,
        }
    }

    fn json(&self) -> String {
        let object = JsonObject::new().text("id", self.id());
        match self {
            ListedBranch::Inside(branch) => {
                let object = object.text("kind", "branch");
                let object = match branch.from {
                    Some(from) => object.number("from", from),
                    None => object.raw("from", "null"),
                };
                let object = object.number("turns", branch.turns).time("updated", branch.updated);
                object.text("title", &branch.title).close()
            }
            ListedBranch::Session(summary) => {
                let object = object.text("kind", "session").raw("from", "null");
                let object = match summary.turns {
                    Some(turns) => object.number("turns", turns),
                    None => object.raw("turns", "null"),
                };
                object.time("updated", summary.updated).text("title", &summary.title).close()
            }
        }
    }

    fn line(&self, width: usize) -> String {
        let (from, turns, title) = match self {
            ListedBranch::Inside(branch) => {
                let from = branch.from.map(|from| format!("after {from}"));
                let from = from.unwrap_or_else(|| "by itself".to_owned());
                (from, Some(branch.turns), &branch.title)
            }
            ListedBranch::Session(summary) => ("session".to_owned(), summary.turns, &summary.title),
        };
        let turns = match turns {
            None => "? turns".to_owned(),
            Some(1) => "1 turn".to_owned(),
            Some(turns) => format!("{turns} turns"),
        };
        let line = format!("{:width$}  {from:9}  {turns:>8}  {title}", self.id());
        escape_controls(&line).replace('\n', " ")
    }
}

/// Returns the sessions that were forked from a session, or set aside when it was rewound.
fn children(found: &FoundSession) -> Result<Vec<SessionSummary>, Error> {
    let is_child =
        |session: &CatalogSession| session.summary.parent.as_ref() == Some(&found.place.id);
    let sessions = sessions_in(&found.root, found.layout)?.into_iter().filter(is_child);
    Ok(sessions.map(|session| session.summary).collect())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (found, reader) = context.read(&args.session)?;
    let inside = reader.branches().map_err(|error| found.failed(error))?;
    let mut branches: Vec<ListedBranch> = inside.into_iter().map(ListedBranch::Inside).collect();
    branches.extend(children(&found)?.into_iter().map(ListedBranch::Session));
    let width = branches.iter().map(|branch| branch.id().chars().count()).max().unwrap_or(0);
    for branch in &branches {
        let text = if context.json { branch.json() } else { branch.line(width) };
        writeln!(context.out, "{text}")?;
    }
    context.out.flush()?;
    if branches.is_empty() && !context.json {
        Output::status(&format!("session {} has no branches", found.place.id));
    }
    Ok(Exit::Success)
}
