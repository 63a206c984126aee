//! How a check of files recognises and checks campaigns.

use std::sync::Arc;

use super::CampaignFormat;
use crate::check::check_dir;
use crate::session::is_campaign_dir;
use everturn_json::names::FilePath;
use everturn_session::finding_sink::FindingSink;
use everturn_session::format::{CheckScope, CheckedFormat, FormatCheck, SessionError};
use everturn_store::Store;

impl CheckedFormat for CampaignFormat {
    fn session_paths(&self, store: &Arc<dyn Store>, dir: &FilePath) -> Option<Vec<FilePath>> {
        is_campaign_dir(store, dir).map(|_| vec![dir.clone()])
    }

    fn check_session(
        &self,
        store: &Arc<dyn Store>,
        dir: &FilePath,
        sink: &mut dyn FindingSink,
    ) -> Result<FormatCheck, SessionError> {
        let Some(id) = is_campaign_dir(store, dir) else { return Ok(FormatCheck::default()) };
        let checked = check_dir(store, &id, dir, sink)?;
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
