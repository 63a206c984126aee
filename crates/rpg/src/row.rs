//! The row of a turn in the log: [`RowFields`] are its contents, [`turn_id`] is its ID.

use serde_json::{Value, json};

use super::conflict::ConflictReport;
use super::dialog::{DialogSource, DialogType};
use super::document_view::CampaignView;
use super::summary::summary;
use super::tools::{AppliedCall, FailedCall, ToolCall};

/// Returns the ID of turn number `turn`.
#[must_use]
pub fn turn_id(turn: u64) -> String {
    format!("turn_{turn:04}")
}

/// Returns the number in the ID of a turn.
#[must_use]
pub fn turn_number(id: &str) -> Option<u64> {
    let number = id.strip_prefix("turn_")?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?
}

/// The contents of a row.
pub struct RowFields<'a> {
    /// The number of the turn.
    pub turn: u64,
    /// The time in the form of the files.
    pub time: &'a str,
    /// The player's input.
    pub user_input: &'a str,
    /// The dialog type, and where it comes from.
    pub kind: (DialogType, DialogSource),
    /// The narrator's text.
    pub text: &'a str,
    /// The calls of the narrator.
    pub calls: &'a [ToolCall],
    /// The calls that succeeded.
    pub applied: &'a [AppliedCall],
    /// The calls that failed.
    pub failed: &'a [FailedCall],
    /// The conflicts of rejected answers, if there were any.
    pub report: Option<&'a ConflictReport>,
    /// The actor.
    pub actor: &'a str,
}

impl RowFields<'_> {
    /// Returns the row, with its fields in order, and the summary of the state after the turn.
    pub fn to_value(&self, after: CampaignView<'_>) -> Value {
        let (dialog_type, source) = self.kind;
        let calls: Vec<Value> = self.calls.iter().map(ToolCall::to_value).collect();
        let applied: Vec<Value> =
            self.applied.iter().map(|action| action.to_value(self.time)).collect();
        let failed: Vec<Value> = self.failed.iter().map(FailedCall::to_value).collect();
        let feedback =
            if failed.is_empty() { Value::Null } else { json!({"failed_calls": failed}) };
        json!({
            "turn_id": turn_id(self.turn),
            "timestamp": self.time,
            "user_input": self.user_input,
            "dialog_type": dialog_type.as_str(),
            "dialog_type_source": source.as_str(),
            "settings_revision": after.settings_revision(),
            "assistant_text": self.text,
            "assistant_structured": {"tool_calls": calls},
            "applied_actions": applied,
            "tool_feedback": feedback,
            "conflict_report": self.report.map(ConflictReport::to_value),
            "state_summary": summary(after, self.actor),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_turns_are_read_as_they_are_written() {
        for (turn, id) in [(1, "turn_0001"), (9999, "turn_9999"), (10000, "turn_10000")] {
            assert_eq!(turn_id(turn), id);
            assert_eq!(turn_number(id), Some(turn));
        }
        for wrong in
            ["turn_", "turn_+1", "turn_1a", "Turn_1", "camp_1", "turn_99999999999999999999"]
        {
            assert_eq!(turn_number(wrong), None, "{wrong}");
        }
    }
}
