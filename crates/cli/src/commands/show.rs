//! `everturn show`: prints the transcript of a session.

mod contents;
mod view;

use std::ops::RangeInclusive;

use everturn::codelia::FULL_HISTORY;
use everturn::format::{SessionError, SessionReader};
use everturn::model::{Entry, EntryExtras, SessionBranch};

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::{exit_after, print_findings};
use crate::json::JsonObject;
use crate::output::escape_controls;
use crate::sessions::{FoundSession, resolve_turn};
use crate::turns::TurnRange;

use view::EntryView;

/// Print the entries of a session
///
/// Entries are printed as they are read, so long sessions need little memory. On a terminal, a
/// header has the title, the project, the times, the models and the cost; times are local, the
/// input and output of tools is shortened, and the program in PAGER (else less) shows it page by
/// page. Damaged lines are skipped and reported on stderr, and the exit status is then 4.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn show latest
  everturn show session-abc123 --turns 100..120
  everturn show session-abc123#104
  everturn show latest --turns 240.. --json --raw
  everturn show latest --only user,assistant
  everturn show tale --toc
  everturn show tale --events quest_complete
  everturn show tale --from 'The temple'
  everturn show latest --branch 1af7fc5e
  everturn show 3f2a --full
  everturn show latest --stats

An entry with --json:
  {"seq":7,"turn":7,"id":"abc123-7-1","time":"2026-01-01T10:00:00Z",
   "speaker":"player","kind":"user","text":"You walk to the market."}
  on one line; also "attachments", "actions", "formatted_text" and "avatar" where
  a message has them, and with --raw "raw", the record as it is stored."#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`; append `#TURN` to show only that turn
    session: String,

    /// The turns: `N`, `A..B` (both included), `A..` or `..B`
    #[arg(long, value_name = "RANGE", default_value = "..", hide_default_value = true)]
    turns: TurnRange,

    /// Only this turn
    #[arg(long, value_name = "N", conflicts_with = "turns")]
    turn: Option<u64>,

    /// Print the table of contents instead of the entries: marks, scenes and snapshots
    #[arg(long, conflicts_with_all = ["turns", "turn", "from", "raw"])]
    toc: bool,

    /// Print the events of this type instead of the entries; `significant` for all significant events
    #[arg(long, value_name = "TYPE", conflicts_with_all = ["turns", "turn", "from", "raw", "toc"])]
    events: Option<String>,

    /// Start at a mark, by its ID or name, or at an entry, by its ID
    #[arg(long, value_name = "MARK", conflicts_with_all = ["turns", "turn"])]
    from: Option<String>,

    /// Print the stored records
    #[arg(long)]
    raw: bool,

    /// Follow a branch, by its ID or a prefix of it; `everturn branches` lists them
    #[arg(long, value_name = "ID")]
    branch: Option<String>,

    /// The whole history, including messages removed by compaction
    #[arg(long, conflicts_with = "branch")]
    full: bool,

    /// Also print programs' internal records
    #[arg(long)]
    all: bool,

    /// Print the input and output of tools in full also on a terminal
    #[arg(long)]
    tools: bool,

    /// Only entries of these kinds, such as user,assistant or tools
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    only: Vec<String>,

    /// Print the number of entries by kind and of records by outcome; in a game also of scenes,
    /// snapshots, events and changes, and the play time
    #[arg(long, conflicts_with_all = ["turns", "turn", "from", "raw", "toc", "events"])]
    stats: bool,
}

/// Adds what an entry has besides its text; members for what it does not have are left out.
fn extras(object: JsonObject, extras: &EntryExtras) -> JsonObject {
    let list = |elements: Vec<String>| format!("[{}]", elements.join(","));
    let mut object = object;
    if !extras.attachments.is_empty() {
        let attachments = extras.attachments.iter().map(|attachment| {
            let object = JsonObject::new().text("type", &attachment.kind);
            let object = object.text("url", &attachment.url);
            object.text("description", &attachment.description).close()
        });
        object = object.raw("attachments", &list(attachments.collect()));
    }
    if !extras.actions.is_empty() {
        let actions = extras.actions.iter().map(|action| {
            JsonObject::new().text("type", &action.kind).text("text", &action.text).close()
        });
        object = object.raw("actions", &list(actions.collect()));
    }
    for (key, value) in [("formatted_text", &extras.formatted_text), ("avatar", &extras.avatar)] {
        if let Some(value) = value {
            object = object.text(key, value);
        }
    }
    object
}

pub(super) fn json(entry: &Entry, raw: bool) -> String {
    let object = JsonObject::new()
        .number("seq", entry.seq)
        .number("turn", entry.turn)
        .text("id", &entry.id)
        .time("time", entry.time)
        .text("speaker", &entry.speaker)
        .text("kind", entry.kind.as_str())
        .text("text", &entry.text);
    let object = extras(object, &entry.extras);
    let object = if raw { object.tree("raw", &entry.raw) } else { object };
    object.close()
}

/// Formats an entry as text: speaker and time, then the text.
pub(super) fn text(entry: &Entry) -> String {
    let mut heading = format!("[{}] {}", entry.turn, entry.speaker);
    if let Some(time) = entry.time {
        heading.push_str(&format!("  {time}"));
    }
    let heading = escape_controls(&heading).replace('\n', " ");
    let text = escape_controls(entry.readable_text().trim_end());
    if text.is_empty() { format!("{heading}\n") } else { format!("{heading}\n{text}\n") }
}

/// Returns the requested turns, which must exist.
pub(super) fn within(
    turns: &TurnRange,
    all: &RangeInclusive<u64>,
) -> Result<RangeInclusive<u64>, Error> {
    let (first, last) = (*all.start(), *all.end());
    let range = turns.within(first + 1, last);
    if turns.first.is_some_and(|turn| turn > last) || (range.is_empty() && turns.is_bounded()) {
        let turn = turns.first.or(turns.last).unwrap_or(first);
        return Err(SessionError::NoTurn { turn, first, last }.into());
    }
    Ok(range)
}

/// Returns the turns that the options or the reference select.
fn wanted_turns(
    args: &Args,
    turn: Option<&str>,
    found: &FoundSession,
    reader: &dyn SessionReader,
) -> Result<TurnRange, Error> {
    let mut turns = args.turns;
    if args.turn.is_some() {
        turns = TurnRange { first: args.turn, last: args.turn };
    }
    if let Some(turn) = turn.filter(|_| !turns.is_bounded()) {
        let turn = Some(resolve_turn(found, reader, turn)?);
        turns = TurnRange { first: turn, last: turn };
    }
    if let Some(name) = &args.from {
        turns.first = Some(resolve_turn(found, reader, name)?);
    }
    Ok(turns)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (session, turn) = context.reference(&args.session)?;
    let (found, mut reader) = context.read_branch(session, args.branch.as_deref())?;
    if args.full {
        let is_full = |branch: &SessionBranch| branch.id == FULL_HISTORY;
        let branches = reader.branches().map_err(|error| found.failed(error))?;
        if branches.iter().any(is_full) {
            reader = reader.open_branch(FULL_HISTORY).map_err(|error| found.failed(error))?;
        }
    }
    if args.toc {
        return contents::print_contents(&found, &*reader, context);
    }
    if args.stats {
        return contents::print_stats(&found, &*reader, context);
    }
    if let Some(kind) = &args.events {
        return contents::print_events(&found, &*reader, kind, context);
    }
    let turns = wanted_turns(args, turn, &found, &*reader)?;
    let view = EntryView::new(args, context)?;
    let is_whole = !turns.is_bounded();
    let turns = within(&turns, &reader.turns().map_err(|error| found.failed(error))?)?;
    let mut entries = reader.entries(turns).map_err(|error| found.failed(error))?;
    let mut exit = exit_after(&reader.findings());
    let mut first = true;
    if !context.json && !args.raw {
        context.out.page()?;
    }
    if is_whole
        && !args.raw
        && let Some(header) = view.header(&found, &*reader)?
    {
        write!(context.out, "{header}")?;
    }
    loop {
        let entry = entries.next();
        let findings = entries.take_findings();
        if !findings.is_empty() {
            context.out.flush()?;
            print_findings(&findings);
            exit = if exit == Exit::Success { exit_after(&findings) } else { exit };
        }
        let Some(entry) = entry else { return Ok(exit) };
        let entry = entry.map_err(|error| found.failed(error))?;
        if !view.has(&entry) {
            continue;
        }
        match (context.json, args.raw) {
            (true, raw) => writeln!(context.out, "{}", json(&entry, raw))?,
            // The parts of a record are contained in the record.
            (false, true) if entry.id.contains('#') && found.layout.is_external() => {}
            (false, true) => writeln!(context.out, "{}", entry.raw.to_line())?,
            (false, false) if entry.kind.is_bookkeeping() && !args.all && !view.names(&entry) => {}
            (false, false) => {
                let gap = if std::mem::take(&mut first) { "" } else { "\n" };
                write!(context.out, "{gap}{}", view.text(&entry))?;
            }
        }
    }
}
