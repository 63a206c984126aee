//! Who tells the story: anything that answers a request with a text and calls of tools.

use std::collections::VecDeque;

use thiserror::Error;

use super::conflict::Conflict;
use super::generation::Generation;
use everturn_value::tree::{JsonTree, ValueKind};

/// What a narrator is asked.
#[derive(Debug)]
#[non_exhaustive]
pub struct NarratorRequest<'a> {
    /// What the player said.
    pub user_input: &'a str,
    /// Who acts.
    pub actor: &'a str,
    /// The campaign's document, which is the truth.
    pub campaign: &'a JsonTree,
    /// Its shape.
    pub generation: Generation,
    /// The turn that is being told.
    pub turn: u64,
    /// The last rows of the log, oldest first.
    pub recent: &'a [JsonTree],
    /// How often this input was asked before.
    pub retry: usize,
    /// How the last answer contradicted the state. The state is as before it.
    pub conflicts: &'a [Conflict],
}

/// A request that belongs to nobody, so that another thread can answer it.
#[derive(Debug, Clone)]
pub struct OwnedRequest {
    user_input: String,
    actor: String,
    campaign: JsonTree,
    generation: Generation,
    turn: u64,
    recent: Vec<JsonTree>,
    retry: usize,
    conflicts: Vec<Conflict>,
}

impl NarratorRequest<'_> {
    /// The same request, to keep.
    #[must_use]
    pub fn to_owned_request(&self) -> OwnedRequest {
        OwnedRequest {
            user_input: self.user_input.to_owned(),
            actor: self.actor.to_owned(),
            campaign: self.campaign.clone(),
            generation: self.generation,
            turn: self.turn,
            recent: self.recent.to_vec(),
            retry: self.retry,
            conflicts: self.conflicts.to_vec(),
        }
    }
}

impl OwnedRequest {
    /// The request that it was made of.
    #[must_use]
    pub fn as_request(&self) -> NarratorRequest<'_> {
        NarratorRequest {
            user_input: &self.user_input,
            actor: &self.actor,
            campaign: &self.campaign,
            generation: self.generation,
            turn: self.turn,
            recent: &self.recent,
            retry: self.retry,
            conflicts: &self.conflicts,
        }
    }
}

/// What a narrator answers.
#[derive(Debug, Clone, Default)]
pub struct NarratorOutput {
    /// The text for the player.
    pub text: String,
    /// What kind of text it says it is.
    pub dialog_type: Option<String>,
    /// The calls of tools, as they came: what is no call is passed over.
    pub tool_calls: Vec<JsonTree>,
}

impl NarratorOutput {
    /// A text alone.
    #[must_use]
    pub fn text(text: &str) -> NarratorOutput {
        NarratorOutput { text: text.to_owned(), ..NarratorOutput::default() }
    }

    /// An answer in JSON: an object with `assistant_text`, `dialog_type` and `tool_calls`, none of which
    /// need be there, or a string, which is the text alone. Calls may also stand in
    /// `assistant_structured.tool_calls`, as they do in the log.
    ///
    /// ```
    /// use everturn_campaign::NarratorOutput;
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
                })
            }
            kind => Err(NarratorError::new(format!("the answer is {kind}, not an object"))),
        }
    }
}

/// Why a narrator has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct NarratorError {
    /// The reason in words.
    pub reason: String,
    /// Whether the same request may succeed later.
    pub passing: bool,
}

impl NarratorError {
    /// A failure that asking again will not mend.
    pub fn new(reason: impl Into<String>) -> NarratorError {
        NarratorError { reason: reason.into(), passing: false }
    }

    /// A failure that may be gone the next time, such as a server that is down.
    pub fn passing(reason: impl Into<String>) -> NarratorError {
        NarratorError { reason: reason.into(), passing: true }
    }
}

/// Somebody who tells the story.
pub trait Narrator {
    /// Answers a request. What it claims is checked against the state; if it contradicts that, it is asked
    /// again, with the conflicts in the request.
    fn narrate(&mut self, request: &NarratorRequest<'_>) -> Result<NarratorOutput, NarratorError>;
}

/// Answers that were recorded, given in their order. One is used each time.
#[derive(Debug, Clone, Default)]
pub struct RecordedNarrator {
    outputs: VecDeque<NarratorOutput>,
}

impl RecordedNarrator {
    /// These answers.
    pub fn new(outputs: impl IntoIterator<Item = NarratorOutput>) -> RecordedNarrator {
        RecordedNarrator { outputs: outputs.into_iter().collect() }
    }

    /// How many are left.
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
