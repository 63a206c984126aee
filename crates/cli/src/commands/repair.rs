//! `everturn repair`: repairs a session, and keeps every original.

use std::path::{Path, PathBuf};

use everturn::finding::Severity;
use everturn::format::{Operation, RepairMode};
use everturn::names::Name;
use everturn::repair::{CopyRepair, RepairReport, RepairedCopy};
use serde_json::json;

use super::Context;
use crate::context::{next_command, shell_word};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::open_root::OpenRoot;
use crate::output::Output;
use crate::sessions::FoundSession;
use crate::settings;

/// Repair a damaged session and keep the originals
///
/// Moves lines that are not records out of the logs, recomputes states and metadata from snapshots
/// and changes, and moves bad snapshots and indexes aside. Turns are never renumbered. The
/// originals of changed and removed data are kept below .everturn/trash, and --undo restores them.
///
/// Files of other programs are never changed. With --into, a repaired copy of such a file is
/// written that the same program can read: each record is on its own line and has an existing
/// parent, and each tool call has a result. Data that is not a record is written to a file beside
/// the copy whose name ends in .quarantine. Existing files are never replaced.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn repair --dry-run session-abc123
  everturn repair session-abc123
  everturn repair --undo session-abc123
  everturn repair --dry-run --into ~/repaired codex:5973b6c0
  everturn repair --into ~/repaired codex:5973b6c0")]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    #[arg(value_name = "SESSION")]
    session: String,

    /// Print the plan and change nothing
    #[arg(long, conflicts_with = "undo")]
    dry_run: bool,

    /// Undo the last repair
    #[arg(long, conflicts_with = "into")]
    undo: bool,

    /// The directory for the repaired copy of another program's session; created if necessary
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

fn status(args: &Args, done: &RepairReport) -> String {
    if args.undo {
        return "the repair was undone".to_owned();
    }
    let left = done.findings.iter().filter(|finding| finding.code.severity() == Severity::Finding);
    let left = left.count();
    match (&done.originals, left) {
        _ if args.dry_run && !done.actions.is_empty() => "nothing was changed".to_owned(),
        (None, 0) => "nothing to repair".to_owned(),
        (None, left) => format!("nothing can be repaired automatically; findings: {left}"),
        (Some(kept), 0) => format!("repaired; the originals are in {kept}"),
        (Some(kept), left) => {
            format!("repaired; the originals are in {kept}; remaining findings: {left}")
        }
    }
}

fn print(
    args: &Args,
    context: &mut Context,
    session: &str,
    done: &RepairReport,
) -> Result<(), EarlyExit> {
    if context.json {
        let actions: Vec<_> = done
            .actions
            .iter()
            .map(|action| json!({"file": action.file.as_str(), "what": action.what}))
            .collect();
        let document = json!({
            "session": session, "dryRun": args.dry_run, "undo": args.undo, "actions": actions,
            "findings": done.findings.len(), "kept": done.originals.as_ref().map(|kept| kept.as_str()),
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

/// Describes a difference between a copy and its original in one line, in the form of a finding.
fn repair_line(file: &str, repair: &CopyRepair) -> String {
    let CopyRepair { line, offset, code, what } = repair;
    let line = line.map_or_else(String::new, |line| format!(":{line}"));
    let code = code.map_or_else(String::new, |code| format!("{code}: "));
    let byte = offset.map_or_else(String::new, |offset| format!(" (byte {offset})"));
    format!("{file}{line}: {code}{what}{byte}")
}

fn print_copy(
    args: &Args,
    context: &mut Context,
    found: &FoundSession,
    repaired: &RepairedCopy,
    into: &Path,
) -> Result<(), EarlyExit> {
    let file = found.root.shown(&found.place.path);
    let path = |name: &Name| into.join(name.as_str()).to_string_lossy().into_owned();
    let aside = repaired.quarantine_name().map_err(Error::from)?.map(|name| path(&name));
    let is_written = repaired.is_needed() && !args.dry_run;
    if context.json {
        let repair = |repair: &CopyRepair| {
            let code = repair.code.map(|code| code.as_str());
            json!({"line": repair.line, "offset": repair.offset, "code": code, "what": repair.what})
        };
        let document = json!({
            "session": found.place.id, "dryRun": args.dry_run, "file": file,
            "mends": repaired.repairs.iter().map(repair).collect::<Vec<_>>(),
            "findings": repaired.findings.len(), "written": is_written,
            "copy": path(&repaired.name), "quarantine": aside,
        });
        return writeln!(context.out, "{document}");
    }
    for repair in &repaired.repairs {
        writeln!(context.out, "{}", repair_line(&file, repair))?;
    }
    context.out.flush()?;
    let left = match repaired.findings.len() {
        0 => String::new(),
        left => format!("; remaining findings: {left}"),
    };
    Output::status(&match (repaired.is_needed(), is_written, aside) {
        (false, ..) => format!("nothing to repair; no copy was written{left}"),
        (true, false, _) => format!("nothing was written{left}"),
        (true, true, None) => format!("the repaired copy is {}{left}", path(&repaired.name)),
        (true, true, Some(aside)) => {
            let copy = path(&repaired.name);
            format!("the repaired copy is {copy}, the quarantined data is in {aside}{left}")
        }
    });
    Ok(())
}

/// Writes a repaired copy of a file of another program.
fn copy(
    args: &Args,
    context: &mut Context,
    found: &FoundSession,
    into: &Path,
) -> Result<Exit, EarlyExit> {
    let external = found.layout.external(Operation::RepairedCopy);
    let repaired =
        external.and_then(|external| external.repaired_copy(&found.root.store(), &found.place));
    let repaired = repaired.map_err(|error| found.failed(error))?;
    if repaired.is_needed() && !args.dry_run {
        let root = OpenRoot::create(into)?;
        let written = repaired.write(&root.store());
        written.map_err(|error| {
            let hint = format!(
                "existing files in {} are not overwritten; choose another directory",
                into.display()
            );
            Error::from(error).hint(hint)
        })?;
        root.close()?;
    }
    print_copy(args, context, found, &repaired, into)?;
    Ok(Exit::Success)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let found = match args.dry_run || args.into.is_some() {
        true => context.find_to_read(&args.session)?,
        false => context.find_to_write(&args.session)?,
    };
    let (id, name) = (&found.place.id, found.layout.name());
    match (&args.into, found.layout.is_external()) {
        (Some(into), true) => return copy(args, context, &found, into),
        (None, true) => {
            let what =
                format!("session {id} is from another program ({name}); its files are not changed");
            let hint = format!(
                "write a repaired copy with: {}",
                next_command(&format!("repair {} --into DIR", shell_word(&args.session)))
            );
            return Err(Error::new(Exit::Request, what).hint(hint).into());
        }
        (Some(_), false) => {
            let what = format!(
                "--into is for sessions of other programs; session {id} is repaired in place"
            );
            let hint = "omit --into; every original is kept";
            return Err(Error::new(Exit::Request, what).hint(hint).into());
        }
        (None, false) => {}
    }
    let (store, place, now) = (found.root.store(), &found.place, settings::now());
    let repairing = match (args.dry_run, args.undo) {
        (true, _) => RepairMode::Plan,
        (false, true) => RepairMode::Undo,
        (false, false) => RepairMode::Apply,
    };
    let done = found.editing(Operation::Repair)?.repair(&store, place, repairing, now);
    let done = done.map_err(|error| found.failed(error))?;
    let session = found.place.id.clone();
    drop(store);
    if !args.dry_run {
        found.root.close()?;
    }
    print(args, context, &session, &done)?;
    Ok(Exit::Success)
}
