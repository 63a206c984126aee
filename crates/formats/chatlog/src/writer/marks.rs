//! Bookmarks and narrative markers.

use jiff::Timestamp;
use serde_json::json;

use super::{ChangeOutcome, ChatWriter};
use crate::error::ChatError;
use crate::journal::JournalOp;
use crate::log::ChatLog;
use crate::schema::{HEAD, MARKERS, find_type_errors, time};
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::tree::{JsonTree, ValueKind};

/// The key of bookmarks.
const BOOKMARKS: &str = "bookmarks";

/// The key of narrative markers.
const NARRATIVE: &str = "narrative_markers";

/// A mark in a chat log.
#[derive(Debug, Clone)]
pub struct ChatMark {
    /// Its id.
    pub id: String,
    /// `bookmark`, or the type of a narrative marker.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// The number of the message, if that exists.
    pub number: Option<u64>,
    /// The id of the message, as stored in the mark.
    pub message_id: Option<String>,
    /// The creation time.
    pub time: Option<Timestamp>,
    /// The mark as it is stored.
    pub tree: JsonTree,
    /// Its list, and its position there.
    list: &'static str,
    at: usize,
}

/// A mark to be created.
#[derive(Debug, Clone, Copy)]
pub struct NewChatMark<'m> {
    /// `bookmark`, `chapter`, `scene`, `event` or `decision`.
    pub kind: &'m str,
    /// Its name.
    pub name: &'m str,
    /// Its description.
    pub description: Option<&'m str>,
    /// The number of the message.
    pub number: u64,
}

/// All marks of a chat log, in the order of their messages; marks of missing messages come last.
pub(crate) fn all_marks(log: &ChatLog) -> Result<Vec<ChatMark>, ChatError> {
    let head = log.head();
    let mut marks = Vec::new();
    for list in [BOOKMARKS, NARRATIVE] {
        let entries = head.value_at(&[list]).filter(|entries| entries.kind() == ValueKind::Array);
        let entries = entries.map(|entries| entries.children()).unwrap_or_default();
        for (at, (_, tree)) in entries.into_iter().enumerate() {
            if tree.kind() == ValueKind::Object {
                marks.push(read_mark(log, list, at, tree)?);
            }
        }
    }
    marks.sort_by_key(|mark| (mark.number.is_none(), mark.number, mark.list == BOOKMARKS));
    Ok(marks)
}

fn read_mark(
    log: &ChatLog,
    list: &'static str,
    at: usize,
    tree: JsonTree,
) -> Result<ChatMark, ChatError> {
    let text = |key: &str| tree.string_at(&[key]);
    let message_id = text("message_id");
    let number = match &message_id {
        Some(id) => log.find(id)?,
        None => None,
    };
    let kind = match list {
        BOOKMARKS => "bookmark".to_owned(),
        _ => text("type").unwrap_or_default(),
    };
    Ok(ChatMark {
        id: text("id").unwrap_or_default(),
        kind,
        name: text("name").unwrap_or_default(),
        description: text("description").filter(|words| !words.is_empty()),
        number,
        message_id,
        time: text("timestamp").and_then(|text| time(&text)),
        list,
        at,
        tree,
    })
}

/// The delta that appends to a list of the head, which is created if necessary.
fn add(log: &ChatLog, list: &str, value: JsonTree) -> Result<Delta, ChatError> {
    match log.head().value_at(&[list]).map(|list| list.kind()) {
        Some(ValueKind::Array) => Ok(Delta::push(DeltaPath::array([list]), value)),
        None | Some(ValueKind::Null) => {
            let value = JsonTree::parse(format!("[{}]", value.to_line()));
            let value = value.map_err(|bad| ChatError::input(bad.to_string()))?;
            Ok(Delta::set(DeltaPath::array([list]), value))
        }
        Some(kind) => {
            Err(ChatError::damaged(log.path(), format!("{list} is {kind}, not an array")))
        }
    }
}

impl ChatWriter {
    /// Marks a message. A bookmark records the snapshots with the states of the tools there.
    pub fn add_mark(
        &mut self,
        new: &NewChatMark<'_>,
        now: Timestamp,
    ) -> Result<ChangeOutcome, ChatError> {
        let NewChatMark { kind, name, description, number } = *new;
        let message = self.log.message(number)?;
        let Some(message_id) = message.id() else {
            return Err(ChatError::input(format!(
                "message {number} has no id, and cannot be marked"
            )));
        };
        let marks = all_marks(&self.log)?;
        let free = |prefix: &str| {
            let id = |count: usize| format!("{prefix}-{count:03}");
            let taken = |id: &String| marks.iter().any(|mark| mark.id == *id);
            (marks.len() + 1..).map(id).find(|id| !taken(id)).unwrap_or_default()
        };
        let (time, description) = (now.to_string(), description.unwrap_or_default());
        let (id, list, value) = if kind == "bookmark" {
            let mut snapshots = Vec::new();
            for tool in self.log.tools()?.0 {
                let noted = self.log.noted(&tool.id, message.place)?;
                snapshots.extend(noted.and_then(|noted| noted.string_at(&["id"])));
            }
            let id = free("bm");
            let value = json!({
                "id": id, "name": name, "description": description, "message_id": message_id,
                "timestamp": time, "tool_snapshot_ids": snapshots,
            });
            (id, BOOKMARKS, value)
        } else if MARKERS.contains(&kind) {
            let id = free("nm");
            let value = json!({
                "id": id, "type": kind, "name": name, "description": description,
                "message_id": message_id, "timestamp": time,
            });
            (id, NARRATIVE, value)
        } else {
            let kinds = MARKERS.join(", ");
            return Err(ChatError::input(format!(
                "a mark in a chat log must be one of bookmark, {kinds}, not {kind:?}"
            )));
        };
        let value =
            JsonTree::from_value(&value).map_err(|error| ChatError::input(error.to_string()))?;
        let edits = vec![add(&self.log, list, value)?];
        self.write(vec![JournalOp::Head { edits }], Vec::new(), &time)?;
        Ok(ChangeOutcome { number, id, ..ChangeOutcome::default() })
    }

    /// Removes a mark; returns it.
    pub fn remove_mark(&mut self, id: &str, now: Timestamp) -> Result<ChatMark, ChatError> {
        let marks = all_marks(&self.log)?;
        let mark = marks.into_iter().find(|mark| mark.id == id);
        let mark = mark.ok_or_else(|| ChatError::input(format!("there is no mark {id:?}")))?;
        let edits = vec![remove(&mark)];
        self.write(vec![JournalOp::Head { edits }], Vec::new(), &now.to_string())?;
        Ok(mark)
    }

    /// Sets a value outside of messages and snapshots, such as `["session", "settings", "model"]`.
    pub fn set(&mut self, path: &[&str], value: JsonTree, now: Timestamp) -> Result<(), ChatError> {
        self.set_all(&[(path.to_vec(), value)], now)
    }

    /// Sets several values at once, or none. Objects on a path are created if necessary, and a value of a wrong type is
    /// refused.
    pub fn set_all(
        &mut self,
        values: &[(Vec<&str>, JsonTree)],
        now: Timestamp,
    ) -> Result<(), ChatError> {
        let head = self.log.head();
        let (mut changed, mut edits) = (head.clone(), Vec::new());
        for (path, value) in values {
            let edit = set_value(&changed, path, value.clone())?;
            edit.apply(&mut changed).map_err(|error| ChatError::input(error.to_string()))?;
            edits.push(edit);
        }
        let known = find_type_errors(&head, HEAD);
        let new = find_type_errors(&changed, HEAD).into_iter().find(|what| !known.contains(what));
        if let Some(what) = new {
            return Err(ChatError::input(what));
        }
        self.write(vec![JournalOp::Head { edits }], Vec::new(), &now.to_string())
    }
}

/// The delta that sets a value, with the objects that are missing on its path.
fn set_value(head: &JsonTree, path: &[&str], value: JsonTree) -> Result<Delta, ChatError> {
    let owned = ["messages", "tool_snapshots"];
    if path.first().is_none_or(|key| owned.contains(key)) {
        return Err(ChatError::input("messages and tool snapshots cannot be set this way"));
    }
    let is_object =
        |path: &[&str]| head.value_at(path).is_some_and(|above| above.kind() == ValueKind::Object);
    let (mut path, mut value) = (path.to_vec(), value);
    while let Some((last, above)) = path.split_last()
        && !above.is_empty()
        && !is_object(above)
    {
        value = JsonTree::from_members([((*last).to_owned(), value)]);
        path = above.to_vec();
    }
    Ok(Delta::set(DeltaPath::array(path), value))
}

/// The delta that removes a mark.
pub(super) fn remove(mark: &ChatMark) -> Delta {
    let delta = Delta::delete(DeltaPath::array([mark.list.to_owned(), mark.at.to_string()]));
    // If another program changes the list in the meantime, the mark is identified by its value.
    Delta { previous: Some(mark.tree.clone()), ..delta }
}

/// The marks of a message, and the deltas that remove them, last ones first.
pub(super) fn marks_of(
    log: &ChatLog,
    number: u64,
) -> Result<(Vec<ChatMark>, Vec<Delta>), ChatError> {
    let mut marks = all_marks(log)?;
    marks.retain(|mark| mark.number == Some(number));
    marks.sort_by_key(|mark| (mark.list, std::cmp::Reverse(mark.at)));
    let edits = marks.iter().map(remove).collect();
    Ok((marks, edits))
}

/// The delta that restores a mark.
pub(super) fn put_back(log: &ChatLog, kind: &str, tree: JsonTree) -> Result<Delta, ChatError> {
    let list = if kind == "bookmark" { BOOKMARKS } else { NARRATIVE };
    add(log, list, tree)
}
