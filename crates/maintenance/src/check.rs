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
mod large_document;
mod quarantine;

#[cfg(feature = "campaign")]
use everturn_campaign as campaign;
#[cfg(feature = "chat")]
use everturn_chatlog as chatlog;
#[cfg(feature = "agents")]
use everturn_codelia as codelia;
#[cfg(feature = "external")]
use everturn_external as foreign;
#[cfg(feature = "game")]
use everturn_game as game;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::jsonl::{ByteSource, JsonlScan, LARGEST_TEXT, ScanItem};
use everturn_json::names::FilePath;
#[cfg(feature = "campaign")]
use everturn_json::names::SessionId;
#[cfg(feature = "agents")]
use everturn_linggen as linggen;
#[cfg(feature = "agents")]
use everturn_session::format::SessionError;
use everturn_store::disk::{DirListing, Disk, FileKind, FileStat};
use everturn_store::{FileStore, Store, StoreError, StoreSource, is_unfinished_copy, snapshot};
#[cfg(feature = "agents")]
use everturn_thread as thread;
use everturn_value::document::Document;

use checked_files::{CheckedFiles, is_data_name, is_external_name};

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
            _ if checker.session_file(start) => {}
            _ => checker.check_file(start),
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
        let is_session = self.session(dir);
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
                FileKind::File => self.check_file(&path),
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

    /// Checks a file of a session as the check of the whole session or home does. Returns whether it is one.
    #[cfg(feature = "agents")]
    fn session_file(&mut self, file: &FilePath) -> bool {
        let checked = match file.parent().filter(|dir| linggen::is_session_dir(&self.store, dir)) {
            Some(dir) => {
                let Some(store) = self.snapshot(&dir, std::slice::from_ref(&dir)) else {
                    return true;
                };
                let checked = linggen::check_dir(&store, &dir, self.watch);
                let checked = checked.ok().filter(|checked| checked.files.contains(file));
                let own = |finding: &Finding| finding.file == *file;
                checked.map(|checked| {
                    let findings = checked.findings.into_iter().filter(own).collect();
                    (checked.records, findings)
                })
            }
            None => codelia::check_log_file(&self.store, file)
                .map(|checked| (checked.records, checked.findings)),
        };
        let Some((records, findings)): Option<(u64, Vec<Finding>)> = checked else { return false };
        self.checked.files += 1;
        self.checked.records += records;
        findings.into_iter().for_each(|finding| self.report(finding));
        true
    }

    #[cfg(not(feature = "agents"))]
    fn session_file(&mut self, _: &FilePath) -> bool {
        false
    }

    /// Checks a directory as a session, or as a home of sessions, if it is one. Returns whether it is a session.
    #[cfg_attr(
        not(any(feature = "agents", feature = "campaign", feature = "game")),
        expect(unused_variables, reason = "no compiled-in format has directories")
    )]
    fn session(&mut self, dir: &FilePath) -> bool {
        #[cfg(feature = "agents")]
        if codelia::is_home(&self.store, dir) {
            if self.is_first {
                self.codelia(dir);
            }
            return false;
        }
        #[cfg(feature = "campaign")]
        if let Some(id) = campaign::is_campaign_dir(&self.store, dir) {
            self.campaign(&id, dir);
            return true;
        }
        #[cfg(feature = "agents")]
        if linggen::is_session_dir(&self.store, dir) {
            self.linggen(dir);
            return true;
        }
        #[cfg(feature = "agents")]
        if thread::is_thread_dir(&self.store, dir) {
            self.thread(dir);
            return true;
        }
        #[cfg(feature = "agents")]
        if self.is_first && linggen::is_home_dir(&self.store, dir) {
            self.all(dir, linggen::check_home_files(&self.store, dir));
        }
        #[cfg(feature = "agents")]
        if self.is_first && linggen::is_project_dir(&self.store, dir).is_ok_and(|is| is) {
            self.all(dir, linggen::check_project(&self.store, dir));
        }
        #[cfg(feature = "agents")]
        if self.is_first && linggen::is_plans_dir(&self.store, dir).is_ok_and(|is| is) {
            self.all(dir, linggen::check_plans(&self.store, dir));
        }
        #[cfg(feature = "game")]
        if game::is_session_dir(&self.store, dir).is_ok_and(|is| is) {
            self.game(dir);
            return true;
        }
        false
    }

    #[cfg(feature = "agents")]
    fn codelia(&mut self, dir: &FilePath) {
        let checked = codelia::check_home(&self.store, dir, self.watch);
        checked.findings.into_iter().for_each(|finding| self.report(finding));
        self.checked.files += checked.files.len() as u64;
        self.checked.records += checked.records;
        self.done.extend(checked.files);
    }

    #[cfg(feature = "game")]
    fn game(&mut self, dir: &FilePath) {
        let place = game::GameLocation::of(dir);
        let Some(store) = self.snapshot(dir, &place.anywhere()) else { return };
        if store.stat(dir).is_ok_and(|stat| stat.is_none()) {
            self.moved = true;
            return;
        }
        // If it cannot be read as a session, its files are checked one by one, which reports the reason.
        if let Ok(looked) = game::check_dir(&store, &place, self.watch) {
            self.checked.add(looked.checked);
            self.covered = looked.covered;
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

    #[cfg(feature = "campaign")]
    /// Checks a campaign: its files, and their references to each other.
    fn campaign(&mut self, id: &SessionId, dir: &FilePath) {
        let Some(store) = self.snapshot(dir, std::slice::from_ref(dir)) else { return };
        let checked = match campaign::check_dir(&store, id, dir, self.watch) {
            Ok(checked) => checked,
            Err(error) => return self.report_unreadable(dir, &error),
        };
        checked.findings.into_iter().for_each(|finding| self.report(finding));
        self.checked.files += checked.files.len() as u64;
        self.checked.records += checked.records;
        self.covered = checked.files;
    }

    #[cfg(feature = "agents")]
    /// Checks a session of a home: its metadata and its messages.
    #[cfg(feature = "agents")]
    fn linggen(&mut self, dir: &FilePath) {
        self.directory(dir, |store, watch| {
            let checked = linggen::check_dir(store, dir, watch)?;
            Ok::<_, linggen::LinggenError>((checked.files, checked.records, checked.findings))
        });
    }

    #[cfg(feature = "agents")]
    fn thread(&mut self, dir: &FilePath) {
        self.directory(dir, |store, watch| {
            let checked = thread::check_dir(store, dir, watch)?;
            Ok::<_, SessionError>((checked.files, checked.records, checked.findings))
        });
    }

    /// Checks the directory of a session, which returns its files, the number of records, and the findings.
    #[cfg(feature = "agents")]
    fn directory<E: ToString>(
        &mut self,
        dir: &FilePath,
        check: impl FnOnce(
            &Arc<dyn Store>,
            &mut dyn FindingSink,
        ) -> Result<(BTreeSet<FilePath>, u64, Vec<Finding>), E>,
    ) {
        let Some(store) = self.snapshot(dir, std::slice::from_ref(dir)) else { return };
        let (files, records, findings) = match check(&store, self.watch) {
            Ok(checked) => checked,
            Err(error) => return self.report_unreadable(dir, &error),
        };
        findings.into_iter().for_each(|finding| self.report(finding));
        self.checked.files += files.len() as u64;
        self.checked.records += records;
        self.covered = files;
    }

    #[cfg(feature = "agents")]
    /// Reports the findings of a directory.
    fn all(&mut self, dir: &FilePath, findings: Result<Vec<Finding>, linggen::LinggenError>) {
        match findings {
            Ok(findings) => findings.into_iter().for_each(|finding| self.report(finding)),
            Err(error) => self.report_unreadable(dir, &error),
        }
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

    fn check_file(&mut self, path: &FilePath) {
        if self.covered.contains(path) || self.done.contains(path) || self.is_chat_journal(path) {
            return;
        }
        self.look_at(path);
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

    fn look_at(&mut self, path: &FilePath) {
        let read = match path.as_str().rsplit_once('.') {
            Some((_, "jsonl" | "ndjson")) => FileChecker::check_lines,
            Some((_, "json")) => FileChecker::check_document,
            _ => {
                if is_external_name(path) {
                    self.watch.file(path);
                    self.checked.files += u64::from(self.foreign(path));
                    return;
                }
                #[cfg(feature = "game")]
                if let Some(findings) = game::check_archive(&self.store, path) {
                    self.watch.file(path);
                    self.checked.files += 1;
                    // The findings of an archive that was unpacked meanwhile are obsolete.
                    if !self.is_gone(path) {
                        findings.into_iter().for_each(|finding| self.report(finding));
                    }
                }
                return;
            }
        };
        self.watch.file(path);
        self.checked.files += 1;
        if self.chat_log(path) || self.foreign(path) {
            return;
        }
        let Some(store) = self.snapshot(path, std::slice::from_ref(path)) else { return };
        let source = StoreSource::open(&store, path).map_err(io::Error::other);
        if let Err(error) = source.and_then(|source| read(self, path, &source)) {
            self.report_unreadable(path, &error);
        }
    }

    /// Whether a file is the journal of a chat log, which is checked with it.
    #[cfg(feature = "chat")]
    fn is_chat_journal(&self, path: &FilePath) -> bool {
        chatlog::journal_of_chat_log(&self.store, path)
    }

    #[cfg(not(feature = "chat"))]
    fn is_chat_journal(&self, _: &FilePath) -> bool {
        false
    }

    /// Checks a document as a chat log, with its journal, if it is a readable one.
    #[cfg(feature = "chat")]
    fn chat_log(&mut self, path: &FilePath) -> bool {
        if !chatlog::is_document(&self.store, path).is_ok_and(|is| is) {
            return false;
        }
        let (findings, records) = match chatlog::check_log(&self.store, path) {
            Ok(checked) => checked,
            Err(chatlog::ChatError::Store(error @ StoreError::Busy { .. })) => {
                self.report_busy(path, &error);
                return true;
            }
            // It is checked as a document, which reports the reason.
            Err(_) => return false,
        };
        self.checked.records += records;
        findings.into_iter().for_each(|finding| self.report(finding));
        true
    }

    #[cfg(not(feature = "chat"))]
    fn chat_log(&mut self, _: &FilePath) -> bool {
        false
    }

    /// Checks a file as a session of another program, if it is one.
    #[cfg(feature = "external")]
    fn foreign(&mut self, path: &FilePath) -> bool {
        // If it cannot be read as a session, it is checked like any other file, which reports the reason.
        let Ok(Some(checked)) = foreign::check_file(&self.store, path) else { return false };
        self.checked.records += checked.records;
        checked.findings.into_iter().for_each(|finding| self.report(finding));
        true
    }

    #[cfg(not(feature = "external"))]
    fn foreign(&mut self, _: &FilePath) -> bool {
        false
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
