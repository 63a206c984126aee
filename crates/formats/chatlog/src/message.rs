//! Messages: their text and kind, new ones from input, and changes to them.

use jiff::Timestamp;

use super::error::ChatError;
use super::log::Message;
use super::schema::{MESSAGE, TYPES, find_type_errors, time};
use everturn_prompt::markup;
use everturn_prompt::tokens::Vocabulary;
use everturn_session::model;
use everturn_session::model::carried::carried_entries;
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::tree::{JsonTree, ValueKind};

impl Message {
    /// The kind of its entry in the common model. A message converted from an entry of another format records its kind.
    #[must_use]
    pub fn kind(&self) -> model::EntryKind {
        let carried = || carried_entries(&self.tree).first()?.string_at(&["kind"]);
        let noted = self.tree.string_at(&["metadata", "entry", "kind"]);
        if let Some(kind) = noted.or_else(carried) {
            return model::EntryKind::parse(&kind);
        }
        let name = self.tree.string_at(&["type"]).unwrap_or_default();
        match name.as_str() {
            "protagonist" => model::EntryKind::User,
            other => model::EntryKind::parse(other),
        }
    }

    /// The time of the message, unless it was converted from an entry without one.
    #[must_use]
    pub fn time(&self) -> Option<Timestamp> {
        let timed = self.tree.value_at(&["metadata", "entry", "timed"]);
        let known = timed.is_none_or(|timed| timed.to_line() != "false");
        let text = self.tree.string_at(&["timestamp"]).filter(|_| known);
        text.and_then(|text| time(&text))
    }

    /// The speaker.
    #[must_use]
    pub fn speaker(&self) -> String {
        let sender = |key: &str| self.tree.string_at(&["sender", key]);
        let by_type = || self.tree.string_at(&["type"]);
        sender("name").or_else(|| sender("id")).or_else(by_type).unwrap_or_default()
    }

    /// The readable text.
    #[must_use]
    pub fn text(&self) -> String {
        text_of(&self.tree)
    }

    /// The readable text, or that of the formatted text if there is no other.
    #[must_use]
    pub fn readable_text(&self) -> String {
        let text = self.text();
        match self.tree.string_at(&["content", "formatted_text"]) {
            Some(html) if text.trim().is_empty() => markup::html_to_text(&html),
            _ => text,
        }
    }

    /// Everything in it that can be read: its text, with actions and attachments in words.
    #[must_use]
    pub fn full_text(&self) -> String {
        self.extras().follow(&self.readable_text()).into_owned()
    }

    /// Whether it is part of the conversation: not the thinking of a model, not bookkeeping of a program, and not
    /// hidden from the model.
    #[must_use]
    pub fn is_spoken(&self) -> bool {
        let kind = self.kind();
        let hidden = self.tree.text_at(&["metadata", "is_hidden"]).as_deref() == Some("true");
        !hidden && !kind.is_bookkeeping() && kind != model::EntryKind::thinking()
    }

    /// What it has besides its text.
    #[must_use]
    pub fn extras(&self) -> model::EntryExtras {
        let list = |key: &str| {
            let list = self.tree.value_at(&["content", key]);
            let list = list.filter(|list| list.kind() == ValueKind::Array);
            list.map(|list| list.children()).unwrap_or_default().into_iter().map(|(_, one)| one)
        };
        let words =
            |path: &[&str]| self.tree.string_at(path).filter(|text| !text.trim().is_empty());
        let attachment = |tree: JsonTree| {
            let text = |key: &str| tree.string_at(&[key]).unwrap_or_default();
            let (kind, url, description) = (text("type"), text("url"), text("description"));
            (!url.is_empty()).then_some(model::Attachment { kind, url, description })
        };
        let action = |tree: JsonTree| {
            let text = tree.string_at(&["text"]).filter(|text| !text.trim().is_empty())?;
            let kind = tree.string_at(&["type"]).unwrap_or_else(|| "action".to_owned());
            Some(model::EntryAction { kind, text })
        };
        model::EntryExtras {
            attachments: list("attachments").filter_map(attachment).collect(),
            actions: list("actions").filter_map(action).collect(),
            formatted_text: words(&["content", "formatted_text"]),
            avatar: words(&["sender", "avatar"]),
        }
    }

    /// The text as HTML that is safe to show: the stored HTML, sanitized, or else made from the text.
    #[must_use]
    pub fn formatted_text(&self) -> String {
        match self.tree.string_at(&["content", "formatted_text"]) {
            Some(html) if !html.trim().is_empty() => markup::sanitize_html(&html),
            _ => markup::markdown_to_html(&self.text()),
        }
    }
}

/// The text of a message: that of its content, which may be a plain string.
pub(crate) fn text_of(tree: &JsonTree) -> String {
    let string = |path: &[&str]| {
        let raw = tree.value_at(path).filter(|value| value.kind() == ValueKind::String)?.to_line();
        // A lone surrogate is shown as the replacement character.
        Some(String::from_utf8_lossy(&everturn_json::json::unescape(raw.as_bytes())).into_owned())
    };
    string(&["content", "text"]).or_else(|| string(&["content"])).unwrap_or_default()
}

fn text(value: &str) -> JsonTree {
    JsonTree::from_value(value).unwrap_or_else(|_| JsonTree::null())
}

fn object(members: &[(&str, JsonTree)]) -> JsonTree {
    JsonTree::from_members(members.iter().map(|(key, tree)| ((*key).to_owned(), tree.clone())))
}

fn parsed(text: &str) -> JsonTree {
    JsonTree::parse(text).unwrap_or_else(|_| JsonTree::null())
}

/// The default sender of a message.
fn sender(kind: &str, name: Option<&str>, protagonist: Option<&str>) -> JsonTree {
    let (id, usual) = match kind {
        "system" => ("system", "System"),
        "narrator" => ("narrator", "Narrator"),
        "protagonist" => ("protagonist", protagonist.unwrap_or("Protagonist")),
        "ooc" => ("player", "Player"),
        _ => ("npc", "NPC"),
    };
    let name = name.unwrap_or(usual);
    let slug = || {
        let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        name.chars().map(plain).collect::<String>().trim_matches('-').to_owned()
    };
    let id = if kind == "npc" && !slug().is_empty() { slug() } else { id.to_owned() };
    object(&[("id", text(&id)), ("name", text(name))])
}

/// The input for a new message: all of it, or the short form `{"type", "name", "text"}`.
pub(crate) struct MessageInput<'g> {
    pub(crate) tree: &'g JsonTree,
    pub(crate) id: &'g str,
    pub(crate) now: &'g str,
    /// The name of the protagonist.
    pub(crate) protagonist: Option<&'g str>,
}

impl MessageInput<'_> {
    /// The message; unknown fields are kept, after the others.
    pub(crate) fn message(&self) -> Result<JsonTree, ChatError> {
        let tree = self.tree;
        if tree.kind() != ValueKind::Object {
            return Err(ChatError::input(format!(
                "a message must be an object, not {}",
                tree.kind()
            )));
        }
        let has = |key: &str| tree.value_at(&[key]).filter(|value| !value.is_null());
        let kind = tree.string_at(&["type"]);
        let kind = kind.ok_or_else(|| {
            ChatError::input(format!("a message needs a type: one of {}", TYPES.join(", ")))
        })?;
        let content = match (has("content"), has("text")) {
            (Some(content), _) if content.kind() == ValueKind::String => {
                object(&[("text", content)])
            }
            (Some(content), _) => content,
            (None, Some(words)) => object(&[("text", words)]),
            (None, None) => return Err(ChatError::input("a message needs content or text")),
        };
        let name = tree.string_at(&["name"]);
        let sender =
            has("sender").unwrap_or_else(|| sender(&kind, name.as_deref(), self.protagonist));
        let mut members = vec![
            ("id".to_owned(), text(self.id)),
            ("timestamp".to_owned(), has("timestamp").unwrap_or_else(|| text(self.now))),
            ("type".to_owned(), text(&kind)),
            ("sender".to_owned(), sender),
            ("content".to_owned(), content),
            ("metadata".to_owned(), metadata(has("metadata"))),
        ];
        let short = has("content").is_none();
        for (key, value) in tree.children() {
            let used = (key == "text" && short) || (key == "name" && has("sender").is_none());
            if !used && !members.iter().any(|(known, _)| *known == key) {
                members.push((key, value));
            }
        }
        let message = JsonTree::from_members(members);
        match find_type_errors(&message, MESSAGE).into_iter().next() {
            Some(what) => Err(ChatError::input(format!("invalid message: {what}"))),
            None => Ok(message),
        }
    }
}

/// The metadata of a new message, with the defaults.
fn metadata(given: Option<JsonTree>) -> JsonTree {
    let usual = [
        ("is_edited", "false"),
        ("edit_history", "[]"),
        ("is_regenerated", "false"),
        ("regeneration_history", "[]"),
    ];
    match given {
        Some(tree) if tree.kind() == ValueKind::Object => {
            let mut members = tree.children();
            for (key, value) in usual {
                if !members.iter().any(|(known, _)| known == key) {
                    members.push((key.to_owned(), parsed(value)));
                }
            }
            JsonTree::from_members(members)
        }
        Some(other) => other,
        None => object(&usual.map(|(key, value)| (key, parsed(value)))),
    }
}

fn set(path: &[&str], value: JsonTree) -> Delta {
    Delta::set(DeltaPath::array(path.iter().copied()), value)
}

/// Appends to a list of the metadata, which is created if necessary.
fn append_history(message: &JsonTree, list: &str, entry: JsonTree) -> Result<Delta, ChatError> {
    let metadata = message.value_at(&["metadata"]).map(|metadata| metadata.kind());
    if metadata.is_some_and(|kind| kind != ValueKind::Object) {
        return Err(ChatError::input("the metadata of the message is not an object"));
    }
    let path = DeltaPath::array(["metadata", list]);
    match message.value_at(&["metadata", list]).map(|list| list.kind()) {
        Some(ValueKind::Array) => Ok(Delta::push(path, entry)),
        None | Some(ValueKind::Null) => {
            Ok(Delta::set(path, parsed(&format!("[{}]", entry.to_line()))))
        }
        Some(_) => Err(ChatError::input(format!("metadata.{list} of the message is not an array"))),
    }
}

/// Changes of a message's content.
#[derive(Debug, Clone, Default)]
pub struct ContentEdit {
    /// The new text, unless it stays.
    pub text: Option<String>,
    /// Attachments that are added.
    pub attachments: Vec<JsonTree>,
    /// Actions that are added.
    pub actions: Vec<JsonTree>,
}

/// Adds elements to a list of the content, which is created if necessary.
fn add_to_content(message: &JsonTree, list: &str, added: &[JsonTree]) -> Option<Delta> {
    let known = message.value_at(&["content", list]);
    let known = known.filter(|known| known.kind() == ValueKind::Array);
    let known = known.map(|known| known.children()).unwrap_or_default();
    let all = known.iter().map(|(_, one)| one).chain(added);
    let all: Vec<String> = all.map(JsonTree::to_line).collect();
    (!added.is_empty()).then(|| set(&["content", list], parsed(&format!("[{}]", all.join(",")))))
}

/// Replaces the text of a message; data derived from the old text is removed, and its tokens are counted again.
fn with_text(message: &JsonTree, words: &str) -> Vec<Delta> {
    let mut edits = with_words(message, words);
    if message.value_at(&["metadata", "tokens"]).is_some_and(|tokens| !tokens.is_null()) {
        let tokens = Vocabulary::default().count(words);
        edits.push(set(&["metadata", "tokens"], parsed(&tokens.to_string())));
    }
    edits
}

fn with_words(message: &JsonTree, words: &str) -> Vec<Delta> {
    let is_object =
        message.value_at(&["content"]).is_some_and(|content| content.kind() == ValueKind::Object);
    if !is_object {
        return vec![set(&["content"], object(&[("text", text(words))]))];
    }
    let mut edits = vec![set(&["content", "text"], text(words))];
    if message.value_at(&["content", "formatted_text"]).is_some() {
        edits.push(Delta::delete(DeltaPath::array(["content", "formatted_text"])));
    }
    edits
}

fn past(message: &JsonTree, now: &str, tools: Option<JsonTree>) -> JsonTree {
    let content = message.value_at(&["content"]).unwrap_or_else(JsonTree::null);
    let mut members = vec![("timestamp", text(now)), ("content", content)];
    members.extend(tools.map(|tools| ("tool_states", tools)));
    object(&members)
}

/// The edits that change the content of a message and keep the old one.
pub(crate) fn edit(
    message: &JsonTree,
    new: &ContentEdit,
    now: &str,
) -> Result<Vec<Delta>, ChatError> {
    let mut edits = vec![
        append_history(message, "edit_history", past(message, now, None))?,
        set(&["metadata", "is_edited"], parsed("true")),
    ];
    let added = !new.attachments.is_empty() || !new.actions.is_empty();
    let words = new.text.clone().or_else(|| {
        // A content that is a plain text becomes an object, which can have more.
        let is_plain = message.string_at(&["content"]).is_some();
        (added && is_plain).then(|| text_of(message))
    });
    edits.extend(words.iter().flat_map(|words| with_text(message, words)));
    edits.extend(add_to_content(message, "attachments", &new.attachments));
    edits.extend(add_to_content(message, "actions", &new.actions));
    let mut changed = message.clone();
    for edit in &edits {
        edit.apply(&mut changed).map_err(|error| ChatError::input(error.to_string()))?;
    }
    let known = find_type_errors(message, MESSAGE);
    let wrong = find_type_errors(&changed, MESSAGE).into_iter().find(|what| !known.contains(what));
    match wrong {
        Some(what) => Err(ChatError::input(format!("invalid message: {what}"))),
        None => Ok(edits),
    }
}

/// The edits that regenerate a message. `tools` are the tool states that go with the former version.
pub(crate) fn regenerate(
    message: &JsonTree,
    words: &str,
    tools: Option<JsonTree>,
    now: &str,
) -> Result<Vec<Delta>, ChatError> {
    let mut edits = vec![
        append_history(message, "regeneration_history", past(message, now, tools))?,
        set(&["metadata", "is_regenerated"], parsed("true")),
    ];
    edits.extend(with_text(message, words));
    Ok(edits)
}

/// An earlier version that was chosen.
pub(crate) struct VersionChoice {
    pub(crate) edits: Vec<Delta>,
    /// The tool states that go with it, if they were recorded.
    pub(crate) tools: Option<JsonTree>,
}

/// The edits that switch to an earlier version; the current one takes its place in the history.
pub(crate) fn choose_version(
    message: &JsonTree,
    which: u64,
    tools: Option<JsonTree>,
    now: &str,
) -> Result<VersionChoice, ChatError> {
    let history = message.value_at(&["metadata", "regeneration_history"]);
    let count = history.as_ref().and_then(|list| list.len_at::<&str>(&[])).unwrap_or(0) as u64;
    let missing = || {
        ChatError::input(match count {
            0 => "the message was never regenerated".to_owned(),
            1 => format!("there is no version {which}: the message has 1 earlier version"),
            count => {
                format!("there is no version {which}: the message has {count} earlier versions")
            }
        })
    };
    let at = which.checked_sub(1).filter(|at| *at < count).ok_or_else(missing)?.to_string();
    let chosen = history.and_then(|list| list.value_at(&[&at])).ok_or_else(missing)?;
    // A list may also hold plain texts, or contents without a time.
    let content = match chosen.kind() {
        ValueKind::String => object(&[("text", chosen.clone())]),
        _ => match chosen.value_at(&["content"]) {
            Some(content) if content.kind() == ValueKind::String => object(&[("text", content)]),
            Some(content) => content,
            None => chosen.clone(),
        },
    };
    let path = ["metadata", "regeneration_history", at.as_str()];
    let edits = vec![
        Delta::set(DeltaPath::array(path), past(message, now, tools)),
        set(&["content"], content),
        set(&["metadata", "is_regenerated"], parsed("true")),
    ];
    Ok(VersionChoice { edits, tools: chosen.value_at(&["tool_states"]) })
}
