//! `everturn purge`: deletes sessions in the trash for good. No other command deletes sessions.

use everturn::model::TrashedSession;

use super::Context;
use super::restore::resolve_trashed;
use super::trash::{json, listed};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::Output;
use crate::sessions::OpenRoot;

/// Delete sessions from the trash permanently
///
/// Without `--yes`, only lists the items to delete.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn purge session-abc123
  everturn purge session-abc123 --yes
  everturn purge --all --yes

Deleted items are printed as in the output of `everturn trash`."#)]
pub(crate) struct Args {
    /// Names in the trash, or session IDs
    #[arg(value_name = "TRASHED", required_unless_present = "all", conflicts_with = "all")]
    names: Vec<String>,

    /// Delete everything in the trash
    #[arg(long)]
    all: bool,

    /// Delete the items; this cannot be undone
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let mut chosen = Vec::new();
    for name in &args.names {
        chosen.extend(resolve_trashed(context, name)?);
    }
    let mut condemned = listed(context)?;
    condemned.retain(|trashed| args.all || chosen.contains(&trashed.name));
    if !args.yes {
        print(context, &condemned)?;
        Output::status("nothing was deleted; re-run with --yes to delete permanently");
        return Ok(Exit::Success);
    }
    let root = context.root_to_write()?;
    let mut purged = Vec::new();
    let done = purge(context, &root, &condemned, &mut purged);
    let closed = root.close();
    // After a failure, the sessions that were deleted before it are still printed.
    condemned.retain(|trashed| purged.contains(trashed));
    print(context, &condemned)?;
    done?;
    closed?;
    Ok(Exit::Success)
}

/// Deletes sessions, one format after the other. Adds those whose deletion is committed to `purged`.
fn purge(
    context: &Context,
    root: &OpenRoot,
    condemned: &[TrashedSession],
    purged: &mut Vec<TrashedSession>,
) -> Result<(), Error> {
    for layout in context.layouts() {
        let own = layout.list_trash(&root.store())?;
        let own: Vec<_> = condemned.iter().filter(|item| own.contains(item)).cloned().collect();
        if !own.is_empty() {
            layout.purge(&root.store(), &own)?;
            purged.extend(own);
        }
    }
    Ok(())
}

fn print(context: &mut Context, sessions: &[TrashedSession]) -> Result<(), EarlyExit> {
    for trashed in sessions {
        if context.json {
            writeln!(context.out, "{}", json(trashed))?;
        } else {
            writeln!(context.out, "{}  {} bytes  {}", trashed.name, trashed.bytes, trashed.path)?;
        }
    }
    context.out.flush()
}
