//! A narrator that needs no model and no network: it understands plain words, and answers with tables and dice.
//!
//! Its answers depend only on its seed, the turn, the campaign and the last rows. Places get a character derived from
//! the seed, and keep it. An answer is tried on the state before it is returned, so that it never contradicts the
//! state.

mod dice;
mod intent;
mod memory;
mod place;
mod replies;
mod scene;
mod words;

use self::dice::Dice;
use self::intent::understand;
use self::place::{name_of, world};
use self::replies::{Reply, reply_to};
use self::scene::Scene;
use self::words::phrases::PLAIN;
use super::dialog::DialogType;
use super::document_view::CampaignView;
use super::narrator::{Narrator, NarratorError, NarratorOutput, NarratorRequest};
use super::turn::rehearse;
use everturn_value::tree::JsonTree;

/// The embedded narrator.
///
/// ```
/// use everturn_rpg::embedded::EmbeddedNarrator;
/// use everturn_rpg::turn::preview;
/// use everturn_value::tree::JsonTree;
///
/// let campaign = JsonTree::parse(r#"{"selected": {"active_actor_id": "pc_001"}}"#)?;
/// let mut narrator = EmbeddedNarrator::new(7);
/// let answer = preview(&campaign, "I look around.", 1, &[], &mut narrator)?;
/// assert!(answer.text.len() > 80);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EmbeddedNarrator {
    seed: u64,
}

impl EmbeddedNarrator {
    /// Creates a narrator whose choices are derived from a seed.
    #[must_use]
    pub fn new(seed: u64) -> EmbeddedNarrator {
        EmbeddedNarrator { seed }
    }

    /// Returns this narrator's name for an area of a campaign: the stored name, or one of its own if the stored name is
    /// generic, as in new campaigns.
    #[must_use]
    pub fn place_name(&self, campaign: &JsonTree, area: &str) -> String {
        let view = CampaignView::new(campaign);
        name_of(world(view, self.seed), area, &view.area_name(area).unwrap_or_default())
    }

    /// Returns the direction in which this narrator places one area from another, such as `north`.
    #[must_use]
    pub fn direction(&self, campaign: &JsonTree, from: &str, to: &str) -> &'static str {
        scene::Exit::new(CampaignView::new(campaign), self.seed, from, to).direction.as_str()
    }

    fn answer(&self, request: &NarratorRequest<'_>) -> NarratorOutput {
        let plain = || Reply::new(DialogType::ActionPrompt).line(self.plain(request)).output();
        if request.retry > 0 {
            return plain();
        }
        let scene = Scene::new(request, self.seed);
        let reply = reply_to(&scene, &understand(request.user_input)).output();
        match rehearse(request, &reply) {
            Some(rehearsal) if rehearsal.is_clean => reply,
            _ => plain(),
        }
    }

    /// Returns a text without claims.
    fn plain(&self, request: &NarratorRequest<'_>) -> &'static str {
        Dice::new(self.seed).of("plain").number(request.turn).pick(PLAIN)
    }
}

impl Narrator for EmbeddedNarrator {
    fn narrate(&mut self, request: &NarratorRequest<'_>) -> Result<NarratorOutput, NarratorError> {
        Ok(self.answer(request))
    }
}
