//! How a check of files recognises and checks the sessions, projects and plans of Linggen's home.

use std::sync::Arc;

use super::LinggenFormat;
use crate::check::{check_dir, check_project, is_project_dir};
use crate::home_check::{check_home_files, is_home_dir};
use crate::plan::{check_plans, is_plans_dir};
use crate::session::is_session_dir;
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_session::finding_sink::FindingSink;
use everturn_session::format::{CheckScope, CheckedFormat, FormatCheck, SessionError};
use everturn_store::{Store, snapshot};

impl CheckedFormat for LinggenFormat {
    fn session_paths(&self, store: &Arc<dyn Store>, dir: &FilePath) -> Option<Vec<FilePath>> {
        is_session_dir(store, dir).then(|| vec![dir.clone()])
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
        store: &Arc<dyn Store>,
        dir: &FilePath,
        _: &mut dyn FindingSink,
    ) -> Result<Option<FormatCheck>, SessionError> {
        let mut found: Option<Vec<Finding>> = None;
        if is_home_dir(store, dir) {
            found.get_or_insert_default().extend(check_home_files(store, dir)?);
        }
        if is_project_dir(store, dir).is_ok_and(|is| is) {
            found.get_or_insert_default().extend(check_project(store, dir)?);
        }
        if is_plans_dir(store, dir).is_ok_and(|is| is) {
            found.get_or_insert_default().extend(check_plans(store, dir)?);
        }
        Ok(found.map(FormatCheck::of_findings))
    }

    fn check_file(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
        scope: CheckScope,
        sink: &mut dyn FindingSink,
    ) -> Result<Option<FormatCheck>, SessionError> {
        let dir = file.parent().filter(|dir| is_session_dir(store, dir));
        let (Some(dir), CheckScope::OneFile) = (dir, scope) else { return Ok(None) };
        let store = snapshot(store, std::slice::from_ref(&dir))?;
        let checked = check_dir(&store, &dir, sink)?;
        if !checked.files.contains(file) {
            return Ok(None);
        }
        let findings = checked.findings.into_iter().filter(|finding| finding.file == *file);
        Ok(Some(FormatCheck::of_file(checked.records, findings.collect())))
    }
}
