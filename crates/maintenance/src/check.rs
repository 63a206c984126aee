//! What is wrong with the files of a directory, whatever program they belong to.
//!
//! Files named `*.jsonl` and `*.ndjson` are read as lines, files named `*.json` as documents; others are
//! left alone. Where a directory is that of a session, a campaign, a project or plans, or a file is a chat log or a
//! session of another program, what they say is looked at, too. Nothing is written, nothing stops at the first finding,
//! and memory does not grow with the files, apart from a few numbers for each record of another program.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

mod large;

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
use everturn_json::finding::{Code, Finding};
use everturn_json::lines::{Item, LARGEST_TEXT, Scan, Source};
use everturn_json::names::FilePath;
#[cfg(feature = "campaign")]
use everturn_json::names::SessionId;
#[cfg(feature = "agents")]
use everturn_linggen as linggen;
use everturn_store::disk::{Access, Disk, DiskFile, Kind, read_all};
use everturn_store::{FileStore, OWN_DIR, Store, StoreError};
use everturn_value::document::Document;

pub use everturn_session::watch::{Checked, Watch};

/// Checks a file, or a directory with all that is below it.
///
/// What cannot be read is a finding, except for `start` itself.
pub fn check(
    disk: &Arc<dyn Disk>,
    start: &FilePath,
    watch: &mut dyn Watch,
) -> Result<Checked, StoreError> {
    let stat = disk.stat(start).map_err(StoreError::io("look at", start))?;
    let Some(stat) = stat else { return Err(StoreError::Missing { path: start.clone() }) };
    let files = FileStore::open_read_only(Arc::clone(disk))?;
    // With the commits that only the logs of dead processes have.
    let disk = files.read_disk()?;
    let recovery = files.take_findings();
    let store: Arc<dyn Store> = Arc::new(files);
    let checked = Checked::default();
    let mut checker = Checker { disk: &*disk, store, watch, checked, covered: BTreeSet::new() };
    recovery.into_iter().for_each(|finding| checker.report(finding));
    match stat.kind {
        Kind::Dir => {
            disk.list(start).map_err(StoreError::io("list", start))?;
            checker.dir(start);
        }
        _ => checker.file(start),
    }
    Ok(checker.checked)
}

/// Whether a directory is Everturn's own, beside somebody's data; a root may have the same name.
fn is_own_dir(disk: &dyn Disk, dir: &FilePath) -> bool {
    let logs = FilePath::parse(&format!("{}/wal", dir.as_str()));
    let is_dir = |path: &FilePath| {
        disk.stat(path).is_ok_and(|stat| stat.is_some_and(|stat| stat.kind == Kind::Dir))
    };
    dir.name().is_some_and(|name| name.as_str() == OWN_DIR) && logs.is_ok_and(|logs| is_dir(&logs))
}

/// Whether other programs keep sessions in files of this name, which are neither lines nor documents.
fn is_foreign_name(path: &FilePath) -> bool {
    let name = path.name();
    let name = name.as_ref().map_or("", |name| name.as_str());
    matches!(name, ".aider.chat.history.md" | "sessions.db")
}

struct Checker<'a> {
    disk: &'a dyn Disk,
    #[cfg_attr(
        not(any(
            feature = "agents",
            feature = "campaign",
            feature = "chat",
            feature = "external",
            feature = "game"
        )),
        expect(dead_code, reason = "no format is compiled in")
    )]
    store: Arc<dyn Store>,
    watch: &'a mut dyn Watch,
    checked: Checked,
    /// Files of the session at hand that were looked at with it.
    covered: BTreeSet<FilePath>,
}

impl Checker<'_> {
    fn report(&mut self, finding: Finding) {
        self.checked.count(&finding);
        self.watch.finding(finding);
    }

    fn trouble(&mut self, file: &FilePath, code: Code, message: String) {
        let file = file.clone();
        self.report(Finding { file, line: None, offset: None, code, message });
    }

    fn unreadable(&mut self, path: &FilePath, error: &impl ToString) {
        self.trouble(path, Code::Unreadable, format!("cannot be read: {}", error.to_string()));
    }

    fn dir(&mut self, dir: &FilePath) {
        let listing = match self.disk.list(dir) {
            Ok(listing) => listing,
            Err(error) => return self.unreadable(dir, &error),
        };
        self.session(dir);
        for (name, reason) in listing.refused {
            self.trouble(
                dir,
                Code::BadName,
                format!("holds {name:?}, which is left alone: {reason}"),
            );
        }
        for entry in listing.entries {
            let path = dir.join(&entry.name);
            match entry.kind {
                // What a link leads to is looked at where it is.
                Kind::Dir if entry.linked => {}
                Kind::Dir if is_own_dir(self.disk, &path) => self.own_dir(dir, &path),
                Kind::Dir => self.dir(&path),
                Kind::File => self.file(&path),
                Kind::LinkOutside => {
                    let message = "is a link that leads out of the root, and is left alone";
                    self.trouble(&path, Code::LinkOutside, message.to_owned());
                }
                Kind::Other => {}
            }
        }
    }

    /// Looks at a directory as a session, or a home of them, if it is one.
    #[cfg_attr(
        not(any(feature = "agents", feature = "campaign", feature = "game")),
        expect(unused_variables, reason = "no format that is compiled in has directories")
    )]
    fn session(&mut self, dir: &FilePath) {
        #[cfg(feature = "agents")]
        if codelia::is_home(&self.store, dir) {
            let checked = codelia::check_home(&self.store, dir, self.watch);
            checked.findings.into_iter().for_each(|finding| self.report(finding));
            self.checked.files += checked.files.len() as u64;
            self.checked.records += checked.records;
            self.covered.extend(checked.files);
            return;
        }
        #[cfg(feature = "campaign")]
        if let Ok(Some(id)) = campaign::is_campaign_dir(&self.store, dir) {
            self.campaign(&id, dir);
            return;
        }
        #[cfg(feature = "agents")]
        if linggen::is_session_dir(&self.store, dir).is_ok_and(|is| is) {
            self.linggen(dir);
            return;
        }
        #[cfg(feature = "agents")]
        if linggen::is_project_dir(&self.store, dir).is_ok_and(|is| is) {
            self.all(dir, linggen::check_project(&self.store, dir));
        }
        #[cfg(feature = "agents")]
        if linggen::is_plans_dir(&self.store, dir).is_ok_and(|is| is) {
            self.all(dir, linggen::check_plans(&self.store, dir));
        }
        // What cannot be read as a session is looked at file by file, and says there why.
        #[cfg(feature = "game")]
        if game::is_session_dir(&self.store, dir).is_ok_and(|is| is)
            && let Ok(looked) = game::check_dir(&self.store, &game::Place::of(dir), self.watch)
        {
            self.checked.add(looked.checked);
            self.covered = looked.covered;
        }
    }

    #[cfg(feature = "campaign")]
    /// Looks at a campaign: at its files, and at what they say about each other.
    fn campaign(&mut self, id: &SessionId, dir: &FilePath) {
        let checked = match campaign::check_dir(&self.store, id, dir, self.watch) {
            Ok(checked) => checked,
            Err(error) => return self.unreadable(dir, &error),
        };
        checked.findings.into_iter().for_each(|finding| self.report(finding));
        self.checked.files += checked.files.len() as u64;
        self.checked.records += checked.records;
        self.covered = checked.files;
    }

    #[cfg(feature = "agents")]
    /// Looks at a session of a home: at its metadata and its messages.
    fn linggen(&mut self, dir: &FilePath) {
        let checked = match linggen::check_dir(&self.store, dir, self.watch) {
            Ok(checked) => checked,
            Err(error) => return self.unreadable(dir, &error),
        };
        checked.findings.into_iter().for_each(|finding| self.report(finding));
        self.checked.files += checked.files.len() as u64;
        self.checked.records += checked.records;
        self.covered = checked.files;
    }

    #[cfg(feature = "agents")]
    /// Reports what was found in a directory.
    fn all(&mut self, dir: &FilePath, findings: Result<Vec<Finding>, linggen::LinggenError>) {
        match findings {
            Ok(findings) => findings.into_iter().for_each(|finding| self.report(finding)),
            Err(error) => self.unreadable(dir, &error),
        }
    }

    /// Everturn's own directory is nobody's data; but its logs may hold some.
    fn own_dir(&mut self, root: &FilePath, own: &FilePath) {
        if !root.is_root() {
            // The logs of a root within the root speak of paths that are not ours.
            return;
        }
        if let Err(error) = self.disk.list(own) {
            self.unreadable(own, &error);
        }
    }

    fn file(&mut self, path: &FilePath) {
        if self.covered.contains(path) || self.is_chat_journal(path) {
            return;
        }
        let read = match path.as_str().rsplit_once('.') {
            Some((_, "jsonl" | "ndjson")) => Checker::lines,
            Some((_, "json")) => Checker::document,
            _ => {
                if is_foreign_name(path) {
                    self.watch.file(path);
                    self.checked.files += u64::from(self.foreign(path));
                    return;
                }
                #[cfg(feature = "game")]
                if let Some(findings) = game::check_archive(&self.store, path) {
                    self.watch.file(path);
                    self.checked.files += 1;
                    findings.into_iter().for_each(|finding| self.report(finding));
                }
                return;
            }
        };
        self.watch.file(path);
        self.checked.files += 1;
        if self.chat_log(path) || self.foreign(path) {
            return;
        }
        let done = self.disk.open(path, Access::Read).and_then(|file| read(self, path, &*file));
        if let Err(error) = done {
            self.unreadable(path, &error);
        }
    }

    /// Whether a file is the journal of a chat log, which is looked at with it.
    #[cfg(feature = "chat")]
    fn is_chat_journal(&self, path: &FilePath) -> bool {
        chatlog::journal_of_chat_log(&self.store, path)
    }

    #[cfg(not(feature = "chat"))]
    fn is_chat_journal(&self, _: &FilePath) -> bool {
        false
    }

    /// Looks at a document as a chat log, with its journal, if it is one that can be read.
    #[cfg(feature = "chat")]
    fn chat_log(&mut self, path: &FilePath) -> bool {
        if !chatlog::is_document(&self.store, path).is_ok_and(|is| is) {
            return false;
        }
        // What cannot be read as a chat log is looked at as a document, and says there why.
        let Ok((findings, records)) = chatlog::check_log(&self.store, path) else { return false };
        self.checked.records += records;
        findings.into_iter().for_each(|finding| self.report(finding));
        true
    }

    #[cfg(not(feature = "chat"))]
    fn chat_log(&mut self, _: &FilePath) -> bool {
        false
    }

    /// Looks at a file as a session of another program, if it is one.
    #[cfg(feature = "external")]
    fn foreign(&mut self, path: &FilePath) -> bool {
        // What cannot be read as a session is looked at as whatever else it is, and says there why.
        let Ok(Some(checked)) = foreign::check_file(&self.store, path) else { return false };
        self.checked.records += checked.records;
        checked.findings.into_iter().for_each(|finding| self.report(finding));
        true
    }

    #[cfg(not(feature = "external"))]
    fn foreign(&mut self, _: &FilePath) -> bool {
        false
    }

    fn lines(&mut self, path: &FilePath, file: &dyn DiskFile) -> io::Result<()> {
        for item in Scan::new(file, path.clone()).largest_text(0).forward()? {
            match item? {
                Item::Record(_) => self.checked.records += 1,
                Item::Finding(finding) => self.report(finding),
            }
        }
        Ok(())
    }

    fn document(&mut self, path: &FilePath, file: &dyn DiskFile) -> io::Result<()> {
        if file.len()? > LARGEST_TEXT {
            large::check(path, file)?.into_iter().for_each(|finding| self.report(finding));
            return Ok(());
        }
        match Document::parse(&read_all(file)?) {
            Ok(document) => {
                document.findings(path).into_iter().for_each(|finding| self.report(finding));
            }
            Err(error) => self.report(error.finding(path)),
        }
        Ok(())
    }
}
