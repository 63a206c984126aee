//! [`ProgramFormat`]: the sessions of one program.

use std::sync::Arc;

use super::fetch::{FileWindow, RecordFetcher};
use super::peek::{self, SessionHeader};
use super::record::EntryDraft;
use super::repair_copy::RepairRules;
use super::survey::Survey;
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::model::SessionRef;
use everturn_store::Store;
use everturn_value::tree::JsonTree;

/// Whether a file belongs to a program, judging by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    Yes,
    /// Decided by the start of the file.
    Maybe,
    No,
}

/// The session files of one program.
pub(crate) trait ProgramFormat: Send + Sync + 'static {
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

/// The name of a file without its extension.
pub(crate) fn stem(file: &FilePath) -> String {
    let name = file.as_str().rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}
