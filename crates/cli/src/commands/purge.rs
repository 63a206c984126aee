//! `everturn purge`: deletes sessions in the trash for good. No other command deletes sessions.

use std::collections::BTreeSet;
use std::path::Path;

use everturn::format::Operation;
use everturn::model::TrashedSession;

use super::Context;
use super::restore::resolve_trashed;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::open_root::{OpenRoot, RootAccess};
use crate::output::Output;
use crate::trash_list::{TrashItem, list_trash};

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
    match args.all {
        true => chosen = list_trash(context)?,
        false => {
            for name in &args.names {
                chosen.extend(resolve_trashed(context, name)?);
            }
        }
    }
    if !args.yes {
        chosen.iter().try_for_each(|item| item.print(context))?;
        context.out.flush()?;
        Output::status("nothing was deleted; re-run with --yes to delete permanently");
        return Ok(Exit::Success);
    }
    let mut purged = Vec::new();
    let done = purge(&chosen, &mut purged);
    // After a failure, the sessions that were deleted before it are still printed.
    purged.iter().try_for_each(|item| item.print(context))?;
    context.out.flush()?;
    done?;
    Ok(Exit::Success)
}

/// Deletes sessions, one root and one format after the other. Adds those whose deletion is committed to `purged`.
fn purge(chosen: &[TrashItem], purged: &mut Vec<TrashItem>) -> Result<(), Error> {
    let groups: BTreeSet<(&Path, &str)> =
        chosen.iter().map(|item| (item.root.as_path(), item.format.name())).collect();
    for (root, format) in groups {
        let is_in = |item: &&TrashItem| item.root == root && item.format.name() == format;
        let items: Vec<TrashItem> = chosen.iter().filter(is_in).cloned().collect();
        let sessions: Vec<TrashedSession> = items.iter().map(|item| item.trashed.clone()).collect();
        let Some(format) = items.first().map(|item| item.format) else { continue };
        let root = OpenRoot::open(root, RootAccess::Write)?;
        format.lifecycle(Operation::Purge)?.purge(&root.store(), &sessions)?;
        root.close()?;
        purged.extend(items);
    }
    Ok(())
}
