//! `everturn restore`: restores sessions from the trash.

use std::time::Duration;

use everturn::format::Operation;

use super::Context;
use crate::context::next_command;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::open_root::{OpenRoot, RootAccess};
use crate::retry::retry_while_busy;
use crate::trash_list::{TrashItem, list_trash};

/// Restore a session from the trash
///
/// Use the name that `everturn trash` lists, or the session ID if it is unique in the trash.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn restore session-abc123
  everturn restore 20260101T100000Z-session-abc123

Output with --json:
  {"session":"session-abc123","path":"…"}"#)]
pub(crate) struct Args {
    /// The name in the trash, or the session ID
    #[arg(value_name = "TRASHED")]
    name: String,

    /// The time to wait for another process that is writing to the session
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    wait: u16,
}

/// Returns the sessions in the trash that match a name.
pub(super) fn resolve_trashed(context: &Context, name: &str) -> Result<Vec<TrashItem>, Error> {
    let all = list_trash(context)?;
    let has_name = all.iter().any(|item| item.trashed.name == name);
    let is_meant = |item: &TrashItem| match has_name {
        true => item.trashed.name == name,
        false => item.trashed.id == name,
    };
    let found: Vec<TrashItem> = all.into_iter().filter(is_meant).collect();
    if found.is_empty() {
        return Err(Error::new(Exit::Request, format!("{name:?} is not in the trash"))
            .hint(next_command("trash")));
    }
    Ok(found)
}

/// The error for a name that several sessions in the trash have.
fn ambiguous(name: &str, found: &[TrashItem]) -> Error {
    let what = format!("{name:?} is in the trash {} times", found.len());
    let names: Vec<&str> = found.iter().map(|item| item.trashed.name.as_str()).collect();
    let is_one_root = found.iter().all(|item| Some(&item.root) == found.first().map(|it| &it.root));
    let hint = match is_one_root {
        true => format!("name one of {}", names.join(", ")),
        false => "choose the root with --root DIR".to_owned(),
    };
    Error::new(Exit::Request, what).hint(hint)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let found = resolve_trashed(context, &args.name)?;
    let [item] = found.as_slice() else { return Err(ambiguous(&args.name, &found).into()) };
    let root = OpenRoot::open(&item.root, RootAccess::Write)?;
    let lifecycle = item.format.lifecycle(Operation::Restore).map_err(Error::from)?;
    let wait = Duration::from_secs(args.wait.into());
    let place = retry_while_busy(wait, || lifecycle.restore(&root.store(), &item.trashed.name))
        .map_err(Error::from)?;
    let path = root.shown(&place.path);
    if context.json {
        let answer = JsonObject::new().text("session", &place.id).text("path", &path);
        writeln!(context.out, "{}", answer.close())?;
    } else {
        writeln!(context.out, "{path}")?;
    }
    context.out.flush()?;
    root.close()?;
    Ok(Exit::Success)
}
