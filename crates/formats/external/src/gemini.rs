//! Gemini CLI: JSONL files with later corrections, documents of earlier versions, prompts, and saved chats.
//!
//! Removed messages stay as a branch. A file that a resume leaves behind, with the preamble only, belongs to the session
//! that was resumed.

mod conversation;
mod entries;

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::json_file::{JsonFile, without};
use super::peek::{self, SessionInfo};
use super::record::{EntryDraft, Parent};
use super::survey::{DUPLICATES, ScannedRecord, Survey, Surveyor, is_object};
use super::thread_tree::{ForkPolicy, Placement};
use super::{Match, ProgramFormat, RepairRules, SessionHeader, repair_copy, stem};
use everturn_json::names::{FilePath, Name};
use everturn_session::format::SessionError;
use everturn_session::model::{EntryKind, SessionRef};
use everturn_store::{Store, StoreError};
use everturn_value::outline::{text_at, text_of};
use everturn_value::tree::JsonTree;

use conversation::{GeminiConversation, GeminiTokens};
use entries::{is_helper, names, record_info};

pub(super) struct GeminiCli;

fn name_of(path: &FilePath) -> &str {
    path.as_str().rsplit('/').next().unwrap_or_default()
}

fn session_info(record: &JsonTree) -> SessionInfo {
    SessionInfo { name: names(record), parent: None, is_helper: is_helper(record) }
}

impl GeminiCli {
    /// Surveys a document: first its metadata, then its elements.
    fn document(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError> {
        let mut surveyor = Surveyor::of_file(&place.path);
        let mut tokens = GeminiTokens::default();
        let mut named = None;
        let mut helps = false;
        let mut tip = None;
        if let Some(whole) = JsonFile::read(&mut surveyor, store, 0)? {
            let Some((tree, text, at)) = whole.part(&whole.span()) else {
                return Ok(surveyor.finish(ForkPolicy::EveryFork, None));
            };
            let key =
                ["messages", "history"].into_iter().find(|key| tree.value_at(&[key]).is_some());
            if is_object(&tree) {
                named = names(&tree);
                helps = is_helper(&tree);
                let header = ScannedRecord { tree: &tree, text, at, line: None };
                let number = surveyor.add(&header, &record_info(&tree), Parent::Root);
                if let Some(node) = surveyor.node(number) {
                    node.placement = Placement::Aside;
                }
            }
            whole.each(key, |seen| {
                tokens.note(seen.tree);
                let parent = tip.map_or(Parent::Root, Parent::Number);
                tip = Some(surveyor.add(seen, &record_info(seen.tree), parent));
            });
        }
        surveyor.survey.usage = tokens.usage();
        let mut survey = surveyor.finish(ForkPolicy::EveryFork, tip);
        survey.title = named.or(survey.title);
        survey.is_helper = helps;
        Ok(survey)
    }
}

/// Other files of lines in the same directory whose names end with the same short id.
fn siblings(store: &Arc<dyn Store>, place: &SessionRef) -> Result<Vec<FilePath>, SessionError> {
    let Some(dir) = place.path.parent() else { return Ok(Vec::new()) };
    let Some(short) = place.id.get(..8) else { return Ok(Vec::new()) };
    let end = format!("-{short}.jsonl");
    let listing = store.list(&dir)?;
    let names = listing.entries.iter().map(|entry| &entry.name);
    let files = names.filter(|name| name.as_str().ends_with(&end)).map(|name| dir.join(name));
    Ok(files.filter(|file| *file != place.path).collect())
}

/// Whether a file has nothing of the session `id` but its preamble.
fn is_stub(store: &Arc<dyn Store>, file: &FilePath, id: &str) -> Result<bool, SessionError> {
    let start = peek::FileStart::read(store, file)?;
    let is_whole = store.stat(file)?.is_some_and(|stat| stat.len <= start.bytes.len() as u64);
    let is_same = start.any(|record| text_at(record, &["sessionId"]).as_deref() == Some(id));
    let is_said =
        |text: &str| start.bytes.windows(text.len()).any(|found| found == text.as_bytes());
    let has_messages = start.any(|record| {
        let drafts = entries::drafts(record);
        drafts
            .iter()
            .any(|draft| !matches!(draft.kind, EntryKind::System) && !draft.kind.is_bookkeeping())
    });
    Ok(is_whole && is_same && !has_messages && !is_said("\"gemini\""))
}

/// The directory of a project, below which its chats are.
fn project_dir(path: &FilePath) -> Option<FilePath> {
    path.ancestors().find(|dir| {
        let above = dir.parent().and_then(|above| above.name());
        above.is_some_and(|above| above.as_str() == "tmp")
    })
}

/// The text of a small file, if it exists.
fn small_text(store: &Arc<dyn Store>, file: &FilePath) -> Result<Option<String>, SessionError> {
    match store.read(file, 0..1 << 20) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The path of a project: from the file in its directory, or from the list of projects. Earlier versions named the
/// directory after the hash of the path.
fn known_project(
    store: &Arc<dyn Store>,
    place: &SessionRef,
) -> Result<Option<String>, SessionError> {
    let Some(dir) = project_dir(&place.path) else { return Ok(None) };
    if let Some(path) = small_text(store, &dir.join(&Name::parse(".project_root")?))? {
        return Ok(Some(path.trim().to_owned()).filter(|path| !path.is_empty()));
    }
    let Some(home) = dir.parent().and_then(|tmp| tmp.parent()) else { return Ok(None) };
    let list = small_text(store, &home.join(&Name::parse("projects.json")?))?;
    let list = list.and_then(|text| JsonTree::parse(text).ok());
    let projects = list.and_then(|list| list.value_at(&["projects"])).map(|all| all.children());
    let own = dir.name().map(|name| name.as_str().to_owned()).unwrap_or_default();
    let is_own = |(path, name): &(String, JsonTree)| {
        let hash: String =
            Sha256::digest(path.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        text_of(name).as_deref() == Some(&own) || hash == own
    };
    Ok(projects.unwrap_or_default().into_iter().find(is_own).map(|(path, _)| path))
}

impl ProgramFormat for GeminiCli {
    const NAME: &'static str = "gemini-cli";
    const DEPTH: usize = 5;
    const SESSION_DIRS: &'static [&'static str] = &["tmp"];

    fn match_path(&self, path: &FilePath) -> Match {
        let name = name_of(path);
        let is_saved = name.starts_with("checkpoint") || path.as_str().contains("checkpoints/");
        match name.rsplit_once('.') {
            Some((_, "jsonl")) => Match::Maybe,
            Some((_, "json"))
                if name == "logs.json" || name.starts_with("session-") || is_saved =>
            {
                Match::Maybe
            }
            _ => Match::No,
        }
    }

    fn sniff(&self, path: &FilePath, head: &peek::FileStart) -> bool {
        if name_of(path).ends_with(".jsonl") {
            return head.any(|record| {
                let is_start = record.value_at(&["sessionId"]).is_some()
                    && record.value_at(&["startTime"]).is_some()
                    && record.value_at(&["uuid"]).is_none();
                let is_change = record.value_at(&["$set"]).is_some()
                    || record.value_at(&["$rewindTo"]).is_some();
                is_start || is_change
            });
        }
        let text = head.text();
        let has = |key: &str| text.contains(&format!("\"{key}\""));
        let talk = has("sessionId") && has("messages");
        let prompts = name_of(path) == "logs.json" && has("messageId") && has("sessionId");
        talk || prompts || (has("parts") && has("role"))
    }

    fn sessions_in_file(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Vec<SessionRef>, SessionError> {
        let head = peek::FileStart::read(store, file)?;
        let inside = head.records.iter().find_map(|record| text_at(record, &["sessionId"]));
        let of_document = || {
            let text = head.text();
            let (_, rest) = text.split_once("\"sessionId\"")?;
            Some(rest.split('"').nth(1)?.to_owned())
        };
        let is_prompts = name_of(file) == "logs.json";
        let id = if is_prompts { None } else { inside.or_else(of_document) };
        let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| self.file_id(file));
        Ok(vec![SessionRef { id, path: file.clone() }])
    }

    /// Leaves out the stubs that resumes have left beside a session.
    fn merge(
        &self,
        store: &Arc<dyn Store>,
        sessions: Vec<SessionRef>,
    ) -> Result<Vec<SessionRef>, SessionError> {
        let mut times: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
        for session in &sessions {
            *times.entry(session.id.clone()).or_default() += 1;
        }
        let mut kept = Vec::new();
        for session in sessions {
            let left = times.entry(session.id.clone()).or_default();
            if *left > 1 && is_stub(store, &session.path, &session.id)? {
                *left -= 1;
            } else {
                kept.push(session);
            }
        }
        Ok(kept)
    }

    fn file_id(&self, file: &FilePath) -> String {
        let above = file.parent().and_then(|dir| dir.name());
        match (name_of(file), above) {
            ("logs.json", Some(dir)) => format!("logs-{dir}"),
            _ => stem(file),
        }
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError> {
        if !name_of(&place.path).ends_with(".jsonl") {
            return self.document(store, place);
        }
        let mut surveyor = Surveyor::of_file(&place.path);
        let mut talk = GeminiConversation::default();
        surveyor.lines(store, 0, |surveyor, seen| talk.keep(surveyor, seen))?;
        for (number, file) in (1_u32..).zip(siblings(store, place)?) {
            if is_stub(store, &file, &place.id)? {
                surveyor.survey.files.push(file);
                surveyor.lines(store, number, |surveyor, seen| {
                    let number = surveyor.add(seen, &record_info(seen.tree), Parent::Root);
                    surveyor.set_apart(number, DUPLICATES);
                })?;
            }
        }
        surveyor.survey.usage = talk.tokens.usage();
        let mut survey = surveyor.finish(ForkPolicy::EveryFork, talk.tip);
        survey.title = talk.named.or(survey.title);
        survey.is_helper = talk.is_helper;
        Ok(survey)
    }

    fn peek(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionHeader, SessionError> {
        let survey = || self.survey(store, place);
        match name_of(&place.path).ends_with(".jsonl") {
            true => peek::peek_lines(store, &place.path, survey, record_info, session_info),
            false => Ok(SessionHeader::of(&survey()?)),
        }
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        let head = peek::FileStart::read(store, &place.path)?;
        let said = head.first(|record| {
            let dirs = record.value_at(&["directories"])?.children();
            dirs.first().and_then(|(_, dir)| text_of(dir))
        });
        match said {
            Some(said) => Ok(Some(said)),
            None => known_project(store, place),
        }
    }

    fn repair_rules(&self, file: &FilePath) -> Result<&'static RepairRules, &'static str> {
        match name_of(file).ends_with(".jsonl") {
            true => Ok(&repair_copy::GEMINI),
            false => Err("it is a single document, not lines"),
        }
    }

    fn shown(&self, record: JsonTree) -> JsonTree {
        match ["messages", "history"].into_iter().find(|key| record.value_at(&[key]).is_some()) {
            Some(key) if record.value_at(&["id"]).is_none() => without(&record, key),
            _ => record,
        }
    }

    fn id(&self, record: &JsonTree) -> Option<String> {
        text_at(record, &["id"])
    }

    fn drafts(&self, record: &JsonTree) -> Vec<EntryDraft> {
        entries::drafts(record)
    }
}
