//! `everturn convert`: converts a session to another format.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::PossibleValuesParser;
use everturn::convert::{
    Conversion, ConversionPlan, ConversionReport, ConvertError, Disposition, EntryOutcome,
    NativeOptions, TARGETS,
};
use everturn::disk::{Disk, RealDisk};
use everturn::format::SessionError;
use everturn::store::{FileStore, Store};
use serde_json::json;

use super::Context;
use crate::atomic_file::{AtomicFile, ExistingFile};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::open_root::OpenRoot;
use crate::output::{Output, count_noun, escape_controls};
use crate::sessions::FoundSession;
use crate::{agent_homes, linggen, server_roots, settings};

/// Convert a session to another format or program
///
/// The new session is built and compared with the original before anything is written. It is
/// written atomically, read back and compared again. The original is not changed. Each entry is
/// reported as kept, changed (other programs see something different) or dropped (the target cannot
/// store it). Between Everturn's own formats nothing is dropped: data without a field in the target
/// format is carried along, and restored when the session is converted back.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn convert tale --to game
  everturn convert codex:5973b6c0 --to chatlog --id first-try
  everturn convert latest --to claude-code ~/.claude/projects/-srv-app --project /srv/app
  everturn convert tale --to linggen --dry-run --entries

DEST is the root of the new session or, for a file of another program (claude-code, codex,
goose, sillytavern), its directory. Default: the root, or the current directory for a file.

Output with --json:
  {"session":"tale","layout":"game","path":"…","written":true,"kept":7,"changed":1,"dropped":0,
   "entries":[{"seq":1,"turn":1,"id":"…","fate":"kept","why":[]},…],
   "notes":[{"what":"turn numbers","fate":"changed","why":"…"}]}"#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`
    session: String,

    /// The target format or program
    #[arg(long, value_name = "LAYOUT", value_parser = PossibleValuesParser::new(TARGETS))]
    to: String,

    /// The destination: a root, or a directory for a file of another program
    #[arg(value_name = "DEST")]
    dest: Option<PathBuf>,

    /// The ID of the new session; default: the ID of the original, or one derived from it
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// The branch to convert; default: the main line
    #[arg(long, value_name = "ID")]
    branch: Option<String>,

    /// The project directory of the session, for formats that need one
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,

    /// The model provider of a Codex session; default: that of its configuration, or `openai`
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// Print the report and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Report every entry, not only counts
    #[arg(long)]
    entries: bool,
}

pub(super) fn failed(found: &FoundSession, error: ConvertError) -> Error {
    match error {
        ConvertError::Layout(error) => {
            let taken = matches!(error, SessionError::Taken { .. });
            let error = found.failed(error);
            if taken { error.hint("choose another ID with --id, or another DEST") } else { error }
        }
        ConvertError::Left { path, source } => {
            let error = failed(found, *source);
            let hint = format!(
                "the new session is left as {path} in DEST; remove it before you try again"
            );
            error.hint(hint)
        }
        different @ ConvertError::Different { .. } => {
            Error::new(Exit::Internal, different.to_string())
                .hint("the original is unchanged; everturn check reports whether it is damaged")
        }
        other => Error::new(Exit::Request, other.to_string()),
    }
}

/// Writes an Everturn session; returns its path.
fn write(plan: &ConversionPlan, dest: &Path, found: &FoundSession) -> Result<String, Error> {
    let root = OpenRoot::create(dest)?;
    let place = plan.write(&root.store()).map_err(|error| {
        // The store names paths below its root, and two roots are involved here.
        let is_of_store = matches!(error, ConvertError::Layout(SessionError::Store(_)));
        let error = failed(found, error);
        if is_of_store { error.at(&dest.display().to_string()) } else { error }
    })?;
    let shown = root.shown(&place.path);
    root.close()?;
    Ok(shown)
}

/// Writes a file of another program, and leaves no other files beside it.
pub(super) fn write_file(
    plan: &ConversionPlan,
    bytes: &[u8],
    dest: &Path,
    found: &FoundSession,
) -> Result<String, Error> {
    use std::io::Write;
    let path = dest.join(plan.place().path.as_str());
    let cannot = |cause| {
        Error::new(Exit::Request, format!("cannot write {}", path.display())).caused_by(cause)
    };
    let disk = RealDisk::create(dest).map_err(cannot)?;
    let is_taken = disk.stat(&plan.place().path).is_ok_and(|there| there.is_some());
    let hint = if is_taken {
        "choose another ID with --id, or another DEST"
    } else {
        "choose another DEST"
    };
    let mut target =
        AtomicFile::create(&path, ExistingFile::Kept).map_err(|error| error.hint(hint))?;
    target.write_all(bytes).map_err(cannot)?;
    target.finish()?;
    let store: Arc<dyn Store> = Arc::new(FileStore::open_read_only(Arc::new(disk))?);
    plan.compare(&store).map_err(|error| {
        let left =
            format!("the new file is left as {}; remove it before you try again", path.display());
        failed(found, error).hint(left)
    })?;
    Ok(path.to_string_lossy().into_owned())
}

fn as_json(plan: &ConversionPlan, path: Option<&str>) -> String {
    let report = plan.report();
    let count = |fate| report.count(fate) as u64;
    let entry = |EntryOutcome { seq, turn, id, fate, why }: &EntryOutcome| json!({"seq": seq, "turn": turn, "id": id, "fate": fate.as_str(), "why": why});
    let entries: Vec<_> = report.entries.iter().map(entry).collect();
    let notes = report.notes.iter();
    let notes: Vec<_> = notes
        .map(|note| json!({"what": note.what, "fate": note.fate.as_str(), "why": note.why}))
        .collect();
    JsonObject::new()
        .text("session", &plan.place().id)
        .text("layout", plan.layout().name())
        .raw("path", &json!(path).to_string())
        .raw("written", if path.is_some() { "true" } else { "false" })
        .number("kept", count(Disposition::Kept))
        .number("changed", count(Disposition::Changed))
        .number("dropped", count(Disposition::Dropped))
        .raw("entries", &json!(entries).to_string())
        .raw("notes", &json!(notes).to_string())
        .close()
}

/// Formats the report as text.
fn lines(report: &ConversionReport, every: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if every {
        for EntryOutcome { seq, turn, id, fate, why } in &report.entries {
            let why = if why.is_empty() { String::new() } else { format!(": {}", why.join("; ")) };
            lines.push(format!("{seq} turn {turn} {id}: {fate}{why}"));
        }
    } else {
        for (fate, why, count) in report.reasons() {
            lines.push(format!("{fate}, {}: {why}", count_noun(count as u64, "entry", "entries")));
        }
    }
    for note in &report.notes {
        lines.push(format!("{}, {}: {}", note.fate, note.what, note.why));
    }
    let [kept, changed, dropped] = [Disposition::Kept, Disposition::Changed, Disposition::Dropped]
        .map(|fate| report.count(fate));
    let all = report.entries.len();
    lines.push(format!("entries {all}: kept {kept}, changed {changed}, dropped {dropped}"));
    lines
}

/// Returns the model provider that Codex is configured to use.
pub(super) fn codex_provider() -> Option<String> {
    let home = settings::variable("CODEX_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(settings::variable("HOME")?).join(".codex")))?;
    let text = agent_homes::read(&home.join("config.toml")).ok()??;
    let text = String::from_utf8(text).ok()?;
    // The key stands before the first table.
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with('['));
    lines
        .filter_map(|line| line.strip_prefix("model_provider")?.trim_start().strip_prefix('='))
        .find_map(|value| {
            let value = value.trim();
            let quote = value.chars().next().filter(|quote| "\"'".contains(*quote))?;
            let (provider, _) = value.get(1..)?.split_once(quote)?;
            Some(provider.to_owned()).filter(|provider| !provider.is_empty())
        })
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let dir = linggen::project_path(args.project.as_deref())?;
    let conversion = Conversion {
        to: &args.to,
        id: args.id.as_deref(),
        project: args.project.is_some().then(|| dir.as_str()),
        dir: Some(dir.as_str()),
        branch: args.branch.as_deref(),
    };
    let provider = args.provider.clone().or_else(codex_provider);
    let options = NativeOptions { provider: provider.as_deref() };
    let (found, plan) = context.read_found(&args.session, |found| {
        let (store, now) = (found.root.store(), settings::now());
        let plan = conversion.plan_with(&store, found.layout, &found.place, now, &options);
        plan.map_err(|error| failed(found, error))
    })?;
    let path = match (args.dry_run, plan.file()) {
        (true, _) => None,
        (false, Some(bytes)) => {
            let dest = args.dest.clone().unwrap_or_else(|| PathBuf::from("."));
            Some(write_file(&plan, bytes, &dest, &found)?)
        }
        (false, None) => {
            let dest = args.dest.clone().map(server_roots::shown).transpose()?;
            let dest = dest.as_deref().or(context.root.as_deref());
            Some(write(&plan, &agent_homes::root(dest, None)?, &found)?)
        }
    };
    if context.json {
        writeln!(context.out, "{}", as_json(&plan, path.as_deref()))?;
    } else {
        for line in lines(plan.report(), args.entries) {
            writeln!(context.out, "{}", escape_controls(&line).replace('\n', " "))?;
        }
    }
    context.out.flush()?;
    if !context.json {
        Output::status(&match path {
            Some(path) => format!("session {}: {path}", plan.place().id),
            None => "nothing was written".to_owned(),
        });
    }
    let is_lost = |what: &str| what == everturn::convert::UNREADABLE;
    let lost = plan.report().notes.iter().any(|note| is_lost(&note.what));
    Ok(if lost { Exit::Damaged } else { Exit::Success })
}
