//! pi: a header, then entries that name their parents; the last entry is the tip of the conversation.

use std::sync::Arc;

use super::blocks::{any_time_at, block_text, content_text, count_at, price_at};
use super::peek::{self, SessionInfo};
use super::record::{EntryDraft, Parent, RecordInfo, TextHash};
use super::survey::{ScannedRecord, Survey, Surveyor, is_object, title};
use super::thread_tree::{ForkPolicy, Placement};
use super::{Match, ProgramFormat, RepairRules, SessionHeader, repair_copy, stem};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::model::{EntryKind, SessionRef, SessionUsage, TokenUsage};
use everturn_store::Store;
use everturn_value::outline::{flag_at, text_at};
use everturn_value::tree::{JsonTree, ValueKind as Shape};

pub(super) struct Pi;

fn kind_of(record: &JsonTree) -> String {
    text_at(record, &["type"]).unwrap_or_default()
}

/// The entries of a message of the model, one per block.
fn assistant(content: &JsonTree) -> Vec<EntryDraft> {
    if content.kind() != Shape::Array || content.len_at::<&str>(&[]) == Some(0) {
        return vec![EntryDraft::new(EntryKind::Assistant, "assistant", content_text(content))];
    }
    let draft = |(_, block): &(String, JsonTree)| match text_at(block, &["type"]).as_deref() {
        Some("toolCall") => {
            let name = text_at(block, &["name"]).unwrap_or_else(|| "tool".to_owned());
            let arguments = block.text_at(&["arguments"]).unwrap_or_default();
            EntryDraft::called("assistant", &name, &arguments, text_at(block, &["id"])).by(block)
        }
        Some("thinking") => {
            EntryDraft::new(EntryKind::thinking(), "assistant", block_text(block)).by(block)
        }
        _ => EntryDraft::new(EntryKind::Assistant, "assistant", block_text(block)).by(block),
    };
    content.children().iter().map(draft).collect()
}

fn message(record: &JsonTree) -> Vec<EntryDraft> {
    let message = record.value_at(&["message"]).unwrap_or_else(|| record.clone());
    let content = message.value_at(&["content"]).unwrap_or_else(JsonTree::null);
    let role = text_at(&message, &["role"]).unwrap_or_default();
    match role.as_str() {
        "user" => vec![EntryDraft::new(EntryKind::User, "user", content_text(&content))],
        "assistant" => assistant(&content),
        "toolResult" => {
            let name = text_at(&message, &["toolName"]).unwrap_or_else(|| "tool".to_owned());
            let id = text_at(&message, &["toolCallId"]);
            vec![EntryDraft::answered(&name, content_text(&content), id)]
        }
        "bashExecution" => {
            let command = text_at(&message, &["command"]).unwrap_or_default();
            let output = text_at(&message, &["output"]).unwrap_or_default();
            vec![EntryDraft::new(EntryKind::Event, "user", format!("$ {command}\n{output}"))]
        }
        other => {
            // Newer versions keep the system prompt in sections.
            let sections = || message.value_at(&["sections"]).unwrap_or_else(JsonTree::null);
            let text =
                if content.is_null() { content_text(&sections()) } else { content_text(&content) };
            vec![EntryDraft::new(EntryKind::System, other, text)]
        }
    }
}

fn names(record: &JsonTree) -> Option<String> {
    let is_name = kind_of(record) == "session_info";
    text_at(record, &["name"]).filter(|_| is_name).and_then(|name| title(&name))
}

/// The parent session that a header names, by the name of its file.
fn parent(record: &JsonTree) -> Option<String> {
    let from = ["parentSession", "branchedFrom"];
    let from = from.iter().find_map(|key| text_at(record, &[key]))?;
    let name = from.rsplit('/').next().unwrap_or(&from).trim_end_matches(".jsonl");
    Some(name.rsplit_once('_').map_or(name, |(_, id)| id).to_owned())
}

fn session_info(record: &JsonTree) -> SessionInfo {
    let is_header = kind_of(record) == "session";
    let parent = if is_header { parent(record) } else { None };
    SessionInfo { name: names(record), parent, is_helper: false }
}

fn record_info(record: &JsonTree) -> RecordInfo {
    let time = any_time_at(record, &["timestamp"])
        .or_else(|| any_time_at(record, &["message", "timestamp"]));
    RecordInfo { time, id: Pi.id(record), ..RecordInfo::from_drafts(Pi.drafts(record)) }
}

fn add_usage(usage: &mut SessionUsage, record: &JsonTree) {
    let Some(used) = record.value_at(&["message", "usage"]).filter(is_object) else { return };
    let model = text_at(record, &["message", "model"]).unwrap_or_else(|| "unknown".to_owned());
    let spent = TokenUsage {
        answers: 1,
        input: count_at(&used, &["input"]),
        output: count_at(&used, &["output"]),
        cache_read: count_at(&used, &["cacheRead"]),
        cache_write: count_at(&used, &["cacheWrite"]),
        reasoning: 0,
        cost: price_at(&used, &["cost", "total"]),
    };
    let at = any_time_at(record, &["timestamp"]);
    // Ids are short and unique within one session only; with the time they are unique among all.
    let time = record.value_at(&["timestamp"]).map(|time| time.to_line());
    match Pi.id(record).zip(time) {
        Some((id, time)) => {
            let id = TextHash::of(&format!("{id} {time}")).number();
            usage.add_usage_once(id, &model, &spent, at);
        }
        None => usage.add_usage(&model, &spent, at),
    }
}

/// Keeps an entry. Entries of the first version have no ids and follow each other.
fn keep(surveyor: &mut Surveyor, seen: &ScannedRecord<'_>, tip: Option<u32>) -> u32 {
    let record = seen.tree;
    let look = record_info(record);
    let before = tip.map_or(Parent::Root, Parent::Number);
    let Some(id) = &look.id else { return surveyor.add(seen, &look, before) };
    let parent = match record.value_at(&["parentId"]) {
        Some(parent) if parent.is_null() => Parent::Root,
        Some(_) => {
            text_at(record, &["parentId"]).map_or(before, |id| Parent::Of(TextHash::of(&id)))
        }
        None => before,
    };
    surveyor.add_with_id(seen, &look, parent, id)
}

impl ProgramFormat for Pi {
    const NAME: &'static str = "pi";
    const DEPTH: usize = 4;
    const SESSION_DIRS: &'static [&'static str] = &["sessions"];

    fn match_path(&self, path: &FilePath) -> Match {
        if path.as_str().ends_with(".jsonl") { Match::Maybe } else { Match::No }
    }

    fn sniff(&self, _path: &FilePath, head: &peek::FileStart) -> bool {
        let is_header = |record: &JsonTree| {
            kind_of(record) == "session"
                && record.value_at(&["id"]).is_some()
                && record.value_at(&["cwd"]).is_some()
        };
        head.any(is_header)
    }

    fn file_id(&self, file: &FilePath) -> String {
        let stem = stem(file);
        stem.rsplit_once('_').map_or(stem.as_str(), |(_, id)| id).to_owned()
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError> {
        let mut surveyor = Surveyor::of_file(&place.path);
        let (mut tip, mut named, mut from) = (None, None, None);
        let mut usage = SessionUsage::default();
        surveyor.lines(store, 0, |surveyor, seen| {
            if kind_of(seen.tree) == "session" {
                let number = surveyor.add(seen, &record_info(seen.tree), Parent::Root);
                if let Some(node) = surveyor.node(number) {
                    node.placement = Placement::Aside;
                }
                from = parent(seen.tree).or(from.take());
                return;
            }
            let number = keep(surveyor, seen, tip);
            // A second entry with the same id is set apart, and nothing continues from it.
            if surveyor.node(number).is_some_and(|node| node.placement == Placement::Chained) {
                tip = Some(number);
            }
            named = names(seen.tree).or(named.take());
            add_usage(&mut usage, seen.tree);
        })?;
        surveyor.survey.usage = (!usage.models.is_empty()).then_some(usage);
        let mut survey = surveyor.finish(ForkPolicy::EveryFork, tip);
        survey.title = named.or(survey.title);
        survey.parent = from;
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
        Ok(head.first(|record| text_at(record, &["cwd"])))
    }

    fn repair_rules(&self, _file: &FilePath) -> Result<&'static RepairRules, &'static str> {
        Ok(&repair_copy::PI)
    }

    fn id(&self, record: &JsonTree) -> Option<String> {
        text_at(record, &["id"])
    }

    fn drafts(&self, record: &JsonTree) -> Vec<EntryDraft> {
        let kind = kind_of(record);
        let text = |key: &str| text_at(record, &[key]).unwrap_or_default();
        match kind.as_str() {
            "message" => message(record),
            "compaction" => {
                vec![EntryDraft::new(
                    EntryKind::Event,
                    "system",
                    format!("compacted: {}", text("summary")),
                )]
            }
            "branch_summary" => {
                vec![EntryDraft::new(
                    EntryKind::Event,
                    "system",
                    format!("left a branch: {}", text("summary")),
                )]
            }
            "custom_message" if flag_at(record, &["display"]) != Some(false) => {
                let content = record.value_at(&["content"]).unwrap_or_else(JsonTree::null);
                vec![EntryDraft::new(EntryKind::System, "system", content_text(&content))]
            }
            "model_change" => {
                vec![EntryDraft::bookkeeping(
                    "model",
                    text_at(record, &["modelId"]).unwrap_or_default(),
                )]
            }
            "label" => vec![EntryDraft::bookkeeping("label", text("label"))],
            "session_info" => vec![EntryDraft::bookkeeping("name", text("name"))],
            "session" => vec![EntryDraft::bookkeeping("session", text("cwd"))],
            other => vec![EntryDraft::bookkeeping(other, "")],
        }
    }
}
