//! [`CheckReport`]: what [`Root::check`](crate::RootSessions::check) and [`Session::check`](crate::Session::check) find.

use std::sync::Arc;

use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_maintenance::check::{CheckStats, FindingSink, check_store};
use everturn_store::Store;

use crate::error::Error;

/// The findings of a check, and what it has read. [`check`](mod@crate::check) has functions that report each finding while
/// they run.
#[derive(Debug, Clone, Default)]
pub struct CheckReport {
    /// The findings and warnings.
    pub findings: Vec<Finding>,
    /// How much was read.
    pub stats: CheckStats,
}

impl CheckReport {
    pub(crate) fn of(store: &Arc<dyn Store>, path: &FilePath) -> Result<CheckReport, Error> {
        let mut report = CheckReport::default();
        let stats = check_store(store, path, &mut report)?;
        Ok(CheckReport { stats, ..report })
    }
}

impl FindingSink for CheckReport {
    fn finding(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    fn file(&mut self, _: &FilePath) {}
}
