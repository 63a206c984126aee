//! Sessions of the old form: one document with all messages, in `sessions/state/`.
//!
//! They are listed and read as they are. The first writer converts the messages to a log, in one commit; the document
//! stays where it is, and the log counts from then on.

use super::error::CodeliaError;
use super::home::CodeliaHome;
use super::index::IndexRow;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::SessionId;
use everturn_value::document::Document;
use everturn_value::tree::{JsonTree, ValueKind};

/// A session of the old form.
#[derive(Debug, Clone)]
pub(super) struct LegacySession {
    pub(super) messages: Vec<JsonTree>,
    /// The index row that it should have.
    pub(super) row: IndexRow,
    pub(super) findings: Vec<Finding>,
}

impl LegacySession {
    pub(super) fn read(home: &CodeliaHome, id: &SessionId) -> Result<LegacySession, CodeliaError> {
        let file = home.files.legacy(id)?;
        let bytes = home.store.read(&file, 0..u64::MAX)?;
        let damaged = |reason: String| CodeliaError::damaged(&file, reason);
        let document = Document::parse(&bytes).map_err(|error| damaged(error.to_string()))?;
        let text = document.get(&[]).unwrap_or_default().to_owned();
        let end = text.len();
        let tree = JsonTree::from_trusted(text.into(), 0..end);
        if tree.kind() != ValueKind::Object {
            return Err(damaged(format!("it is {}, not an object", tree.kind())));
        }
        let mut findings = document.findings(&file);
        let mut note = |code: FindingCode, message: String| {
            findings.push(Finding::new(&file, code, message));
        };
        let mut messages = Vec::new();
        match tree.value_at(&["messages"]) {
            Some(list) if list.kind() == ValueKind::Array => {
                for (at, message) in list.children() {
                    match message.kind() {
                        ValueKind::Object => messages.push(message),
                        kind => {
                            note(
                                FindingCode::BadRecord,
                                format!("messages[{at}] is {kind}, not a message"),
                            );
                        }
                    }
                }
            }
            Some(other) => {
                return Err(damaged(format!("messages is {}, not an array", other.kind())));
            }
            None => return Err(damaged("it has no messages".to_owned())),
        }
        let field = |key: &str| tree.string_at(&[key]);
        if let Some(inner) = field("session_id").filter(|inner| inner != id.as_str()) {
            note(
                FindingCode::WrongPlace,
                format!("its id is {inner:?}, but its file name is {id}"),
            );
        }
        let mut row = IndexRow::new(id.as_str(), field("updated_at").unwrap_or_default());
        row.run_id = field("run_id");
        row.invoke_seq = tree.text_at(&["invoke_seq"]).and_then(|text| text.parse().ok());
        let meta = tree.value_at(&["meta"]).filter(|meta| meta.kind() == ValueKind::Object);
        row.workspace_root = workspace(meta.as_ref());
        row.meta_json = meta.map(|meta| meta.to_line());
        row.message_count = i64::try_from(messages.len()).ok();
        row.last_user_message = last_user_message(&messages);
        Ok(LegacySession { messages, row, findings })
    }
}

/// The workspace in the metadata.
pub(super) fn workspace(meta: Option<&JsonTree>) -> Option<String> {
    let root = meta?.string_at(&["codelia_workspace_root"])?;
    Some(root.trim().to_owned()).filter(|root| !root.is_empty())
}

/// The last message of the user.
pub(super) fn last_user_message(messages: &[JsonTree]) -> Option<String> {
    use super::message::{MessageRole, role, text};
    messages.iter().rev().find(|message| role(message) == MessageRole::User).map(text)
}
