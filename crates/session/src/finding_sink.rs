//! [`FindingSink`] receives the findings of a running check, [`CheckStats`] counts what it has read.

use everturn_json::finding::{Finding, Severity};
use everturn_json::names::FilePath;

/// Receives findings while a check runs.
pub trait FindingSink {
    /// Reports a problem.
    fn finding(&mut self, finding: Finding);

    /// Reports that a file is about to be read.
    fn file(&mut self, file: &FilePath);
}

/// The statistics of a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckStats {
    /// Files that were read.
    pub files: u64,
    /// Valid records in JSONL files.
    pub records: u64,
    /// Reported findings, without warnings.
    pub findings: u64,
    /// Reported warnings.
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

    /// Adds the statistics of another check.
    pub fn add(&mut self, other: CheckStats) {
        let CheckStats { files, records, findings, warnings } = other;
        self.files += files;
        self.records += records;
        self.findings += findings;
        self.warnings += warnings;
    }
}
