//! `everturn repair`: what is wrong with a session is mended, and every original kept.

use everturn::finding::Severity;
use everturn::layout::Repairing;
use everturn::repairs::Repair;
use serde_json::json;

use super::Context;
use crate::error::Stop;
use crate::exit::Exit;
use crate::output::Output;
use crate::settings;

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
    /// The session: an id or the beginning of one, a path, or `latest`
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

fn print(args: &Args, context: &mut Context, session: &str, done: &Repair) -> Result<(), Stop> {
    if context.json {
        let actions: Vec<_> = done
            .actions
            .iter()
            .map(|action| json!({"file": action.file.as_str(), "what": action.what}))
            .collect();
        let document = json!({
            "session": session, "dryRun": args.dry_run, "undo": args.undo, "actions": actions,
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

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    let found = match args.dry_run {
        true => context.find_to_read(&args.session)?,
        false => context.find_to_write(&args.session)?,
    };
    let (store, place, now) = (found.root.store(), &found.place, settings::now());
    let repairing = match (args.dry_run, args.undo) {
        (true, _) => Repairing::Plan,
        (false, true) => Repairing::TakeBack,
        (false, false) => Repairing::Mend,
    };
    let done = found.layout.repair(&store, place, repairing, now);
    let done = done.map_err(|error| found.failed(error))?;
    let session = found.place.id.clone();
    drop(store);
    if !args.dry_run {
        found.root.close()?;
    }
    print(args, context, &session, &done)?;
    Ok(Exit::Fine)
}
