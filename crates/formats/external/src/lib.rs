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
//! The crate depends on `everturn-session` and what is below it; users need only [`FORMATS`].
//!
//! - `claude`, `codex`, `gemini`, `sillytavern`, `pi`, `opencode`, `goose`, `aider`: one program each.
//! - `walk`, `peek`: finds files below a root; reads the start and the end of a file.
//! - `sqlite`: databases of other programs, opened as untrusted input.
//! - `survey`, `record`, `json_file`: the first pass; records, also as elements of a JSON document.
//! - `thread_tree`: from parent links to a main line and branches.
//! - `fetch`, `blocks`, `reader`: reads records again, turns their content into entries, and shows them.
//! - `repair_copy`: repaired copies of damaged files.

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
mod sqlite;
mod survey;
mod thread_tree;
mod walk;

use std::sync::Arc;

use jiff::Timestamp;

use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_session::format::{
    Capabilities, ExternalSessions, SessionError, SessionFormat, SessionReader,
};
use everturn_session::model::{Dependencies, SessionListing, SessionRef, SessionSummary};
use everturn_session::repair::RepairedCopy;
use everturn_session::session_files::SessionFiles;
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

/// Recognises the sessions in an unknown file.
trait Detector: Send + Sync {
    /// The sessions of a file with this start; none if it is not of this format.
    fn sessions(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
        head: &peek::FileStart,
    ) -> Result<Vec<Survey>, SessionError>;
}

/// The result of checking a file of another program.
pub struct FileCheck {
    /// The problems found.
    pub findings: Vec<Finding>,
    /// The number of good records.
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

/// Whether a file is a session of another program, judging by its name and its first bytes.
pub fn is_external_session(store: &Arc<dyn Store>, file: &FilePath) -> Result<bool, SessionError> {
    for external in FORMATS.iter().filter_map(|format| format.capabilities().external) {
        if !external.sniff(store, file)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a file belongs to a program, judging by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    Yes,
    /// Decided by the start of the file.
    Maybe,
    No,
}

/// The session files of one program.
trait ProgramFormat: Send + Sync + 'static {
    /// The name of the format.
    const NAME: &'static str;

    /// How many directories deep its files are, counted from the program's own directory.
    const DEPTH: usize;

    /// The names of the directories that contain its sessions. A link there is reported, because links are not
    /// followed.
    const SESSION_DIRS: &'static [&'static str];

    /// Whether a directory may contain sessions.
    fn enters(&self, dir: &FilePath) -> bool {
        let _ = dir;
        true
    }

    /// Whether a file is one of its sessions, judging by its path below the root.
    fn match_path(&self, path: &FilePath) -> Match;

    /// Whether a file is one of its sessions, judging by its first bytes.
    fn sniff(&self, path: &FilePath, head: &peek::FileStart) -> bool;

    /// Like [`ProgramFormat::sniff`], but may read more of the file.
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

    /// Sessions whose own files are lost, in addition to the existing ones.
    fn orphaned_sessions(
        &self,
        store: &Arc<dyn Store>,
        there: &[SessionRef],
    ) -> Result<Vec<SessionRef>, SessionError> {
        let _ = (store, there);
        Ok(Vec::new())
    }

    /// Brings together the sessions that several files share.
    fn merge(
        &self,
        store: &Arc<dyn Store>,
        sessions: Vec<SessionRef>,
    ) -> Result<Vec<SessionRef>, SessionError> {
        let _ = store;
        Ok(sessions)
    }

    /// Whether the program has put a session into its archive.
    fn is_archived(&self, place: &SessionRef) -> bool {
        let _ = place;
        false
    }

    /// Files outside of the session from which its summary is made.
    fn more_files(&self, place: &SessionRef) -> Result<Vec<FilePath>, SessionError> {
        let _ = place;
        Ok(Vec::new())
    }

    /// The working directory of the agent, as recorded at the start of the session.
    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        let _ = (store, place);
        Ok(None)
    }

    /// The id of the session in a file, derived from its name.
    fn file_id(&self, file: &FilePath) -> String {
        stem(file)
    }

    /// The first pass over a session.
    fn survey(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError>;

    /// The session header, read without a full survey where possible.
    fn peek(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionHeader, SessionError> {
        Ok(SessionHeader::of(&self.survey(store, place)?))
    }

    /// Opens a fetcher that reads records again.
    fn fetch(
        &self,
        store: &Arc<dyn Store>,
        files: &[FilePath],
    ) -> Result<Box<dyn RecordFetcher>, SessionError> {
        Ok(Box::new(FileWindow::new(store, files)))
    }

    /// The rules for a repaired copy of the session's file, or why it cannot be repaired.
    fn repair_rules(&self, file: &FilePath) -> Result<&'static RepairRules, &'static str>;

    /// The record as shown, without nested records that are shown separately.
    fn shown(&self, record: JsonTree) -> JsonTree {
        record
    }

    /// The id of a record.
    fn id(&self, record: &JsonTree) -> Option<String>;

    /// The entries that a record makes: at least one.
    fn drafts(&self, record: &JsonTree) -> Vec<EntryDraft>;
}

/// The list entry of a session.
#[derive(Debug, Clone, Default)]
struct SessionHeader {
    title: Option<String>,
    created: Option<Timestamp>,
    updated: Option<Timestamp>,
    turns: Option<u64>,
    parent: Option<String>,
    /// Whether a helper of the program speaks here, on behalf of another session.
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

/// The name of a file without its extension.
fn stem(file: &FilePath) -> String {
    let name = file.as_str().rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

/// A `ProgramFormat` as a [`SessionFormat`].
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

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { external: Some(self), ..Capabilities::default() }
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
                    let format: &dyn SessionFormat = self;
                    places.findings.extend(format.unreadable_summary(&place, &error).findings);
                }
            }
        }
        places.sessions = self.0.merge(store, places.sessions)?;
        let lost = self.0.orphaned_sessions(store, &places.sessions)?;
        places.sessions.extend(lost);
        Ok(places)
    }

    fn snapshot_paths(&self, place: &SessionRef) -> Result<Vec<FilePath>, SessionError> {
        Ok(vec![place.path.clone()])
    }

    fn read_summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError> {
        let header = self.0.peek(store, place)?;
        let status = match header.is_helper {
            true => "helper",
            false if self.0.is_archived(place) => "archived",
            false => "active",
        };
        Ok(SessionSummary {
            session: place.clone(),
            layout: F::NAME,
            title: header.title.unwrap_or_else(|| place.id.clone()),
            created: header.created,
            updated: header.updated,
            status: status.to_owned(),
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

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        self.0.project(store, place)
    }

    fn dependencies(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Dependencies, SessionError> {
        let mut files = walk::everything_at(store, &place.path)?;
        files.extend(self.0.more_files(place)?);
        Ok(Dependencies::on(files))
    }

    fn session_files(
        &self,
        _: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionFiles, SessionError> {
        Ok(SessionFiles::for_ref(place))
    }

    fn stable_key(&self, place: &SessionRef) -> String {
        place.path.to_string()
    }
}

impl<F: ProgramFormat> ExternalSessions for ExternalFormat<F> {
    fn sniff(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Vec<SessionRef>, SessionError> {
        // Even under a matching name, a file must start as the program would start it.
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

    fn repaired_copy(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<RepairedCopy, SessionError> {
        repair_copy::repair_copy(self.0, store, place)
    }
}
