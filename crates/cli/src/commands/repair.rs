//! `everturn repair`: what is wrong with a session is mended, and every original kept.

use everturn::campaign;
use everturn::finding::Severity;
use everturn::game::{Action, Repair, plan_repair, repair, undo_repair};
use everturn::layout::Layout;
use everturn::names::SessionId;
use serde_json::json;

use super::Context;
use crate::error::{Error, Stop};
use crate::exit::Exit;
use crate::output::Output;
use crate::{games, settings};

/// Mend a damaged session, and keep every original
///
/// Moves lines that are no records out of the logs, works out states and metadata anew from snapshots and
/// changes, and sets bad snapshots and indexes aside. Turns are never renumbered. All that is changed or
/// removed is kept below .everturn/trash, and --undo puts it back as it was.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn repair --dry-run session-abc123
  everturn repair session-abc123
  everturn repair --undo session-abc123")]
pub(crate) struct Args {
    /// The id of the session
    #[arg(value_name = "SESSION")]
    session: String,

    /// Say what would be done, and do nothing
    #[arg(long, conflicts_with = "undo")]
    dry_run: bool,

    /// Take the last repair back
    #[arg(long)]
    undo: bool,
}

fn status(args: &Args, done: &Repair) -> String {
    if args.undo {
        return "the repair was taken back".to_owned();
    }
    let left = done.findings.iter().filter(|finding| finding.code.severity() == Severity::Finding);
    let left = left.count();
    match (&done.kept, left) {
        _ if args.dry_run && !done.actions.is_empty() => "nothing was changed".to_owned(),
        (None, 0) => "there is nothing to repair".to_owned(),
        (None, left) => format!("there is nothing that could be repaired; findings: {left}"),
        (Some(kept), 0) => format!("repaired; the originals are in {kept}"),
        (Some(kept), left) => {
            format!("repaired; the originals are in {kept}; findings that stay: {left}")
        }
    }
}

fn print(args: &Args, context: &mut Context, done: &Repair) -> Result<(), Stop> {
    if context.json {
        let actions: Vec<_> = done
            .actions
            .iter()
            .map(|action| json!({"file": action.file.as_str(), "what": action.what}))
            .collect();
        let document = json!({
            "session": args.session, "dryRun": args.dry_run, "undo": args.undo, "actions": actions,
            "findings": done.findings.len(), "kept": done.kept.as_ref().map(|kept| kept.as_str()),
        });
        return writeln!(context.out, "{document}");
    }
    for action in &done.actions {
        writeln!(context.out, "{}: {}", action.file, action.what)?;
    }
    context.out.flush()?;
    Output::status(&status(args, done));
    Ok(())
}

/// A campaign is not mended like a game.
fn run_campaign(args: &Args, context: &mut Context, id: &SessionId) -> Result<Exit, Stop> {
    let root = context.root.clone();
    let done = if args.dry_run {
        campaign::plan_repair(&games::look(root.as_deref())?, id).map_err(Error::from)?
    } else {
        let (file_store, store) = games::open(root.as_deref())?;
        let mend = if args.undo { campaign::undo_repair } else { campaign::repair };
        let done = mend(&store, id, settings::now()).map_err(Error::from)?;
        drop(store);
        file_store.close().map_err(Error::from)?;
        done
    };
    let actions = done.mendings.into_iter().map(|done| Action { file: done.file, what: done.what });
    let (actions, kept) = (actions.collect(), done.kept);
    let store = games::look(root.as_deref())?;
    let left = campaign::Campaign::open(store, id).and_then(|campaign| campaign.check());
    let findings = left.map_err(Error::from)?;
    print(args, context, &Repair { actions, findings, kept })?;
    Ok(Exit::Fine)
}

/// Layouts that are mended through their common shape.
fn has_own_repair(layout: &dyn Layout) -> bool {
    !matches!(layout.name(), "game" | "campaign")
}

/// Mends a session through its layout.
fn run_layout(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    let found = match args.dry_run {
        true => context.find_to_read(&args.session)?,
        false => context.find_to_write(&args.session)?,
    };
    let (store, place, now) = (found.root.store(), &found.place, settings::now());
    let done = match (args.dry_run, args.undo) {
        (true, _) => found.layout.plan_repair(&store, place, now),
        (false, true) => found.layout.undo_repair(&store, place, now),
        (false, false) => found.layout.repair(&store, place, now),
    };
    let done = done.map_err(|error| found.failed(error))?;
    drop(store);
    if !args.dry_run {
        found.root.close()?;
    }
    print(args, context, &done)?;
    Ok(Exit::Fine)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    if context.find_layout(&args.session)?.is_some_and(has_own_repair) {
        return run_layout(args, context);
    }
    let id = SessionId::parse(&args.session).map_err(Error::from)?;
    let root = context.root.clone();
    let campaigns = campaign::list(&games::look(root.as_deref())?).map_err(Error::from)?;
    if campaigns.contains(&id) {
        return run_campaign(args, context, &id);
    }
    if args.dry_run {
        let store = games::look(root.as_deref())?;
        let planned = plan_repair(&store, &id).map_err(Error::from)?;
        print(args, context, &planned)?;
        return Ok(Exit::Fine);
    }
    let (file_store, store) = games::open(root.as_deref())?;
    let done = if args.undo {
        undo_repair(&store, &id, settings::now())
    } else {
        repair(&store, &id, settings::now())
    };
    let done = done.map_err(Error::from)?;
    drop(store);
    file_store.close().map_err(Error::from)?;
    print(args, context, &done)?;
    Ok(Exit::Fine)
}
