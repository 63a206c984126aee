//! New chat logs.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::check::declares_chat_log;
use super::content::DocumentBytes;
use super::error::ChatError;
use super::fold::{put_new, whole};
use super::paths::{ChatPaths, document};
use super::schema::{HEAD, find_type_errors};
use super::survey::survey;
use super::writer::ChatWriter;
use everturn_json::names::SessionId;
use everturn_store::{Store, Writer};
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::document::JsonStyle;
use everturn_value::tree::{JsonTree, ValueKind};

/// The number of bytes examined to recognise a content.
const PEEK: usize = 64 << 10;

/// The parameters of a new chat log.
#[derive(Debug, Clone)]
pub struct NewChat {
    /// Its id, which is the name of its file.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// The series it belongs to.
    pub series: Option<String>,
    /// The name of the protagonist.
    pub protagonist: Option<String>,
    /// The settings.
    pub settings: Option<JsonTree>,
    /// Any part of a chat log, in its own form; the fields above take precedence.
    pub fields: JsonTree,
}

impl NewChat {
    /// A chat log with an id only.
    #[must_use]
    pub fn new(id: &str) -> NewChat {
        let (title, series, protagonist, settings) = (None, None, None, None);
        NewChat {
            id: id.to_owned(),
            title,
            series,
            protagonist,
            settings,
            fields: JsonTree::object(),
        }
    }

    /// The document, with its fields in the documented order.
    fn document(&self, now: Timestamp) -> Result<JsonTree, ChatError> {
        let now = now.to_string();
        let title = self.title.clone().unwrap_or_else(|| self.id.clone());
        let base = json!({
            "version": "1.0",
            "type": "chat-log",
            "metadata": {
                "id": self.id, "created": now, "modified": now,
                "series": self.series.clone().unwrap_or_default(), "title": title,
            },
            "session": {
                "start_time": now, "end_time": now, "duration_seconds": 0, "message_count": 0,
                "protagonist": {"name": self.protagonist.clone().unwrap_or_default()},
                "support_tools": [],
                "settings": {},
            },
            "messages": [],
            "tool_snapshots": [],
            "bookmarks": [],
            "narrative_markers": [],
        });
        let mut tree =
            JsonTree::from_value(&base).map_err(|error| ChatError::input(error.to_string()))?;
        merge(&mut tree, &self.fields)?;
        let text = |value: &str| JsonTree::from_value(value).unwrap_or_else(|_| JsonTree::null());
        let mut said = vec![(vec!["metadata", "id"], text(&self.id))];
        said.extend(self.title.as_ref().map(|title| (vec!["metadata", "title"], text(title))));
        said.extend(self.series.as_ref().map(|series| (vec!["metadata", "series"], text(series))));
        said.extend(
            self.protagonist
                .as_ref()
                .map(|name| (vec!["session", "protagonist", "name"], text(name))),
        );
        said.extend(self.settings.clone().map(|tree| (vec!["session", "settings"], tree)));
        for (path, value) in said {
            put(&mut tree, &path, value)?;
        }
        Ok(tree)
    }
}

fn put(tree: &mut JsonTree, path: &[&str], value: JsonTree) -> Result<(), ChatError> {
    let set = Delta::set(DeltaPath::array(path.iter().copied()), value);
    set.apply(tree).map(drop).map_err(|error| ChatError::input(error.to_string()))
}

/// Merges the given values over the defaults, two levels deep.
fn merge(tree: &mut JsonTree, given: &JsonTree) -> Result<(), ChatError> {
    if given.kind() != ValueKind::Object {
        return Err(ChatError::input(format!(
            "a chat log must be an object, not {}",
            given.kind()
        )));
    }
    for (key, value) in given.children() {
        if value.kind() == ValueKind::Object
            && tree.value_at(&[&key]).is_some_and(|old| old.kind() == ValueKind::Object)
        {
            for (inner, value) in value.children() {
                put(tree, &[&key, &inner], value)?;
            }
        } else {
            put(tree, &[&key], value)?;
        }
    }
    Ok(())
}

/// Locks a chat log that is to be created; its id must be free.
pub(super) fn claim(
    store: &Arc<dyn Store>,
    id: &str,
) -> Result<(ChatPaths, Box<dyn Writer>), ChatError> {
    let path = document(&SessionId::parse_new(id)?)?;
    let files = ChatPaths::of(&path)?;
    let writer = store.lock(&files.scopes())?;
    check_free(store, id, &files)?;
    Ok((files, writer))
}

/// Adds a chat log that is to be created to the scopes of another one's writer; its id must be free.
pub(super) fn claim_branch(
    store: &Arc<dyn Store>,
    writer: &mut dyn Writer,
    id: &str,
) -> Result<ChatPaths, ChatError> {
    let files = ChatPaths::of(&document(&SessionId::parse(id)?)?)?;
    writer.add_scopes(&files.scopes())?;
    if let Err(error) = check_free(store, id, &files) {
        writer.release_added_scopes()?;
        return Err(error);
    }
    Ok(files)
}

/// Fails if there is a chat log at these paths.
fn check_free(store: &Arc<dyn Store>, id: &str, files: &ChatPaths) -> Result<(), ChatError> {
    for file in [&files.document, &files.folded, &files.journal] {
        if store.stat(file)?.is_some() {
            return Err(ChatError::Taken { id: id.to_owned(), path: file.clone() });
        }
    }
    Ok(())
}

impl ChatWriter {
    /// Creates a chat log, `chats/<id>.json`, and returns its writer.
    pub fn create(
        store: &Arc<dyn Store>,
        new: &NewChat,
        now: Timestamp,
    ) -> Result<ChatWriter, ChatError> {
        let tree = new.document(now)?;
        if let Some(what) = find_type_errors(&tree, HEAD).into_iter().next() {
            return Err(ChatError::input(format!("invalid chat log: {what}")));
        }
        let (files, writer) = claim(store, &new.id)?;
        let bytes = tree.to_text(&JsonStyle::PRETTY_RAW_LINE).into_bytes();
        put_new(&**store, whole(bytes, &files)?, &files, &*writer)?;
        ChatWriter::with(store, &files, writer)
    }
}

/// Whether the content of a file declares a chat log.
#[must_use]
pub fn is_chat_log(bytes: &[u8]) -> bool {
    declares_chat_log(bytes.get(..PEEK).unwrap_or(bytes))
}

/// Imports an existing chat log, byte for byte. It is stored as `chats/<id>.json`, under its own id unless another is
/// given.
pub fn import(
    store: &Arc<dyn Store>,
    bytes: &[u8],
    id: Option<&str>,
) -> Result<ImportOutcome, ChatError> {
    let held = DocumentBytes::held(&document(&SessionId::parse("import")?)?, bytes.to_vec());
    let reason = |error: ChatError| match error {
        ChatError::Damaged { reason, .. } => ChatError::input(format!("not a chat log: {reason}")),
        error => error,
    };
    let index = survey(&held).map_err(reason)?;
    let text = std::str::from_utf8(bytes).unwrap_or_default().trim_start_matches('\u{feff}');
    let tree = JsonTree::parse(text).map_err(|bad| ChatError::input(format!("not JSON: {bad}")))?;
    if tree.string_at(&["type"]).as_deref() != Some("chat-log") {
        return Err(ChatError::input("not a chat log: its type is not \"chat-log\""));
    }
    let own = tree.string_at(&["metadata", "id"]);
    let id = id.map(str::to_owned).or(own);
    let id = id.ok_or_else(|| ChatError::input("the chat log has no metadata.id; add one"))?;
    let messages = index.count(super::survey::ListKind::Messages);
    let path = document(&SessionId::parse(&id)?)?;
    if store.stat(&path)?.is_some() && store.read(&path, 0..u64::MAX)? == bytes {
        return Ok(ImportOutcome { id, path, messages, new: false });
    }
    let (files, writer) = claim(store, &id)?;
    put_new(&**store, whole(bytes.to_vec(), &files)?, &files, &*writer)?;
    writer.release()?;
    Ok(ImportOutcome { id, path: files.document, messages, new: true })
}

/// An imported chat log.
#[derive(Debug, Clone)]
pub struct ImportOutcome {
    /// Its id.
    pub id: String,
    /// The path of its document.
    pub path: everturn_json::names::FilePath,
    /// The number of messages.
    pub messages: u64,
    /// Whether it did not exist before.
    pub new: bool,
}
