//! Branches: forks a chat log at any message, and rewinds it to an earlier one.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::create::claim;
use super::edit::apply;
use super::error::ChatError;
use super::fold::{BATCH_BYTES, build, put_new};
use super::log::ChatLog;
use super::paths::{ChatPaths, document};
use super::rewrite::RewritePlan;
use super::writer::ChatWriter;
use everturn_json::names::{FilePath, SessionId};
use everturn_store::{Store, StoreError, Writer};
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::tree::{JsonTree, ValueKind};

/// A chat log forked from another.
#[derive(Debug, Clone)]
pub struct ChatFork {
    /// Its id.
    pub id: String,
    /// The path of its document.
    pub path: FilePath,
    /// The number of messages.
    pub messages: u64,
}

/// Plans the chat log as of a message, without the marks and references of later messages.
fn plan_truncation(log: &ChatLog, number: u64) -> Result<RewritePlan, ChatError> {
    let mut plan = RewritePlan::fold(log)?;
    plan.last = match number {
        number if number == log.len() => log.last_place(),
        0 => 0,
        number => log.place_of(number)?,
    };
    if number == log.len() {
        return Ok(plan);
    }
    let mut change = |edit: Delta| {
        apply(&mut plan.head, &edit).map_err(|error| ChatError::damaged(log.path(), error))
    };
    let head = log.head();
    let elements = |path: &[&str]| {
        let list = head.value_at(path).filter(|list| list.kind() == ValueKind::Array);
        list.map(|list| list.children()).unwrap_or_default()
    };
    // References to unknown messages stay: those messages were not removed here.
    let is_later = |id: Option<String>| -> Result<bool, ChatError> {
        let found = id.map(|id| log.find(&id)).transpose()?.flatten();
        Ok(found.is_some_and(|found| found > number))
    };
    for list in ["bookmarks", "narrative_markers"] {
        for (at, mark) in elements(&[list]).into_iter().rev() {
            if is_later(mark.string_at(&["message_id"]))? {
                change(Delta::delete(DeltaPath::array([list, at.as_str()])))?;
            }
        }
    }
    let included = ["context_window", "included_messages"];
    for (at, id) in elements(&included).into_iter().rev() {
        if is_later(id.string_at::<&str>(&[]))? {
            let [window, list] = included;
            change(Delta::delete(DeltaPath::array([window, list, at.as_str()])))?;
        }
    }
    Ok(plan)
}

/// Sets the id and the lineage of the new chat log.
fn set_identity(
    plan: &mut RewritePlan,
    log: &ChatLog,
    branch: (&str, &str, u64),
    now: &str,
) -> Result<(), ChatError> {
    let (id, kind, number) = branch;
    let lineage = json!({"parent": log.id(), "turn": number, "kind": kind});
    for (key, value) in [("id", json!(id)), ("lineage", lineage)] {
        let value = JsonTree::from_value(&value).unwrap_or_else(|_| JsonTree::null());
        let edit = Delta::set(DeltaPath::array(["metadata", key]), value);
        apply(&mut plan.head, &edit).map_err(|error| ChatError::damaged(log.path(), error))?;
    }
    plan.derive(log, Some(now))
}

fn write_branch(
    log: &ChatLog,
    (id, kind, number): (&str, &str, u64),
    files: &ChatPaths,
    writer: &dyn Writer,
    batch: u64,
    now: &str,
) -> Result<ChatFork, ChatError> {
    let mut plan = plan_truncation(log, number)?;
    set_identity(&mut plan, log, (id, kind, number), now)?;
    let built = build(log, &plan, files, writer, batch)?;
    put_new(&*log.store, built, files, writer)?;
    Ok(ChatFork { id: id.to_owned(), path: files.document.clone(), messages: number })
}

/// The first free id of the form `<id>-<word>-<n>`.
fn allocate_branch(
    store: &Arc<dyn Store>,
    first: &str,
) -> Result<(String, ChatPaths, Box<dyn Writer>), ChatError> {
    let mut number = 1_u64;
    loop {
        let id = if number == 1 { first.to_owned() } else { format!("{first}-{number}") };
        match claim(store, &id) {
            Ok((files, writer)) => return Ok((id, files, writer)),
            Err(ChatError::Taken { .. } | ChatError::Store(StoreError::Busy { .. })) => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Creates a chat log from the messages up to and including `number`, or from all of them. The source is unchanged.
pub fn fork(
    store: &Arc<dyn Store>,
    path: &FilePath,
    number: Option<u64>,
    id: Option<&str>,
    now: Timestamp,
) -> Result<ChatFork, ChatError> {
    // The source must not be written while it is copied.
    let source = ChatWriter::open(store, path)?;
    let log = source.log();
    let number = number.unwrap_or_else(|| log.len());
    if number > log.len() {
        return Err(ChatError::NoNumber { number, last: log.len() });
    }
    let (id, files, writer) = match id {
        Some(id) => {
            if document(&SessionId::parse(id)?)? == *log.path() {
                return Err(ChatError::Taken { id: id.to_owned(), path: log.path().clone() });
            }
            let (files, writer) = claim(store, id)?;
            (id.to_owned(), files, writer)
        }
        None => allocate_branch(store, &format!("{}-fork", log.id()))?,
    };
    let made =
        write_branch(log, (&id, "fork", number), &files, &*writer, BATCH_BYTES, &now.to_string())?;
    writer.release()?;
    source.release()?;
    Ok(made)
}

impl ChatWriter {
    /// Rewinds to a message, with the states of the tools. The chat log as it was first becomes a branch, which is
    /// returned; nothing is lost.
    pub fn rewind(&mut self, number: u64, now: Timestamp) -> Result<ChatFork, ChatError> {
        let (last, at) = (self.log.len(), now.to_string());
        if number > last {
            return Err(ChatError::NoNumber { number, last });
        }
        if number == last {
            return Err(ChatError::input(format!("message {number} is already the last message")));
        }
        // Removed messages must not be in a journal: if the journal reappeared, it would restore them.
        self.fold()?;
        let mut plan = plan_truncation(&self.log, number)?;
        plan.derive(&self.log, Some(&at))?;
        let (id, files, writer) =
            allocate_branch(&self.log.store, &format!("{}-branch-{last}", self.log.id()))?;
        let branch = (id.as_str(), "rewind", last);
        let made = write_branch(&self.log, branch, &files, &*writer, self.batch, &at)?;
        writer.release()?;
        self.rewrite(&plan, Vec::new())?;
        Ok(made)
    }
}
