//! A campaign in the hands of its one writer, in the common view.

use jiff::Timestamp;

use super::NAME;
use crate::error::CampaignError;
use crate::narrator::{Output, Recorded};
use crate::writer::{CampaignWriter, Played, Submission};
use everturn_json::finding::Finding;
use everturn_session::layout::{Editor, LayoutError};
use everturn_session::view::{Mark, NewMark, Place, Written};
use everturn_value::tree::{Kind, Tree};

/// A turn with the answers that its narrator gave, as it is given in JSON.
#[derive(Debug, Clone)]
pub struct Turn {
    /// What the player said.
    pub user_input: String,
    /// Who acts, if it is not the active actor.
    pub actor: Option<String>,
    /// The narrator's answers; one is used each time it is asked.
    pub outputs: Vec<Output>,
}

impl Turn {
    /// Reads `{"user_input", "outputs": […], "actor_id"?}`. Without `outputs`, the fields of one answer stand in
    /// the object itself.
    ///
    /// ```
    /// use everturn_campaign::Turn;
    ///
    /// let turn = Turn::parse(r#"{"user_input": "rest", "assistant_text": "You rest."}"#)?;
    /// assert_eq!(turn.outputs[0].text, "You rest.");
    /// # Ok::<(), everturn_campaign::CampaignError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Turn, CampaignError> {
        let tree = Tree::parse(text)
            .map_err(|bad| CampaignError::input(format!("the turn is not JSON: {bad}")))?;
        if tree.kind() != Kind::Object {
            return Err(CampaignError::input(format!("a turn is an object, not {}", tree.kind())));
        }
        let user_input = tree.string_at(&["user_input"]);
        let user_input = user_input
            .ok_or_else(|| CampaignError::input("a turn needs a user_input, which is a text"))?;
        let actor = match tree.at(&["actor_id"]).filter(|actor| !actor.is_null()) {
            Some(actor) => {
                let wrong = || CampaignError::input("actor_id is not a text");
                Some(actor.string_at::<&str>(&[]).ok_or_else(wrong)?)
            }
            None => None,
        };
        let outputs = match tree.at(&["outputs"]) {
            Some(outputs) if outputs.kind() == Kind::Array => {
                let outputs = outputs.children();
                let outputs = outputs.iter().map(|(_, output)| Output::from_tree(output));
                outputs.collect::<Result<Vec<Output>, _>>()?
            }
            Some(_) => return Err(CampaignError::input("outputs is not an array")),
            None => vec![Output::from_tree(&tree)?],
        };
        Ok(Turn { user_input, actor, outputs })
    }

    /// Plays it.
    pub fn play(
        &self,
        campaign: &mut CampaignWriter,
        seed: u64,
        now: Timestamp,
    ) -> Result<Played, CampaignError> {
        let submission =
            Submission { user_input: &self.user_input, actor: self.actor.as_deref(), seed };
        campaign.submit(&submission, &mut Recorded::new(self.outputs.clone()), now)
    }
}

pub(super) struct CampaignEditor {
    pub(super) writer: CampaignWriter,
}

fn written(played: Played) -> Written {
    Written { turn: played.turn, id: None, findings: played.findings, overdue: None }
}

impl Editor for CampaignEditor {
    fn layout(&self) -> &'static str {
        NAME
    }

    fn place(&self) -> Place {
        super::place(self.writer.campaign().id())
    }

    fn turn(&self) -> u64 {
        self.writer.turn()
    }

    fn findings(&self) -> Vec<Finding> {
        self.writer.campaign().findings().to_vec()
    }

    fn append(&mut self, text: &str, now: Timestamp) -> Result<Written, LayoutError> {
        let seed = u64::try_from(now.as_nanosecond()).unwrap_or_default();
        Ok(written(Turn::parse(text)?.play(&mut self.writer, seed, now)?))
    }

    fn undo(&mut self, turns: u64, now: Timestamp) -> Result<Written, LayoutError> {
        Ok(written(self.writer.undo(turns, now)?))
    }

    fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, LayoutError> {
        self.writer.add_mark(new, now)
    }

    fn remove_mark(&mut self, id: &str, _now: Timestamp) -> Result<Mark, LayoutError> {
        self.writer.remove_mark(id)
    }

    fn release(self: Box<Self>) -> Result<(), LayoutError> {
        Ok(self.writer.release()?)
    }

    fn close(self: Box<Self>, _now: Timestamp) -> Result<(), LayoutError> {
        Ok(self.writer.release()?)
    }
}
