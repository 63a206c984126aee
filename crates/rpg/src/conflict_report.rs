//! Contradictions between a narrator's answer and the state: a [`ConflictReport`] lists each [`Conflict`].

use serde_json::{Value, json};

/// How an answer contradicts the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConflictKind {
    /// The text changes rules or world, which only tools may do.
    ForbiddenChange,
    /// The text claims a change that did not happen, or the state changed without an action.
    StateMismatch,
    /// The text claims the effect of a failed tool, or a result disagrees with the state.
    ToolResultMismatch,
}

impl ConflictKind {
    /// Returns the name used in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ConflictKind::ForbiddenChange => "forbidden_change",
            ConflictKind::StateMismatch => "state_mismatch",
            ConflictKind::ToolResultMismatch => "tool_result_mismatch",
        }
    }
}

/// A contradiction.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflict {
    /// The kind of contradiction.
    pub kind: ConflictKind,
    /// The subject of the contradiction.
    pub field: String,
    /// The value in the state.
    pub expected: Value,
    /// The claim in the answer.
    pub found_in_text: String,
}

impl Conflict {
    pub(crate) fn new(kind: ConflictKind, field: &str, expected: &str, found: String) -> Conflict {
        let (field, expected) = (field.to_owned(), Value::from(expected));
        Conflict { kind, field, expected, found_in_text: found }
    }

    /// Returns the conflict in the form of the log.
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({
            "type": self.kind.as_str(),
            "field": self.field,
            "expected": self.expected,
            "found_in_text": self.found_in_text,
        })
    }
}

/// The number of retries of a narrator, and the reason for the last one.
#[derive(Debug, Clone, PartialEq)]
pub struct ConflictReport {
    /// The number of retries.
    pub retries: usize,
    /// The conflicts of the last rejected answer.
    pub conflicts: Vec<Conflict>,
}

impl ConflictReport {
    /// Returns what the last answer claimed, for an error message.
    #[must_use]
    pub fn last_words(&self) -> String {
        match self.conflicts.first() {
            Some(conflict) => {
                format!(
                    ", the last time with {:?} ({})",
                    conflict.found_in_text,
                    conflict.kind.as_str()
                )
            }
            None => String::new(),
        }
    }

    /// Returns the report in the form of the log.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let conflicts: Vec<Value> = self.conflicts.iter().map(Conflict::to_value).collect();
        json!({"retries": self.retries, "conflicts": conflicts})
    }
}
