//! Claude Code: one JSONL file per session, in which records name their parents, and files of long outputs.

mod outputs;

use std::collections::HashMap;
use std::sync::Arc;

use super::blocks::{block_text, content_text, count_at, price_at, spread_text, time_at};
use super::fetch::RecordFetcher;
use super::peek::{self, SessionInfo};
use super::record::{EntryDraft, Parent, RecordInfo, RecordRole, TextHash};
use super::survey::{ScannedRecord, Survey, Surveyor, is_object, title};
use super::thread_tree::{ForkPolicy, Placement};
use super::{Match, ProgramFormat, RepairRules, SessionHeader, repair_copy};
use everturn_json::finding::FindingCode;
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::model::{EntryKind, SessionRef, SessionUsage, TokenUsage};
use everturn_store::Store;
use everturn_value::outline::{flag_at, text_at};
use everturn_value::tree::{JsonTree, ValueKind as Shape};
use jiff::Timestamp;

use outputs::OutputFetcher;

pub(super) struct ClaudeCode;

/// The directory beside a session in which long outputs of tools are kept, and the kind of their records.
const TOOL_RESULTS: &str = "tool-results";

/// Messages that the program writes in the user's name; they are not prompts.
const NOT_ASKED: &[&str] = &[
    "[Request interrupted by user",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
];

fn is_uuid(text: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    let fits = |(at, c): (usize, char)| {
        if dashes.contains(&at) { c == '-' } else { c.is_ascii_hexdigit() }
    };
    text.len() == 36 && text.chars().enumerate().all(fits)
}

fn kind_of(record: &JsonTree) -> String {
    text_at(record, &["type"]).unwrap_or_default()
}

/// The entries of a user's record: a prompt, or tool results.
fn user(record: &JsonTree) -> Vec<EntryDraft> {
    let message = record.value_at(&["message"]).unwrap_or_else(JsonTree::null);
    let content = message.value_at(&["content"]);
    let Some(content) = content else {
        let text = spread_text(&message).unwrap_or_else(|| content_text(&message));
        return vec![EntryDraft::new(EntryKind::User, "user", text)];
    };
    let blocks = if content.kind() == Shape::Array { content.children() } else { Vec::new() };
    let is_answer = |block: &JsonTree| text_at(block, &["type"]).as_deref() == Some("tool_result");
    let mut drafts: Vec<EntryDraft> = Vec::new();
    for (_, block) in blocks.iter().filter(|(_, block)| is_answer(block)) {
        let text = block.value_at(&["content"]).map(|content| content_text(&content));
        let id = text_at(block, &["tool_use_id"]);
        drafts.push(EntryDraft::answered("tool", text.unwrap_or_default(), id).by(block));
    }
    let said: Vec<String> = blocks
        .iter()
        .filter(|(_, block)| !is_answer(block))
        .map(|(_, block)| block_text(block))
        .collect();
    let said = if blocks.is_empty() { content_text(&content) } else { said.join("\n") };
    if !drafts.is_empty() && said.is_empty() {
        return drafts;
    }
    let flag = |key: &str| flag_at(record, &[key]) == Some(true);
    let kind = if flag("isCompactSummary") || flag("isMeta") || flag("isVisibleInTranscriptOnly") {
        EntryKind::System
    } else if !drafts.is_empty() || NOT_ASKED.iter().any(|start| said.starts_with(start)) {
        EntryKind::Event
    } else {
        EntryKind::User
    };
    let speaker = if kind == EntryKind::User { "user" } else { "system" };
    drafts.push(EntryDraft::new(kind, speaker, said).by(&content));
    drafts
}

/// The entries of a line of a model's answer, which usually is one block of it.
fn assistant(record: &JsonTree) -> Vec<EntryDraft> {
    let message = record.value_at(&["message"]).unwrap_or_else(JsonTree::null);
    let Some(content) = message.value_at(&["content"]) else {
        let text = spread_text(&message).unwrap_or_else(|| content_text(&message));
        return vec![EntryDraft::new(EntryKind::Assistant, "assistant", text)];
    };
    if flag_at(record, &["isApiErrorMessage"]) == Some(true) {
        return vec![EntryDraft::new(EntryKind::System, "system", content_text(&content))];
    }
    if content.kind() != Shape::Array || content.len_at::<&str>(&[]) == Some(0) {
        return vec![EntryDraft::new(EntryKind::Assistant, "assistant", content_text(&content))];
    }
    let draft = |(_, block): &(String, JsonTree)| match text_at(block, &["type"]).as_deref() {
        Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
            let name = text_at(block, &["name"]).unwrap_or_else(|| "tool".to_owned());
            let input = block.text_at(&["input"]).unwrap_or_default();
            EntryDraft::called("assistant", &name, &input, text_at(block, &["id"])).by(block)
        }
        Some("thinking" | "redacted_thinking") => {
            let text = text_at(block, &["thinking"]).unwrap_or_default();
            EntryDraft::new(EntryKind::thinking(), "assistant", text).by(block)
        }
        _ => EntryDraft::new(EntryKind::Assistant, "assistant", block_text(block)).by(block),
    };
    content.children().iter().map(draft).collect()
}

/// The entry of a system record.
fn system(record: &JsonTree) -> EntryDraft {
    let content = record.value_at(&["content"]).map(|content| content_text(&content));
    let subtype = text_at(record, &["subtype"]).unwrap_or_default();
    match subtype.as_str() {
        "compact_boundary" => {
            let tokens = count_at(record, &["compactMetadata", "preTokens"]);
            let content = content.unwrap_or_else(|| "Conversation compacted".to_owned());
            EntryDraft::new(EntryKind::Event, "system", format!("{content} ({tokens} tokens)"))
        }
        "api_error" => {
            let error = record.value_at(&["error"]).map(|error| content_text(&error));
            EntryDraft::new(
                EntryKind::Event,
                "system",
                format!("API error {}", error.unwrap_or_default()),
            )
        }
        "stop_hook_summary" | "turn_duration" | "microcompact_boundary" | "bridge_status" => {
            EntryDraft::bookkeeping("system", content.unwrap_or(subtype))
        }
        _ => EntryDraft::new(EntryKind::Event, "system", content.unwrap_or(subtype)),
    }
}

/// The name that a record gives to the session.
fn names(record: &JsonTree) -> Option<String> {
    let key = match kind_of(record).as_str() {
        "custom-title" => "customTitle",
        "ai-title" => "aiTitle",
        _ => return None,
    };
    title(&text_at(record, &[key])?)
}

fn record_info(record: &JsonTree) -> RecordInfo {
    let drafts = ClaudeCode.drafts(record);
    let time = time_at(record, &["timestamp"]);
    let is_side = flag_at(record, &["isSidechain"]) == Some(true);
    RecordInfo { time, id: text_at(record, &["uuid"]), is_side, ..RecordInfo::from_drafts(drafts) }
}

/// The session info of a record. The parent is the session id of the record, which may be the session itself.
fn session_info(record: &JsonTree) -> SessionInfo {
    SessionInfo { name: names(record), parent: text_at(record, &["sessionId"]), is_helper: false }
}

/// Tokens and costs per answer of the model: the lines of one answer repeat them, and the last values are used.
#[derive(Default)]
struct ClaudeTokens {
    answers: HashMap<TextHash, (String, TokenUsage, Option<Timestamp>)>,
    costs: HashMap<TextHash, f64>,
}

impl ClaudeTokens {
    fn note(&mut self, record: &JsonTree) {
        let message = text_at(record, &["message", "id"]).or_else(|| text_at(record, &["uuid"]));
        let Some(message) = message.map(|id| TextHash::of(&id)) else { return };
        if let Some(cost) = price_at(record, &["costUSD"]) {
            let known = self.costs.entry(message).or_insert(cost);
            *known = known.max(cost);
        }
        let Some(usage) = record.value_at(&["message", "usage"]).filter(is_object) else { return };
        let model = text_at(record, &["message", "model"]);
        let model = model.unwrap_or_else(|| "unknown".to_owned());
        if model == "<synthetic>" {
            return;
        }
        let spent = TokenUsage {
            answers: 1,
            input: count_at(&usage, &["input_tokens"]),
            output: count_at(&usage, &["output_tokens"]),
            cache_read: count_at(&usage, &["cache_read_input_tokens"]),
            cache_write: count_at(&usage, &["cache_creation_input_tokens"]),
            reasoning: 0,
            cost: None,
        };
        let time = time_at(record, &["timestamp"]);
        let (_, known, _) = self.answers.entry(message).or_insert((model, spent, time));
        known.input = known.input.max(spent.input);
        known.output = known.output.max(spent.output);
        known.cache_read = known.cache_read.max(spent.cache_read);
        known.cache_write = known.cache_write.max(spent.cache_write);
    }

    fn usage(mut self) -> Option<SessionUsage> {
        let mut usage = SessionUsage::default();
        for (id, (model, spent, time)) in &self.answers {
            let cost = self.costs.remove(id);
            usage.add_usage_once(id.number(), model, &TokenUsage { cost, ..*spent }, *time);
        }
        // Answers with a cost but without token counts.
        let name = usage.models.first().map_or("unknown", |(name, _)| name.as_str()).to_owned();
        for (id, cost) in &self.costs {
            let spent = TokenUsage { cost: Some(*cost), ..TokenUsage::default() };
            usage.add_usage_once(id.number(), &name, &spent, None);
        }
        (!usage.models.is_empty()).then_some(usage)
    }
}

/// Keeps a record, either in the chain or aside from it.
fn keep(surveyor: &mut Surveyor, seen: &ScannedRecord<'_>) {
    let record = seen.tree;
    let look = record_info(record);
    let Some(id) = &look.id else {
        let number = surveyor.add(seen, &look, Parent::Root);
        if let Some(node) = surveyor.node(number) {
            node.placement = Placement::Aside;
            node.role = RecordRole::Link;
        }
        return;
    };
    // The boundary of a compaction has no parent; it names the record before it.
    let parent =
        text_at(record, &["parentUuid"]).or_else(|| text_at(record, &["logicalParentUuid"]));
    let parent = parent.map_or(Parent::Root, |id| Parent::Of(TextHash::of(&id)));
    let number = surveyor.add_with_id(seen, &look, parent, id);
    let message =
        record.value_at(&["message"]).filter(|message| message.value_at(&["content"]).is_none());
    if message.is_some_and(|message| spread_text(&message).is_some()) {
        let what = "the message was split into single characters, and is joined again";
        surveyor.repair(number, FindingCode::BadRecord, what.to_owned());
    }
}

impl ProgramFormat for ClaudeCode {
    const NAME: &'static str = "claude-code";
    const DEPTH: usize = 4;
    const SESSION_DIRS: &'static [&'static str] = &["projects"];

    fn match_path(&self, path: &FilePath) -> Match {
        let name = path.as_str().rsplit('/').next().unwrap_or_default();
        match name.strip_suffix(".jsonl") {
            Some(stem) if is_uuid(stem) && path.as_str().contains("projects/") => Match::Yes,
            // The program keeps a history of prompts beside the sessions.
            Some("history") | None => Match::No,
            Some(_) => Match::Maybe,
        }
    }

    fn sniff(&self, _path: &FilePath, head: &peek::FileStart) -> bool {
        head.any(|record| {
            let chained =
                record.value_at(&["parentUuid"]).is_some() && record.value_at(&["uuid"]).is_some();
            let known = matches!(
                kind_of(record).as_str(),
                "summary"
                    | "file-history-snapshot"
                    | "queue-operation"
                    | "custom-title"
                    | "ai-title"
            );
            let keys = ["leafUuid", "messageId", "operation", "customTitle", "aiTitle"];
            chained || (known && keys.iter().any(|key| record.value_at(&[key]).is_some()))
        })
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError> {
        let mut surveyor = Surveyor::of_file(&place.path);
        let mut tokens = ClaudeTokens::default();
        let mut named = None;
        // The summaries, each with the record it is about, which may belong to another session.
        let mut summaries: Vec<(String, String)> = Vec::new();
        let mut session = None;
        surveyor.lines(store, 0, |surveyor, seen| {
            keep(surveyor, seen);
            tokens.note(seen.tree);
            named = names(seen.tree).or(named.take());
            let about = text_at(seen.tree, &["leafUuid"]);
            summaries.extend(about.zip(text_at(seen.tree, &["summary"])));
            session = session.take().or_else(|| text_at(seen.tree, &["sessionId"]));
        })?;
        outputs::add_outputs(&mut surveyor, store, place)?;
        surveyor.survey.usage = tokens.usage();
        let about_this = |(leaf, _): &&(String, String)| surveyor.by_id(leaf).is_some();
        let summary = summaries.iter().rfind(about_this).and_then(|(_, text)| title(text));
        let mut survey = surveyor.finish(ForkPolicy::PromptsOnly, None);
        survey.title = named.or(summary).or(survey.title);
        survey.parent = session.filter(|session| *session != place.id);
        survey.is_helper = place.id.starts_with("agent-");
        Ok(survey)
    }

    fn peek(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionHeader, SessionError> {
        let survey = || self.survey(store, place);
        let mut header = peek::peek_lines(store, &place.path, survey, record_info, session_info)?;
        header.parent = header.parent.filter(|session| *session != place.id);
        header.is_helper = place.id.starts_with("agent-");
        Ok(header)
    }

    /// The path in the records, otherwise the directory of the project, whose name is made from its path.
    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        let said =
            peek::FileStart::read(store, &place.path)?.first(|record| text_at(record, &["cwd"]));
        let mut dirs = place.path.as_str().split('/').skip_while(|name| *name != "projects");
        let dir = dirs.nth(1).filter(|_| dirs.next().is_some());
        Ok(said.or_else(|| dir.map(str::to_owned)))
    }

    fn fetch(
        &self,
        store: &Arc<dyn Store>,
        files: &[FilePath],
    ) -> Result<Box<dyn RecordFetcher>, SessionError> {
        Ok(Box::new(OutputFetcher::new(store, files)))
    }

    fn repair_rules(&self, _file: &FilePath) -> Result<&'static RepairRules, &'static str> {
        Ok(&repair_copy::CLAUDE)
    }

    fn id(&self, record: &JsonTree) -> Option<String> {
        text_at(record, &["uuid"])
    }

    fn drafts(&self, record: &JsonTree) -> Vec<EntryDraft> {
        let kind = kind_of(record);
        match kind.as_str() {
            "user" => user(record),
            "assistant" => assistant(record),
            "system" => vec![system(record)],
            "progress" => {
                let what = text_at(record, &["data", "type"]).unwrap_or_default();
                vec![EntryDraft::bookkeeping("progress", what)]
            }
            "attachment" => {
                let what = text_at(record, &["attachment", "type"]).unwrap_or_default();
                vec![EntryDraft::bookkeeping("attachment", what)]
            }
            "summary" => {
                let text = text_at(record, &["summary"]).unwrap_or_default();
                vec![EntryDraft::bookkeeping("summary", text)]
            }
            "pr-link" => {
                let url = text_at(record, &["prUrl"]).unwrap_or_default();
                vec![EntryDraft::new(EntryKind::Event, "system", format!("pull request {url}"))]
            }
            // The prompt itself is a message of its own.
            "queue-operation" => {
                let what = text_at(record, &["operation"]).unwrap_or_default();
                vec![EntryDraft::bookkeeping(&kind, what)]
            }
            TOOL_RESULTS => {
                let text = text_at(record, &["text"]).unwrap_or_default();
                vec![EntryDraft::bookkeeping(TOOL_RESULTS, text)]
            }
            _ => {
                let keys = ["content", "operation", "customTitle", "aiTitle", "lastPrompt", "mode"];
                let text = keys.iter().find_map(|key| text_at(record, &[key]));
                vec![EntryDraft::bookkeeping(&kind, text.unwrap_or_default())]
            }
        }
    }
}
