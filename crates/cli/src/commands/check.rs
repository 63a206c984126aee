//! `everturn check`: what is wrong with the files of a directory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn::check::{Checked, Watch, check};
use everturn::disk::{Disk, RealDisk};
use everturn::finding::{Code, Finding, Severity};
use everturn::game::Status;
use everturn::names::FilePath;
use everturn::store::OWN_DIR;
use serde_json::json;

use super::Context;
use crate::error::{Error, Stop};
use crate::exit::Exit;
use crate::homes;
use crate::output::{Output, counted};
use crate::progress::Progress;
use crate::settings;

/// Find damage in JSON and JSONL files, whatever program wrote them
///
/// Reads *.jsonl and *.ndjson files line by line and *.json files as documents, in a directory and all
/// below it. In a game session or a campaign it also looks whether turns, changes, snapshots, states and
/// metadata fit together. Everything is read to the end, and nothing is changed. What `everturn repair` would do about
/// it is said at the end. Ends with status 3 if anything is wrong; warnings alone do not count.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn check ~/.codelia
  everturn check latest
  everturn check --json sessions | jq -r .file | sort -u")]
pub(crate) struct Args {
    /// The file or directory to look at, or a session: its ID or a unique prefix, or `latest`; without it, the
    /// root
    path: Option<PathBuf>,
}

/// Where the path lies: the root that Everturn keeps it in, if there is one, and the way from there.
struct Place {
    disk: Arc<RealDisk>,
    start: FilePath,
    /// What findings begin with in place of `start`, so that the user can open them.
    shown: PathBuf,
}

fn locate(path: &Path) -> Result<Place, Error> {
    let failed = |cause: std::io::Error| {
        Error::new(Exit::Request, format!("cannot read {}", path.display())).caused_by(cause)
    };
    let real = path.canonicalize().map_err(failed)?;
    let dir = if real.is_dir() { real.as_path() } else { real.parent().unwrap_or(&real) };
    let is_root = |dir: &&Path| dir.join(OWN_DIR).join("wal").is_dir();
    let root = dir.ancestors().find(is_root).or_else(|| above_sessions(dir)).unwrap_or(dir);
    let way = real.strip_prefix(root).unwrap_or(&real).to_string_lossy().into_owned();
    let start = FilePath::parse(&way).map_err(Error::from)?;
    let disk = Arc::new(RealDisk::open(root).map_err(failed)?);
    Ok(Place { disk, start, shown: path.to_owned() })
}

/// The place of a session that is named; what is neither a path nor a session is told as a path.
fn named(path: &Path, context: &mut Context) -> Result<Place, Error> {
    let name = path.to_string_lossy();
    match context.find_to_read(&name) {
        Ok(found) => locate(&found.root.path.join(found.place.path.as_str())),
        // Whether there is such a session cannot be told.
        Err(error) if error.exit() != Exit::Request && !path.exists() => Err(error),
        Err(_) => locate(path),
    }
}

/// The directory above `sessions` of a game session, or above `campaigns` of a campaign, so that its own name
/// and place are known.
fn above_sessions(dir: &Path) -> Option<&Path> {
    let status = dir.parent()?;
    if status.file_name()? == "campaigns" {
        return status.parent();
    }
    Status::parse(status.file_name()?.to_str()?)?;
    let sessions = status.parent()?;
    (sessions.file_name()? == "sessions").then(|| sessions.parent()).flatten()
}

struct Printer<'a> {
    out: &'a mut Output,
    json: bool,
    start: FilePath,
    shown: PathBuf,
    progress: Progress,
    /// What was found so far.
    codes: BTreeSet<Code>,
    /// Why nothing more can be printed.
    stopped: Option<Stop>,
}

impl Printer<'_> {
    /// The path as the user would write it.
    fn shown_path(&self, file: &FilePath) -> String {
        let below = file.as_str().strip_prefix(self.start.as_str()).unwrap_or(file.as_str());
        let below = below.trim_start_matches('/');
        let path = if below.is_empty() { self.shown.clone() } else { self.shown.join(below) };
        path.to_string_lossy().into_owned()
    }

    fn print(&mut self, finding: &Finding) -> Result<(), Stop> {
        let file = self.shown_path(&finding.file);
        let Finding { line, offset, code, message, .. } = finding;
        if self.json {
            let code = code.as_str();
            let record = json!({
                "file": file, "line": line, "offset": offset, "code": code, "message": message,
                "severity": finding.code.severity().as_str(), "repair": finding.code.remedy(),
            });
            return writeln!(self.out, "{record}");
        }
        write!(self.out, "{file}")?;
        if let Some(line) = line {
            write!(self.out, ":{line}")?;
        }
        let mark = match code.severity() {
            Severity::Warning => "warning: ",
            Severity::Finding => "",
        };
        write!(self.out, ": {mark}{code}: {message}")?;
        if let Some(offset) = offset {
            write!(self.out, " (byte {offset})")?;
        }
        writeln!(self.out)
    }
}

impl Watch for Printer<'_> {
    fn finding(&mut self, finding: Finding) {
        if self.stopped.is_some() {
            return;
        }
        self.codes.insert(finding.code);
        let progress = self.progress.clone();
        let printed = if progress.is_shown() {
            // What takes the place of the line must not stay in a buffer until the line is back.
            progress.aside(|| self.print(&finding).and_then(|()| self.out.flush()))
        } else {
            self.print(&finding)
        };
        self.stopped = printed.err();
    }

    fn file(&mut self, file: &FilePath) {
        self.progress.step(file.as_str());
    }
}

/// What a repair does about what was found.
fn remedies(codes: &BTreeSet<Code>) -> String {
    let remedies = codes.iter().map(|code| format!("\n  {code}: {}", code.remedy()));
    format!("what `everturn repair` does about it in a session:{}", remedies.collect::<String>())
}

fn summary(checked: Checked) -> String {
    let count = |number: u64, one: &str| counted(number, one, &format!("{one}s"));
    let Checked { files, records, findings, warnings } = checked;
    if files == 0 && findings == 0 && warnings == 0 {
        return "nothing to check: no *.json, *.jsonl or *.ndjson files here".to_owned();
    }
    let outcome = match (findings, warnings) {
        (0, 0) => "all is well".to_owned(),
        (0, warnings) => count(warnings, "warning"),
        (findings, 0) => count(findings, "finding"),
        (findings, warnings) => {
            format!("{}, {}", count(findings, "finding"), count(warnings, "warning"))
        }
    };
    format!("{}, {}: {outcome}", count(files, "file"), count(records, "record"))
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    let Place { disk, start, shown } = match &args.path {
        None => locate(&homes::root(context.root.as_deref(), None)?)?,
        Some(path) if path.exists() => locate(path)?,
        Some(path) => named(path, context)?,
    };
    for weak in disk.weak_mounts(&settings::mount_table()) {
        Output::status(&format!("warning: {weak}"));
    }
    let disk: Arc<dyn Disk> = disk;
    let progress = Progress::new("checking");
    let json = context.json;
    let out = &mut context.out;
    let codes = BTreeSet::new();
    let mut printer =
        Printer { out, json, start: start.clone(), shown, progress, codes, stopped: None };
    let checked = check(&disk, &start, &mut printer).map_err(Error::from)?;
    if let Some(stop) = printer.stopped {
        return Err(stop);
    }
    printer.progress.finish();
    let codes = printer.codes;
    context.out.flush()?;
    if !context.json {
        Output::status(&summary(checked));
        if !codes.is_empty() {
            Output::status(&remedies(&codes));
        }
    }
    Ok(if checked.findings > 0 { Exit::Findings } else { Exit::Fine })
}
