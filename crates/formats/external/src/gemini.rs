//! Gemini CLI: JSONL files with later corrections, documents of earlier versions, prompts, and saved chats.
//!
//! A message with the id of an earlier one replaces it. `$rewindTo` removes a message and everything after it, or
//! everything if there is no such message; `$set` with messages replaces all of them. Removed messages stay as a
//! branch.

use std::collections::HashMap;
use std::sync::Arc;

use super::blocks::{content_text, count_at, time_at};
use super::json_file::{JsonFile, spans, without};
use super::peek::{self, SessionInfo};
use super::record::{EntryDraft, Parent, RecordInfo, RecordSpan, TextHash};
use super::survey::{ScannedRecord, Survey, Surveyor, is_object, title};
use super::thread_tree::{ForkPolicy, Placement};
use super::{Match, ProgramFormat, RepairRules, SessionHeader, repair_copy, stem};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::model::{EntryKind, SessionRef, SessionUsage, TokenUsage};
use everturn_store::Store;
use everturn_value::outline::{text_at, text_of};
use everturn_value::tree::{JsonTree, ValueKind as Shape};

pub(super) struct GeminiCli;

fn name_of(path: &FilePath) -> &str {
    path.as_str().rsplit('/').next().unwrap_or_default()
}

/// The entries of a message of the model: thoughts, text, tool calls and their results.
fn model(record: &JsonTree) -> Vec<EntryDraft> {
    let children =
        |key: &str| record.value_at(&[key]).map(|list| list.children()).unwrap_or_default();
    let mut drafts = Vec::new();
    for (_, thought) in children("thoughts") {
        let text = |key: &str| text_at(&thought, &[key]).unwrap_or_default();
        let (subject, more) = (text("subject"), text("description"));
        let text = if subject.is_empty() { more } else { format!("{subject}: {more}") };
        drafts.push(EntryDraft::new(EntryKind::thinking(), "gemini", text).by(&thought));
    }
    let content = record.value_at(&["content"]).unwrap_or_else(JsonTree::null);
    let said = content_text(&content);
    let calls = children("toolCalls");
    if !said.is_empty() || (calls.is_empty() && drafts.is_empty()) {
        drafts.push(EntryDraft::new(EntryKind::Assistant, "gemini", said).by(&content));
    }
    for (_, call) in calls {
        let id = text_at(&call, &["id"]);
        let name = text_at(&call, &["name"]).unwrap_or_else(|| "tool".to_owned());
        let arguments = call.text_at(&["args"]).unwrap_or_default();
        drafts.push(EntryDraft::called("gemini", &name, &arguments, id.clone()).by(&call));
        let result = call.value_at(&["result"]).filter(|result| !result.is_null());
        if let Some(result) = result {
            drafts.push(EntryDraft::answered(&name, answer(&result), id).by(&result));
        }
    }
    drafts
}

/// The text of a tool result: the responses in its parts.
fn answer(result: &JsonTree) -> String {
    let parts = if result.kind() == Shape::Array { result.children() } else { Vec::new() };
    let text = |(_, part): &(String, JsonTree)| {
        let response = part.value_at(&["functionResponse", "response"]);
        let output = response.and_then(|response| {
            response
                .value_at(&["output"])
                .or_else(|| response.value_at(&["error"]))
                .or(Some(response))
        });
        output.map_or_else(
            || content_text(part),
            |output| match output.kind() {
                Shape::String => content_text(&output),
                _ => output.to_line(),
            },
        )
    };
    if parts.is_empty() {
        content_text(result)
    } else {
        parts.iter().map(text).collect::<Vec<_>>().join("\n")
    }
}

/// The entries of a saved turn, one per part.
fn saved(record: &JsonTree) -> Vec<EntryDraft> {
    let is_user = text_at(record, &["role"]).as_deref() == Some("user");
    let (kind, speaker) =
        if is_user { (EntryKind::User, "user") } else { (EntryKind::Assistant, "gemini") };
    let parts = record.value_at(&["parts"]).map(|parts| parts.children()).unwrap_or_default();
    let draft = |(_, part): &(String, JsonTree)| {
        if let Some(call) = part.value_at(&["functionCall"]) {
            let name = text_at(&call, &["name"]).unwrap_or_default();
            let arguments = call.text_at(&["args"]).unwrap_or_default();
            return EntryDraft::called(speaker, &name, &arguments, text_at(&call, &["id"]))
                .by(part);
        }
        if let Some(response) = part.value_at(&["functionResponse"]) {
            let text = response.text_at(&["response"]).unwrap_or_default();
            return EntryDraft::answered("tool", text, text_at(&response, &["id"])).by(part);
        }
        EntryDraft::new(kind.clone(), speaker, content_text(part)).by(part)
    };
    match parts.is_empty() {
        true => vec![EntryDraft::new(kind, speaker, "")],
        false => parts.iter().map(draft).collect(),
    }
}

fn record_info(record: &JsonTree) -> RecordInfo {
    let time = ["timestamp", "startTime"].iter().find_map(|key| time_at(record, &[key]));
    RecordInfo {
        time,
        id: text_at(record, &["id"]),
        ..RecordInfo::from_drafts(GeminiCli.drafts(record))
    }
}

fn names(record: &JsonTree) -> Option<String> {
    let set = record.value_at(&["$set"]).filter(is_object).unwrap_or_else(|| record.clone());
    title(&text_at(&set, &["summary"])?)
}

/// Whether a header marks its session as a helper's.
fn is_helper(record: &JsonTree) -> bool {
    record.value_at(&["sessionId"]).is_some()
        && text_at(record, &["kind"]).as_deref() == Some("subagent")
}

fn session_info(record: &JsonTree) -> SessionInfo {
    SessionInfo { name: names(record), parent: None, is_helper: is_helper(record) }
}

/// Tokens per message: the last version counts.
#[derive(Default)]
struct GeminiTokens(HashMap<TextHash, (String, TokenUsage)>);

impl GeminiTokens {
    fn note(&mut self, record: &JsonTree) {
        let Some(tokens) = record.value_at(&["tokens"]).filter(is_object) else { return };
        let Some(id) = text_at(record, &["id"]) else { return };
        let cached = count_at(&tokens, &["cached"]);
        let thoughts = count_at(&tokens, &["thoughts"]);
        let spent = TokenUsage {
            answers: 1,
            input: (count_at(&tokens, &["input"]) + count_at(&tokens, &["tool"]))
                .saturating_sub(cached),
            output: count_at(&tokens, &["output"]) + thoughts,
            cache_read: cached,
            cache_write: 0,
            reasoning: thoughts,
            cost: None,
        };
        let model = text_at(record, &["model"]).unwrap_or_else(|| "unknown".to_owned());
        self.0.insert(TextHash::of(&id), (model, spent));
    }

    fn usage(self) -> Option<SessionUsage> {
        let mut usage = SessionUsage::default();
        for (id, (model, spent)) in &self.0 {
            usage.add_usage_once(id.number(), model, spent);
        }
        (!usage.models.is_empty()).then_some(usage)
    }
}

/// A message of the current state: its id, its record, and the hash of its text.
struct LiveMessage {
    id: TextHash,
    node: u32,
    says: TextHash,
}

/// A JSONL file while it is being read.
#[derive(Default)]
struct GeminiConversation {
    live: Vec<LiveMessage>,
    tip: Option<u32>,
    tokens: GeminiTokens,
    named: Option<String>,
    is_helper: bool,
}

impl GeminiConversation {
    fn parent(&self) -> Parent {
        self.tip.map_or(Parent::Root, Parent::Number)
    }

    fn keep(&mut self, surveyor: &mut Surveyor, seen: &ScannedRecord<'_>) {
        let record = seen.tree;
        self.tokens.note(record);
        self.is_helper |= is_helper(record);
        self.named = names(record).or(self.named.take());
        if let Some(id) = text_at(record, &["$rewindTo"]) {
            let at = self.live.iter().position(|live| live.id == TextHash::of(&id)).unwrap_or(0);
            self.live.truncate(at);
            self.tip = self.live.last().map(|live| live.node);
            self.tip = Some(surveyor.add(seen, &record_info(record), self.parent()));
            return;
        }
        match text_at(record, &["id"]).filter(|_| record.value_at(&["$set"]).is_none()) {
            Some(id) => {
                let look = record_info(record);
                let number = surveyor.add(seen, &look, self.parent());
                self.put(surveyor, &id, number, seen.text);
            }
            None => self.patch(surveyor, seen),
        }
    }

    /// Adds a message in the position of its older version, or at the end.
    fn put(&mut self, surveyor: &mut Surveyor, id: &str, number: u32, text: &str) {
        let (id, says) = (TextHash::of(id), TextHash::of(text));
        match self.live.iter_mut().find(|live| live.id == id) {
            Some(live) => {
                surveyor.supersede(live.node, number);
                live.node = number;
                live.says = says;
            }
            None => {
                self.live.push(LiveMessage { id, node: number, says });
                self.tip = Some(number);
            }
        }
        if self.tip.is_none() {
            self.tip = Some(number);
        }
    }

    /// Applies metadata, which may contain all messages.
    fn patch(&mut self, surveyor: &mut Surveyor, seen: &ScannedRecord<'_>) {
        let number = surveyor.add(seen, &record_info(seen.tree), Parent::Root);
        if let Some(node) = surveyor.node(number) {
            node.placement = Placement::Aside;
        }
        let key = seen.tree.value_at(&["$set"]).map(|_| "$set");
        let start = match key {
            Some(key) => member(seen.text, 0, key),
            None => Some(0),
        };
        let all = start.and_then(|start| spans(seen.text, start, Some("messages")));
        let Some(all) = all.filter(|all| key.is_some() || !all.is_empty()) else { return };
        let before = std::mem::take(&mut self.live);
        let mut known = before.into_iter();
        let mut is_same_so_far = true;
        self.tip = None;
        for span in all {
            let Some(text) = seen.text.get(span.clone()) else { continue };
            let Ok(tree) = JsonTree::parse(text) else { continue };
            let tree = tree.into_expanded();
            let id = text_at(&tree, &["id"]).unwrap_or_else(|| format!("{}", span.start));
            let old = known.next().filter(|old| is_same_so_far && old.id == TextHash::of(&id));
            is_same_so_far = old.is_some();
            if let Some(old) = &old
                && old.says == TextHash::of(text)
            {
                self.live.push(LiveMessage { id: old.id, node: old.node, says: old.says });
                self.tip = Some(old.node);
                continue;
            }
            let at = RecordSpan {
                offset: seen.at.offset + span.start as u64,
                length: text.len() as u64,
                ..seen.at
            };
            self.tokens.note(&tree);
            let part = ScannedRecord { tree: &tree, text, at, line: seen.line };
            let node = surveyor.add_part(&part, &record_info(&tree), self.parent());
            if let Some(old) = old {
                surveyor.supersede(old.node, node);
            }
            self.live.push(LiveMessage { id: TextHash::of(&id), node, says: TextHash::of(text) });
            self.tip = Some(node);
        }
        if self.tip.is_none() {
            // All messages are gone: the next one starts again after this record.
            if let Some(node) = surveyor.node(number) {
                node.placement = Placement::Chained;
            }
            self.tip = Some(number);
        }
    }
}

/// The offset of the value of a member of the object at `start`.
fn member(text: &str, start: usize, key: &str) -> Option<usize> {
    let list = everturn_json::json::entries(text.as_bytes(), start).ok()??.list;
    let is = |raw: &std::ops::Range<usize>| {
        text.as_bytes()
            .get(raw.clone())
            .is_some_and(|raw| everturn_json::json::key_matches(raw, key))
    };
    list.into_iter().find(|entry| entry.key.as_ref().is_some_and(is)).map(|entry| entry.value.start)
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
        Ok(head.first(|record| {
            let dirs = record.value_at(&["directories"])?.children();
            dirs.first().and_then(|(_, dir)| text_of(dir))
        }))
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
        let kind = text_at(record, &["type"]).unwrap_or_default();
        let content =
            || content_text(&record.value_at(&["content"]).unwrap_or_else(JsonTree::null));
        if let Some(id) = text_at(record, &["$rewindTo"]) {
            return vec![EntryDraft::new(
                EntryKind::Event,
                "system",
                format!("rewound to before {id}"),
            )];
        }
        if record.value_at(&["parts"]).is_some() {
            return saved(record);
        }
        match kind.as_str() {
            "user" if record.value_at(&["messageId"]).is_some() => {
                vec![EntryDraft::new(
                    EntryKind::User,
                    "user",
                    text_at(record, &["message"]).unwrap_or_default(),
                )]
            }
            "user" => vec![EntryDraft::new(EntryKind::User, "user", content())],
            "gemini" => model(record),
            "info" | "warning" | "error" => {
                vec![EntryDraft::new(EntryKind::Event, "system", format!("{kind}: {}", content()))]
            }
            _ => vec![EntryDraft::bookkeeping("session", names(record).unwrap_or_default())],
        }
    }
}
