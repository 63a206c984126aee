//! `everturn restore`: restores sessions from the trash.

use super::Context;
use super::trash::listed;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;

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
}

/// Returns the names in the trash that match a name.
pub(super) fn resolve_trashed(context: &Context, name: &str) -> Result<Vec<String>, Error> {
    let all = listed(context)?;
    let is_meant = |names: &dyn Fn(&everturn::model::TrashedSession) -> bool| {
        let found = all.iter().filter(|trashed| names(trashed));
        found.map(|trashed| trashed.name.clone()).collect::<Vec<_>>()
    };
    let exact = is_meant(&|trashed| trashed.name == name);
    let found = if exact.is_empty() { is_meant(&|trashed| trashed.id == name) } else { exact };
    if found.is_empty() {
        return Err(Error::new(Exit::Request, format!("{name:?} is not in the trash"))
            .hint(context.next_command("trash")));
    }
    Ok(found)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let names = resolve_trashed(context, &args.name)?;
    let [name] = names.as_slice() else {
        let count = names.len();
        return Err(Error::new(
            Exit::Request,
            format!("{:?} is in the trash {count} times", args.name),
        )
        .hint(format!("name one of {}", names.join(", ")))
        .into());
    };
    let root = context.root_to_write()?;
    let mut restored = None;
    for layout in context.layouts() {
        if layout
            .list_trash(&root.store())
            .map_err(Error::from)?
            .iter()
            .any(|item| item.name == *name)
        {
            restored = Some(layout.restore(&root.store(), name).map_err(Error::from)?);
            break;
        }
    }
    let gone = || Error::new(Exit::Request, format!("{name} is no longer in the trash"));
    let place = restored.ok_or_else(gone)?;
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
