//! Checks the files of a directory, whatever program they belong to.
//!
//! Files named `*.jsonl` and `*.ndjson` are read as lines, files named `*.json` as documents; others are ignored. Where
//! a directory is a session, a campaign, a project or contains plans, or a file is a chat log or a session of another
//! program, its contents are checked, too. Nothing is written, and a check does not stop at the first finding. Memory
//! does not grow with the files, apart from their names and a few numbers for each record of another program. A session
//! that is being written is checked as of a point between two commits.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::sync::Arc;

mod checked_files;
mod formats;
mod large_document;
mod quarantine;

use everturn_json::finding::{Finding, FindingCode};
use everturn_json::jsonl::{ByteSource, JsonlScan, LARGEST_TEXT, ScanItem};
use everturn_json::names::FilePath;
use everturn_session::format::CheckScope;
use everturn_store::disk::{DirListing, Disk, FileKind, FileStat};
use everturn_store::{FileStore, Store, StoreError, StoreSource, is_unfinished_copy, snapshot};
use everturn_value::document::Document;

use checked_files::{CheckedFiles, is_data_name};

pub use everturn_session::finding_sink::{CheckStats, FindingSink};

/// Checks a file, or a directory with everything below it.
///
/// An unreadable file is a finding, except for `start` itself.
pub fn check_path(
    disk: &Arc<dyn Disk>,
    start: &FilePath,
    watch: &mut dyn FindingSink,
) -> Result<CheckStats, StoreError> {
    let stat = disk.stat(start).map_err(StoreError::io("access", start))?;
    let Some(stat) = stat else { return Err(StoreError::Missing { path: start.clone() }) };
    let files = FileStore::open_read_only(Arc::clone(disk))?;
    // Including the commits that exist only in the logs of dead processes.
    let recovered = CheckedFiles::Disk(files.read_disk()?);
    let recovery = files.take_findings();
    let store: Arc<dyn Store> = Arc::new(files);
    let plain = CheckedFiles::Disk(Arc::clone(disk));
    let kept = quarantine::findings(&store, &plain, start, recovery)?;
    check_files(recovered, store, (start, stat.kind), kept, watch)
}

/// As [`check_path`], for a store that has no disk.
pub fn check_store(
    store: &Arc<dyn Store>,
    start: &FilePath,
    watch: &mut dyn FindingSink,
) -> Result<CheckStats, StoreError> {
    let Some(stat) = store.stat(start)? else {
        return Err(StoreError::Missing { path: start.clone() });
    };
    let files = CheckedFiles::Store(Arc::clone(store));
    let kept = quarantine::findings(store, &files, start, Vec::new())?;
    check_files(files, Arc::clone(store), (start, stat.kind), kept, watch)
}

fn check_files(
    files: CheckedFiles,
    store: Arc<dyn Store>,
    (start, kind): (&FilePath, FileKind),
    kept: Vec<Finding>,
    watch: &mut dyn FindingSink,
) -> Result<CheckStats, StoreError> {
    let mut checker = FileChecker {
        files,
        store,
        watch,
        checked: CheckStats::default(),
        covered: BTreeSet::new(),
        is_first: true,
        moved: false,
        done: HashSet::new(),
    };
    kept.into_iter().for_each(|finding| checker.report(finding));
    for _ in 0..MAX_TRIES {
        checker.moved = false;
        match kind {
            FileKind::Dir => {
                checker.files.list(start)?;
                checker.check_dir(start);
            }
            _ => checker.check_file(start, CheckScope::OneFile),
        }
        // A session that was moved meanwhile may not have been checked at its new path.
        if !checker.moved {
            break;
        }
        checker.is_first = false;
    }
    Ok(checker.checked)
}

/// The files in which programs keep keys and tokens.
const SECRET_FILES: [&str; 3] = ["auth.json", "mcp-auth.json", "credentials.json"];

/// How often the check is repeated because sessions were moved meanwhile.
const MAX_TRIES: usize = 5;

struct FileChecker<'a> {
    files: CheckedFiles,
    store: Arc<dyn Store>,
    watch: &'a mut dyn FindingSink,
    checked: CheckStats,
    /// Files of the current session that were checked with it.
    covered: BTreeSet<FilePath>,
    /// Whether this is the first pass.
    is_first: bool,
    /// Whether something was listed and then disappeared.
    moved: bool,
    /// Files and session directories that were checked.
    done: HashSet<FilePath>,
}

impl FileChecker<'_> {
    fn report(&mut self, finding: Finding) {
        self.checked.count(&finding);
        self.watch.finding(finding);
    }

    /// Whether a listed path no longer exists: another process has moved or removed it.
    fn is_gone(&mut self, path: &FilePath) -> bool {
        let is_gone = self.files.stat(path).is_ok_and(|stat| stat.is_none());
        self.moved |= is_gone;
        is_gone
    }

    fn report_problem(&mut self, file: &FilePath, code: FindingCode, message: String) {
        self.report(Finding::new(file, code, message));
    }

    fn report_unreadable(&mut self, path: &FilePath, error: &impl ToString) {
        if self.is_gone(path) {
            return;
        }
        self.report_problem(
            path,
            FindingCode::Unreadable,
            format!("cannot be read: {}", error.to_string()),
        );
    }

    fn check_dir(&mut self, dir: &FilePath) {
        if self.done.contains(dir) {
            return;
        }
        let listing = match self.files.list(dir) {
            Ok(listing) => listing,
            Err(StoreError::Io { source, .. }) => return self.report_unreadable(dir, &source),
            Err(error) => return self.report_unreadable(dir, &error),
        };
        let moved_before = std::mem::take(&mut self.moved);
        let is_session = self.check_dir_as_session(dir);
        if !self.done.contains(dir) {
            self.entries(dir, listing);
        }
        if is_session && !self.moved {
            self.done.insert(dir.clone());
        }
        self.moved |= moved_before;
    }

    fn entries(&mut self, dir: &FilePath, listing: DirListing) {
        let refused = if self.is_first { listing.refused } else { Vec::new() };
        for (name, reason) in refused {
            self.report_problem(
                dir,
                FindingCode::BadName,
                format!("contains {name:?}, which is ignored: {reason}"),
            );
        }
        let entries = listing.entries.into_iter();
        for entry in entries.filter(|entry| !is_unfinished_copy(&entry.name)) {
            let path = dir.join(&entry.name);
            match entry.kind {
                // The target of a link is checked where it is.
                FileKind::Dir if entry.linked => self.check_kind(&path, "is a link to a directory"),
                FileKind::Dir if self.files.is_own_dir(&path) => self.own_dir(dir, &path),
                FileKind::Dir => {
                    self.check_kind(&path, "is a directory");
                    self.check_dir(&path);
                }
                FileKind::File => self.check_file(&path, CheckScope::Tree),
                FileKind::LinkOutside => {
                    let message = "is a link that points outside the root, and is ignored";
                    self.report_problem(&path, FindingCode::LinkOutside, message.to_owned());
                }
                FileKind::Other => {
                    self.check_kind(&path, "is a link that leads nowhere or a special file");
                }
            }
        }
    }

    /// Reports something else in the place of a file of records or a document, which it may hide. Hidden names are links
    /// that editors make, for example.
    fn check_kind(&mut self, path: &FilePath, what: &str) {
        let name = path.name();
        let name = name.as_ref().map_or("", |name| name.as_str());
        if self.is_first && is_data_name(name) && !name.starts_with('.') && !self.is_gone(path) {
            let message = format!("{what}, but has the name of a file");
            self.report_problem(path, FindingCode::Unreadable, message);
        }
    }

    /// Returns a snapshot of some paths. If none can be taken, this is reported for `path`.
    fn snapshot(&mut self, path: &FilePath, paths: &[FilePath]) -> Option<Arc<dyn Store>> {
        match snapshot(&self.store, paths) {
            Ok(taken) => return Some(taken),
            Err(error @ StoreError::Busy { .. }) => self.report_busy(path, &error),
            Err(error) => self.report_unreadable(path, &error),
        }
        None
    }

    /// Reports a path that another process is writing. It is not looked at again: each attempt takes seconds.
    fn report_busy(&mut self, path: &FilePath, error: &StoreError) {
        self.done.insert(path.clone());
        self.report_problem(path, FindingCode::Busy, error.to_string());
    }

    /// Everturn's own directory contains no user data, but its logs may.
    fn own_dir(&mut self, root: &FilePath, own: &FilePath) {
        if !root.is_root() {
            // The logs of a nested root refer to paths of that root.
            return;
        }
        match self.files.list(own) {
            Ok(_) => {}
            Err(StoreError::Io { source, .. }) => self.report_unreadable(own, &source),
            Err(error) => self.report_unreadable(own, &error),
        }
    }

    fn check_file(&mut self, path: &FilePath, scope: CheckScope) {
        if self.covered.contains(path) || self.done.contains(path) {
            return;
        }
        if !self.check_file_as_session(path, scope) {
            self.check_data(path);
        }
        self.check_secrecy(path);
        if !self.is_gone(path) {
            self.done.insert(path.clone());
        }
    }

    /// Reports a file for keys and tokens that others can read.
    fn check_secrecy(&mut self, path: &FilePath) {
        let name = path.name();
        let is_secret = name.is_some_and(|name| SECRET_FILES.contains(&name.as_str()));
        let is_open = |stat: FileStat| stat.mode & 0o077 != 0;
        if is_secret && self.files.stat(path).is_ok_and(|stat| stat.is_some_and(is_open)) {
            let message = "it is readable by other users".to_owned();
            self.report_problem(path, FindingCode::OpenSecret, message);
        }
    }

    /// Checks a file as lines or as a document, judging by its name.
    fn check_data(&mut self, path: &FilePath) {
        let read = match path.as_str().rsplit_once('.') {
            Some((_, "jsonl" | "ndjson")) => FileChecker::check_lines,
            Some((_, "json")) => FileChecker::check_document,
            _ => return,
        };
        self.watch.file(path);
        self.checked.files += 1;
        let Some(store) = self.snapshot(path, std::slice::from_ref(path)) else { return };
        let source = StoreSource::open(&store, path).map_err(io::Error::other);
        if let Err(error) = source.and_then(|source| read(self, path, &source)) {
            self.report_unreadable(path, &error);
        }
    }

    fn check_lines(&mut self, path: &FilePath, file: &StoreSource) -> io::Result<()> {
        for item in JsonlScan::new(file, path.clone()).largest_text(0).forward()? {
            match item? {
                ScanItem::Record(_) => self.checked.records += 1,
                ScanItem::Finding(finding) => self.report(finding),
            }
        }
        Ok(())
    }

    fn check_document(&mut self, path: &FilePath, file: &StoreSource) -> io::Result<()> {
        if file.len()? > LARGEST_TEXT {
            large_document::check_large_document(path, file)?
                .into_iter()
                .for_each(|finding| self.report(finding));
            return Ok(());
        }
        match Document::parse(&file.read_all()?) {
            Ok(document) => {
                document.findings(path).into_iter().for_each(|finding| self.report(finding));
            }
            Err(error) => self.report(error.finding(path)),
        }
        Ok(())
    }
}
