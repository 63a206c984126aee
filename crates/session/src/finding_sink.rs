//! What a check reports while it is running, and what it has looked at.

use everturn_json::finding::{Finding, Severity};
use everturn_json::names::FilePath;

/// Who wants to know what a check finds, while it is running.
pub trait FindingSink {
    /// Something is wrong.
    fn finding(&mut self, finding: Finding);

    /// A file is about to be read.
    fn file(&mut self, file: &FilePath);
}

/// What a check has looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckStats {
    /// Files that were read.
    pub files: u64,
    /// Records of JSONL files that are good.
    pub records: u64,
    /// Findings that were reported, without warnings.
    pub findings: u64,
    /// Warnings that were reported.
    pub warnings: u64,
}

impl CheckStats {
    /// Counts a finding or a warning.
    pub fn count(&mut self, finding: &Finding) {
        match finding.code.severity() {
            Severity::Finding => self.findings += 1,
            Severity::Warning => self.warnings += 1,
        }
    }

    /// Adds what another check has looked at.
    pub fn add(&mut self, other: CheckStats) {
        let CheckStats { files, records, findings, warnings } = other;
        self.files += files;
        self.records += records;
        self.findings += findings;
        self.warnings += warnings;
    }
}
