//! Deletes messages to the trash, and restores them.
//!
//! A message goes to `.everturn/trash/messages/<document>/<stamp>-<number>.json`, with its marks and the ids of the
//! snapshots that it had caused. These stay in the chat log and belong to the message before it, so that the states of
//! the tools after every other message do not change.

use jiff::Timestamp;

use super::marks::{marks_of, put_back};
use super::{ChangeOutcome, ChatWriter};
use crate::edit::apply;
use crate::error::ChatError;
use crate::fold::replace;
use crate::journal::JournalOp;
use crate::log::ChatLog;
use crate::paths::below;
use crate::rewrite::RewritePlan;
use crate::survey::ListKind;
use everturn_json::names::FilePath;
use everturn_store::{Precondition, Step, StoreError};
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::document::JsonStyle;
use everturn_value::tree::{JsonTree, ValueKind};

/// A deleted message.
#[derive(Debug, Clone)]
pub struct DiscardedMessage {
    /// Its name, with which it can be restored.
    pub name: String,
    /// Its former number.
    pub number: u64,
    /// The message.
    pub message: JsonTree,
    file: FilePath,
    tree: JsonTree,
}

/// The deleted messages of a chat log, oldest first.
pub(crate) fn discarded_messages(log: &ChatLog) -> Result<Vec<DiscardedMessage>, ChatError> {
    let listing = match log.store.list(&log.files.trash) {
        Ok(listing) => listing,
        Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    for entry in listing.entries {
        let Some(name) = entry.name.as_str().strip_suffix(".json") else { continue };
        let file = log.files.trash.join(&entry.name);
        let bytes = log.store.read(&file, 0..u64::MAX)?;
        let text = String::from_utf8(bytes).map_err(|error| ChatError::damaged(&file, error))?;
        let tree = JsonTree::parse(text).map_err(|bad| ChatError::damaged(&file, bad))?;
        let number = tree.text_at(&["number"]).and_then(|text| text.parse().ok());
        let message = tree.value_at(&["message"]);
        let Some((number, message)) = number.zip(message) else {
            return Err(ChatError::damaged(&file, "it contains no message"));
        };
        found.push(DiscardedMessage { name: name.to_owned(), number, message, file, tree });
    }
    Ok(found)
}

fn free_file(log: &ChatLog, number: u64, now: Timestamp) -> Result<(String, FilePath), ChatError> {
    let stamp = now.strftime("%Y%m%dT%H%M%SZ");
    let mut count = 1_u64;
    loop {
        let name = match count {
            1 => format!("{stamp}-{number}"),
            _ => format!("{stamp}-{number}-{count}"),
        };
        let file = below(&log.files.trash, &format!("{name}.json"));
        if log.store.stat(&file)?.is_none() {
            return Ok((name, file));
        }
        count += 1;
    }
}

/// The deltas that take a message out of the context window, last ones first.
fn forget_message(log: &ChatLog, id: Option<&str>) -> Vec<Delta> {
    let (window, member) = ("context_window", "included_messages");
    let list =
        log.head().value_at(&[window, member]).filter(|list| list.kind() == ValueKind::Array);
    let list = list.map(|list| list.children()).unwrap_or_default();
    let is_gone = |tree: &JsonTree| id.is_some() && tree.string_at::<&str>(&[]).as_deref() == id;
    let gone = list.into_iter().rev().filter(|(_, tree)| is_gone(tree));
    gone.map(|(at, tree)| {
        let delta = Delta::delete(DeltaPath::array([window, member, at.as_str()]));
        Delta { previous: Some(tree), ..delta }
    })
    .collect()
}

impl ChatWriter {
    /// The snapshots that belong to the message at a place: their places, and their ids.
    fn snapshots_of(&self, place: u64) -> Result<Vec<(u64, Option<String>)>, ChatError> {
        let (log, overlay) = (&self.log, &self.log.overlay);
        let mut found = Vec::new();
        let stored = log.by_index(|index| index.snapshots_between(0..=u64::MAX))?;
        for known in stored {
            let message = overlay.moved.get(&known.place).copied().unwrap_or(known.message);
            if message == place {
                found.push((known.place, log.snapshot_at(&known)?.string_at(&["id"])));
            }
        }
        for (at, added) in &overlay.snapshots {
            if overlay.moved.get(at).copied().unwrap_or(added.message) == place {
                let value = log.journal_value(&added.line)?;
                found.push((*at, value.string_at(&["id"])));
            }
        }
        Ok(found)
    }

    /// The changes that move snapshots to another message.
    fn give_snapshots(
        &self,
        snapshots: &[(u64, Option<String>)],
        to: (u64, Option<&str>),
    ) -> Vec<JournalOp> {
        let owner =
            to.1.and_then(|id| JsonTree::from_value(id).ok()).unwrap_or_else(JsonTree::null);
        let edit = |(place, id): &(u64, Option<String>)| JournalOp::Edit {
            list: ListKind::Snapshots,
            place: *place,
            id: id.clone(),
            message: Some(to.0),
            edits: vec![Delta::set(DeltaPath::array(["message_id"]), owner.clone())],
        };
        snapshots.iter().map(edit).collect()
    }

    /// Moves a message to the trash, with its marks.
    pub fn delete(&mut self, number: u64, now: Timestamp) -> Result<DiscardedMessage, ChatError> {
        let message = self.log.message(number)?;
        let (marks, mut edits) = marks_of(&self.log, number)?;
        let snapshots = self.snapshots_of(message.place)?;
        let before = match number {
            1 => None,
            number => Some(self.log.message(number - 1)?),
        };
        let id = before.as_ref().and_then(|before| before.id());
        let to = (before.map_or(0, |before| before.place), id.as_deref());
        let mut ops = self.give_snapshots(&snapshots, to);
        edits.extend(forget_message(&self.log, message.id().as_deref()));
        if !edits.is_empty() {
            ops.push(JournalOp::Head { edits });
        }
        ops.push(JournalOp::Remove { place: message.place, id: message.id() });
        let (name, file) = free_file(&self.log, number, now)?;
        let list = |trees: Vec<String>| JsonTree::parse(format!("[{}]", trees.join(",")));
        let list = |trees| list(trees).unwrap_or_else(|_| JsonTree::null());
        let of_kind = |bookmark: bool| {
            let marks = marks.iter().rev().filter(|mark| (mark.kind == "bookmark") == bookmark);
            list(marks.map(|mark| mark.tree.to_line()).collect())
        };
        let ids = snapshots.iter().filter_map(|(_, id)| id.as_deref());
        let ids =
            JsonTree::from_value(&ids.collect::<Vec<_>>()).unwrap_or_else(|_| JsonTree::null());
        let tree = JsonTree::from_members([
            (
                "number".to_owned(),
                JsonTree::from_value(&number).unwrap_or_else(|_| JsonTree::null()),
            ),
            ("message".to_owned(), message.tree.clone()),
            ("bookmarks".to_owned(), of_kind(true)),
            ("narrative_markers".to_owned(), of_kind(false)),
            ("tool_snapshots".to_owned(), ids),
        ]);
        let bytes = tree.to_text(&JsonStyle::PRETTY_RAW_LINE).into_bytes();
        let keep = replace(&file, Precondition::Absent, bytes);
        self.write(ops, vec![keep], &now.to_string())?;
        Ok(DiscardedMessage { name, number, message: message.tree, file, tree })
    }

    /// Restores a deleted message, at its former number or at the end, with its marks.
    pub fn restore(&mut self, name: &str, now: Timestamp) -> Result<ChangeOutcome, ChatError> {
        self.fold()?;
        let kept = discarded_messages(&self.log)?.into_iter().find(|kept| kept.name == name);
        let missing = || ChatError::input(format!("there is no message {name:?} in the trash"));
        let kept = kept.ok_or_else(missing)?;
        let id = kept.message.string_at(&["id"]).unwrap_or_default();
        if !id.is_empty() && self.log.find(&id)?.is_some() {
            return Err(ChatError::input(format!("message {id:?} already exists")));
        }
        let number = kept.number.min(self.log.len() + 1).max(1);
        let snapshots = kept.tree.value_at(&["tool_snapshots"]);
        let snapshots = snapshots.map(|list| list.children()).unwrap_or_default();
        let mut places = Vec::new();
        for (_, snapshot) in snapshots {
            let snapshot = snapshot.string_at::<&str>(&[]).unwrap_or_default();
            let place = self.log.places_of(ListKind::Snapshots, &snapshot)?.first().copied();
            places.extend(place.map(|place| (place, Some(snapshot))));
        }
        // The places are those of the current document; nothing is written before everything is planned.
        for op in self.give_snapshots(&places, (number, Some(&id))) {
            self.log.overlay.note(op, 0..0, None);
        }
        let mut plan = RewritePlan::fold(&self.log)?;
        for kind in ["bookmarks", "narrative_markers"] {
            let marks = kept.tree.value_at(&[kind]).map(|list| list.children()).unwrap_or_default();
            for (_, mark) in marks {
                let kind = if kind == "bookmarks" { "bookmark" } else { "chapter" };
                let edit = put_back(&self.log, kind, mark)?;
                apply(&mut plan.head, &edit)
                    .map_err(|error| ChatError::input(error.to_string()))?;
            }
        }
        plan.inserts.insert(number, kept.message);
        plan.derive(&self.log, Some(&now.to_string()))?;
        let gone = Step::Remove { path: kept.file };
        let done = self.rewrite(&plan, vec![gone]);
        if done.is_err() {
            self.reopen()?;
        }
        done?;
        Ok(ChangeOutcome { number, id, ..ChangeOutcome::default() })
    }
}
