//! `everturn check`: looks for problems in the files of a directory.

mod sessions;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn::check::{CheckStats, FindingSink, check_path, check_store};
use everturn::disk::{Disk, RealDisk};
use everturn::finding::{Finding, FindingCode, Severity};
use everturn::game::GameStatus;
use everturn::names::FilePath;
use everturn::store::{FileStore, OWN_DIR, Store, StoreError, failed_opens};
use serde_json::json;

use super::Context;
use crate::agent_homes::AgentKind;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::open_root::{OpenRoot, RootAccess};
use crate::output::{Output, count_noun};
use crate::progress::Progress;
use crate::selection::{ChangedArgs, SelectionArgs, SessionSelection};
use crate::server_roots;
use crate::sessions::MOVE_TRIES;
use crate::settings;
use crate::sources::{SourceOrigin, selected_sources};

/// Check sessions and JSON files for damage
///
/// Reads *.jsonl and *.ndjson files line by line and *.json files as documents, in a directory and
/// all directories below it. In a game session or a campaign it also checks that turns, changes,
/// snapshots, states and metadata are consistent. All files are read to the end, and nothing is
/// changed. The output ends with the actions that `everturn repair` would take; without a path, also
/// with the damaged sessions, worst first, and how many sessions of which sources were checked.
/// Exits with status 3 if there are findings; warnings alone do not count.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn check ~/.codelia
  everturn check latest
  everturn check --layout claude-code --since 2w
  everturn check --json sessions | jq -r .file | sort -u")]
pub(crate) struct Args {
    /// The file or directory to check, or a session: its ID or a unique prefix, or `latest`;
    /// default: all sources. A session ID takes precedence over a file of the same name; use ./NAME
    /// for the file
    path: Option<PathBuf>,

    #[command(flatten)]
    selection: SelectionArgs,

    #[command(flatten)]
    changed: ChangedArgs,
}

/// The result of a check.
#[derive(Default)]
struct CheckOutcome {
    stats: CheckStats,
    codes: BTreeSet<FindingCode>,
    /// The numbers of findings and of warnings in each file, as the user would write its path.
    files: BTreeMap<String, (u64, u64)>,
}

impl CheckOutcome {
    fn add(&mut self, other: CheckOutcome) {
        self.stats.add(other.stats);
        self.codes.extend(other.codes);
        self.files.extend(other.files);
    }
}

/// How many findings of a session are held back until it is certain that the session was not moved meanwhile.
const MAX_HELD: usize = 10_000;

/// The target of a check: the Everturn root around it, if there is one, and the path from there.
struct CheckTarget {
    files: TargetFiles,
    start: FilePath,
    /// Replaces `start` in the paths of findings, so that the user can open them.
    shown: PathBuf,
    /// The root, for paths of findings elsewhere in it.
    root: PathBuf,
}

/// The files of a target: on a disk, or in a root on a server.
#[derive(Clone)]
enum TargetFiles {
    Disk(Arc<RealDisk>),
    Server(Arc<dyn Store>),
}

impl TargetFiles {
    fn check(
        &self,
        start: &FilePath,
        sink: &mut dyn FindingSink,
    ) -> Result<CheckStats, StoreError> {
        match self {
            TargetFiles::Disk(disk) => {
                let disk: Arc<dyn Disk> = Arc::clone(disk) as Arc<dyn Disk>;
                check_path(&disk, start, sink)
            }
            TargetFiles::Server(store) => check_store(store, start, sink),
        }
    }

    fn is_gone(&self, path: &FilePath) -> bool {
        match self {
            TargetFiles::Disk(disk) => disk.stat(path).is_ok_and(|stat| stat.is_none()),
            TargetFiles::Server(store) => store.stat(path).is_ok_and(|stat| stat.is_none()),
        }
    }

    fn store(&self) -> Result<Arc<dyn Store>, Error> {
        match self {
            TargetFiles::Disk(disk) => {
                let disk: Arc<dyn Disk> = Arc::clone(disk) as Arc<dyn Disk>;
                Ok(Arc::new(FileStore::open_read_only(disk)?))
            }
            TargetFiles::Server(store) => Ok(Arc::clone(store)),
        }
    }
}

/// Returns the target for a whole root on a server.
fn server_target(path: &Path) -> Result<CheckTarget, Error> {
    let files = TargetFiles::Server(OpenRoot::open(path, RootAccess::Read)?.store());
    let (shown, root) = (path.to_owned(), path.to_owned());
    Ok(CheckTarget { files, start: FilePath::root(), shown, root })
}

fn locate(path: &Path) -> Result<CheckTarget, Error> {
    if server_roots::is_address(path) {
        return server_target(path);
    }
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
    let files = TargetFiles::Disk(disk);
    Ok(CheckTarget { files, start, shown: path.to_owned(), root: root.to_owned() })
}

/// Returns the target for a name; a name that is neither a path nor a session is treated as a path. `None` if the
/// session was moved before it could be read.
fn named(path: &Path, context: &mut Context) -> Result<Option<CheckTarget>, Error> {
    let name = path.to_string_lossy();
    let found = match context.find_to_read(&name) {
        Ok(found) => found,
        // It is unknown whether such a session exists.
        Err(error) if error.exit() != Exit::Request && !path.exists() => return Err(error),
        Err(_) => return locate(path).map(Some),
    };
    let place = found.root.path.join(found.place.path.as_str());
    if server_roots::is_address(&found.root.path) {
        let (files, start) = (TargetFiles::Server(found.root.store()), found.place.path);
        return Ok(Some(CheckTarget { files, start, shown: place, root: found.root.path }));
    }
    match locate(&place) {
        Err(_) if !place.exists() => Ok(None),
        located => located.map(Some),
    }
}

/// Returns whether a name without a separator is the whole ID of a session. Then a file of that name in the working
/// directory is meant only if it is written as a path, such as `./NAME`.
fn is_session(path: &Path, context: &Context) -> bool {
    let name = path.to_string_lossy();
    let is_plain = !name.contains(['/', '\\']) && name != "." && name != "..";
    is_plain && context.find_to_read(&name).is_ok_and(|found| found.place.id == name)
}

/// Returns the directory above `sessions` of a game session or of an agent's home, or above `campaigns` of a campaign, so
/// that its name and path are known.
fn above_sessions(dir: &Path) -> Option<&Path> {
    let status = dir.parent()?;
    if status.file_name()? == "sessions" {
        let above = status.parent()?;
        let projects = above.parent().filter(|dir| dir.ends_with("projects"));
        return projects.map_or(Some(above), Path::parent);
    }
    if status.file_name()? == "campaigns" {
        return status.parent();
    }
    GameStatus::parse(status.file_name()?.to_str()?)?;
    let sessions = status.parent()?;
    (sessions.file_name()? == "sessions").then(|| sessions.parent()).flatten()
}

struct FindingPrinter<'a> {
    out: &'a mut Output,
    json: bool,
    start: FilePath,
    shown: PathBuf,
    root: PathBuf,
    progress: Progress,
    /// The codes found so far, and the numbers of findings and warnings by file.
    codes: BTreeSet<FindingCode>,
    files: BTreeMap<String, (u64, u64)>,
    /// Findings to print when it is certain that the session was not moved meanwhile; `None` if they are printed at
    /// once.
    held: Option<Vec<Finding>>,
    /// Why nothing more can be printed.
    stopped: Option<EarlyExit>,
    /// The number of failed opens of the process when the check began.
    failed_before: u64,
}

impl FindingPrinter<'_> {
    /// Returns the path as the user would write it.
    fn shown_path(&self, file: &FilePath) -> String {
        let below = file.as_str().strip_prefix(self.start.as_str());
        let Some(below) = below.filter(|_| file.is_within(&self.start)) else {
            // Such as the index beside the log of one session.
            return self.root.join(file.as_str()).to_string_lossy().into_owned();
        };
        let below = below.trim_start_matches('/');
        let path = if below.is_empty() { self.shown.clone() } else { self.shown.join(below) };
        path.to_string_lossy().into_owned()
    }

    fn print(&mut self, finding: &Finding) -> Result<(), EarlyExit> {
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

impl FindingPrinter<'_> {
    /// Prints the held findings, and from now on prints findings at once.
    fn let_go(&mut self) {
        for finding in self.held.take().unwrap_or_default() {
            self.show(&finding);
        }
    }

    fn show(&mut self, finding: &Finding) {
        // Apparent damage may be a file that could not be opened, which is reported at the end.
        if self.stopped.is_some() || failed_opens() > self.failed_before {
            return;
        }
        self.codes.insert(finding.code);
        let path = self.shown_path(&finding.file);
        let (findings, warnings) = self.files.entry(path).or_default();
        match finding.code.severity() {
            Severity::Finding => *findings += 1,
            Severity::Warning => *warnings += 1,
        }
        let progress = self.progress.clone();
        let printed = if progress.is_shown() {
            // The finding must be flushed before the progress line is drawn again.
            progress.aside(|| self.print(finding).and_then(|()| self.out.flush()))
        } else {
            self.print(finding)
        };
        self.stopped = printed.err();
    }
}

impl FindingSink for FindingPrinter<'_> {
    fn finding(&mut self, finding: Finding) {
        match &mut self.held {
            Some(held) => {
                held.push(finding);
                if held.len() >= MAX_HELD {
                    self.let_go();
                }
            }
            None => self.show(&finding),
        }
    }

    fn file(&mut self, file: &FilePath) {
        self.progress.step(file.as_str());
    }
}

/// Returns what a repair would do about these findings.
fn remedies(codes: &BTreeSet<FindingCode>) -> String {
    let remedies = codes.iter().map(|code| format!("\n  {code}: {}", code.remedy()));
    format!("actions of `everturn repair` in a session:{}", remedies.collect::<String>())
}

/// Returns whether a finding is no damage: another process is writing, or it is only a warning.
fn is_about_writers(code: FindingCode) -> bool {
    code == FindingCode::Busy || code.severity() == Severity::Warning
}

fn summary(checked: CheckStats) -> String {
    let count = |number: u64, one: &str| count_noun(number, one, &format!("{one}s"));
    let CheckStats { files, records, findings, warnings } = checked;
    if files == 0 && findings == 0 && warnings == 0 {
        return "nothing to check: no *.json, *.jsonl or *.ndjson files here".to_owned();
    }
    let outcome = match (findings, warnings) {
        (0, 0) => "no findings".to_owned(),
        (0, warnings) => count(warnings, "warning"),
        (findings, 0) => count(findings, "finding"),
        (findings, warnings) => {
            format!("{}, {}", count(findings, "finding"), count(warnings, "warning"))
        }
    };
    format!("{}, {}: {outcome}", count(files, "file"), count(records, "record"))
}

/// Checks one target. `None` if a session found by name was moved meanwhile, and nothing was printed.
fn check_at(
    place: CheckTarget,
    by_name: bool,
    context: &mut Context,
) -> Result<Option<CheckOutcome>, EarlyExit> {
    let CheckTarget { files, start, shown, root } = place;
    let mut printer = FindingPrinter {
        out: &mut context.out,
        json: context.json,
        start: start.clone(),
        shown,
        root,
        progress: Progress::new("checking"),
        codes: BTreeSet::new(),
        files: BTreeMap::new(),
        held: by_name.then(Vec::new),
        stopped: None,
        failed_before: failed_opens(),
    };
    let checked = files.check(&start, &mut printer);
    if printer.held.is_some() && files.is_gone(&start) {
        printer.progress.finish();
        return Ok(None);
    }
    let checked = checked.map_err(Error::from)?;
    printer.let_go();
    if let Some(stop) = printer.stopped {
        return Err(stop);
    }
    printer.progress.finish();
    if failed_opens() > printer.failed_before {
        let what = "the check is incomplete";
        return Err(Error::new(Exit::Request, what).into());
    }
    Ok(Some(CheckOutcome { stats: checked, codes: printer.codes, files: printer.files }))
}

/// Checks the session with a name, following it if it is moved.
fn check_named(path: &Path, context: &mut Context) -> Result<CheckOutcome, EarlyExit> {
    for attempt in 0..MOVE_TRIES {
        let Some(place) = named(path, context)? else { continue };
        if attempt == 0 {
            warn_of_weak_mounts(&place);
        }
        if let Some(checked) = check_at(place, true, context)? {
            return Ok(checked);
        }
    }
    let what = format!("{} was moved repeatedly during the check", path.display());
    Err(Error::new(Exit::Busy, what).hint("try again").into())
}

/// Warns about file systems of the root on which a commit may not survive a power cut.
fn warn_of_weak_mounts(place: &CheckTarget) {
    let TargetFiles::Disk(disk) = &place.files else { return };
    for weak in disk.weak_mounts(&settings::mount_table()) {
        Output::status(&format!("warning: {weak}"));
    }
}

/// Checks the sessions of the format that the user named, as far as they are within a target. `None` if there are none.
fn check_format(
    place: &CheckTarget,
    context: &mut Context,
) -> Result<Option<CheckOutcome>, EarlyExit> {
    let store = place.files.store()?;
    let mut targets = Vec::new();
    for layout in context.layouts() {
        let found = layout.locate(&store).map_err(Error::from)?.sessions;
        let own = found
            .into_iter()
            .map(|session| session.path)
            .filter(|path| path.is_within(&place.start) || place.start.is_within(path));
        let own: Vec<FilePath> = own.collect();
        // The home of an agent has more than sessions.
        let is_home = AgentKind::named(Some(layout.name())) != AgentKind::Everturn;
        match own.first() {
            Some(_) if is_home => targets.push(place.start.clone()),
            _ => targets.extend(own.into_iter().map(|path| match place.start.is_within(&path) {
                true => place.start.clone(),
                false => path,
            })),
        }
    }
    let mut outcome = CheckOutcome::default();
    let is_empty = targets.is_empty();
    for start in targets {
        let below = start.as_str().strip_prefix(place.start.as_str()).unwrap_or_default();
        let below = below.trim_start_matches('/');
        let shown = if below.is_empty() { place.shown.clone() } else { place.shown.join(below) };
        let (files, root) = (place.files.clone(), place.root.clone());
        let target = CheckTarget { files, start, shown, root };
        if let Some(checked) = check_at(target, false, context)? {
            outcome.add(checked);
        }
    }
    Ok((!is_empty).then_some(outcome))
}

/// Returns the directories with settings and secrets of the homes that are checked.
fn config_dirs(context: &Context) -> Vec<PathBuf> {
    if context.named_root().is_some() {
        return Vec::new();
    }
    let named = context.layout.as_deref();
    let is_meant = |agent: &AgentKind| named.is_none() || AgentKind::named(named) == *agent;
    let homes = AgentKind::ALL.into_iter().filter(is_meant);
    homes
        .filter_map(|agent| settings::home(agent.program(), None).ok())
        .map(|dirs| dirs.config_dir)
        .collect()
}

/// Checks all sources.
fn check_all(context: &mut Context) -> Result<CheckOutcome, EarlyExit> {
    let mut outcome = CheckOutcome::default();
    let mut done: Vec<PathBuf> = Vec::new();
    for source in selected_sources(context)? {
        let path = source.path.clone();
        let is_missing = source.origin == SourceOrigin::Own && !server_roots::may_exist(&path);
        if is_missing || done.iter().any(|above| path.starts_with(above)) {
            continue;
        }
        let place = locate(&path)?;
        warn_of_weak_mounts(&place);
        let is_home = AgentKind::named(context.layout.as_deref()) != AgentKind::Everturn;
        let checked = match context.layout.is_some() && !is_home {
            true => check_format(&place, context)?,
            false => check_at(place, false, context)?,
        };
        if let Some(checked) = checked {
            outcome.add(checked);
        }
        done.push(path);
    }
    // With XDG directories, the settings and secrets of a home are elsewhere.
    for dir in config_dirs(context) {
        if !dir.is_dir() || done.iter().any(|above| dir.starts_with(above)) {
            continue;
        }
        if let Some(checked) = check_at(locate(&dir)?, false, context)? {
            outcome.add(checked);
        }
        done.push(dir);
    }
    Ok(outcome)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let selection = SessionSelection::new(&args.selection, &args.changed)?;
    let is_all = args.path.is_none();
    if !is_all && !selection.is_everything() {
        let what = "filters select among all sessions, and a path was given";
        return Err(Error::new(Exit::Request, what).hint("omit the path or the filters").into());
    }
    let outcome = match &args.path {
        None if selection.is_everything() => check_all(context)?,
        None => sessions::check(&selection, context)?,
        Some(path) if path.exists() && !is_session(path, context) => {
            let place = locate(path)?;
            warn_of_weak_mounts(&place);
            match context.layout.clone() {
                None => check_at(place, false, context)?.unwrap_or_default(),
                Some(layout) => check_format(&place, context)?.ok_or_else(|| {
                    let what = format!("{} has no sessions of {layout}", path.display());
                    Error::new(Exit::Request, what).hint("omit --layout to check any file")
                })?,
            }
        }
        Some(path) => check_named(path, context)?,
    };
    context.out.flush()?;
    let CheckOutcome { stats: checked, codes, files } = outcome;
    if !context.json {
        Output::status(&summary(checked));
        if !codes.is_empty() {
            Output::status(&remedies(&codes));
        }
        if is_all {
            sessions::report(context, &selection, &files)?;
        }
    }
    Ok(match checked.findings {
        0 => Exit::Success,
        _ if codes.iter().all(|code| is_about_writers(*code)) => Exit::Busy,
        _ => Exit::Findings,
    })
}
