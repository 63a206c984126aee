//! `everturn import`: imports legacy sessions, chat-log databases and files of other programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn::disk::RealDisk;
use everturn::format::SessionError;
use everturn::game::{ImportOutcome, Migration};
use everturn::model::RecordCounts;
use everturn::names::{FilePath, Name, SessionId};
use everturn::store::{FileStore, MemoryStore, Store};
use everturn::{chatlog, chatlog_import};
use serde_json::json;

use super::Context;
use crate::context::shell_word;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::{exit_after, print_findings};
use crate::json::JsonObject;
use crate::open_root::OpenRoot;
use crate::output::{Output, count_noun, escape_controls};
use crate::sessions::{Candidate, FoundSession, LookupResult};
use crate::{agent_homes, settings};

/// Import a legacy game, a chat log, or a chat database
///
/// A legacy game has frames, checkpoints, a worldState and a player. Frames become turns,
/// checkpoints become snapshots, and data without a place in a current session is kept in its
/// metadata and turns, and listed. A chat log (a JSON document whose type is "chat-log") is copied
/// byte for byte to chats/ID.json. A chat database (SQLite) is converted to one chat log per
/// session, with the characters, lorebooks and support tools that the sessions reference; messages
/// whose session is lost become a session of their own. With --dry-run nothing is written, and files
/// of other programs (see `everturn sources`) are read, too: each record is counted as kept, repaired
/// or quarantined.
///
/// The imported file is not changed. Importing it again has no effect.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn import --root game old-session.json
  everturn import --id second-try old-session.json
  everturn import beginning.chat-log.json
  everturn import database.sqlite
  everturn import --dry-run database.sqlite
  everturn import --dry-run ~/.codex/sessions/2026/01/01/rollout-1.jsonl")]
pub(crate) struct Args {
    /// The file to import
    file: PathBuf,

    /// The ID of the session; default: the ID in the file
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// Report the records that would be imported, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Reads a file at any path.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |cause: std::io::Error| {
        Error::new(Exit::Request, format!("cannot read {}", path.display())).caused_by(cause)
    };
    let real = path.canonicalize().map_err(failed)?;
    let (Some(dir), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(Error::new(Exit::Request, format!("{} is not a file", path.display())));
    };
    let name = FilePath::parse(&name.to_string_lossy())?;
    let disk = Arc::new(RealDisk::open(dir).map_err(failed)?);
    let bytes = FileStore::open_read_only(disk)?.read(&name, 0..u64::MAX);
    bytes.map_err(|cause| Error::from(cause).saying(format!("cannot read {}", path.display())))
}

/// The magic bytes of an SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Splits a path into its directory and file name.
fn split_path(path: &Path) -> Result<(PathBuf, Name), Error> {
    let failed = |cause: std::io::Error| {
        Error::new(Exit::Request, format!("cannot read {}", path.display())).caused_by(cause)
    };
    let real = path.canonicalize().map_err(failed)?;
    let (Some(dir), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(Error::new(Exit::Request, format!("{} is not a file", path.display())));
    };
    Ok((dir.to_owned(), Name::parse(&name.to_string_lossy())?))
}

fn is_database(path: &Path) -> Result<bool, Error> {
    let (dir, name) = split_path(path)?;
    let failed = |cause: std::io::Error| {
        Error::new(Exit::Request, format!("cannot read {}", path.display())).caused_by(cause)
    };
    let disk = Arc::new(RealDisk::open(&dir).map_err(failed)?);
    let file = FilePath::root().join(&name);
    let start = FileStore::open_read_only(disk)?.read(&file, 0..SQLITE.len() as u64);
    let start = start
        .map_err(|cause| Error::from(cause).saying(format!("cannot read {}", path.display())))?;
    Ok(start == SQLITE)
}

/// What an import has to say about a row or a document: where, and what.
fn database_notes(report: &chatlog_import::ImportReport) -> Vec<(String, String)> {
    let mut notes = Vec::new();
    for note in &report.notes {
        let place = note.row.map_or(note.table.clone(), |row| format!("{} {row}", note.table));
        notes.push((place, note.what.clone()));
    }
    for id in &report.lost {
        let what = "its text was lost by the program that saved it".to_owned();
        notes.push((format!("message {id}"), what));
    }
    for row in &report.set_aside {
        let what = format!("not imported: {}: {}", row.why, row.content.to_line());
        notes.push((format!("{} {}", row.table, row.row), what));
    }
    notes
}

/// Imports chat logs from a database, with the records they refer to.
fn database(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    if args.id.is_some() {
        let what = "--id is for a file with one session; the sessions of a database have IDs";
        return Err(Error::new(Exit::Request, what).into());
    }
    let (dir, name) = split_path(&args.file)?;
    let found = chatlog_import::read(&dir, &name)
        .map_err(|cause| Error::new(Exit::Request, cause.to_string()))?;
    let stored = match args.dry_run {
        true => chatlog::store_import(&scratch_store(), &found)
            .map_err(|error| Error::from(SessionError::from(error)))?,
        false => store_database(context, &found)?,
    };
    let documents: Vec<&chatlog::StoredDocument> =
        stored.others.iter().chain(&stored.logs).collect();
    let mut notes = database_notes(&found.report);
    let noted = documents.iter();
    notes.extend(noted.filter_map(|document| Some((document.id.clone(), document.note.clone()?))));
    let is_whole = found.report.set_aside.is_empty()
        && found.report.recovered.is_empty()
        && documents.iter().all(|document| document.path.is_some());
    let exit = if is_whole { Exit::Success } else { Exit::Findings };
    if context.json {
        let sessions: Vec<&str> = stored.logs.iter().map(|log| log.id.as_str()).collect();
        let notes: Vec<_> =
            notes.iter().map(|(path, why)| json!({"path": path, "why": why})).collect();
        let new = documents.iter().filter(|document| document.new).count();
        let document = json!({
            "sessions": sessions, "recovered": found.report.recovered,
            "documents": stored.others.len(), "new": new, "notes": notes,
        });
        writeln!(context.out, "{document}")?;
        return Ok(exit);
    }
    for (path, why) in notes {
        writeln!(context.out, "{}", escape_controls(&format!("{path}: {why}")))?;
    }
    context.out.flush()?;
    for (log, read) in stored.logs.iter().zip(&found.logs) {
        let messages = read.document.len_at(&["messages"]).unwrap_or(0);
        let messages = count_noun(messages as u64, "message", "messages");
        let id = escape_controls(&log.id);
        Output::status(&match (args.dry_run, log.new) {
            (true, _) => format!("session {id}: {messages}; nothing was written"),
            (false, true) => format!("session {id}: {messages}"),
            (false, false) => format!("session {id} already exists"),
        });
    }
    Ok(exit)
}

fn store_database(
    context: &Context,
    found: &chatlog_import::DatabaseImport,
) -> Result<chatlog::StoredImport, Error> {
    let root = OpenRoot::create(&agent_homes::root(context.root.as_deref(), None)?)?;
    let store = root.store();
    let stored = chatlog::store_import(&store, found);
    let stored = stored.map_err(|error| Error::from(SessionError::from(error)))?;
    drop(store);
    root.close()?;
    Ok(stored)
}

/// A store in memory, for the outcome of an import into an empty root.
fn scratch_store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default())
}

fn chat_log(args: &Args, context: &mut Context, bytes: &[u8]) -> Result<Exit, EarlyExit> {
    let import = |store: &Arc<dyn Store>| {
        let done = chatlog::import(store, bytes, args.id.as_deref());
        done.map_err(|error| Error::from(SessionError::from(error)))
    };
    let done = if args.dry_run {
        import(&scratch_store())?
    } else {
        let root = OpenRoot::create(&agent_homes::root(context.root.as_deref(), None)?)?;
        let store = root.store();
        let done = import(&store)?;
        drop(store);
        root.close()?;
        done
    };
    if context.json {
        let document = json!({
            "session": done.id, "turns": done.messages, "new": done.new, "notes": [],
        });
        writeln!(context.out, "{document}")?;
        return Ok(Exit::Success);
    }
    let end = if args.dry_run { "; nothing was written" } else { "" };
    Output::status(&match done.new {
        true => format!("session {}: messages {}{end}", done.id, done.messages),
        false => format!("session {} was imported before", done.id),
    });
    Ok(Exit::Success)
}

/// Formats record counts as JSON.
pub(super) fn counts(counts: RecordCounts) -> String {
    let RecordCounts { read, kept, repaired, quarantined, hidden } = counts;
    JsonObject::new()
        .number("read", read)
        .number("kept", kept)
        .number("repaired", repaired)
        .number("quarantined", quarantined)
        .number("hidden", hidden)
        .close()
}

/// Reads the sessions in a file of another program, and reports them.
fn import_external(context: &mut Context, sessions: Vec<Candidate>) -> Result<Exit, EarlyExit> {
    let mut all = Vec::new();
    for (root, layout, place) in sessions {
        let found = FoundSession { root, layout, place };
        let reader = found.layout.open(&found.root.store(), &found.place);
        let reader = reader.map_err(|error| found.failed(error))?;
        let (findings, id) = (reader.findings(), &found.place.id);
        let turns = *reader.turns().map_err(|error| found.failed(error))?.end();
        let branches = reader.branches().map_err(|error| found.failed(error))?.len() as u64;
        let records = reader.record_counts().unwrap_or_default();
        if context.json {
            let object = JsonObject::new().text("session", id).text("layout", found.layout.name());
            let object = object.number("turns", turns).number("branches", branches);
            writeln!(context.out, "{}", object.raw("records", &counts(records)).close())?;
        } else {
            let line = format!(
                "{}:{id}: turns {turns}, branches {branches}; {}",
                found.layout.name(),
                super::stats::counts_line(records)
            );
            writeln!(context.out, "{}", escape_controls(&line).replace('\n', " "))?;
        }
        context.out.flush()?;
        print_findings(&findings);
        all.extend(findings);
    }
    Ok(exit_after(&all))
}

fn refuse_dry_run(args: &Args) -> Result<(), Error> {
    if args.dry_run {
        let what = format!("{} is not a file of a known program", args.file.display());
        let hint = "--dry-run reads files of the programs listed in docs/foreign.md";
        return Err(Error::new(Exit::Request, what).hint(hint));
    }
    Ok(())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let real = args.file.canonicalize().map_err(|cause| {
        let what = format!("cannot read {}", args.file.display());
        Error::new(Exit::Request, what).caused_by(cause)
    })?;
    let sessions = match context.recognise(&real)? {
        LookupResult::One(one) => vec![one],
        LookupResult::Several(several) => several,
        LookupResult::None(_) => Vec::new(),
    };
    match sessions.first() {
        None => {}
        Some(_) if args.dry_run => return import_external(context, sessions),
        Some((_, layout, _)) => {
            let what = format!("{} is a session of {}", args.file.display(), layout.name());
            let hint = format!(
                "read it with: everturn show {0}; make your own copy with: everturn convert {0} \
                 --to LAYOUT; count its records with --dry-run",
                shell_word(&args.file.to_string_lossy())
            );
            return Err(Error::new(Exit::Request, what).hint(hint).into());
        }
    }
    let asked = args.id.as_deref().map(SessionId::parse).transpose().map_err(Error::from)?;
    let now = settings::now();
    if is_database(&args.file)? {
        return database(args, context);
    }
    let bytes = read(&args.file)?;
    if chatlog::is_chat_log(&bytes) {
        return chat_log(args, context, &bytes);
    }
    let migration = Migration::read(&bytes, asked.as_ref(), now);
    if args.dry_run && migration.is_err() {
        refuse_dry_run(args)?;
    }
    let migration = migration.map_err(Error::from)?;
    if args.dry_run {
        return print_migration(context, &migration, None);
    }
    let root = OpenRoot::create(&agent_homes::root(context.root.as_deref(), None)?)?;
    let store = root.store();
    let done = migration.import(&store, now).map_err(Error::from)?;
    drop(store);
    root.close()?;
    print_migration(context, &migration, Some(done))
}

/// Reports a migration of a legacy session, done or planned.
fn print_migration(
    context: &mut Context,
    migration: &Migration,
    done: Option<ImportOutcome>,
) -> Result<Exit, EarlyExit> {
    let Migration { id, turns, snapshots, notes, .. } = migration;
    if context.json {
        let notes: Vec<_> =
            notes.iter().map(|note| json!({"path": note.path, "why": note.why})).collect();
        let document = json!({
            "session": id.as_str(), "turns": turns, "snapshots": snapshots,
            "new": done == Some(ImportOutcome::New), "notes": notes,
        });
        writeln!(context.out, "{document}")?;
        return Ok(Exit::Success);
    }
    match done {
        Some(ImportOutcome::Already) => {
            Output::status(&format!("session {id} was imported before"));
        }
        done => {
            for note in notes {
                writeln!(context.out, "{}: {}", note.path, note.why)?;
            }
            context.out.flush()?;
            let end = if done.is_none() { "; nothing was written" } else { "" };
            Output::status(&format!("session {id}: turns {turns}, snapshots {snapshots}{end}"));
        }
    }
    Ok(Exit::Success)
}
