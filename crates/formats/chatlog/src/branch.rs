//! Branches: forks a chat log at any message, and rewinds it to an earlier one.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::create::claim_branch;
use super::edit::apply;
use super::error::ChatError;
use super::fold::{BATCH_BYTES, BuiltDocument, build, clear_staging, new_steps, put_new};
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

/// A chat log that is to be created from another.
struct NewBranch {
    id: String,
    files: ChatPaths,
    /// `fork` or `rewind`.
    kind: &'static str,
    /// The number of messages.
    messages: u64,
}

impl NewBranch {
    /// Builds the document, without any visible change.
    fn build(
        &self,
        log: &ChatLog,
        writer: &dyn Writer,
        batch: u64,
        now: &str,
    ) -> Result<BuiltDocument, ChatError> {
        let mut plan = plan_truncation(log, self.messages)?;
        set_identity(&mut plan, log, (&self.id, self.kind, self.messages), now)?;
        build(log, &plan, &self.files, writer, batch)
    }

    fn into_fork(self) -> ChatFork {
        ChatFork { id: self.id, path: self.files.document, messages: self.messages }
    }
}

/// Claims the first free id of the form `<id>-<word>-<n>` for the writer of the chat log.
fn allocate_branch(
    store: &Arc<dyn Store>,
    writer: &mut dyn Writer,
    first: &str,
) -> Result<(String, ChatPaths), ChatError> {
    let mut number = 1_u64;
    loop {
        let id = if number == 1 { first.to_owned() } else { format!("{first}-{number}") };
        match claim_branch(store, writer, &id) {
            Ok(files) => return Ok((id, files)),
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
    let ChatWriter { log, mut writer, .. } = ChatWriter::open(store, path)?;
    let messages = number.unwrap_or_else(|| log.len());
    if messages > log.len() {
        return Err(ChatError::NoNumber { number: messages, last: log.len() });
    }
    let (id, files) = match id {
        Some(id) => {
            if document(&SessionId::parse(id)?)? == *log.path() {
                return Err(ChatError::Taken { id: id.to_owned(), path: log.path().clone() });
            }
            (id.to_owned(), claim_branch(store, &mut *writer, id)?)
        }
        None => allocate_branch(store, &mut *writer, &format!("{}-fork", log.id()))?,
    };
    let branch = NewBranch { id, files, kind: "fork", messages };
    let built = branch.build(&log, &*writer, BATCH_BYTES, &now.to_string())?;
    put_new(&**store, built, &branch.files, &*writer)?;
    writer.release()?;
    Ok(branch.into_fork())
}

impl ChatWriter {
    /// Rewinds to a message, with the states of the tools. The chat log as it was becomes a branch in the same commit,
    /// so nothing is lost; the branch is returned.
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
        let first = format!("{}-branch-{last}", self.log.id());
        let (id, files) = allocate_branch(&self.log.store, &mut *self.writer, &first)?;
        let branch = NewBranch { id, files, kind: "rewind", messages: last };
        let rewound = self.rewrite_with_branch(&plan, &branch, &at);
        let cleared = clear_staging(&*self.log.store, &branch.files, &*self.writer);
        // The writer lives on, and the branch must be free for others.
        let released = self.writer.release_added_scopes();
        rewound?;
        cleared?;
        released?;
        Ok(branch.into_fork())
    }

    /// Rewrites the document, and puts a branch at its path in the same commit.
    fn rewrite_with_branch(
        &mut self,
        plan: &RewritePlan,
        branch: &NewBranch,
        at: &str,
    ) -> Result<(), ChatError> {
        let built = branch.build(&self.log, &*self.writer, self.batch, at)?;
        let steps = new_steps(&*self.log.store, built, &branch.files)?;
        self.rewrite(plan, steps)
    }
}
