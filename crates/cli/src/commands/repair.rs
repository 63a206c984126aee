//! `everturn repair`: what is wrong with a session is mended, and every original kept.

use std::path::{Path, PathBuf};

use everturn::finding::Severity;
use everturn::layout::Repairing;
use everturn::names::Name;
use everturn::repairs::{Mend, Mended, Repair};
use serde_json::json;

use super::Context;
use crate::error::{Error, Stop};
use crate::exit::Exit;
use crate::output::Output;
use crate::sessions::{Found, Root};
use crate::settings;

/// Mend a damaged session, and keep every original
///
/// Moves lines that are no records out of the logs, works out states and metadata anew from snapshots and
/// changes, and sets bad snapshots and indexes aside. Turns are never renumbered. All that is changed or
/// removed is kept below .everturn/trash, and --undo puts it back as it was.
///
/// Files of other programs are never changed. With --into, a mended copy of such a file is written, for the same
/// program to read: every record on a line of its own, behind one that is there, with an answer to every call of a
/// tool. What is no record goes to a file beside it whose name ends in .quarantine. No file is ever replaced.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn repair --dry-run session-abc123
  everturn repair session-abc123
  everturn repair --undo session-abc123
  everturn repair --dry-run --into ~/mended codex:5973b6c0
  everturn repair --into ~/mended codex:5973b6c0")]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    #[arg(value_name = "SESSION")]
    session: String,

    /// Say what would be done, and do nothing
    #[arg(long, conflicts_with = "undo")]
    dry_run: bool,

    /// Take the last repair back
    #[arg(long, conflicts_with = "into")]
    undo: bool,

    /// Where the mended copy goes, if the session is of another program; made if need be
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
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

/// What is otherwise in a copy, one line each, as a check would tell what is wrong.
fn mend_line(file: &str, mend: &Mend) -> String {
    let Mend { line, offset, code, what } = mend;
    let line = line.map_or_else(String::new, |line| format!(":{line}"));
    let code = code.map_or_else(String::new, |code| format!("{code}: "));
    let byte = offset.map_or_else(String::new, |offset| format!(" (byte {offset})"));
    format!("{file}{line}: {code}{what}{byte}")
}

fn print_copy(
    args: &Args,
    context: &mut Context,
    found: &Found,
    mended: &Mended,
    into: &Path,
) -> Result<(), Stop> {
    let file = found.root.shown(&found.place.path);
    let path = |name: &Name| into.join(name.as_str()).to_string_lossy().into_owned();
    let aside = mended.quarantine().map_err(Error::from)?.map(|name| path(&name));
    let is_written = mended.is_needed() && !args.dry_run;
    if context.json {
        let mend = |mend: &Mend| {
            let code = mend.code.map(|code| code.as_str());
            json!({"line": mend.line, "offset": mend.offset, "code": code, "what": mend.what})
        };
        let document = json!({
            "session": found.place.id, "dryRun": args.dry_run, "file": file,
            "mends": mended.mends.iter().map(mend).collect::<Vec<_>>(),
            "findings": mended.findings.len(), "written": is_written,
            "copy": path(&mended.name), "quarantine": aside,
        });
        return writeln!(context.out, "{document}");
    }
    for mend in &mended.mends {
        writeln!(context.out, "{}", mend_line(&file, mend))?;
    }
    context.out.flush()?;
    let left = match mended.findings.len() {
        0 => String::new(),
        left => format!("; what stays as it is: {left}"),
    };
    Output::status(&match (mended.is_needed(), is_written, aside) {
        (false, ..) => format!("there is nothing to repair, and no copy was made{left}"),
        (true, false, _) => format!("nothing was written{left}"),
        (true, true, None) => format!("the mended copy is {}{left}", path(&mended.name)),
        (true, true, Some(aside)) => {
            let copy = path(&mended.name);
            format!("the mended copy is {copy}, what was set aside is in {aside}{left}")
        }
    });
    Ok(())
}

/// Writes a mended copy of the file of another program.
fn copy(args: &Args, context: &mut Context, found: &Found, into: &Path) -> Result<Exit, Stop> {
    let mended = found.layout.mended(&found.root.store(), &found.place);
    let mended = mended.map_err(|error| found.failed(error))?;
    if mended.is_needed() && !args.dry_run {
        let root = Root::create(into)?;
        let written = mended.write(&root.store());
        written.map_err(|error| {
            let hint = format!("nothing in {} is replaced; name another directory", into.display());
            Error::from(error).hint(hint)
        })?;
        root.close()?;
    }
    print_copy(args, context, found, &mended, into)?;
    Ok(Exit::Fine)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    let found = match args.dry_run || args.into.is_some() {
        true => context.find_to_read(&args.session)?,
        false => context.find_to_write(&args.session)?,
    };
    let (id, name) = (&found.place.id, found.layout.name());
    match (&args.into, found.layout.is_foreign()) {
        (Some(into), true) => return copy(args, context, &found, into),
        (None, true) => {
            let what =
                format!("session {id} is of another program ({name}), whose files are left alone");
            let hint = format!("everturn repair {} --into DIR writes a mended copy", args.session);
            return Err(Error::new(Exit::Request, what).hint(hint).into());
        }
        (Some(_), false) => {
            let what = format!("session {id} is mended in its place, and every original is kept");
            let hint = "leave out --into, which is for sessions of other programs";
            return Err(Error::new(Exit::Request, what).hint(hint).into());
        }
        (None, false) => {}
    }
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
