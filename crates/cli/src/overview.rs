//! `everturn` without a command: an overview of sessions and next steps.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use everturn_catalog::{CatalogListing, CatalogSession, SummaryDetail};

use crate::catalog::{SourceCollection, collection};
use crate::context::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::json::JsonObject;
use crate::output::{Output, escape_controls};
use crate::session_line::SessionLines;

/// The number of sessions shown.
const SHOWN: usize = 5;

/// The next steps for a user without sessions.
const FIRST_STEPS: &str = "\
There are no sessions yet. To get started:
  everturn new game --name Vex     create a session
  everturn play                    play a story at the prompt
  everturn sources add DIR         add a folder that contains sessions
  everturn help                    see all commands";

const NEXT_STEPS: &str = "\
Next:
  everturn show latest             print the most recently changed session
  everturn ls                      list all sessions
  everturn search WORDS            search the text of all sessions
  everturn browse                  browse all sessions in the terminal
  everturn help                    see all commands";

/// The number of sessions of each format in a source.
type SourceCounts<'a> = BTreeMap<(usize, &'a str), usize>;

fn counts(sessions: &[CatalogSession]) -> SourceCounts<'_> {
    let mut counts = SourceCounts::new();
    for session in sessions {
        *counts.entry((session.source, session.summary.layout)).or_default() += 1;
    }
    counts
}

pub(crate) fn run(context: &mut Context) -> Result<Exit, EarlyExit> {
    // A user without a home has no sessions, which is not an error here.
    let mut collection = match collection(context) {
        Ok(collection) => collection,
        Err(_) if context.root.is_none() => return nothing_yet(context),
        Err(error) => return Err(error.into()),
    };
    let listing = collection.sessions(SummaryDetail::Names)?;
    let (mut sessions, findings) = (listing.sessions, listing.findings);
    print_findings(&findings);
    if sessions.is_empty() && findings.is_empty() {
        return nothing_yet(context);
    }
    let lines = lines(&collection, &counts(&sessions), context.json);
    for line in lines {
        writeln!(context.out, "{line}")?;
    }
    if context.json || sessions.is_empty() {
        return Ok(if findings.is_empty() { Exit::Success } else { Exit::Request });
    }
    let all = CatalogListing { sessions: sessions.clone(), ..CatalogListing::default() };
    sessions.truncate(SHOWN);
    collection.complete(&mut sessions);
    let is_terminal = std::io::stdout().is_terminal();
    let lines = SessionLines::of(sessions.iter(), &all, is_terminal).indented(2);
    writeln!(context.out, "\nRecently changed:")?;
    for session in &sessions {
        writeln!(context.out, "  {}", lines.line(session, None))?;
    }
    writeln!(context.out, "\n{NEXT_STEPS}")?;
    context.out.flush()?;
    collection.mention_notes();
    let is_incomplete = collection.is_incomplete || !findings.is_empty();
    Ok(if is_incomplete { Exit::Request } else { Exit::Success })
}

fn nothing_yet(context: &mut Context) -> Result<Exit, EarlyExit> {
    if !context.json {
        writeln!(context.out, "{FIRST_STEPS}")?;
    }
    Ok(Exit::Success)
}

/// Prints the next steps for a user without sessions.
pub(crate) fn first_steps() -> Exit {
    Output::status(FIRST_STEPS);
    Exit::Success
}

/// Returns one line for each source and format.
fn lines(collection: &SourceCollection, counts: &SourceCounts<'_>, json: bool) -> Vec<String> {
    let line = |(&(source, layout), &count): (&(usize, &str), &usize)| {
        let (name, path) = collection.named(source);
        if json {
            let object = JsonObject::new().text("source", name).text("layout", layout);
            return object.number("sessions", count as u64).text("path", &path).close();
        }
        let sessions = if count == 1 { "session " } else { "sessions" };
        escape_controls(&format!("{count:>6} {sessions}  {layout:11}  {path}")).replace('\n', " ")
    };
    counts.iter().map(line).collect()
}
