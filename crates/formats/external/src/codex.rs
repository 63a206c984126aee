//! Codex: rollouts, JSONL files with most things twice: as an item for the model and as an event for the display.
//!
//! The items for the model count, because the program resumes from them. Turns that were undone are a branch.

mod copies;

use std::sync::Arc;

use super::blocks::{block_text, content_text, count_at, time_at};
use super::peek::{self, SessionInfo};
use super::record::{EntryDraft, Parent, RecordInfo, RecordRole, TextHash};
use super::survey::{DUPLICATES, ScannedRecord, Survey, Surveyor, is_object};
use super::thread_tree::ForkPolicy;
use super::{Match, ProgramFormat, RepairRules, SessionHeader, repair_copy, stem};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::model::{EntryKind, SessionRef, SessionUsage, TokenUsage};
use everturn_store::Store;
use everturn_value::outline::text_at;
use everturn_value::tree::{JsonTree, ValueKind as Shape};

use copies::{UtteranceCopies, UtteranceKeys};

pub(super) struct Codex;

/// The starts of messages that the program writes in the user's name.
const NOT_ASKED: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<permissions instructions>",
    "<skill>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<collaboration_mode>",
    "# AGENTS.md instructions",
];

/// The kinds of items in old rollouts, which have no envelope.
const BARE: &[&str] = &[
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "local_shell_call",
    "custom_tool_call",
    "custom_tool_call_output",
    "web_search_call",
    "ghost_snapshot",
];

/// The kind of a line, and its content.
fn unpacked(record: &JsonTree) -> (String, JsonTree) {
    let kind = text_at(record, &["type"]);
    match (record.value_at(&["payload"]), kind) {
        (Some(payload), Some(kind)) => (kind, payload.into_expanded()),
        (None, Some(kind)) if BARE.contains(&kind.as_str()) => {
            ("response_item".to_owned(), record.clone())
        }
        (_, Some(kind)) => (kind, record.clone()),
        (None, None) if record.value_at(&["record_type"]).is_some() => {
            ("state".to_owned(), record.clone())
        }
        (_, None) => ("session_meta".to_owned(), record.clone()),
    }
}

/// Whether a message in the user's name was written by the user.
pub fn is_asked(text: &str) -> bool {
    let text = text.trim_start();
    !NOT_ASKED.iter().any(|start| text.starts_with(start))
}

/// The arguments of a call, which are either JSON text or JSON itself.
fn arguments(item: &JsonTree, key: &str) -> String {
    text_at(item, &[key]).or_else(|| item.text_at(&[key])).unwrap_or_default()
}

/// The texts of a list of blocks.
fn texts(item: &JsonTree, key: &str) -> Vec<String> {
    let blocks = item.value_at(&[key]).map(|list| list.children()).unwrap_or_default();
    blocks.iter().map(|(_, block)| block_text(block)).filter(|text| !text.is_empty()).collect()
}

fn reasoning_texts(item: &JsonTree) -> Vec<String> {
    [texts(item, "summary"), texts(item, "content")].concat()
}

/// The entry of an item for the model.
fn item(item: &JsonTree) -> EntryDraft {
    let kind = text_at(item, &["type"]).unwrap_or_else(|| "message".to_owned());
    let id = || text_at(item, &["call_id"]).or_else(|| text_at(item, &["id"]));
    let name = |usual: &str| text_at(item, &["name"]).unwrap_or_else(|| usual.to_owned());
    match kind.as_str() {
        "message" => {
            let text = item
                .value_at(&["content"])
                .map(|content| content_text(&content))
                .unwrap_or_default();
            match text_at(item, &["role"]).as_deref() {
                Some("user") if is_asked(&text) => EntryDraft::new(EntryKind::User, "user", text),
                Some("assistant") => EntryDraft::new(EntryKind::Assistant, "assistant", text),
                _ => EntryDraft::new(EntryKind::System, "system", text),
            }
        }
        "agent_message" => {
            let text = item.value_at(&["content"]).or_else(|| item.value_at(&["message"]));
            let text = text.map(|text| content_text(&text)).unwrap_or_default();
            EntryDraft::new(EntryKind::Assistant, "assistant", text)
        }
        "reasoning" => {
            let text = reasoning_texts(item).join("\n");
            match text.is_empty() {
                true => EntryDraft::bookkeeping("reasoning", "encrypted"),
                false => EntryDraft::new(EntryKind::thinking(), "assistant", text),
            }
        }
        "function_call" => {
            EntryDraft::called("assistant", &name("tool"), &arguments(item, "arguments"), id())
        }
        "custom_tool_call" => {
            EntryDraft::called("assistant", &name("tool"), &arguments(item, "input"), id())
        }
        "local_shell_call" => {
            let command = item.text_at(&["action", "command"]).unwrap_or_default();
            EntryDraft::called("assistant", "shell", &command, id())
        }
        "tool_search_call" => {
            EntryDraft::called("assistant", "tool_search", &arguments(item, "arguments"), id())
        }
        "web_search_call" | "image_generation_call" => {
            let action = item.text_at(&["action"]).unwrap_or_default();
            EntryDraft::called("assistant", kind.trim_end_matches("_call"), &action, None)
        }
        "function_call_output"
        | "custom_tool_call_output"
        | "tool_search_output"
        | "local_shell_call_output" => {
            let output = item.value_at(&["output"]).unwrap_or_else(JsonTree::null);
            let inner =
                output.value_at(&["content"]).filter(|_| is_object(&output)).unwrap_or(output);
            EntryDraft::answered("tool", content_text(&inner), id())
        }
        "compaction" | "compaction_summary" | "context_compaction" => {
            EntryDraft::new(EntryKind::Event, "system", "context compacted")
        }
        other => EntryDraft::bookkeeping(other, ""),
    }
}

/// The entry of an event for the display.
fn event(event: &JsonTree) -> EntryDraft {
    let kind = text_at(event, &["type"]).unwrap_or_default();
    let text = |key: &str| text_at(event, &[key]).unwrap_or_default();
    match kind.as_str() {
        "user_message" => EntryDraft::new(EntryKind::User, "user", text("message")),
        "agent_message" => EntryDraft::new(EntryKind::Assistant, "assistant", text("message")),
        "agent_reasoning" | "agent_reasoning_raw_content" => {
            EntryDraft::new(EntryKind::thinking(), "assistant", text("text"))
        }
        "turn_aborted" => {
            EntryDraft::new(EntryKind::Event, "system", format!("turn aborted: {}", text("reason")))
        }
        "thread_rolled_back" => {
            let turns = count_at(event, &["num_turns"]);
            EntryDraft::new(EntryKind::Event, "system", format!("{turns} turns were rolled back"))
        }
        "context_compacted" => EntryDraft::new(EntryKind::Event, "system", "context compacted"),
        "entered_review_mode" | "exited_review_mode" => {
            EntryDraft::new(EntryKind::Event, "system", kind.replace('_', " "))
        }
        "error" | "stream_error" | "warning" => {
            EntryDraft::new(EntryKind::Event, "system", format!("{kind}: {}", text("message")))
        }
        "item_completed" => completed(event),
        other => EntryDraft::bookkeeping(other, ""),
    }
}

/// The entry of a finished item in newer rollouts.
fn completed(event: &JsonTree) -> EntryDraft {
    let item = event.value_at(&["item"]).unwrap_or_else(JsonTree::null);
    let kind = text_at(&item, &["type"]).unwrap_or_default();
    let content = ["text", "content", "summary_text", "message"];
    let text =
        content.iter().find_map(|key| item.value_at(&[key])).map(|found| content_text(&found));
    let text = text.unwrap_or_default();
    match kind.to_ascii_lowercase().replace('_', "").as_str() {
        "usermessage" => EntryDraft::new(EntryKind::User, "user", text),
        "agentmessage" | "assistantmessage" => {
            EntryDraft::new(EntryKind::Assistant, "assistant", text)
        }
        "reasoning" => EntryDraft::new(EntryKind::thinking(), "assistant", text),
        _ => EntryDraft::bookkeeping("item_completed", kind),
    }
}

fn draft(kind: &str, payload: &JsonTree) -> EntryDraft {
    match kind {
        "response_item" => item(payload),
        "event_msg" => event(payload),
        "compacted" => {
            let text = text_at(payload, &["message"]).filter(|text| !text.is_empty());
            let text = text.map_or_else(String::new, |text| format!(": {text}"));
            EntryDraft::new(EntryKind::Event, "system", format!("context compacted{text}"))
        }
        "session_meta" => {
            EntryDraft::bookkeeping("session", text_at(payload, &["cwd"]).unwrap_or_default())
        }
        other => EntryDraft::bookkeeping(other, ""),
    }
}

fn time(record: &JsonTree) -> Option<jiff::Timestamp> {
    time_at(record, &["timestamp"]).or_else(|| time_at(record, &["payload", "timestamp"]))
}

fn record_info(record: &JsonTree) -> RecordInfo {
    RecordInfo { time: time(record), ..RecordInfo::from_drafts(Codex.drafts(record)) }
}

/// The session info of the first line: whether it is a branch of another session, or a helper's session.
fn session_info(record: &JsonTree) -> SessionInfo {
    let (kind, payload) = unpacked(record);
    if kind != "session_meta" {
        return SessionInfo::default();
    }
    let parent = ["forked_from_id", "parent_thread_id"];
    let parent = parent.iter().find_map(|key| text_at(&payload, &[key]));
    let is_helper = payload.value_at(&["source", "subagent"]).is_some()
        || text_at(&payload, &["thread_source"]).as_deref() == Some("subagent");
    SessionInfo { name: None, parent, is_helper }
}

/// The texts of an utterance without the placeholders of images: the part that both copies have in common.
fn utterance_texts(kind: &str, payload: &JsonTree, draft: &EntryDraft) -> Vec<String> {
    if kind == "response_item" && draft.kind == EntryKind::thinking() {
        return reasoning_texts(payload);
    }
    let content = match kind {
        "response_item" => payload.value_at(&["content"]),
        _ => payload.value_at(&["item", "content"]),
    };
    let Some(content) = content.filter(|content| content.kind() == Shape::Array) else {
        return vec![draft.text.clone()];
    };
    content.children().iter().filter_map(|(_, block)| text_at(block, &["text"])).collect()
}

/// Token usage: each count is the sum of all so far, and is repeated.
#[derive(Default)]
struct CodexTokens {
    model: String,
    before: TokenUsage,
    usage: SessionUsage,
    /// The thread id, then a hash of it and of all counts so far. A branch starts with those of the session it was
    /// forked from, so that the same answer is recognised in both.
    chain: String,
}

impl CodexTokens {
    /// Starts the chain with the first session that the history was copied from.
    fn begin(&mut self, payload: &JsonTree) {
        let thread = text_at(payload, &["forked_from_id"]).or_else(|| text_at(payload, &["id"]));
        self.chain = thread.unwrap_or_else(|| std::mem::take(&mut self.chain));
    }

    fn note(&mut self, kind: &str, payload: &JsonTree) {
        if kind == "turn_context"
            && let Some(model) = text_at(payload, &["model"])
        {
            self.model = model;
        }
        let is_count = text_at(payload, &["type"]).as_deref() == Some("token_count");
        let total = payload.value_at(&["info", "total_token_usage"]).filter(is_object);
        let Some(total) = total.filter(|_| kind == "event_msg" && is_count) else { return };
        let cached = count_at(&total, &["cached_input_tokens"]);
        let now = TokenUsage {
            answers: 0,
            input: count_at(&total, &["input_tokens"]).saturating_sub(cached),
            output: count_at(&total, &["output_tokens"]),
            cache_read: cached,
            cache_write: 0,
            reasoning: count_at(&total, &["reasoning_output_tokens"]),
            cost: None,
        };
        if now == self.before {
            return;
        }
        // A sum smaller than the previous one has started again from zero.
        let before = if now.total_tokens() < self.before.total_tokens() {
            TokenUsage::default()
        } else {
            self.before
        };
        let more = TokenUsage {
            answers: 1,
            input: now.input.saturating_sub(before.input),
            output: now.output.saturating_sub(before.output),
            cache_read: now.cache_read.saturating_sub(before.cache_read),
            cache_write: 0,
            reasoning: now.reasoning.saturating_sub(before.reasoning),
            cost: None,
        };
        let model = if self.model.is_empty() { "unknown" } else { &self.model };
        let link = format!("{} {now:?}", self.chain);
        match self.chain.is_empty() {
            // The thread is unknown.
            true => self.usage.add_usage(model, &more),
            false => {
                let id = TextHash::of(&link).number();
                self.usage.add_usage_once(id, model, &more);
                self.chain = format!("{id:x}");
            }
        }
        self.before = now;
    }
}

/// A rollout while it is being read.
#[derive(Default)]
struct Rollout {
    tip: Option<u32>,
    copies: UtteranceCopies,
    /// The prompts of the main line so far.
    prompts: Vec<u32>,
    tokens: CodexTokens,
    info: SessionInfo,
}

impl Rollout {
    fn keep(&mut self, surveyor: &mut Surveyor, seen: &ScannedRecord<'_>) {
        let (kind, payload) = unpacked(seen.tree);
        let look = record_info(seen.tree);
        if kind == "event_msg"
            && text_at(&payload, &["type"]).as_deref() == Some("thread_rolled_back")
        {
            self.revert_turns(surveyor, count_at(&payload, &["num_turns"]));
        }
        if kind == "session_meta" {
            self.tokens.begin(&payload);
        }
        if self.tip.is_none() {
            self.info = session_info(seen.tree);
        }
        let number = surveyor.add(seen, &look, self.tip.map_or(Parent::Root, Parent::Number));
        self.tip = Some(number);
        self.tokens.note(&kind, &payload);
        let prompts = look.role == RecordRole::Prompt;
        let is_new = match kind.as_str() {
            "event_msg" => self.match_event(surveyor, number, &look, &payload),
            "response_item" => self.match_item(surveyor, number, &look, &payload),
            _ => true,
        };
        if prompts && is_new {
            self.prompts.push(number);
        }
    }

    /// Undoes the last turns: the following records branch off there.
    fn revert_turns(&mut self, surveyor: &mut Surveyor, turns: u64) {
        let keep = self.prompts.len().saturating_sub(usize::try_from(turns).unwrap_or(usize::MAX));
        if let Some(&first) = self.prompts.get(keep) {
            self.tip = surveyor.node(first).and_then(|node| match node.parent {
                Parent::Number(before) => Some(before),
                _ => None,
            });
            self.prompts.truncate(keep);
        }
    }

    /// Sets an event apart if it repeats an item. Returns whether it is new.
    fn match_event(
        &mut self,
        surveyor: &mut Surveyor,
        number: u32,
        look: &RecordInfo,
        payload: &JsonTree,
    ) -> bool {
        let Some(draft) = look.drafts.first() else { return true };
        if look.role == RecordRole::Link {
            return true;
        }
        let said = UtteranceKeys::of(&draft.kind, &utterance_texts("event_msg", payload, draft));
        let is_copy = self.copies.event(&said, number);
        if is_copy {
            surveyor.set_apart(number, DUPLICATES);
        }
        !is_copy
    }

    /// Sets apart the events that an item repeats. Returns whether the item starts a new turn.
    fn match_item(
        &mut self,
        surveyor: &mut Surveyor,
        number: u32,
        look: &RecordInfo,
        payload: &JsonTree,
    ) -> bool {
        let Some(draft) = look.drafts.first().filter(|draft| {
            matches!(draft.kind, EntryKind::User | EntryKind::Assistant)
                || draft.kind == EntryKind::thinking()
        }) else {
            return true;
        };
        let said =
            UtteranceKeys::of(&draft.kind, &utterance_texts("response_item", payload, draft));
        let mut is_new = true;
        for event in self.copies.item(said, number) {
            surveyor.set_apart(event, DUPLICATES);
            if let Some(place) = self.prompts.iter_mut().rfind(|prompt| **prompt == event) {
                *place = number;
                is_new = false;
            }
        }
        is_new
    }
}

impl ProgramFormat for Codex {
    const NAME: &'static str = "codex";
    const DEPTH: usize = 5;
    const SESSION_DIRS: &'static [&'static str] = &["sessions", "archived_sessions"];

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
        let stem = stem(file);
        // The name ends with the id of the thread, after the time.
        let start = stem.len().saturating_sub(36);
        match stem.get(start..) {
            Some(id)
                if stem.starts_with("rollout-") && id.len() == 36 && id.get(8..9) == Some("-") =>
            {
                id.to_owned()
            }
            _ => stem,
        }
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError> {
        let mut surveyor = Surveyor::of_file(&place.path);
        let mut rollout = Rollout::default();
        surveyor.lines(store, 0, |surveyor, seen| rollout.keep(surveyor, seen))?;
        let usage = rollout.tokens.usage;
        surveyor.survey.usage = (!usage.models.is_empty()).then_some(usage);
        let mut survey = surveyor.finish(ForkPolicy::EveryFork, rollout.tip);
        survey.parent = rollout.info.parent;
        survey.is_helper = rollout.info.is_helper;
        Ok(survey)
    }

    fn peek(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionHeader, SessionError> {
        let survey = || self.survey(store, place);
        peek::peek_lines(store, &place.path, survey, record_info, session_info)
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
        let (kind, payload) = unpacked(record);
        if payload.kind() != Shape::Object {
            return vec![EntryDraft::bookkeeping(&kind, "")];
        }
        vec![draft(&kind, &payload)]
    }
}
