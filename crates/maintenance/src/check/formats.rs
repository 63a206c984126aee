//! Checks directories and files as sessions of the compiled-in formats.

#[cfg(feature = "agents")]
use std::collections::BTreeSet;
#[cfg(feature = "agents")]
use std::sync::Arc;

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
#[cfg(feature = "agents")]
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
#[cfg(feature = "campaign")]
use everturn_json::names::SessionId;
#[cfg(feature = "agents")]
use everturn_linggen as linggen;
#[cfg(feature = "agents")]
use everturn_session::finding_sink::FindingSink;
#[cfg(feature = "agents")]
use everturn_session::format::SessionError;
#[cfg(feature = "agents")]
use everturn_store::Store;
#[cfg(feature = "chat")]
use everturn_store::StoreError;
#[cfg(feature = "agents")]
use everturn_thread as thread;

use super::FileChecker;

impl FileChecker<'_> {
    /// Checks a file of a session as the check of the whole session or home does. Returns whether it is one.
    #[cfg(feature = "agents")]
    pub(super) fn session_file(&mut self, file: &FilePath) -> bool {
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
    pub(super) fn session_file(&mut self, _: &FilePath) -> bool {
        false
    }

    /// Checks a directory as a session, or as a home of sessions, if it is one. Returns whether it is a session.
    #[cfg_attr(
        not(any(feature = "agents", feature = "campaign", feature = "game")),
        expect(unused_variables, reason = "no compiled-in format has directories")
    )]
    pub(super) fn session(&mut self, dir: &FilePath) -> bool {
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

    /// Whether a file is the journal of a chat log, which is checked with it.
    #[cfg(feature = "chat")]
    pub(super) fn is_chat_journal(&self, path: &FilePath) -> bool {
        chatlog::journal_of_chat_log(&self.store, path)
    }

    #[cfg(not(feature = "chat"))]
    pub(super) fn is_chat_journal(&self, _: &FilePath) -> bool {
        false
    }

    /// Checks a document as a chat log, with its journal, if it is a readable one.
    #[cfg(feature = "chat")]
    pub(super) fn chat_log(&mut self, path: &FilePath) -> bool {
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
    pub(super) fn chat_log(&mut self, _: &FilePath) -> bool {
        false
    }

    /// Checks a file as a session of another program, if it is one.
    #[cfg(feature = "external")]
    pub(super) fn foreign(&mut self, path: &FilePath) -> bool {
        // If it cannot be read as a session, it is checked like any other file, which reports the reason.
        let Ok(Some(checked)) = foreign::check_file(&self.store, path) else { return false };
        self.checked.records += checked.records;
        checked.findings.into_iter().for_each(|finding| self.report(finding));
        true
    }

    #[cfg(not(feature = "external"))]
    pub(super) fn foreign(&mut self, _: &FilePath) -> bool {
        false
    }
}
