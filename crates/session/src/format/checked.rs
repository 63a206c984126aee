//! [`CheckedFormat`]: how a check of files recognises and checks what belongs to a format.

use std::collections::BTreeSet;
use std::sync::Arc;

use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_store::Store;

use super::SessionError;
use crate::finding_sink::{CheckStats, FindingSink};

/// A format whose files are recognised and checked wherever they are.
pub trait CheckedFormat: Send + Sync {
    /// The paths that a check of the session in a directory reads, which are read as of one point between two commits;
    /// `None` if the directory is not a session of this format.
    fn session_paths(&self, store: &Arc<dyn Store>, dir: &FilePath) -> Option<Vec<FilePath>>;

    /// Checks the session in a directory.
    fn check_session(
        &self,
        store: &Arc<dyn Store>,
        dir: &FilePath,
        sink: &mut dyn FindingSink,
    ) -> Result<FormatCheck, SessionError>;

    /// Checks what a directory has beside its sessions, such as settings and an index; `None` if it is no home or
    /// project of this format.
    fn check_home(
        &self,
        store: &Arc<dyn Store>,
        dir: &FilePath,
        sink: &mut dyn FindingSink,
    ) -> Result<Option<FormatCheck>, SessionError>;

    /// Checks a file as a session or as a part of one; `None` if it is neither.
    fn check_file(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
        scope: CheckScope,
        sink: &mut dyn FindingSink,
    ) -> Result<Option<FormatCheck>, SessionError>;
}

/// Whether a file is checked alone, or with the directories above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckScope {
    /// The directories above it are checked, too, and with them the sessions and homes that have files of their own.
    Tree,
    /// Only this file was named.
    OneFile,
}

/// What a format has checked.
#[derive(Debug, Default)]
pub struct FormatCheck {
    /// The files that need no further check.
    pub files: BTreeSet<FilePath>,
    /// What was read, and the findings that the sink has received.
    pub stats: CheckStats,
    /// The findings that the sink has not received yet.
    pub findings: Vec<Finding>,
}

impl FormatCheck {
    /// The check of some files, none of whose findings was reported yet.
    #[must_use]
    pub fn of_files(
        files: BTreeSet<FilePath>,
        records: u64,
        findings: Vec<Finding>,
    ) -> FormatCheck {
        let stats = CheckStats { files: files.len() as u64, records, ..CheckStats::default() };
        FormatCheck { files, stats, findings }
    }

    /// The check of one file.
    #[must_use]
    pub fn of_file(records: u64, findings: Vec<Finding>) -> FormatCheck {
        let stats = CheckStats { files: 1, records, ..CheckStats::default() };
        FormatCheck { stats, findings, ..FormatCheck::default() }
    }

    /// Findings about files that are checked elsewhere, too.
    #[must_use]
    pub fn of_findings(findings: Vec<Finding>) -> FormatCheck {
        FormatCheck { findings, ..FormatCheck::default() }
    }
}
