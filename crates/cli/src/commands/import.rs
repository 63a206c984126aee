//! `everturn import`: old sessions of one file become sessions of today.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn::chatlog;
use everturn::disk::RealDisk;
use everturn::game::{Imported, Migration};
use everturn::layout::LayoutError;
use everturn::names::{FilePath, SessionId};
use everturn::store::{FileStore, Store};
use serde_json::json;

use super::Context;
use crate::error::{Error, Stop};
use crate::exit::Exit;
use crate::output::Output;
use crate::{games, settings};

/// Take over a session that is a single file: an old game session, or a chat log
///
/// The file has frames, checkpoints, a worldState and a player. Frames become turns, checkpoints become
/// snapshots, and what has no place in a session of today is kept in its metadata and turns, and listed.
/// A chat log (a JSON document whose type is "chat-log") is taken over byte for byte, as chats/<id>.json.
/// The file stays as it is. The same file is imported once, however often it is asked for.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn import --root game old-session.json
  everturn import --id second-try old-session.json
  everturn import beginning.chat-log.json")]
pub(crate) struct Args {
    /// The old session
    file: PathBuf,

    /// What the session shall be called, if not as it says itself
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

/// The content of a file, wherever it is.
fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |cause: std::io::Error| {
        Error::new(Exit::Request, format!("cannot read {}", path.display())).caused_by(cause)
    };
    let real = path.canonicalize().map_err(failed)?;
    let (Some(dir), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(Error::new(Exit::Request, format!("{} is no file", path.display())));
    };
    let name = FilePath::parse(&name.to_string_lossy())?;
    let disk = Arc::new(RealDisk::open(dir).map_err(failed)?);
    let bytes = FileStore::open_read_only(disk)?.read(&name, 0..u64::MAX);
    bytes.map_err(|cause| Error::from(cause).saying(format!("cannot read {}", path.display())))
}

fn chat_log(args: &Args, context: &mut Context, bytes: &[u8]) -> Result<Exit, Stop> {
    let (file_store, store) = games::open(context.root.as_deref())?;
    let done = chatlog::import(&store, bytes, args.id.as_deref());
    let done = done.map_err(|error| Error::from(LayoutError::from(error)))?;
    drop(store);
    file_store.close().map_err(Error::from)?;
    if context.json {
        let document = json!({
            "session": done.id, "turns": done.messages, "new": done.new, "notes": [],
        });
        writeln!(context.out, "{document}")?;
        return Ok(Exit::Fine);
    }
    Output::status(&match done.new {
        true => format!("session {}: messages {}", done.id, done.messages),
        false => format!("session {} was imported before", done.id),
    });
    Ok(Exit::Fine)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    let asked = args.id.as_deref().map(SessionId::parse).transpose().map_err(Error::from)?;
    let now = settings::now();
    let bytes = read(&args.file)?;
    if chatlog::is_chat_log(&bytes) {
        return chat_log(args, context, &bytes);
    }
    let migration = Migration::read(&bytes, asked.as_ref(), now).map_err(Error::from)?;
    let (file_store, store) = games::open(context.root.as_deref())?;
    let done = migration.import(&store, now).map_err(Error::from)?;
    drop(store);
    file_store.close().map_err(Error::from)?;
    let Migration { id, turns, snapshots, notes, .. } = &migration;
    if context.json {
        let notes: Vec<_> =
            notes.iter().map(|note| json!({"path": note.path, "why": note.why})).collect();
        let document = json!({
            "session": id.as_str(), "turns": turns, "snapshots": snapshots,
            "new": done == Imported::New, "notes": notes,
        });
        writeln!(context.out, "{document}")?;
        return Ok(Exit::Fine);
    }
    match done {
        Imported::New => {
            for note in notes {
                writeln!(context.out, "{}: {}", note.path, note.why)?;
            }
            context.out.flush()?;
            Output::status(&format!("session {id}: turns {turns}, snapshots {snapshots}"));
        }
        Imported::Already => Output::status(&format!("session {id} was imported before")),
    }
    Ok(Exit::Fine)
}
