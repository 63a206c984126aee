//! Sessions of other programs, which are only ever read.
//!
//! ```text
//! their files -> survey: where each record is -> weave: main line and strands -> entries, when they are asked for
//! ```
//!
//! Each program is a `Format` in a file of its own, with a line in [`FORMATS`]. A format says which files are its
//! own, which records they hold and whom each of them follows, and what a record tells. Everything else is the same for
//! all: records are put into one main line and strands (`weave`), shown in the common view (`reader`), and
//! counted. The first pass keeps a few numbers of each record; what it says is read when somebody wants to see it.
//!
//! Invariant: nothing here writes. Every record is in exactly one line, or is a finding.
//!
//! The crate depends on `everturn-session` and what is below it; [`FORMATS`] is all that it offers to users.

mod aider;
mod blocks;
mod claude;
mod codex;
mod fetch;
mod gemini;
mod goose;
mod json_file;
mod opencode;
mod peek;
mod pi;
mod reader;
mod record;
mod repair_copy;
mod sillytavern;
mod survey;
mod thread_tree;
mod walk;

use std::sync::Arc;

use jiff::Timestamp;

use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_session::format::{SessionError, SessionFormat, SessionReader};
use everturn_session::model::{SessionListing, SessionRef, SessionSummary};
use everturn_session::repair::RepairedCopy;
use everturn_store::{Store, StoreError};
use everturn_value::tree::JsonTree;

pub use codex::is_asked;
use fetch::{FileWindow, RecordFetcher};
use record::EntryDraft;
use repair_copy::RepairRules;
use survey::Survey;

macro_rules! registry {
    ($($format:expr,)*) => {
        /// The formats of other programs.
        pub static FORMATS: &[&dyn SessionFormat] = &[$(&ExternalFormat(&$format),)*];

        /// The same, to be asked about files of which nothing is known.
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

/// Looks into a file of which nothing is known.
trait Detector: Send + Sync {
    /// The sessions of a file that begins like this.
    fn sessions(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
        head: &peek::FileStart,
    ) -> Result<Vec<Survey>, SessionError>;
}

/// What a check finds in a file of another program.
pub struct FileCheck {
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// How many records are good.
    pub records: u64,
}

/// Checks a file, if it is a session of another program.
pub fn check_file(
    store: &Arc<dyn Store>,
    file: &FilePath,
) -> Result<Option<FileCheck>, SessionError> {
    let head = peek::FileStart::read(store, file)?;
    for detector in DETECTORS {
        let surveys = detector.sessions(store, file, &head)?;
        if surveys.is_empty() {
            continue;
        }
        let mut checked = FileCheck { findings: Vec::new(), records: 0 };
        for survey in surveys {
            checked.records += survey.counts.kept + survey.counts.repaired;
            // Other documents of the session are looked at by themselves.
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

/// Whether a file is a session of another program, going by its name and by how it begins.
pub fn is_external_session(store: &Arc<dyn Store>, file: &FilePath) -> Result<bool, SessionError> {
    for layout in FORMATS {
        if !layout.sniff(store, file)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a file belongs to a program, going by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    Yes,
    /// How it begins must tell.
    Maybe,
    No,
}

/// How a program keeps its sessions.
trait ProgramFormat: Send + Sync + 'static {
    /// The name of the layout.
    const NAME: &'static str;

    /// How many directories deep its files are, seen from the directory that it calls its own.
    const DEPTH: usize;

    /// The names of the directories below which it keeps its sessions. A link there is worth a word, because links are
    /// not followed.
    const SESSION_DIRS: &'static [&'static str];

    /// Whether sessions may be in a directory.
    fn enters(&self, dir: &FilePath) -> bool {
        let _ = dir;
        true
    }

    /// Whether a file is one of its sessions, going by its path below the root.
    fn match_path(&self, path: &FilePath) -> Match;

    /// Whether a file is one of its sessions, going by how it begins.
    fn sniff(&self, path: &FilePath, head: &peek::FileStart) -> bool;

    /// The same, where more of the file may have to be looked at.
    fn is_session_file(
        &self,
        store: &Arc<dyn Store>,
        path: &FilePath,
        head: &peek::FileStart,
    ) -> bool {
        let _ = store;
        self.sniff(path, head)
    }

    /// The sessions of a file.
    fn sessions_in_file(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Vec<SessionRef>, SessionError> {
        let _ = store;
        Ok(vec![SessionRef { id: self.file_id(file), path: file.clone() }])
    }

    /// Sessions whose own files are lost, besides those that are there.
    fn orphaned_sessions(
        &self,
        store: &Arc<dyn Store>,
        there: &[SessionRef],
    ) -> Result<Vec<SessionRef>, SessionError> {
        let _ = (store, there);
        Ok(Vec::new())
    }

    /// The directory on which the agent of a session works, as the session says at its beginning.
    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        let _ = (store, place);
        Ok(None)
    }

    /// The id of the session in a file, going by its name.
    fn file_id(&self, file: &FilePath) -> String {
        stem(file)
    }

    /// The first pass over a session.
    fn survey(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError>;

    /// What can be said of a session without reading all of it.
    fn peek(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionHeader, SessionError> {
        Ok(SessionHeader::of(&self.survey(store, place)?))
    }

    /// Whoever reads records again.
    fn fetch(
        &self,
        store: &Arc<dyn Store>,
        files: &[FilePath],
    ) -> Result<Box<dyn RecordFetcher>, SessionError> {
        Ok(Box::new(FileWindow::new(store, files)))
    }

    /// How the file of a session is mended in a copy, or why it is not.
    fn repair_rules(&self, file: &FilePath) -> Result<&'static RepairRules, &'static str>;

    /// A record as it is shown, where it holds others that are shown by themselves.
    fn shown(&self, record: JsonTree) -> JsonTree {
        record
    }

    /// The id of a record.
    fn id(&self, record: &JsonTree) -> Option<String>;

    /// What a record tells: at least one thing.
    fn drafts(&self, record: &JsonTree) -> Vec<EntryDraft>;
}

/// What is said of a session in a list.
#[derive(Debug, Clone, Default)]
struct SessionHeader {
    title: Option<String>,
    created: Option<Timestamp>,
    updated: Option<Timestamp>,
    turns: Option<u64>,
    parent: Option<String>,
    /// Whether a helper of the program talks here, on behalf of another session.
    is_helper: bool,
    findings: Vec<Finding>,
}

impl SessionHeader {
    fn of(survey: &Survey) -> SessionHeader {
        SessionHeader {
            title: survey.title.clone(),
            created: survey.created,
            updated: survey.updated,
            turns: Some(survey.turns()),
            parent: survey.parent.clone(),
            is_helper: survey.is_helper,
            findings: survey.findings.clone(),
        }
    }
}

/// The name of a file without what follows its last dot.
fn stem(file: &FilePath) -> String {
    let name = file.as_str().rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

/// A format as a layout.
struct ExternalFormat<F: 'static>(&'static F);

impl<F: ProgramFormat> ExternalFormat<F> {
    fn is_ours(
        &self,
        store: &Arc<dyn Store>,
        path: &FilePath,
        fit: Match,
    ) -> Result<bool, SessionError> {
        match fit {
            Match::Yes => Ok(true),
            Match::No => Ok(false),
            Match::Maybe => {
                Ok(self.0.is_session_file(store, path, &peek::FileStart::read(store, path)?))
            }
        }
    }
}

impl<F: ProgramFormat> Detector for ExternalFormat<F> {
    fn sessions(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
        head: &peek::FileStart,
    ) -> Result<Vec<Survey>, SessionError> {
        if self.0.match_path(file) == Match::No || !self.0.is_session_file(store, file, head) {
            return Ok(Vec::new());
        }
        let places = self.0.sessions_in_file(store, file)?;
        places.iter().map(|place| self.0.survey(store, place)).collect()
    }
}

impl<F: ProgramFormat> SessionFormat for ExternalFormat<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn is_external(&self) -> bool {
        true
    }

    fn sniff(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Vec<SessionRef>, SessionError> {
        // Under a name of its own a file must still begin as the program would begin it.
        let fit = match self.0.match_path(file) {
            Match::No => Match::No,
            Match::Yes | Match::Maybe => Match::Maybe,
        };
        if self.is_ours(store, file, fit)? {
            self.0.sessions_in_file(store, file)
        } else {
            Ok(Vec::new())
        }
    }

    fn locate(&self, store: &Arc<dyn Store>) -> Result<SessionListing, SessionError> {
        let walked = walk::find_files(
            store,
            F::DEPTH,
            F::SESSION_DIRS,
            |dir| self.0.enters(dir),
            |path| self.0.match_path(path),
        )?;
        let mut places = SessionListing { sessions: Vec::new(), findings: walked.findings };
        for (path, fit) in walked.files {
            let found = self.is_ours(store, &path, fit).and_then(|is| match is {
                true => self.0.sessions_in_file(store, &path),
                false => Ok(Vec::new()),
            });
            match found {
                Ok(found) => places.sessions.extend(found),
                Err(SessionError::Store(StoreError::Missing { .. })) => {}
                Err(error) => {
                    let place = SessionRef { id: self.0.file_id(&path), path };
                    places.findings.extend(self.unreadable_summary(&place, &error).findings);
                }
            }
        }
        let lost = self.0.orphaned_sessions(store, &places.sessions)?;
        places.sessions.extend(lost);
        Ok(places)
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        self.0.project(store, place)
    }

    fn read_summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError> {
        let header = self.0.peek(store, place)?;
        Ok(SessionSummary {
            session: place.clone(),
            layout: F::NAME,
            title: header.title.unwrap_or_else(|| place.id.clone()),
            created: header.created,
            updated: header.updated,
            status: if header.is_helper { "helper" } else { "active" }.to_owned(),
            turns: header.turns,
            parent: header.parent,
            findings: header.findings,
        })
    }

    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionReader>, SessionError> {
        let survey = Arc::new(self.0.survey(store, place)?);
        Ok(Box::new(reader::ExternalReader {
            format: self.0,
            store: Arc::clone(store),
            survey,
            line: 0,
        }))
    }

    fn repaired_copy(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<RepairedCopy, SessionError> {
        repair_copy::repair_copy(self.0, store, place)
    }

    fn unsupported(&self, what: &'static str) -> SessionError {
        SessionError::ReadOnly { layout: F::NAME, what }
    }
}
