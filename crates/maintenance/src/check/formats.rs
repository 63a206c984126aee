//! Checks directories and files as sessions of the compiled-in formats.

use everturn_json::names::FilePath;
use everturn_session::format::{CheckScope, FormatCheck, SessionError};
use everturn_store::StoreError;

use super::FileChecker;
use crate::registry;

impl FileChecker<'_> {
    /// Checks a directory as a session, or as a home of sessions, if it is one. Returns whether it is a session.
    pub(super) fn check_dir_as_session(&mut self, dir: &FilePath) -> bool {
        for format in registry::checked_formats() {
            let Some(paths) = format.session_paths(&self.store, dir) else { continue };
            let Some(store) = self.snapshot(dir, &paths) else { return true };
            if store.stat(dir).is_ok_and(|stat| stat.is_none()) {
                self.moved = true;
                return true;
            }
            match format.check_session(&store, dir, self.watch) {
                Ok(checked) => self.covered = self.add_check(checked).files,
                Err(error) => self.report_unreadable(dir, &error),
            }
            return true;
        }
        if self.is_first {
            self.check_dir_as_home(dir);
        }
        false
    }

    fn check_dir_as_home(&mut self, dir: &FilePath) {
        for format in registry::checked_formats() {
            match format.check_home(&self.store, dir, self.watch) {
                Ok(None) => continue,
                Ok(Some(checked)) => {
                    let checked = self.add_check(checked);
                    self.done.extend(checked.files);
                }
                Err(error) => self.report_unreadable(dir, &error),
            }
            return;
        }
    }

    /// Checks a file as a session or a part of one. Returns whether it is one.
    pub(super) fn check_file_as_session(&mut self, file: &FilePath, scope: CheckScope) -> bool {
        for format in registry::checked_formats() {
            match format.check_file(&self.store, file, scope, self.watch) {
                Ok(Some(checked)) => {
                    self.add_check(checked);
                    return true;
                }
                Err(SessionError::Store(error @ StoreError::Busy { .. })) => {
                    self.report_busy(file, &error);
                    return true;
                }
                // If it cannot be read as a session, it is checked like any other file, which reports the reason.
                Ok(None) | Err(_) => {}
            }
        }
        false
    }

    /// Adds what a format has checked, and reports the findings that it has not reported.
    fn add_check(&mut self, mut checked: FormatCheck) -> FormatCheck {
        self.checked.add(checked.stats);
        for finding in std::mem::take(&mut checked.findings) {
            self.report(finding);
        }
        checked
    }
}
