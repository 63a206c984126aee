//! `everturn mark`: adds, lists and removes marks.

use clap::builder::PossibleValuesParser;
use everturn::format::{Operation, SessionError, SessionReader};
use everturn::model::{Mark, MarkKind, NewMark};

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::{Output, escape_controls};
use crate::sessions::marks_hint;
use crate::settings;

/// Mark turns, or list marks
///
/// A mark has a name and a kind: bookmark, chapter, scene, event or decision. Marks are stored with
/// the session. A fork or a rewind keeps the marks of the turns that it keeps.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn mark add latest 'before the gate'
  everturn mark add latest 'The temple' --kind chapter --turn 12
  everturn mark list latest
  everturn mark remove latest mark-1

A mark with --json:
  {"session":"session-abc123","id":"mark-1","kind":"bookmark","name":"before the gate",
   "description":"","turn":12,"entry":null,"time":"2026-01-01T10:00:00Z"}
  on one line"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: MarkCommand,
}

#[derive(Debug, clap::Subcommand)]
enum MarkCommand {
    Add(MarkAddArgs),
    List(MarkListArgs),
    Remove(MarkRemoveArgs),
}

/// Mark a turn, or one entry of it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn mark add latest 'before the gate'
  everturn mark add latest 'The temple' --kind chapter --turn 12")]
struct MarkAddArgs {
    /// The session: its ID, a path, or `latest`
    session: String,

    /// The name of the mark
    name: String,

    /// The kind
    #[arg(long, value_name = "KIND", default_value = "bookmark", value_parser = known_kinds())]
    kind: String,

    /// A description
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    description: String,

    /// The turn; default: the last turn
    #[arg(long, value_name = "N")]
    turn: Option<u64>,

    /// The ID of the entry, as `show --json` prints it
    #[arg(long, value_name = "ID", conflicts_with = "turn")]
    entry: Option<String>,
}

/// List the marks of a session, in the order of their turns
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn mark list latest
  everturn mark list latest --kind chapter --json")]
struct MarkListArgs {
    /// The session: its ID or a unique prefix, a path, or `latest`
    session: String,

    /// Only marks of this kind
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
}

/// Remove a mark
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn mark remove latest mark-1
  everturn mark remove latest 'before the gate'")]
struct MarkRemoveArgs {
    /// The session: its ID, a path, or `latest`
    session: String,

    /// The mark: its ID, or its name if unique
    mark: String,
}

/// The kinds that a new mark can have; sessions of earlier versions may have others.
fn known_kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(MarkKind::NAMED.iter().map(MarkKind::as_str))
}

fn json(session: &str, mark: &Mark) -> String {
    let object = JsonObject::new()
        .text("session", session)
        .text("id", &mark.id)
        .text("kind", mark.kind.as_str())
        .text("name", &mark.name)
        .text("description", &mark.description)
        .number("turn", mark.turn);
    let object = match &mark.entry {
        Some(entry) => object.text("entry", entry),
        None => object.raw("entry", "null"),
    };
    object.time("time", mark.time).close()
}

/// Formats a mark as one line of text.
fn text(mark: &Mark) -> String {
    let mut text = format!("{}  turn {}  {}  {}", mark.id, mark.turn, mark.kind, mark.name);
    if !mark.description.is_empty() {
        text.push_str(&format!(" ({})", mark.description));
    }
    escape_controls(&text).replace('\n', " ")
}

pub(super) fn print(context: &mut Context, session: &str, mark: &Mark) -> Result<(), EarlyExit> {
    match context.json {
        true => writeln!(context.out, "{}", json(session, mark)),
        false => writeln!(context.out, "{}", text(mark)),
    }
}

/// Returns the turn of an entry, which must exist.
fn turn_of(reader: &dyn SessionReader, entry: &str) -> Result<u64, SessionError> {
    let missing = || SessionError::Request { what: format!("there is no entry {entry:?}") };
    reader.turn_of(entry)?.ok_or_else(missing)
}

fn add(args: &MarkAddArgs, context: &mut Context) -> Result<Exit, EarlyExit> {
    let found = context.find_to_write(&args.session)?;
    let store = found.root.store();
    let turn = match &args.entry {
        None => Ok(args.turn),
        Some(entry) => {
            let reader = found.layout.open(&store, &found.place);
            reader.and_then(|reader| turn_of(&*reader, entry)).map(Some)
        }
    };
    let new = NewMark {
        kind: MarkKind::parse(&args.kind),
        name: args.name.clone(),
        description: args.description.clone(),
        turn: turn.map_err(|error| found.failed(error))?,
        entry: args.entry.clone(),
    };
    let editing = found.editing(Operation::Write)?;
    let mark = editing.add_mark(&store, &found.place, &new, settings::now());
    let mark = mark.map_err(|error| found.failed(error))?;
    print(context, &found.place.id, &mark)?;
    context.out.flush()?;
    found.root.close()?;
    Ok(Exit::Success)
}

fn list(args: &MarkListArgs, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (found, reader) = context.read(&args.session)?;
    let marks = reader.marks().map_err(|error| found.failed(error))?;
    let wanted = |mark: &&Mark| args.kind.as_deref().is_none_or(|kind| kind == mark.kind.as_str());
    let mut count = 0;
    for mark in marks.iter().filter(wanted) {
        print(context, &found.place.id, mark)?;
        count += 1;
    }
    context.out.flush()?;
    if count == 0 && !context.json {
        mention_none(&found.place.id, args.kind.as_deref());
    }
    Ok(Exit::Success)
}

/// Reports that a session has no marks, because empty output could be mistaken for a failure.
pub(super) fn mention_none(session: &str, kind: Option<&str>) {
    let of_kind = kind.map_or_else(String::new, |kind| format!(" of the kind {kind}"));
    Output::status(&format!("session {session} has no marks{of_kind}"));
}

/// Returns the ID of the mark with a name or ID.
fn resolve_mark(session: &str, marks: &[Mark], name: &str) -> Result<String, Error> {
    if let Some(mark) = marks.iter().find(|mark| mark.id == name) {
        return Ok(mark.id.clone());
    }
    let mut named = marks.iter().filter(|mark| mark.name == name);
    match (named.next(), named.next()) {
        (Some(mark), None) => Ok(mark.id.clone()),
        (Some(_), Some(_)) => {
            Err(Error::new(Exit::Request, format!("{name:?} is the name of several marks"))
                .hint(format!("use its ID; {}", marks_hint(session))))
        }
        (None, _) => Err(Error::new(Exit::Request, format!("there is no mark {name:?}"))
            .hint(marks_hint(session))),
    }
}

fn remove(args: &MarkRemoveArgs, context: &mut Context) -> Result<Exit, EarlyExit> {
    let found = context.find_to_write(&args.session)?;
    let store = found.root.store();
    let reader = found.layout.open(&store, &found.place);
    let marks = reader.and_then(|reader| reader.marks());
    let marks = marks.map_err(|error| found.failed(error))?;
    let editing = found.editing(Operation::Write)?;
    let id = resolve_mark(&found.place.id, &marks, &args.mark).map_err(|missing| {
        // If the format does not support marks, that is the error to report.
        match editing.remove_mark(&store, &found.place, &args.mark, settings::now()) {
            Err(error @ (SessionError::Unsupported { .. } | SessionError::ReadOnly { .. })) => {
                found.failed(error)
            }
            _ => missing,
        }
    })?;
    let mark = editing.remove_mark(&store, &found.place, &id, settings::now());
    let mark = mark.map_err(|error| found.failed(error))?;
    print(context, &found.place.id, &mark)?;
    context.out.flush()?;
    found.root.close()?;
    Ok(Exit::Success)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    match &args.what {
        MarkCommand::Add(args) => add(args, context),
        MarkCommand::List(args) => list(args, context),
        MarkCommand::Remove(args) => remove(args, context),
    }
}
