//! Sessions of other programs, which are only ever read.
//!
//! ```text
//! files -> survey: where each record is -> thread tree: main line and branches -> entries, read on demand
//! ```
//!
//! Each program is a `ProgramFormat` in a module of its own, with a line in [`FORMATS`]. A `ProgramFormat` recognises
//! its files, locates their records and the parent of each, and turns a record into entries. The rest is shared: a
//! `ThreadTree` holds the records as a main line and branches, and an `ExternalReader` maps them to the common model.
//! The first pass (`Survey`) keeps a few numbers per record; the content is read again when it is needed.
//!
//! Invariant: nothing here writes. Every record is in exactly one line, or is a finding.
//!
//! The crate depends on `everturn-session` and what is below it; users need only [`FORMATS`], and [`CHECKED`] to check
//! files.
//!
//! The modules, in reading order:
//!
//! - `program_format`, `external_format`: the trait of a program, and what makes a format of it.
//! - `claude`, `codex`, `gemini`, `sillytavern`, `pi`, `opencode`, `goose`, `aider`: one program each.
//! - `walk`, `peek`: find files below a root; read the start and the end of a file.
//! - `sqlite`: databases of other programs, opened as untrusted input.
//! - `survey`, `record`, `json_file`: the first pass; records, also as elements of a JSON document.
//! - `thread_tree`: from parent links to a main line and branches.
//! - `fetch`, `blocks`, `reader`: read records again, turn their content into entries, and show them.
//! - `repair_copy`: repaired copies of damaged files.

mod program_format;
mod external_format;
mod claude;
mod codex;
mod gemini;
mod sillytavern;
mod pi;
mod opencode;
mod goose;
mod aider;
mod walk;
mod peek;
mod sqlite;
mod survey;
mod record;
mod json_file;
mod thread_tree;
mod fetch;
mod blocks;
mod reader;
mod repair_copy;

use std::sync::Arc;

use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_session::finding_sink::FindingSink;
use everturn_session::format::{
    CheckScope, CheckedFormat, FormatCheck, SessionError, SessionFormat,
};
use everturn_store::Store;

pub use codex::is_asked;
use external_format::{Detector, ExternalFormat};
use peek::SessionHeader;
use program_format::{Match, ProgramFormat, stem};
use repair_copy::RepairRules;

macro_rules! registry {
    ($($format:expr,)*) => {
        /// The formats of other programs.
        pub static FORMATS: &[&dyn SessionFormat] = &[$(&ExternalFormat(&$format),)*];

        /// The same formats as detectors of unknown files.
        static DETECTORS: &[&dyn Detector] = &[$(&ExternalFormat(&$format),)*];
    };
}

registry! {
    claude::ClaudeCode,
    codex::Codex,
    gemini::GeminiCli,
    sillytavern::SillyTavern,
    pi::Pi,
    opencode::OpenCode,
    goose::Goose,
    aider::Aider,
}

/// Checks files as sessions of other programs.
pub static CHECKED: &dyn CheckedFormat = &ExternalFiles;

/// The files of all other programs together: the start of a file is read once for all of them.
struct ExternalFiles;

impl CheckedFormat for ExternalFiles {
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

    fn check_home(
        &self,
        _: &Arc<dyn Store>,
        _: &FilePath,
        _: &mut dyn FindingSink,
    ) -> Result<Option<FormatCheck>, SessionError> {
        Ok(None)
    }

    /// Checks a file of lines or a document whose start looks like a session, or a file with a name that a program uses
    /// for its sessions alone.
    fn check_file(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
        _: CheckScope,
        sink: &mut dyn FindingSink,
    ) -> Result<Option<FormatCheck>, SessionError> {
        let is_data = [".json", ".jsonl", ".ndjson"].iter().any(|end| file.as_str().ends_with(end));
        if !is_data && !DETECTORS.iter().any(|detector| detector.claims(file)) {
            return Ok(None);
        }
        let head = peek::FileStart::read(store, file)?;
        for detector in DETECTORS {
            let surveys = detector.sessions(store, file, &head)?;
            if surveys.is_empty() {
                continue;
            }
            sink.file(file);
            let mut checked = FormatCheck::of_file(0, Vec::new());
            for survey in surveys {
                checked.stats.records += survey.counts.kept + survey.counts.repaired;
                // Other documents of the session are checked separately.
                let is_ours = |finding: &Finding| {
                    finding.file.is_within(file)
                        || matches!(finding.code, FindingCode::OrphanPart | FindingCode::OrphanCall)
                };
                let found = survey.findings.into_iter().chain(survey.warnings).filter(is_ours);
                checked.findings.extend(found);
            }
            return Ok(Some(checked));
        }
        Ok(None)
    }
}

/// Whether a file is a session of another program, judging by its name and its first bytes.
pub fn is_external_session(store: &Arc<dyn Store>, file: &FilePath) -> Result<bool, SessionError> {
    for external in FORMATS.iter().filter_map(|format| format.capabilities().external) {
        if !external.sniff(store, file)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
