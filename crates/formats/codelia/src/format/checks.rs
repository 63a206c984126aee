//! How a check of files recognises and checks the home of Codelia.

use std::sync::Arc;

use super::CodeliaFormat;
use crate::check::{check_home, check_log_file, is_home};
use everturn_json::names::FilePath;
use everturn_session::finding_sink::FindingSink;
use everturn_session::format::{CheckScope, CheckedFormat, FormatCheck, SessionError};
use everturn_store::Store;

impl CheckedFormat for CodeliaFormat {
    /// A session has no directory of its own.
    fn session_paths(&self, _: &Arc<dyn Store>, _: &FilePath) -> Option<Vec<FilePath>> {
        None
    }

    fn check_session(
        &self,
        _: &Arc<dyn Store>,
        _: &FilePath,
        _: &mut dyn FindingSink,
    ) -> Result<FormatCheck, SessionError> {
        Ok(FormatCheck::default())
    }

    /// Checks a home with all its sessions and runs.
    fn check_home(
        &self,
        store: &Arc<dyn Store>,
        dir: &FilePath,
        sink: &mut dyn FindingSink,
    ) -> Result<Option<FormatCheck>, SessionError> {
        if !is_home(store, dir) {
            return Ok(None);
        }
        let checked = check_home(store, dir, sink);
        Ok(Some(FormatCheck::of_files(checked.files, checked.records, checked.findings)))
    }

    fn check_file(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
        scope: CheckScope,
        sink: &mut dyn FindingSink,
    ) -> Result<Option<FormatCheck>, SessionError> {
        if scope == CheckScope::Tree {
            return Ok(None);
        }
        let Some(checked) = check_log_file(store, file) else { return Ok(None) };
        sink.file(file);
        Ok(Some(FormatCheck::of_file(checked.records, checked.findings)))
    }
}
