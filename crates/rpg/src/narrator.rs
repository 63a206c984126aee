//! Narrators: a [`Narrator`] answers a [`NarratorRequest`] with a [`NarratorOutput`]: a text and tool calls.

use std::collections::VecDeque;

use serde_json::Value;
use thiserror::Error;

use super::conflict_report::Conflict;
use super::generation::Generation;
use everturn_value::tree::{JsonTree, ValueKind};

/// A request to a narrator.
#[derive(Debug)]
#[non_exhaustive]
pub struct NarratorRequest<'a> {
    /// The player's input.
    pub user_input: &'a str,
    /// The actor.
    pub actor: &'a str,
    /// The campaign's document, which is authoritative.
    pub campaign: &'a JsonTree,
    /// The generation of the document.
    pub generation: Generation,
    /// The turn that is being played.
    pub turn: u64,
    /// The last rows of the log, oldest first.
    pub recent: &'a [JsonTree],
    /// Texts of earlier turns that may matter for the input, if the caller has searched for them.
    pub recalled: &'a [String],
    /// The number of previous attempts for this input.
    pub retry: usize,
    /// The conflicts of the previous answer. The state is as before it.
    pub conflicts: &'a [Conflict],
}

/// A request that owns its data, so that another thread can answer it.
#[derive(Debug, Clone)]
pub struct OwnedRequest {
    user_input: String,
    actor: String,
    campaign: JsonTree,
    generation: Generation,
    turn: u64,
    recent: Vec<JsonTree>,
    recalled: Vec<String>,
    retry: usize,
    conflicts: Vec<Conflict>,
}

impl NarratorRequest<'_> {
    /// Returns an owned copy of the request.
    #[must_use]
    pub fn to_owned_request(&self) -> OwnedRequest {
        OwnedRequest {
            user_input: self.user_input.to_owned(),
            actor: self.actor.to_owned(),
            campaign: self.campaign.clone(),
            generation: self.generation,
            turn: self.turn,
            recent: self.recent.to_vec(),
            recalled: self.recalled.to_vec(),
            retry: self.retry,
            conflicts: self.conflicts.to_vec(),
        }
    }
}

impl OwnedRequest {
    /// Adds texts of earlier turns.
    #[must_use]
    pub fn with_recalled(self, recalled: Vec<String>) -> OwnedRequest {
        OwnedRequest { recalled, ..self }
    }

    /// Borrows it as a request.
    #[must_use]
    pub fn as_request(&self) -> NarratorRequest<'_> {
        NarratorRequest {
            user_input: &self.user_input,
            actor: &self.actor,
            campaign: &self.campaign,
            generation: self.generation,
            turn: self.turn,
            recent: &self.recent,
            recalled: &self.recalled,
            retry: self.retry,
            conflicts: &self.conflicts,
        }
    }
}

/// The answer of a narrator.
#[derive(Debug, Clone, Default)]
pub struct NarratorOutput {
    /// The text for the player.
    pub text: String,
    /// The dialog type that it claims.
    pub dialog_type: Option<String>,
    /// The tool calls as received; invalid ones are ignored.
    pub tool_calls: Vec<JsonTree>,
    /// What the narrator stores in the document with the turn.
    pub changes: Vec<DocumentChange>,
}

/// A value that a narrator stores in the document, in the same commit as its turn.
///
/// A narrator may only store its world (`everturn.world`), its memory (`everturn.memory`), the names and descriptions of areas, the text and status of
/// the goal, and the inventories of actors. Everything else is changed by tools.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentChange {
    /// The path of the value.
    pub path: Vec<String>,
    /// The value.
    pub value: Value,
}

impl DocumentChange {
    /// Returns whether a narrator may store a value at this path.
    pub(crate) fn is_allowed(&self) -> bool {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        match path.as_slice() {
            ["everturn", "world" | "memory", ..] => true,
            ["goal", field] => matches!(*field, "text" | "status"),
            ["map", "areas", _, field] => matches!(*field, "name" | "description"),
            ["actors", _, "inventory"] => true,
            _ => false,
        }
    }
}

impl NarratorOutput {
    /// Creates an answer that is only a text.
    #[must_use]
    pub fn text(text: &str) -> NarratorOutput {
        NarratorOutput { text: text.to_owned(), ..NarratorOutput::default() }
    }

    /// Reads an answer from JSON: an object with `assistant_text`, `dialog_type` and `tool_calls`, all of them
    /// optional, or a string, which is only the text. Calls may also be in `assistant_structured.tool_calls`, as in the
    /// log.
    ///
    /// ```
    /// use everturn_rpg::narrator::NarratorOutput;
    /// use everturn_value::tree::JsonTree;
    ///
    /// let answer = r#"{"assistant_text": "You rest.", "dialog_type": "scene_description"}"#;
    /// let output = NarratorOutput::from_tree(&JsonTree::parse(answer)?).unwrap();
    /// assert_eq!(output.text, "You rest.");
    /// assert!(output.tool_calls.is_empty());
    /// # Ok::<(), everturn_json::json::JsonError>(())
    /// ```
    pub fn from_tree(tree: &JsonTree) -> Result<NarratorOutput, NarratorError> {
        match tree.kind() {
            ValueKind::String => {
                Ok(NarratorOutput::text(&tree.string_at::<&str>(&[]).unwrap_or_default()))
            }
            ValueKind::Object => {
                let calls = tree.value_at(&["tool_calls"]);
                let calls =
                    calls.or_else(|| tree.value_at(&["assistant_structured", "tool_calls"]));
                let calls = calls.filter(|calls| calls.kind() == ValueKind::Array);
                let calls = calls.map(|calls| calls.children()).unwrap_or_default();
                Ok(NarratorOutput {
                    text: tree.string_at(&["assistant_text"]).unwrap_or_default(),
                    dialog_type: tree.string_at(&["dialog_type"]),
                    tool_calls: calls.into_iter().map(|(_, call)| call).collect(),
                    changes: Vec::new(),
                })
            }
            kind => Err(NarratorError::new(format!("the answer is {kind}, not an object"))),
        }
    }
}

/// Why a narrator did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct NarratorError {
    /// The reason.
    pub reason: String,
    /// Whether the same request may succeed later.
    pub passing: bool,
}

impl NarratorError {
    /// Creates a permanent failure.
    pub fn new(reason: impl Into<String>) -> NarratorError {
        NarratorError { reason: reason.into(), passing: false }
    }

    /// Creates a transient failure, such as a server that is down.
    pub fn passing(reason: impl Into<String>) -> NarratorError {
        NarratorError { reason: reason.into(), passing: true }
    }
}

/// A source of answers to the player's input.
pub trait Narrator {
    /// Answers a request. The answer is checked against the state; if it contradicts the state, the narrator is asked
    /// again, with the conflicts in the request.
    fn narrate(&mut self, request: &NarratorRequest<'_>) -> Result<NarratorOutput, NarratorError>;
}

/// A narrator that returns recorded answers in order.
#[derive(Debug, Clone, Default)]
pub struct RecordedNarrator {
    outputs: VecDeque<NarratorOutput>,
}

impl RecordedNarrator {
    /// Creates a narrator with these answers.
    pub fn new(outputs: impl IntoIterator<Item = NarratorOutput>) -> RecordedNarrator {
        RecordedNarrator { outputs: outputs.into_iter().collect() }
    }

    /// Returns the number of remaining answers.
    #[must_use]
    pub fn left(&self) -> usize {
        self.outputs.len()
    }
}

impl Narrator for RecordedNarrator {
    fn narrate(&mut self, _request: &NarratorRequest<'_>) -> Result<NarratorOutput, NarratorError> {
        self.outputs
            .pop_front()
            .ok_or_else(|| NarratorError::new("there is no recorded answer left"))
    }
}
