//! Messages of Gemini CLI, as entries.
//!
//! A message of the model has its text, thoughts and calls in members of their own. When a session is resumed, the
//! program writes them again as parts, and answers of tools are messages in the user's name.

use everturn_session::model::EntryKind;
use everturn_value::outline::{flag_at, text_at};
use everturn_value::tree::{JsonTree, ValueKind as Shape};

use crate::blocks::{content_text, time_at};
use crate::record::{EntryDraft, RecordInfo};
use crate::survey::{is_object, title};

/// The start of the message that describes the surroundings to the model.
const PREAMBLE: &str = "<session_context>";

/// The speaker of a message, and the kind of its texts.
fn speaker(is_user: bool) -> (EntryKind, &'static str) {
    if is_user { (EntryKind::User, "user") } else { (EntryKind::Assistant, "gemini") }
}

/// The entries of the model's message: thoughts, text, tool calls and their results.
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
    let calls = children("toolCalls");
    let called: Vec<String> = calls.iter().filter_map(|(_, call)| text_at(call, &["id"])).collect();
    drafts.extend(parts(&content, false, &called));
    if drafts.is_empty() && calls.is_empty() {
        let said = content_text(&content);
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
    let text = |(_, part): &(String, JsonTree)| response_text(part);
    if parts.is_empty() {
        content_text(result)
    } else {
        parts.iter().map(text).collect::<Vec<_>>().join("\n")
    }
}

/// The text of a part that is a response of a tool, or anything else.
fn response_text(part: &JsonTree) -> String {
    let response = part.value_at(&["functionResponse", "response"]);
    let output = response.and_then(|response| {
        response.value_at(&["output"]).or_else(|| response.value_at(&["error"])).or(Some(response))
    });
    output.map_or_else(
        || content_text(part),
        |output| match output.kind() {
            Shape::String => content_text(&output),
            _ => output.to_line(),
        },
    )
}

/// The entries of a message's content. Texts that follow each other are one entry. Calls with one of the ids `known` are
/// shown elsewhere.
fn parts(content: &JsonTree, is_user: bool, known: &[String]) -> Vec<EntryDraft> {
    let (kind, speaker) = speaker(is_user);
    if content.kind() != Shape::Array {
        let said = content_text(content);
        let draft = EntryDraft::new(kind_of_text(&kind, &said), speaker, said).by(content);
        return if draft.text.is_empty() { Vec::new() } else { vec![draft] };
    }
    let mut drafts: Vec<EntryDraft> = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    let finish = |texts: &mut Vec<String>, drafts: &mut Vec<EntryDraft>| {
        let said = std::mem::take(texts).join("\n");
        if !said.is_empty() {
            // What the program adds to the answers of tools is not the user's.
            let kind = match drafts.first().map(|draft| &draft.kind) {
                Some(EntryKind::ToolResult) if is_user => EntryKind::System,
                _ => kind_of_text(&kind, &said),
            };
            drafts.push(EntryDraft::new(kind, speaker, said).by(content));
        }
    };
    for (_, part) in content.children() {
        let draft = part_draft(&part, speaker);
        match draft {
            None => texts.extend(Some(content_text(&part)).filter(|text| !text.is_empty())),
            Some(draft) => {
                finish(&mut texts, &mut drafts);
                let id = text_at(&part, &["functionCall", "id"]);
                if !id.is_some_and(|id| known.contains(&id)) {
                    drafts.push(draft.by(&part));
                }
            }
        }
    }
    finish(&mut texts, &mut drafts);
    drafts
}

/// The kind of a text: the preamble is no one's words.
fn kind_of_text(kind: &EntryKind, text: &str) -> EntryKind {
    let is_preamble = *kind == EntryKind::User && text.trim_start().starts_with(PREAMBLE);
    if is_preamble { EntryKind::System } else { kind.clone() }
}

/// The entry of a part that is not plain text.
fn part_draft(part: &JsonTree, speaker: &str) -> Option<EntryDraft> {
    if flag_at(part, &["thought"]) == Some(true) {
        return Some(EntryDraft::new(EntryKind::thinking(), "gemini", content_text(part)));
    }
    if let Some(call) = part.value_at(&["functionCall"]) {
        let name = text_at(&call, &["name"]).unwrap_or_default();
        let arguments = call.text_at(&["args"]).unwrap_or_default();
        return Some(EntryDraft::called(speaker, &name, &arguments, text_at(&call, &["id"])));
    }
    let response = part.value_at(&["functionResponse"])?;
    let name = text_at(&response, &["name"]).unwrap_or_else(|| "tool".to_owned());
    Some(EntryDraft::answered(&name, response_text(part), text_at(&response, &["id"])))
}

/// The entries of a message in the user's name.
fn user(content: &JsonTree) -> Vec<EntryDraft> {
    let drafts = parts(content, true, &[]);
    if drafts.is_empty() {
        return vec![EntryDraft::new(EntryKind::User, "user", content_text(content))];
    }
    drafts
}

/// The entries of a saved turn, one per part.
fn saved(record: &JsonTree) -> Vec<EntryDraft> {
    let is_user = text_at(record, &["role"]).as_deref() == Some("user");
    let content = record.value_at(&["parts"]).unwrap_or_else(JsonTree::null);
    let (kind, speaker) = speaker(is_user);
    let draft = |(_, part): &(String, JsonTree)| {
        let text = || {
            let said = content_text(part);
            EntryDraft::new(kind_of_text(&kind, &said), speaker, said)
        };
        part_draft(part, speaker).unwrap_or_else(text).by(part)
    };
    let drafts: Vec<EntryDraft> = content.children().iter().map(draft).collect();
    match drafts.is_empty() {
        true => vec![EntryDraft::new(kind, speaker, "")],
        false => drafts,
    }
}

pub(super) fn record_info(record: &JsonTree) -> RecordInfo {
    let time = ["timestamp", "startTime"].iter().find_map(|key| time_at(record, &[key]));
    RecordInfo { time, id: text_at(record, &["id"]), ..RecordInfo::from_drafts(drafts(record)) }
}

/// The name that a record gives to the session.
pub(super) fn names(record: &JsonTree) -> Option<String> {
    let set = record.value_at(&["$set"]).filter(is_object).unwrap_or_else(|| record.clone());
    title(&text_at(&set, &["summary"])?)
}

/// Whether a header marks its session as a helper's.
pub(super) fn is_helper(record: &JsonTree) -> bool {
    record.value_at(&["sessionId"]).is_some()
        && text_at(record, &["kind"]).as_deref() == Some("subagent")
}

/// The entries that a record makes.
pub(super) fn drafts(record: &JsonTree) -> Vec<EntryDraft> {
    let kind = text_at(record, &["type"]).unwrap_or_default();
    let content = || content_text(&record.value_at(&["content"]).unwrap_or_else(JsonTree::null));
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
        "user" => user(&record.value_at(&["content"]).unwrap_or_else(JsonTree::null)),
        "gemini" => model(record),
        "info" | "warning" | "error" => {
            vec![EntryDraft::new(EntryKind::Event, "system", format!("{kind}: {}", content()))]
        }
        _ => vec![EntryDraft::bookkeeping("session", names(record).unwrap_or_default())],
    }
}
