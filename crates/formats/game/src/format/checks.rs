//! How a check of files recognises and checks games.

use std::sync::Arc;

use super::GameFormat;
use crate::check::{DirectoryCheck, check_archive, check_dir, is_session_dir};
use crate::survey::GameLocation;
use everturn_json::names::FilePath;
use everturn_session::finding_sink::FindingSink;
use everturn_session::format::{CheckScope, CheckedFormat, FormatCheck, SessionError};
use everturn_store::Store;

impl CheckedFormat for GameFormat {
    fn session_paths(&self, store: &Arc<dyn Store>, dir: &FilePath) -> Option<Vec<FilePath>> {
        let is_session = is_session_dir(store, dir).is_ok_and(|is| is);
        is_session.then(|| GameLocation::of(dir).anywhere())
    }

    fn check_session(
        &self,
        store: &Arc<dyn Store>,
        dir: &FilePath,
        sink: &mut dyn FindingSink,
    ) -> Result<FormatCheck, SessionError> {
        // If it cannot be read as a session, its files are checked one by one, which reports the reason.
        let Ok(DirectoryCheck { checked, covered }) =
            check_dir(store, &GameLocation::of(dir), sink)
        else {
            return Ok(FormatCheck::default());
        };
        Ok(FormatCheck { files: covered, stats: checked, findings: Vec::new() })
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
        store: &Arc<dyn Store>,
        file: &FilePath,
        _: CheckScope,
        sink: &mut dyn FindingSink,
    ) -> Result<Option<FormatCheck>, SessionError> {
        let Some(findings) = check_archive(store, file) else { return Ok(None) };
        sink.file(file);
        // An archive that was unpacked meanwhile is not damaged.
        let is_there = store.stat(file)?.is_some();
        Ok(Some(FormatCheck::of_file(0, if is_there { findings } else { Vec::new() })))
    }
}
