//! `everturn branches`: the ways through a session.

use everturn::view::Strand;
use everturn_catalog::{Detail, Session};

use super::Context;
use crate::error::{Error, Stop};
use crate::exit::Exit;
use crate::json::Object;
use crate::output::{Output, harmless};
use crate::sessions::Found;

/// List the other ways through a session
///
/// Some programs let a talk go on from any point of it, so that their sessions are trees. The main
/// line, which `show` prints, leads to the newest message; everything else is in a branch. Records
/// that say again what others say are branches of their own, too: nothing is left out.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn branches latest
  everturn show latest --branch 1af7fc5e
  everturn branches claude-code:1af7fc5e --json

A branch with --json:
  {"id":"u2","from":1,"turns":2,"updated":"2026-01-01T10:00:00Z","title":"Go left."}
  on one line; "from" is the last turn that it shares with the main line, or null."#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`
    session: String,
}

fn json(strand: &Strand) -> String {
    let object = Object::new().text("id", &strand.id);
    let object = match strand.from {
        Some(from) => object.number("from", from),
        None => object.raw("from", "null"),
    };
    let object = object.number("turns", strand.turns).time("updated", strand.updated);
    object.text("title", &strand.title).close()
}

fn line(strand: &Strand, width: usize) -> String {
    let from = strand.from.map_or_else(|| "by itself".to_owned(), |from| format!("after {from}"));
    let turns = match strand.turns {
        1 => "1 turn".to_owned(),
        turns => format!("{turns} turns"),
    };
    let line = format!("{:width$}  {from:9}  {turns:>8}  {}", strand.id, strand.title);
    harmless(&line).replace('\n', " ")
}

/// The sessions that were forked from one, or set aside when it was rewound.
fn children(context: &Context, found: &Found) -> Result<Vec<String>, Error> {
    let sessions = context.collection()?.sessions(Detail::All)?.sessions;
    let is_child = |session: &&Session| {
        session.summary.layout == found.layout.name()
            && session.summary.parent.as_ref() == Some(&found.place.id)
    };
    let ids = sessions.iter().filter(is_child).map(|session| session.summary.place.id.clone());
    Ok(ids.collect())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    let (found, reader) = context.read(&args.session)?;
    let strands = reader.strands().map_err(|error| found.failed(error))?;
    let width = strands.iter().map(|strand| strand.id.chars().count()).max().unwrap_or(0);
    for strand in &strands {
        let text = if context.json { json(strand) } else { line(strand, width) };
        writeln!(context.out, "{text}")?;
    }
    context.out.flush()?;
    if strands.is_empty() && !context.json {
        let id = &found.place.id;
        let began = children(context, &found)?;
        match began.is_empty() {
            true => Output::status(&format!("session {id} has one line and no branches")),
            false => Output::status(&format!(
                "session {id} has one line; sessions that began in it: {}",
                began.join(", ")
            )),
        }
    }
    Ok(Exit::Fine)
}
