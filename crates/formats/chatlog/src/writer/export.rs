//! The record of exports in a chat log.

use jiff::Timestamp;
use serde_json::json;

use super::ChatWriter;
use crate::error::ChatError;
use crate::journal::JournalOp;
use everturn_session::model::{ExportRecord, ExportSettings};
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::tree::{JsonTree, ValueKind};

/// The key of the record.
const EXPORT: &str = "export";

fn tree(value: &serde_json::Value) -> JsonTree {
    JsonTree::from_value(value).unwrap_or_else(|_| JsonTree::null())
}

/// The settings for exports in the head of a chat log.
pub(crate) fn export_settings(head: &JsonTree) -> ExportSettings {
    let flag = |key: &str| head.text_at(&[EXPORT, "export_settings", key])?.parse().ok();
    ExportSettings {
        style: head.string_at(&[EXPORT, "export_settings", "formatting_style"]),
        metadata: flag("include_metadata"),
        snapshots: flag("include_tool_snapshots"),
        ooc: flag("include_ooc_messages"),
    }
}

/// The formats of the exports that were made, with a new one.
fn formats(head: &JsonTree, new: &str) -> Vec<String> {
    let known = head.value_at(&[EXPORT, "formats"]).map(|list| list.children());
    let known = known.unwrap_or_default().into_iter();
    let mut formats: Vec<String> =
        known.filter_map(|(_, format)| format.string_at::<&str>(&[])).collect();
    if !formats.iter().any(|format| format == new) {
        formats.push(new.to_owned());
    }
    formats
}

impl ChatWriter {
    /// Records that the chat log was exported, and how. Other values in the record are kept.
    pub fn note_export(
        &mut self,
        exported: &ExportRecord,
        now: Timestamp,
    ) -> Result<(), ChatError> {
        let now = now.to_string();
        let settings = [
            ("include_metadata", json!(exported.metadata)),
            ("include_tool_snapshots", json!(exported.snapshots)),
            ("include_ooc_messages", json!(exported.ooc)),
            ("formatting_style", json!(exported.style)),
        ];
        let head = self.log.head();
        let kind = |path: &[&str]| head.value_at(path).map(|value| value.kind());
        let mut edits = Vec::new();
        if kind(&[EXPORT]) != Some(ValueKind::Object) {
            let value = json!({"formats": [exported.format], "last_exported": now,
                "export_settings": serde_json::Map::from_iter(
                    settings.map(|(key, value)| (key.to_owned(), value)))});
            edits.push(Delta::set(DeltaPath::array([EXPORT]), tree(&value)));
        } else {
            let mut set = |path: &[&str], value: serde_json::Value| {
                edits.push(Delta::set(DeltaPath::array(path.iter().copied()), tree(&value)));
            };
            set(&[EXPORT, "formats"], json!(formats(&head, &exported.format)));
            set(&[EXPORT, "last_exported"], json!(now));
            if kind(&[EXPORT, "export_settings"]) == Some(ValueKind::Object) {
                for (key, value) in settings {
                    set(&[EXPORT, "export_settings", key], value);
                }
            } else {
                let settings = settings.map(|(key, value)| (key.to_owned(), value));
                set(
                    &[EXPORT, "export_settings"],
                    serde_json::Value::Object(serde_json::Map::from_iter(settings)),
                );
            }
        }
        // An export does not change the time of the last change, by which sessions are sorted.
        let said = || head.string_at(&["metadata", "modified"]);
        let modified = self.log.overlay.time.clone().or_else(said).unwrap_or(now);
        self.write(vec![JournalOp::Head { edits }], Vec::new(), &modified)
    }
}
