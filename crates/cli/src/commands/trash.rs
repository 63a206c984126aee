//! `everturn trash`: sessions that were thrown away.

use everturn::layout::Stage;
use everturn::view::Trashed;

use super::Context;
use crate::error::{Error, Stop};
use crate::exit::Exit;
use crate::json::Object;
use crate::output::Output;
use crate::stages::move_on;

/// Throw a session away, or list what was thrown away
///
/// Nothing is deleted: the session, or its archive, moves to the trash of its root, and `everturn restore`
/// takes it out again. Only `everturn purge` deletes.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn trash session-abc123
  everturn trash

What is in the trash with --json, one per line:
  {"name":"20260101T100000Z-session-abc123","session":"session-abc123","path":"…","time":"…","bytes":1234}"#)]
pub(crate) struct Args {
    /// The session to throw away; without one, the trash is listed
    session: Option<String>,
}

/// What is in the trash of all layouts that are looked at, oldest first.
pub(super) fn listed(context: &Context) -> Result<Vec<Trashed>, Error> {
    let root = context.open_root()?;
    let mut all = Vec::new();
    for layout in context.layouts() {
        all.extend(layout.trashed(&root.store())?);
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// What `--json` prints for one thing in the trash.
pub(super) fn json(trashed: &Trashed) -> String {
    Object::new()
        .text("name", &trashed.name)
        .text("session", &trashed.id)
        .text("path", trashed.path.as_str())
        .time("time", Some(trashed.time))
        .number("bytes", trashed.bytes)
        .close()
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    if let Some(session) = &args.session {
        return move_on(context, session, Stage::Trash);
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
    Ok(Exit::Fine)
}
