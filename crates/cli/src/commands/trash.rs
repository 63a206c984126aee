//! `everturn trash`: moves a session to the trash, or lists the trash.

use everturn::format::Transition;
use everturn::model::TrashedSession;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::lifecycle::transition;
use crate::output::Output;

/// Move a session to the trash, or list the trash
///
/// Nothing is deleted: the session or its archive is moved to the trash of its root, and `everturn
/// restore` restores it. Only `everturn purge` deletes.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn trash session-abc123
  everturn trash

Items in the trash with --json, one per line:
  {"name":"20260101T100000Z-session-abc123","session":"session-abc123","path":"…","time":"…","bytes":1234}"#)]
pub(crate) struct Args {
    /// The session to move to the trash; without it, list the trash
    session: Option<String>,
}

/// Returns the trashed sessions of the selected formats, oldest first.
pub(super) fn listed(context: &Context) -> Result<Vec<TrashedSession>, Error> {
    let root = context.open_root()?;
    let mut all = Vec::new();
    for layout in context.layouts() {
        all.extend(layout.list_trash(&root.store())?);
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// Formats a trashed session for `--json`.
pub(super) fn json(trashed: &TrashedSession) -> String {
    JsonObject::new()
        .text("name", &trashed.name)
        .text("session", &trashed.id)
        .text("path", trashed.path.as_str())
        .time("time", Some(trashed.time))
        .number("bytes", trashed.bytes)
        .close()
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    if let Some(session) = &args.session {
        return transition(context, session, Transition::Trash);
    }
    let all = listed(context)?;
    for trashed in &all {
        if context.json {
            writeln!(context.out, "{}", json(trashed))?;
        } else {
            writeln!(context.out, "{}  {} bytes  {}", trashed.name, trashed.bytes, trashed.path)?;
        }
    }
    if all.is_empty() {
        Output::status("the trash is empty");
    }
    Ok(Exit::Success)
}
