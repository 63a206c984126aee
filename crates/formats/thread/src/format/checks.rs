//! How a check of files recognises and checks threads.

use std::sync::Arc;

use super::ThreadFormat;
use crate::check::{check_dir, is_thread_dir};
use everturn_json::names::FilePath;
use everturn_session::finding_sink::FindingSink;
use everturn_session::format::{CheckScope, CheckedFormat, FormatCheck, SessionError};
use everturn_store::Store;

impl CheckedFormat for ThreadFormat {
    fn session_paths(&self, store: &Arc<dyn Store>, dir: &FilePath) -> Option<Vec<FilePath>> {
        is_thread_dir(store, dir).then(|| vec![dir.clone()])
    }

    fn check_session(
        &self,
        store: &Arc<dyn Store>,
        dir: &FilePath,
        sink: &mut dyn FindingSink,
    ) -> Result<FormatCheck, SessionError> {
        let checked = check_dir(store, dir, sink)?;
        Ok(FormatCheck::of_files(checked.files, checked.records, checked.findings))
    }

    fn check_home(
        &self,
        _: &Arc<dyn Store>,
        _: &FilePath,
        _: &mut dyn FindingSink,
    ) -> Result<Option<FormatCheck>, SessionError> {
        Ok(None)
    }

    fn check_file(
        &self,
        _: &Arc<dyn Store>,
        _: &FilePath,
        _: CheckScope,
        _: &mut dyn FindingSink,
    ) -> Result<Option<FormatCheck>, SessionError> {
        Ok(None)
    }
}
