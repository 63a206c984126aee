//! The whole history of a session, from the logs of its runs.
//!
//! The message log of a session holds what the program sends to a model next. The logs of its runs also hold what
//! compaction has taken out of it, when each message was written, what each answer cost, and the messages of a run that
//! was killed before it was saved.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::error::CodeliaError;
use super::home::CodeliaHome;
use super::index::IndexRow;
use super::log::StoredMessage;
use super::message::{MessageRole, role};
use super::paths::{UNKNOWN_TIME, stamp};
use super::runs::RunLogs;
use everturn_json::finding::Finding;
use everturn_json::names::{FilePath, SessionId};
use everturn_session::model::SessionUsage;
use everturn_session::model::TokenUsage;
use everturn_value::tree::{JsonTree, ValueKind};

/// A message, and when it was written.
#[derive(Debug, Clone)]
pub(super) struct HistoryMessage {
    pub(super) message: JsonTree,
    pub(super) time: Option<Timestamp>,
    /// Whether the message log has it.
    pub(super) is_current: bool,
}

/// What the runs of a session say.
#[derive(Debug, Default)]
pub(super) struct SessionHistory {
    /// All messages in order.
    pub(super) messages: Vec<HistoryMessage>,
    /// What the answers cost, if a run says so.
    pub(super) usage: Option<SessionUsage>,
    /// The logs of the runs, oldest first.
    pub(super) files: Vec<FilePath>,
    pub(super) workspace: Option<String>,
    pub(super) last_run: Option<String>,
    pub(super) invoke_seq: Option<i64>,
    /// The times of the first and the last record.
    pub(super) started: Option<Timestamp>,
    pub(super) updated: Option<Timestamp>,
    pub(super) findings: Vec<Finding>,
    /// What the model was sent or has answered last.
    context: Vec<String>,
    known: HashSet<String>,
}

/// What identifies a message: the program shortens old results of tools, so these are known by their calls.
fn identity(message: &JsonTree) -> String {
    match message.string_at(&["tool_call_id"]) {
        Some(call) if role(message) == MessageRole::Tool => format!("tool {call}"),
        _ => message.to_line(),
    }
}

fn time_of(record: &JsonTree, key: &str) -> Option<Timestamp> {
    record.string_at(&[key])?.parse().ok()
}

fn tree(value: &Value) -> JsonTree {
    JsonTree::from_value(value).unwrap_or_else(|_| JsonTree::null())
}

/// The messages in a record. The instructions of the program are not part of the conversation.
fn messages_in(record: &JsonTree, group: &str) -> Vec<JsonTree> {
    let Some(list) = record.value_at(&[group, "messages"]) else { return Vec::new() };
    let messages = list.children().into_iter().map(|(_, message)| message);
    messages
        .filter(|message| {
            message.kind() == ValueKind::Object && role(message) != MessageRole::System
        })
        .collect()
}

/// The message of the user that started a run.
fn input_of(record: &JsonTree) -> Option<JsonTree> {
    let content = match record.string_at(&["input", "text"]) {
        Some(text) => Value::from(text),
        None => record.value_at(&["input", "parts"])?.to_value().ok()?,
    };
    Some(tree(&json!({"role": "user", "content": content})))
}

/// The result of a tool as a message.
fn output_of(record: &JsonTree) -> JsonTree {
    let text = |key: &str| Value::from(record.string_at(&[key]).unwrap_or_default());
    let mut fields = Map::new();
    fields.insert("role".to_owned(), "tool".into());
    fields.insert("tool_call_id".to_owned(), text("tool_call_id"));
    fields.insert("tool_name".to_owned(), text("tool"));
    fields.insert("content".to_owned(), text("result_raw"));
    if record.text_at(&["is_error"]).as_deref() == Some("true") {
        fields.insert("is_error".to_owned(), true.into());
    }
    tree(&Value::Object(fields))
}

impl SessionHistory {
    /// Reads the runs of a session, then its message log: what both have is in the order of the runs.
    pub(super) fn read(home: &CodeliaHome, id: &SessionId) -> Result<SessionHistory, CodeliaError> {
        let mut history = SessionHistory::read_runs(home, id)?;
        let mut current = home.messages(id)?;
        let mut stored: Vec<StoredMessage> = Vec::new();
        for message in &mut current {
            stored.push(message?);
        }
        history.findings.append(&mut current.findings);
        history.merge(stored);
        Ok(history)
    }

    /// Reads the runs of a session.
    pub(super) fn read_runs(
        home: &CodeliaHome,
        id: &SessionId,
    ) -> Result<SessionHistory, CodeliaError> {
        let mut history = SessionHistory::default();
        let runs = RunLogs::new(home);
        for (run, file) in runs.of_session(id.as_str())? {
            history.add_run(&runs, &file)?;
            history.last_run = Some(run);
            history.files.push(file);
        }
        Ok(history)
    }

    fn add_run(&mut self, runs: &RunLogs<'_>, file: &FilePath) -> Result<(), CodeliaError> {
        // What no request has repeated yet, because the run was killed before the next one.
        let mut unsent: Vec<(JsonTree, Option<Timestamp>)> = Vec::new();
        let mut records = runs.records_of(file)?;
        for stored in &mut records {
            let record = stored?.message;
            let time = time_of(&record, "ts");
            self.started = self.started.or_else(|| time_of(&record, "started_at")).or(time);
            self.updated = time.or_else(|| time_of(&record, "started_at")).or(self.updated);
            match record.string_at(&["type"]).unwrap_or_default().as_str() {
                "header" => {
                    let cwd = record.string_at(&["runtime", "cwd"]);
                    let named = record.string_at(&["meta", "codelia_workspace_root"]);
                    self.workspace = named.or(cwd).or(self.workspace.take());
                }
                "run.start" => unsent.extend(input_of(&record).map(|input| (input, time))),
                "tool.output" => unsent.push((output_of(&record), time)),
                "llm.request" => {
                    unsent.clear();
                    self.note_seq(&record);
                    self.set_context(messages_in(&record, "input"), time);
                }
                "llm.response" => {
                    self.note_seq(&record);
                    self.note_usage(&record, time);
                    for message in messages_in(&record, "output") {
                        self.add(message, time);
                    }
                }
                _ => {}
            }
        }
        for (message, time) in unsent {
            if !self.known.contains(&identity(&message)) {
                self.add(message, time);
            }
        }
        self.findings.append(&mut records.findings);
        Ok(())
    }

    fn add(&mut self, message: JsonTree, time: Option<Timestamp>) {
        let identity = identity(&message);
        self.known.insert(identity.clone());
        self.context.push(identity);
        self.messages.push(HistoryMessage { message, time, is_current: false });
    }

    /// Adds what a request has beyond everything before it.
    fn set_context(&mut self, sent: Vec<JsonTree>, time: Option<Timestamp>) {
        let identities: Vec<String> = sent.iter().map(identity).collect();
        let same = self.context.iter().zip(&identities).take_while(|(a, b)| a == b).count();
        // After compaction it does not go on from there, and begins with a summary.
        let goes_on = same == self.context.len();
        for (at, message) in sent.into_iter().enumerate() {
            let is_new = match goes_on {
                true => at >= same,
                false => identities.get(at).is_some_and(|one| !self.known.contains(one)),
            };
            if is_new {
                self.add(message, time);
            }
        }
        self.context = identities;
    }

    fn note_seq(&mut self, record: &JsonTree) {
        let seq = record.text_at(&["seq"]).and_then(|text| text.parse::<i64>().ok());
        self.invoke_seq = self.invoke_seq.max(seq);
    }

    fn note_usage(&mut self, record: &JsonTree, time: Option<Timestamp>) {
        let Some(usage) = record.value_at(&["output", "usage"]) else { return };
        if usage.kind() != ValueKind::Object {
            return;
        }
        let count = |key: &str| {
            usage.text_at(&[key]).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default()
        };
        let (read, write) = (count("input_cached_tokens"), count("input_cache_creation_tokens"));
        let spent = TokenUsage {
            answers: 1,
            input: count("input_tokens").saturating_sub(read + write),
            output: count("output_tokens"),
            cache_read: read,
            cache_write: write,
            reasoning: 0,
            cost: None,
        };
        let model = usage.string_at(&["model"]).unwrap_or_else(|| "?".to_owned());
        self.usage.get_or_insert_default().add_usage(&model, &spent, time);
    }

    /// Marks the messages that the log has, and adds those that no run has.
    fn merge(&mut self, stored: Vec<StoredMessage>) {
        let mut rest = std::mem::take(&mut self.messages).into_iter().collect::<Vec<_>>();
        let mut merged = Vec::with_capacity(rest.len());
        for StoredMessage { message, .. } in stored {
            let wanted = identity(&message);
            let found = rest.iter().position(|one| identity(&one.message) == wanted);
            let time = found.and_then(|at| {
                merged.extend(rest.drain(..at));
                rest.first().and_then(|one| one.time)
            });
            if found.is_some() {
                rest.remove(0);
            }
            merged.push(HistoryMessage { message, time, is_current: true });
        }
        merged.extend(rest);
        self.messages = merged;
    }

    /// The index row, as far as the runs determine it.
    pub(super) fn to_row(&self, id: &SessionId) -> IndexRow {
        let updated = self.updated.map_or_else(|| UNKNOWN_TIME.to_owned(), stamp);
        let mut row = IndexRow::new(id.as_str(), updated);
        row.run_id.clone_from(&self.last_run);
        row.invoke_seq = self.invoke_seq;
        row.workspace_root.clone_from(&self.workspace);
        let meta = self.workspace.as_ref().map(|root| json!({"codelia_workspace_root": root}));
        row.meta_json = meta.map(|meta| meta.to_string());
        if let Some(started) = self.started {
            row.set_own("created", stamp(started).into());
        }
        row
    }

    /// Whether the runs have messages that the log lacks.
    pub(super) fn has_more(&self) -> bool {
        self.messages.iter().any(|one| !one.is_current)
    }
}
