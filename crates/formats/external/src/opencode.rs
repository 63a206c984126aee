//! OpenCode: a directory with a file per session, message and part, and the single file that exports a session.
//!
//! A message and its parts are one record, in the form in which the program exports them.

mod storage;

use std::sync::Arc;

use super::blocks::{any_time_at, content_text, count_at, price_at};
use super::fetch::{FileWindow, RecordFetcher};
use super::json_file::{JsonFile, without};
use super::record::{EntryDraft, Parent, RecordInfo, RecordRole, RecordSpan, TextHash};
use super::survey::{ScannedRecord, Survey, Surveyor, is_object, title};
use super::thread_tree::{ForkPolicy, Placement};
use super::{Match, ProgramFormat, RepairRules, peek, stem};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::model::{EntryKind, SessionRef, SessionUsage, TokenUsage};
use everturn_store::{Store, StoreError};
use everturn_value::outline::{flag_at, text_at};
use everturn_value::tree::{JsonTree, ValueKind as Shape};

use storage::{any_storage_of, below, document, files, storage_of, storage_of_lost};

pub(super) struct OpenCode;

/// An array of values.
fn list(trees: &[JsonTree]) -> JsonTree {
    let texts: Vec<String> = trees.iter().map(JsonTree::to_line).collect();
    JsonTree::parse(format!("[{}]", texts.join(","))).unwrap_or_else(|_| JsonTree::null())
}

/// A message with its parts.
fn message(info: JsonTree, parts: &[JsonTree]) -> JsonTree {
    JsonTree::from_members([("info".to_owned(), info), ("parts".to_owned(), list(parts))])
}

/// The entries of a tool part: the call, and the result if there is one.
fn tool(part: &JsonTree) -> Vec<EntryDraft> {
    let name = text_at(part, &["tool"]).unwrap_or_else(|| "tool".to_owned());
    let id = text_at(part, &["callID"]);
    let input = part.text_at(&["state", "input"]).unwrap_or_default();
    let mut drafts = vec![EntryDraft::called("assistant", &name, &input, id.clone()).by(part)];
    let answer = match text_at(part, &["state", "status"]).as_deref() {
        Some("completed") => part.value_at(&["state", "output"]),
        Some("error") => part.value_at(&["state", "error"]),
        _ => None,
    };
    if let Some(answer) = answer {
        drafts.push(EntryDraft::answered(&name, content_text(&answer), id).by(part));
    }
    drafts
}

fn part(role: &str, part: &JsonTree) -> Vec<EntryDraft> {
    let kind = text_at(part, &["type"]).unwrap_or_default();
    let text = |key: &str| text_at(part, &[key]).unwrap_or_default();
    let draft = match kind.as_str() {
        "text" if flag_at(part, &["synthetic"]) == Some(true) => {
            EntryDraft::new(EntryKind::System, "system", text("text"))
        }
        "text" if role == "user" => EntryDraft::new(EntryKind::User, "user", text("text")),
        "text" => EntryDraft::new(EntryKind::Assistant, "assistant", text("text")),
        "reasoning" => EntryDraft::new(EntryKind::thinking(), "assistant", text("text")),
        "tool" => return tool(part),
        "file" => EntryDraft::new(EntryKind::Event, role, format!("file {}", text("filename"))),
        "compaction" => EntryDraft::new(EntryKind::Event, "system", "context compacted"),
        "subtask" => EntryDraft::new(EntryKind::Event, role, format!("task: {}", text("prompt"))),
        "retry" => EntryDraft::new(EntryKind::Event, "system", "the request was retried"),
        other => EntryDraft::bookkeeping(other, ""),
    };
    vec![draft.by(part)]
}

fn record_info(record: &JsonTree) -> RecordInfo {
    let drafts = OpenCode.drafts(record);
    let asks = drafts.iter().any(|draft| draft.kind == EntryKind::User);
    let told = RecordInfo::from_drafts(drafts);
    let role = match text_at(record, &["info", "role"]).as_deref() {
        Some("user") if asks => RecordRole::Prompt,
        Some(_) => RecordRole::Message,
        None => told.role,
    };
    let time = any_time_at(record, &["info", "time", "created"]);
    RecordInfo { time, id: OpenCode.id(record), role, ..told }
}

fn add_usage(usage: &mut SessionUsage, record: &JsonTree) {
    let Some(tokens) = record.value_at(&["info", "tokens"]).filter(is_object) else { return };
    let model = text_at(record, &["info", "modelID"]).unwrap_or_else(|| "unknown".to_owned());
    let reasoning = count_at(&tokens, &["reasoning"]);
    let spent = TokenUsage {
        answers: 1,
        input: count_at(&tokens, &["input"]),
        output: count_at(&tokens, &["output"]) + reasoning,
        cache_read: count_at(&tokens, &["cache", "read"]),
        cache_write: count_at(&tokens, &["cache", "write"]),
        reasoning,
        cost: price_at(record, &["info", "cost"]),
    };
    match OpenCode.id(record) {
        Some(id) => usage.add_usage_once(TextHash::of(&id).number(), &model, &spent),
        None => usage.add_usage(&model, &spent),
    }
}

/// A session while it is being read.
#[derive(Default)]
struct OpenCodeConversation {
    last: Option<u32>,
    /// The end of the main line, if messages after it were reverted.
    tip: Option<Option<u32>>,
    usage: SessionUsage,
    named: Option<String>,
    parent: Option<String>,
    /// The record with the session info.
    info: Option<u32>,
    reverted: Option<String>,
    /// Whether only parts of the reverted message were reverted, and the message itself stays.
    keeps_reverted: bool,
}

impl OpenCodeConversation {
    /// Keeps the session info of the program.
    fn begin(&mut self, surveyor: &mut Surveyor, seen: &ScannedRecord<'_>, info: &JsonTree) {
        let mut look = RecordInfo::from_drafts(vec![EntryDraft::bookkeeping("session", "")]);
        look.time = any_time_at(info, &["time", "created"]);
        let number = surveyor.add(seen, &look, Parent::Root);
        if let Some(node) = surveyor.node(number) {
            node.placement = Placement::Aside;
        }
        surveyor.survey.updated =
            surveyor.survey.updated.max(any_time_at(info, &["time", "updated"]));
        self.named = text_at(info, &["title"]).and_then(|text| title(&text));
        self.parent = text_at(info, &["parentID"]);
        self.info = Some(number);
        self.reverted = text_at(info, &["revert", "messageID"]);
        self.keeps_reverted = text_at(info, &["revert", "partID"]).is_some();
    }

    fn keep(&mut self, surveyor: &mut Surveyor, seen: &ScannedRecord<'_>) {
        let look = record_info(seen.tree);
        let parent = self.last.map_or(Parent::Root, Parent::Number);
        let number = surveyor.add(seen, &look, parent);
        if look.id.is_some() && look.id == self.reverted {
            self.tip = Some(if self.keeps_reverted { Some(number) } else { self.last });
        }
        self.last = Some(number);
        add_usage(&mut self.usage, seen.tree);
    }

    fn finish(self, mut surveyor: Surveyor) -> Survey {
        surveyor.survey.usage = (!self.usage.models.is_empty()).then_some(self.usage);
        let tip = match self.tip {
            // Every message was reverted: only the session info is left.
            Some(None) => self.info,
            Some(tip) => tip,
            None => self.last,
        };
        if let Some(node) =
            tip.filter(|tip| Some(*tip) == self.info).and_then(|tip| surveyor.node(tip))
        {
            node.placement = Placement::Chained;
        }
        let mut survey = surveyor.finish(ForkPolicy::EveryFork, tip);
        survey.title = self.named.or(survey.title);
        survey.parent = self.parent;
        survey
    }
}

fn finding(file: &FilePath, code: FindingCode, message: String) -> Finding {
    Finding { file: file.clone(), line: None, offset: None, code, message }
}

/// The parts of a message: the usable ones, and the findings of the others.
fn parts_of(
    store: &Arc<dyn Store>,
    storage: &FilePath,
    message: &str,
) -> Result<(Vec<JsonTree>, Vec<Finding>), SessionError> {
    let (mut parts, mut findings) = (Vec::new(), Vec::new());
    for file in files(store, &below(storage, &["part", message])?)? {
        match document(store, &file)? {
            Ok(part) => parts.push(part),
            Err((code, message)) => findings.push(finding(&file, code, message)),
        }
    }
    Ok((parts, findings))
}

/// Reads messages with their parts from a directory.
struct DirectoryFetcher {
    store: Arc<dyn Store>,
    files: Vec<FilePath>,
}

impl RecordFetcher for DirectoryFetcher {
    fn fetch(&mut self, at: RecordSpan) -> Result<JsonTree, SessionError> {
        let file = self.files.get(at.file as usize).cloned().unwrap_or_default();
        let changed = || SessionError::from(StoreError::Changed { file: file.clone() });
        let tree = document(&self.store, &file)?.map_err(|_| changed())?;
        if at.length == 0 {
            return Ok(tree);
        }
        let storage = self.files.first().and_then(any_storage_of).ok_or_else(changed)?;
        let (parts, _) = parts_of(&self.store, &storage, &stem(&file))?;
        Ok(message(tree, &parts).into_expanded())
    }
}

impl OpenCode {
    fn directory(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        storage: &FilePath,
    ) -> Result<Survey, SessionError> {
        let mut surveyor = Surveyor::of_file(&place.path);
        let mut talk = OpenCodeConversation::default();
        if storage_of(&place.path).is_none() {
            let message =
                "there are messages of a session whose session file is missing".to_owned();
            surveyor.survey.findings.push(finding(&place.path, FindingCode::OrphanPart, message));
        } else {
            match document(store, &place.path)? {
                Ok(info) => {
                    let at = RecordSpan { file: 0, offset: 0, length: 0 };
                    let seen = ScannedRecord { tree: &info, text: "", at, line: None };
                    talk.begin(&mut surveyor, &seen, &info);
                }
                Err((code, message)) => surveyor.quarantine(finding(&place.path, code, message)),
            }
        }
        self.changes(store, &mut surveyor, storage, &place.id)?;
        for file in files(store, &below(storage, &["message", &place.id])?)? {
            let (parts, findings) = parts_of(store, storage, &stem(&file))?;
            findings.into_iter().for_each(|finding| surveyor.quarantine(finding));
            let number = u32::try_from(surveyor.survey.files.len()).unwrap_or(u32::MAX);
            match document(store, &file)? {
                Ok(info) => {
                    surveyor.survey.files.push(file);
                    let tree = message(info, &parts).into_expanded();
                    let at = RecordSpan { file: number, offset: 0, length: 1 };
                    surveyor.count_also(parts.len() as u64);
                    talk.keep(
                        &mut surveyor,
                        &ScannedRecord { tree: &tree, text: "", at, line: None },
                    );
                }
                Err((code, what)) => {
                    surveyor.quarantine(finding(&file, code, what));
                    self.orphans(store, &mut surveyor, &below(storage, &["part", &stem(&file)])?)?;
                }
            }
        }
        Ok(talk.finish(surveyor))
    }

    /// Adds the file changes of a session, which the program keeps in a separate document.
    fn changes(
        &self,
        store: &Arc<dyn Store>,
        surveyor: &mut Surveyor,
        storage: &FilePath,
        session: &str,
    ) -> Result<(), SessionError> {
        let file = below(storage, &["session_diff", &format!("{session}.json")])?;
        if store.stat(&file)?.is_none() {
            return Ok(());
        }
        let tree = match document(store, &file)? {
            Ok(tree) => tree,
            Err((code, message)) => {
                surveyor.quarantine(finding(&file, code, message));
                return Ok(());
            }
        };
        let number = u32::try_from(surveyor.survey.files.len()).unwrap_or(u32::MAX);
        surveyor.survey.files.push(file);
        let at = RecordSpan { file: number, offset: 0, length: 0 };
        let look = RecordInfo::from_drafts(self.drafts(&tree));
        let seen = ScannedRecord { tree: &tree, text: "", at, line: None };
        let node = surveyor.add(&seen, &look, Parent::Root);
        if let Some(node) = surveyor.node(node) {
            node.placement = Placement::Aside;
        }
        Ok(())
    }

    /// The parts of a missing message, as a session of their own.
    fn orphaned_parts_session(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Survey, SessionError> {
        let mut surveyor = Surveyor::of_file(&place.path);
        self.orphans(store, &mut surveyor, &place.path)?;
        let first = files(store, &place.path)?.into_iter().next();
        let first = first.map(|file| document(store, &file)).transpose()?.and_then(Result::ok);
        let mut survey = surveyor.finish(ForkPolicy::EveryFork, None);
        survey.title = first.as_ref().and_then(|part| title(&text_at(part, &["text"])?));
        survey.parent = first.and_then(|part| text_at(&part, &["sessionID"]));
        Ok(survey)
    }

    /// Keeps and reports parts that belong to no message.
    fn orphans(
        &self,
        store: &Arc<dyn Store>,
        surveyor: &mut Surveyor,
        dir: &FilePath,
    ) -> Result<(), SessionError> {
        for file in files(store, dir)? {
            let Ok(part) = document(store, &file)? else { continue };
            let number = u32::try_from(surveyor.survey.files.len()).unwrap_or(u32::MAX);
            surveyor.survey.files.push(file);
            let at = RecordSpan { file: number, offset: 0, length: 0 };
            let seen = ScannedRecord { tree: &part, text: "", at, line: None };
            let look = RecordInfo::from_drafts(self.drafts(&part));
            let node = surveyor.add(&seen, &look, Parent::Root);
            if let Some(node) = surveyor.node(node) {
                node.placement = Placement::Aside;
            }
            surveyor.repair(
                node,
                FindingCode::OrphanPart,
                "a part of a message that does not exist".to_owned(),
            );
        }
        Ok(())
    }

    fn export(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError> {
        let mut surveyor = Surveyor::of_file(&place.path);
        let mut talk = OpenCodeConversation::default();
        if let Some(whole) = JsonFile::read(&mut surveyor, store, 0)?
            && let Some((tree, text, at)) = whole.part(&whole.span())
        {
            let info = tree.value_at(&["info"]).unwrap_or_else(JsonTree::null);
            talk.begin(&mut surveyor, &ScannedRecord { tree: &tree, text, at, line: None }, &info);
            whole.each(Some("messages"), |seen| {
                let parts = seen.tree.len_at(&["parts"]).unwrap_or(0);
                surveyor.count_also(parts as u64);
                talk.keep(&mut surveyor, seen);
            });
        }
        Ok(talk.finish(surveyor))
    }
}

impl ProgramFormat for OpenCode {
    const NAME: &'static str = "opencode";
    const DEPTH: usize = 4;
    const SESSION_DIRS: &'static [&'static str] = &["storage"];

    fn enters(&self, dir: &FilePath) -> bool {
        let name = dir.name();
        let name = name.as_ref().map_or("", |name| name.as_str());
        !matches!(
            name,
            "message" | "part" | "session_diff" | "snapshot" | "log" | "bin" | "todo" | "share"
        )
    }

    fn match_path(&self, path: &FilePath) -> Match {
        match storage_of(path) {
            Some(_) if path.as_str().ends_with(".json") => Match::Maybe,
            None if path.as_str().ends_with(".json") && path.as_str().split('/').count() <= 2 => {
                Match::Maybe
            }
            _ => Match::No,
        }
    }

    fn sniff(&self, path: &FilePath, head: &peek::FileStart) -> bool {
        let text = head.text();
        let has = |key: &str| text.contains(&format!("\"{key}\""));
        match storage_of(path) {
            Some(_) => stem(path).starts_with("ses_") || (has("projectID") && has("directory")),
            None => {
                let start = text.trim_start_matches(['\u{feff}', '{', ' ', '\n', '\r', '\t']);
                let begins = ["\"info\"", "\"messages\""].iter().any(|key| start.starts_with(key));
                has("info")
                    && text.contains("\"ses_")
                    && (begins || (has("messages") && has("parts")))
            }
        }
    }

    fn sessions_in_file(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Vec<SessionRef>, SessionError> {
        let mut id = stem(file);
        if storage_of(file).is_none() {
            let text = peek::FileStart::read(store, file)?.text();
            let found = text.split('"').find(|word| word.starts_with("ses_"));
            id = found.map_or(id, str::to_owned);
        }
        Ok(vec![SessionRef { id, path: file.clone() }])
    }

    fn orphaned_sessions(
        &self,
        store: &Arc<dyn Store>,
        there: &[SessionRef],
    ) -> Result<Vec<SessionRef>, SessionError> {
        storage::orphaned_sessions(store, there)
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError> {
        let messages = || storage_of_lost(&place.path, "message");
        if let Some(storage) = storage_of(&place.path).or_else(messages) {
            return self.directory(store, place, &storage);
        }
        match storage_of_lost(&place.path, "part") {
            Some(_) => self.orphaned_parts_session(store, place),
            None => self.export(store, place),
        }
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        if storage_of(&place.path).is_some() {
            let info = document(store, &place.path)?.ok();
            return Ok(info.and_then(|info| text_at(&info, &["directory"])));
        }
        if any_storage_of(&place.path).is_some() {
            return Ok(None);
        }
        let text = peek::FileStart::read(store, &place.path)?.text();
        let rest = text.split_once("\"directory\"").map(|(_, rest)| rest);
        Ok(rest.and_then(|rest| rest.split('"').nth(1)).map(str::to_owned))
    }

    fn fetch(
        &self,
        store: &Arc<dyn Store>,
        files: &[FilePath],
    ) -> Result<Box<dyn RecordFetcher>, SessionError> {
        match files.first().and_then(any_storage_of) {
            Some(_) => {
                Ok(Box::new(DirectoryFetcher { store: Arc::clone(store), files: files.to_vec() }))
            }
            None => Ok(Box::new(FileWindow::new(store, files))),
        }
    }

    fn shown(&self, record: JsonTree) -> JsonTree {
        if record.value_at(&["messages"]).is_some() { without(&record, "messages") } else { record }
    }

    fn repair_rules(&self, _file: &FilePath) -> Result<&'static RepairRules, &'static str> {
        Err("its messages are separate documents")
    }

    fn id(&self, record: &JsonTree) -> Option<String> {
        text_at(record, &["info", "id"]).or_else(|| text_at(record, &["id"]))
    }

    fn drafts(&self, record: &JsonTree) -> Vec<EntryDraft> {
        if record.kind() == Shape::Array {
            return vec![EntryDraft::bookkeeping("session_diff", "")];
        }
        if record.value_at(&["messages"]).is_some() || record.value_at(&["projectID"]).is_some() {
            return vec![EntryDraft::bookkeeping("session", "")];
        }
        let Some(info) = record.value_at(&["info"]) else { return part("assistant", record) };
        let role = text_at(&info, &["role"]).unwrap_or_default();
        let parts = record.value_at(&["parts"]).map(|parts| parts.children()).unwrap_or_default();
        let mut drafts: Vec<EntryDraft> =
            parts.iter().flat_map(|(_, found)| part(&role, found)).collect();
        if let Some(error) = info.value_at(&["error"]).filter(|error| !error.is_null()) {
            let text = text_at(&error, &["data", "message"]).or_else(|| text_at(&error, &["name"]));
            let text = format!("error: {}", text.unwrap_or_default());
            drafts.push(EntryDraft::new(EntryKind::Event, "system", text).by(&error));
        }
        if drafts.is_empty() {
            drafts.push(EntryDraft::bookkeeping(&role, "a message without parts"));
        }
        drafts
    }
}
