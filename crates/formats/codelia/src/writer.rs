//! The only writer of a session: appends messages to its log, and updates the index.
//!
//! Invariant: the log is committed before the index is updated, so the index never contains a message that a crash
//! could remove. Missing index data is added when the session is next opened for writing.

use std::sync::Arc;

use jiff::Timestamp;

use super::error::{CodeliaError, IndexError};
use super::history::SessionHistory;
use super::home::CodeliaHome;
use super::index::{IndexRow, SessionIndex};
use super::legacy::{LegacySession, last_user_message, workspace};
use super::log::{MessageCount, MessageReader};
use super::message::problem;
use super::paths::{UNKNOWN_TIME, stamp};
use everturn_json::finding::Finding;
use everturn_json::jsonl::{JsonlScan, ScanItem};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::format::error_chain;
use everturn_store::{
    AppendAt, CommitReceipt, Durability, FileMode, Fingerprint, Precondition, Step, StoreError,
    Writer,
};
use everturn_value::tree::{JsonTree, ValueKind};

/// The result of a write.
#[derive(Debug, Clone)]
pub struct SaveOutcome {
    /// The number of messages of the session now.
    pub messages: u64,
    /// Whether the whole log was rewritten.
    pub rewritten: bool,
    /// The findings of the write.
    pub findings: Vec<Finding>,
    /// Why the index could not be updated. The messages are safe, and the index is updated at the next open.
    pub deferred_error: Option<String>,
}

/// The only writer of a session.
pub struct CodeliaWriter {
    home: CodeliaHome,
    id: SessionId,
    log: FilePath,
    writer: Box<dyn Writer>,
    index: Option<Arc<dyn SessionIndex>>,
    tally: MessageCount,
    findings: Vec<Finding>,
}

/// A message as a line of a log.
fn line(message: &JsonTree) -> Vec<u8> {
    let mut line = message.to_line().into_bytes();
    line.push(b'\n');
    line
}

impl CodeliaWriter {
    /// Creates a session, with metadata in the program's form, and returns its writer.
    pub fn create(
        home: &CodeliaHome,
        id: &SessionId,
        meta: Option<&JsonTree>,
        now: Timestamp,
    ) -> Result<CodeliaWriter, CodeliaError> {
        let meta = match meta {
            Some(meta) if meta.kind() != ValueKind::Object => {
                let what = format!("the metadata is {}, not an object", meta.kind());
                return Err(CodeliaError::input(what));
            }
            other => other,
        };
        let log = home.files.log(id)?;
        let writer = home.store.lock(&[log.clone(), home.files.lineage(id)?])?;
        let mut findings = Vec::new();
        match home.find(id, &mut findings) {
            Err(CodeliaError::NoSession { .. }) => {}
            Ok(_) => return Err(CodeliaError::Taken { id: id.clone(), path: log }),
            Err(error) => return Err(error),
        }
        let step = replace(&log, Precondition::Absent, Vec::new());
        let receipt = writer.commit(vec![step], Durability::Synced)?;
        findings.extend(receipt.findings);
        let tally = MessageCount::count(&home.store, &log, None)?;
        let (home, id) = (home.clone(), id.clone());
        let mut session = CodeliaWriter { home, id, log, writer, index: None, tally, findings };
        let mut row = IndexRow::new(session.id.as_str(), stamp(now));
        row.message_count = Some(0);
        row.workspace_root = workspace(meta);
        row.meta_json = meta.map(JsonTree::to_line);
        row.set_own("created", stamp(now).into());
        row.set_own("log", session.tally.mark.to_value());
        if let Err(error) = session.update_row(&mut |_| Some(row.clone())) {
            session.findings.push(session.home.unusable(&error));
        }
        Ok(session)
    }

    /// Opens a session for writing. An old session gets its log, and the index is brought up to date.
    pub fn open(home: &CodeliaHome, id: &SessionId) -> Result<CodeliaWriter, CodeliaError> {
        let log = home.files.log(id)?;
        let writer = home.store.lock(&[log.clone(), home.files.lineage(id)?])?;
        let mut findings = Vec::new();
        let session = home.find(id, &mut findings)?;
        let mut from_legacy = None;
        if !session.has_log && session.has_legacy {
            let legacy = LegacySession::read(home, id)?;
            let lines = legacy.messages.iter().flat_map(line).collect();
            let step = replace(&log, Precondition::Absent, lines);
            writer.commit(vec![step], Durability::Synced)?;
            findings.extend(legacy.findings);
            from_legacy = Some(legacy.row);
        }
        if session.is_unsaved {
            let history = SessionHistory::read_runs(home, id)?;
            let lines = history.messages.iter().flat_map(|one| line(&one.message)).collect();
            let step = replace(&log, Precondition::Absent, lines);
            writer.commit(vec![step], Durability::Synced)?;
            from_legacy = Some(history.to_row(id));
        }
        let tally = MessageCount::count(&home.store, &log, session.mark())?;
        findings.extend(tally.findings.iter().cloned());
        let mut opened = CodeliaWriter {
            home: home.clone(),
            id: id.clone(),
            log,
            writer,
            index: None,
            tally,
            findings,
        };
        // If the log is missing, only the row is left, and it is kept.
        let can_replace_row = session.has_log || session.row.is_none();
        if from_legacy.is_some() || (can_replace_row && !opened.matches_index(session.row.as_ref()))
        {
            opened.bring_up_to_date(from_legacy.as_ref())?;
        }
        Ok(opened)
    }

    /// Whether the index row agrees with the log.
    fn matches_index(&self, row: Option<&IndexRow>) -> bool {
        row.is_some_and(|row| {
            row.message_count.and_then(|count| u64::try_from(count).ok())
                == Some(self.tally.messages)
        })
    }

    /// Updates the index row from the log and from the old form of the session.
    fn bring_up_to_date(&mut self, legacy: Option<&IndexRow>) -> Result<(), CodeliaError> {
        let last = last_user_message_in(&self.home, &self.log)?;
        let parent = self.home.parent(&self.id)?;
        let (count, mark) = (i64::try_from(self.tally.messages).ok(), self.tally.mark.to_value());
        let id = self.id.clone();
        let told = self.update_row(&mut |before| {
            let mut row = match (before, legacy) {
                (Some(before), Some(legacy)) => merge_rows(before, legacy),
                (Some(before), None) => before,
                (None, Some(legacy)) => legacy.clone(),
                (None, None) => IndexRow::new(id.as_str(), UNKNOWN_TIME.to_owned()),
            };
            row.message_count = count;
            row.last_user_message.clone_from(&last);
            row.set_own("log", mark.clone());
            if let Some(parent) = &parent {
                row.set_own("parent", parent.as_str().into());
            }
            Some(row)
        });
        if let Err(error) = told {
            self.findings.push(self.home.unusable(&error));
        }
        Ok(())
    }

    /// Changes the row of the session. An unusable index is tried again the next time.
    fn update_row(&mut self, change: super::index::RowChange<'_>) -> Result<(), IndexError> {
        let index = match &self.index {
            Some(index) => Arc::clone(index),
            None => self.home.index_to_write()?,
        };
        let told = index.change(self.id.as_str(), change);
        self.index = told.is_ok().then_some(index);
        told
    }

    /// The id of the session.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Its log.
    #[must_use]
    pub fn log(&self) -> &FilePath {
        &self.log
    }

    /// The number of messages.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.tally.messages
    }

    /// The findings of the open.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Appends messages to the log: all of them or none.
    pub fn append(
        &mut self,
        messages: &[JsonTree],
        now: Timestamp,
    ) -> Result<SaveOutcome, CodeliaError> {
        for (at, message) in messages.iter().enumerate() {
            if let Some(what) = problem(message) {
                return Err(CodeliaError::input(match messages.len() {
                    1 => what,
                    _ => format!("message {}: {what}", at + 1),
                }));
            }
        }
        if messages.is_empty() {
            return Err(CodeliaError::input("there are no messages"));
        }
        let lines: Vec<u8> = messages.iter().flat_map(line).collect();
        // At the current end of the log: another program may have appended, and that is counted below.
        let step = Step::Append { file: self.log.clone(), at: AppendAt::End, lines };
        let receipt = self.writer.commit(vec![step], Durability::Synced)?;
        self.count_again()?;
        Ok(self.finish_save(receipt, messages, false, now))
    }

    /// Saves the whole history. If it continues the log, only the rest is appended; if not, because the history was
    /// shortened or changed, the log is rewritten in one commit.
    pub fn save(
        &mut self,
        messages: &[JsonTree],
        now: Timestamp,
    ) -> Result<SaveOutcome, CodeliaError> {
        if let Some((at, what)) =
            messages.iter().enumerate().find_map(|(at, message)| Some((at, problem(message)?)))
        {
            return Err(CodeliaError::input(format!("message {}: {what}", at + 1)));
        }
        match self.new_messages(messages)? {
            Some([]) => Ok(SaveOutcome {
                messages: self.tally.messages,
                rewritten: false,
                findings: Vec::new(),
                deferred_error: None,
            }),
            Some(rest) => self.append(rest, now),
            None => {
                let before = everturn_store::read_optional(&self.home.store, &self.log)?;
                let expect = before.as_deref().map_or(Precondition::Absent, |bytes| {
                    Precondition::Content(Fingerprint::of(bytes))
                });
                let bytes = messages.iter().flat_map(line).collect();
                let step = replace(&self.log, expect, bytes);
                let receipt = self.writer.commit(vec![step], Durability::Synced)?;
                self.count_again()?;
                Ok(self.finish_save(receipt, messages, true, now))
            }
        }
    }

    /// The part of `messages` that follows the log; `None` if they do not start like the log.
    fn new_messages<'m>(
        &self,
        messages: &'m [JsonTree],
    ) -> Result<Option<&'m [JsonTree]>, CodeliaError> {
        let mut stored = MessageReader::open(&self.home.store, &self.log, 0, 0)?;
        let mut same = 0;
        for message in &mut stored {
            match messages.get(same) {
                Some(given) if given.is_same(&message?.message) => same += 1,
                _ => return Ok(None),
            }
        }
        // A message that is too long to be read cannot be compared.
        let all = stored.read_so_far() == same as u64;
        Ok(all.then(|| messages.get(same..)).flatten())
    }

    fn count_again(&mut self) -> Result<(), CodeliaError> {
        let mark = self.tally.len.map(|_| self.tally.mark);
        self.tally = MessageCount::count(&self.home.store, &self.log, mark)?;
        Ok(())
    }

    fn finish_save(
        &mut self,
        receipt: CommitReceipt,
        new: &[JsonTree],
        rewritten: bool,
        now: Timestamp,
    ) -> SaveOutcome {
        let (count, mark) = (i64::try_from(self.tally.messages).ok(), self.tally.mark.to_value());
        let said = last_user_message(new);
        let id = self.id.clone();
        let told = self.update_row(&mut |before| {
            let mut row =
                before.unwrap_or_else(|| IndexRow::new(id.as_str(), UNKNOWN_TIME.to_owned()));
            row.updated_at = stamp(now);
            row.message_count = count;
            if rewritten || said.is_some() {
                row.last_user_message.clone_from(&said);
            }
            row.set_own("log", mark.clone());
            Some(row)
        });
        let deferred_error = told.err().map(|error| error_chain(&error));
        let messages = self.tally.messages;
        SaveOutcome { messages, rewritten, findings: receipt.findings, deferred_error }
    }

    /// Releases the lock on the session.
    pub fn release(self) -> Result<(), CodeliaError> {
        // Closing the index may lock it, so it is closed before the next writer gets the session.
        drop(self.index);
        Ok(self.writer.release()?)
    }
}

pub(super) fn replace(file: &FilePath, expect: Precondition, bytes: Vec<u8>) -> Step {
    Step::Replace { file: file.clone(), expect, bytes, mode: FileMode::Default }
}

/// A row, with missing values taken from another.
fn merge_rows(row: IndexRow, other: &IndexRow) -> IndexRow {
    IndexRow {
        run_id: row.run_id.or_else(|| other.run_id.clone()),
        invoke_seq: row.invoke_seq.or(other.invoke_seq),
        meta_json: row.meta_json.or_else(|| other.meta_json.clone()),
        message_count: other.message_count,
        last_user_message: row.last_user_message.or_else(|| other.last_user_message.clone()),
        workspace_root: row.workspace_root.or_else(|| other.workspace_root.clone()),
        ..row
    }
}

/// The last message of the user, searched from the end of the log.
pub(super) fn last_user_message_in(
    home: &CodeliaHome,
    log: &FilePath,
) -> Result<Option<String>, CodeliaError> {
    let source = match everturn_store::StoreSource::open(&home.store, log) {
        Err(StoreError::Missing { .. }) => return Ok(None),
        other => other?,
    };
    let scan =
        JsonlScan::new(source, log.clone()).reverse().map_err(StoreError::io("read", log))?;
    for item in scan {
        let item = item.map_err(StoreError::io("read", log))?;
        if let ScanItem::Record(record) = item
            && let Some(text) = record.text()
            && let Ok(message) = JsonTree::parse(text)
            && let Some(said) = last_user_message(std::slice::from_ref(&message))
        {
            return Ok(Some(said));
        }
    }
    Ok(None)
}
