//! The editor of a campaign in the common model, and [`ScriptedTurn`].

use jiff::Timestamp;

use super::NAME;
use crate::error::CampaignError;
use crate::log::KEY;
use crate::writer::{CampaignWriter, PlayOutcome, Submission};
use everturn_json::finding::Finding;
use everturn_rpg::narrator::{NarratorOutput, RecordedNarrator};
use everturn_session::format::{
    MarkEditor, RevisionEditor, SceneEditor, SessionEditor, SessionError, SnapshotEditor,
    UndoEditor,
};
use everturn_session::model::{AppendOutcome, Mark, NewMark, SessionRef};
use everturn_value::tree::{JsonTree, ValueKind};

/// A turn with the answers of its narrator, parsed from JSON.
#[derive(Debug, Clone)]
pub struct ScriptedTurn {
    /// The player's input.
    pub user_input: String,
    /// The actor, if it is not the active one.
    pub actor: Option<String>,
    /// The narrator's answers; each request uses the next one.
    pub outputs: Vec<NarratorOutput>,
    /// The idempotency key, which is stored with the row.
    pub key: Option<String>,
}

impl ScriptedTurn {
    /// Parses `{"user_input", "outputs": […], "actor_id"?, "idempotency_key"?}`. Without `outputs`, the object itself has the fields of one
    /// answer.
    ///
    /// ```
    /// use everturn_campaign::ScriptedTurn;
    ///
    /// let turn = ScriptedTurn::parse(r#"{"user_input": "rest", "assistant_text": "You rest."}"#)?;
    /// assert_eq!(turn.outputs[0].text, "You rest.");
    /// # Ok::<(), everturn_campaign::CampaignError>(())
    /// ```
    pub fn parse(text: &str) -> Result<ScriptedTurn, CampaignError> {
        let tree = JsonTree::parse(text)
            .map_err(|bad| CampaignError::input(format!("the turn is not JSON: {bad}")))?;
        if tree.kind() != ValueKind::Object {
            return Err(CampaignError::input(format!(
                "a turn must be an object, not {}",
                tree.kind()
            )));
        }
        let user_input = tree.string_at(&["user_input"]);
        let user_input = user_input.ok_or_else(|| {
            CampaignError::input("a turn needs a user_input, which must be a string")
        })?;
        let optional_text = |name: &str| {
            let wrong = || CampaignError::input(format!("{name} is not a string"));
            let value = tree.value_at(&[name]).filter(|value| !value.is_null());
            value.map(|value| value.string_at::<&str>(&[]).ok_or_else(wrong)).transpose()
        };
        let (actor, key) = (optional_text("actor_id")?, optional_text(KEY)?);
        let outputs = match tree.value_at(&["outputs"]) {
            Some(outputs) if outputs.kind() == ValueKind::Array => {
                let outputs = outputs.children();
                let outputs = outputs.iter().map(|(_, output)| NarratorOutput::from_tree(output));
                outputs.collect::<Result<Vec<NarratorOutput>, _>>()?
            }
            Some(_) => return Err(CampaignError::input("outputs is not an array")),
            None => vec![NarratorOutput::from_tree(&tree)?],
        };
        Ok(ScriptedTurn { user_input, actor, outputs, key })
    }

    /// Plays the turn.
    pub fn play(
        &self,
        campaign: &mut CampaignWriter,
        seed: u64,
        now: Timestamp,
    ) -> Result<PlayOutcome, CampaignError> {
        let submission =
            Submission { user_input: &self.user_input, actor: self.actor.as_deref(), seed };
        let mut narrator = RecordedNarrator::new(self.outputs.clone());
        campaign.submit_with_key(&submission, self.key.as_deref(), &mut narrator, now)
    }
}

pub(super) struct CampaignEditor {
    pub(super) writer: CampaignWriter,
}

fn written(played: PlayOutcome) -> AppendOutcome {
    let events = played.row.string_at(&["turn_id"]).into_iter().collect();
    AppendOutcome {
        turn: played.turn,
        events,
        findings: played.findings,
        ..AppendOutcome::default()
    }
}

impl SessionEditor for CampaignEditor {
    fn format_name(&self) -> &'static str {
        NAME
    }

    fn session_ref(&self) -> SessionRef {
        super::place(self.writer.campaign().id())
    }

    fn last_turn(&self) -> u64 {
        self.writer.turn()
    }

    fn findings(&self) -> Vec<Finding> {
        self.writer.campaign().findings().to_vec()
    }

    fn append(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let seed = u64::try_from(now.as_nanosecond()).unwrap_or_default();
        Ok(written(ScriptedTurn::parse(text)?.play(&mut self.writer, seed, now)?))
    }

    fn as_undo(&mut self) -> Option<&mut dyn UndoEditor> {
        Some(self)
    }

    fn as_snapshots(&mut self) -> Option<&mut dyn SnapshotEditor> {
        None
    }

    fn as_scenes(&mut self) -> Option<&mut dyn SceneEditor> {
        None
    }

    fn as_revisions(&mut self) -> Option<&mut dyn RevisionEditor> {
        None
    }

    fn as_marks(&mut self) -> Option<&mut dyn MarkEditor> {
        Some(self)
    }

    fn release(self: Box<Self>) -> Result<(), SessionError> {
        Ok(self.writer.release()?)
    }

    fn close(self: Box<Self>, _now: Timestamp) -> Result<(), SessionError> {
        Ok(self.writer.release()?)
    }
}

impl UndoEditor for CampaignEditor {
    fn undo(&mut self, turns: u64, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        Ok(written(self.writer.undo(turns, now)?))
    }
}

impl MarkEditor for CampaignEditor {
    fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, SessionError> {
        self.writer.add_mark(new, now)
    }

    fn remove_mark(&mut self, id: &str, now: Timestamp) -> Result<Mark, SessionError> {
        self.writer.remove_mark(id, now)
    }
}
