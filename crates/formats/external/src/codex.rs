//! Codex: rollouts, JSONL files with most things twice: as an item for the model and as an event for the display.
//!
//! The items for the model count, because the program resumes from them. Turns that were undone are a branch. A fork,
//! and a thread that was reverted, is a file that continues another one (`history`).

mod copies;
mod entries;
mod history;
mod rollout;
mod tokens;

use std::sync::Arc;

use super::peek;
use super::record::EntryDraft;
use super::survey::{Survey, Surveyor, title};
use super::thread_tree::ForkPolicy;
use super::{Match, ProgramFormat, RepairRules, SessionHeader, repair_copy, stem};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::model::SessionRef;
use everturn_store::{Store, StoreError};
use everturn_value::outline::text_at;
use everturn_value::tree::JsonTree;

pub use entries::is_asked;
use entries::{BARE, record_info};
use history::ThreadHistory;
use rollout::session_info;
use tokens::CodexTokens;

pub(super) struct Codex;

/// The directory of archived sessions, and the file with the names of sessions.
const ARCHIVED: &str = "archived_sessions";
const INDEX: &str = "session_index.jsonl";

/// The largest index of names that is read.
const LARGEST_INDEX: u64 = 16 << 20;

/// The last name that a user gave to a session.
fn thread_name(store: &Arc<dyn Store>, id: &str) -> Result<Option<String>, SessionError> {
    let bytes = match store.read(&FilePath::parse(INDEX)?, 0..LARGEST_INDEX) {
        Ok(bytes) => bytes,
        Err(StoreError::Missing { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8_lossy(&bytes);
    let named = text.lines().rev().filter(|line| line.contains(id)).find_map(|line| {
        let record = JsonTree::parse(line).ok()?;
        let is_own = text_at(&record, &["id"]).as_deref() == Some(id);
        text_at(&record, &["thread_name"]).filter(|_| is_own)
    });
    Ok(named.and_then(|name| title(&name)))
}

impl ProgramFormat for Codex {
    const NAME: &'static str = "codex";
    const DEPTH: usize = 5;
    const SESSION_DIRS: &'static [&'static str] = &["sessions", ARCHIVED];

    fn match_path(&self, path: &FilePath) -> Match {
        let name = path.as_str().rsplit('/').next().unwrap_or_default();
        match name.strip_suffix(".jsonl") {
            Some(stem) if stem.starts_with("rollout-") => Match::Yes,
            Some("history" | "session_index") | None => Match::No,
            Some(_) => Match::Maybe,
        }
    }

    fn sniff(&self, path: &FilePath, head: &peek::FileStart) -> bool {
        let is_rollout = self.match_path(path) == Match::Yes;
        head.any(|record| {
            let kind = text_at(record, &["type"]).unwrap_or_default();
            let is_known = matches!(
                kind.as_str(),
                "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted"
            );
            let is_bare = BARE.contains(&kind.as_str())
                && (record.value_at(&["role"]).is_some()
                    || record.value_at(&["call_id"]).is_some())
                && record.value_at(&["message"]).is_none()
                && record.value_at(&["parentId"]).is_none();
            let is_meta = is_rollout
                && kind.is_empty()
                && ["id", "timestamp"].iter().all(|key| record.value_at(&[key]).is_some());
            (is_known && record.value_at(&["payload"]).is_some()) || is_bare || is_meta
        })
    }

    fn file_id(&self, file: &FilePath) -> String {
        history::RolloutName::parse(file).map_or_else(|| stem(file), |name| name.thread)
    }

    /// A thread that was reverted has several files, and is read from the newest.
    fn merge(
        &self,
        _store: &Arc<dyn Store>,
        sessions: Vec<SessionRef>,
    ) -> Result<Vec<SessionRef>, SessionError> {
        Ok(history::newest_segments(sessions))
    }

    fn is_archived(&self, place: &SessionRef) -> bool {
        place.path.ancestors().any(|dir| dir.name().is_some_and(|name| name.as_str() == ARCHIVED))
    }

    fn more_files(&self, _place: &SessionRef) -> Result<Vec<FilePath>, SessionError> {
        Ok(vec![FilePath::parse(INDEX)?])
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError> {
        let history = ThreadHistory::find(store, place)?;
        let mut surveyor = Surveyor::of_file(&place.path);
        let mut tokens = CodexTokens::default();
        let read = history.read(store, &mut surveyor, &mut tokens)?;
        let usage = tokens.usage;
        surveyor.survey.usage = (!usage.models.is_empty()).then_some(usage);
        let mut survey = surveyor.finish(ForkPolicy::EveryFork, read.tip);
        survey.parent = read.info.parent;
        survey.is_helper = read.info.is_helper;
        Ok(survey)
    }

    fn peek(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionHeader, SessionError> {
        let survey = || self.survey(store, place);
        let mut header = peek::peek_lines(store, &place.path, survey, record_info, session_info)?;
        header.title = thread_name(store, &place.id)?.or(header.title);
        Ok(header)
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        let head = peek::FileStart::read(store, &place.path)?;
        Ok(head.first(|record| text_at(record, &["payload", "cwd"])))
    }

    fn repair_rules(&self, _file: &FilePath) -> Result<&'static RepairRules, &'static str> {
        Ok(&repair_copy::CODEX)
    }

    fn id(&self, record: &JsonTree) -> Option<String> {
        let id = text_at(record, &["payload", "id"]).filter(|id| id.len() < 100);
        id.filter(|_| text_at(record, &["type"]).as_deref() == Some("response_item"))
    }

    fn drafts(&self, record: &JsonTree) -> Vec<EntryDraft> {
        entries::drafts(record)
    }
}
