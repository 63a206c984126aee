//! A narrator that needs no model and no network: it understands plain words, and answers with tables and dice.
//!
//! `input -> ParsedInput -> acts on a StoryTurn -> text, tool calls, and the changes of the stored world`
//!
//! The world (places, people, foes, items, the quest) is derived from the seed once, and then stored in the campaign,
//! so that it does not depend on the narrator or on how much of the log is read. An answer is tried on the state before
//! it is returned, so that it never contradicts the state.

mod acts;
mod dice;
mod genesis;
mod grammar;
mod intent;
mod lexicon;
mod naming;
mod resolve;
mod roads;
mod story;
mod voice;
mod world;

#[cfg(test)]
mod play_tests;

use self::grammar::{Slots, Tongue};
use self::intent::Direction;
use self::lexicon::LanguagePack;
use self::story::StoryTurn;
use self::world::WorldRecord;
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
/// let campaign = JsonTree::parse(
///     r#"{"selected": {"party_character_ids": ["pc_001"], "active_actor_id": "pc_001"},
///         "map": {"areas": {"area_001": {"id": "area_001", "name": "Old Harbour"}}, "connections": []},
///         "positions": {"pc_001": "area_001"}, "hp": {"pc_001": 10}, "character_states": {"pc_001": "alive"}}"#,
/// )?;
/// let mut narrator = EmbeddedNarrator::new(7);
/// let answer = preview(&campaign, "I look around.", 1, &[], &mut narrator)?;
/// assert!(answer.text.contains("Old Harbour"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EmbeddedNarrator {
    seed: u64,
    language: Option<Tongue>,
}

impl EmbeddedNarrator {
    /// Creates a narrator. The seed is used for campaigns without a stored world; others keep the seed of theirs.
    #[must_use]
    pub fn new(seed: u64) -> EmbeddedNarrator {
        EmbeddedNarrator { seed, language: None }
    }

    /// Sets the language of new worlds by its code or name: English or German. Others are ignored; see
    /// [`knows_language`](EmbeddedNarrator::knows_language).
    #[must_use]
    pub fn with_language(self, language: &str) -> EmbeddedNarrator {
        EmbeddedNarrator { language: Tongue::parse(language).or(self.language), ..self }
    }

    /// Returns whether the narrator speaks a language, given by its code or name.
    #[must_use]
    pub fn knows_language(language: &str) -> bool {
        Tongue::parse(language).is_some()
    }

    /// Returns the name of an area of a campaign: the stored name, or the one that this narrator will store if the
    /// stored name is generic, as in new campaigns.
    #[must_use]
    pub fn place_name(&self, campaign: &JsonTree, area: &str) -> String {
        self.atlas(campaign).place_name(area)
    }

    /// Returns the names and directions of all places of a campaign.
    #[must_use]
    pub fn atlas<'c>(&self, campaign: &'c JsonTree) -> WorldAtlas<'c> {
        let world = self.world(campaign);
        let pack = LanguagePack::of(Tongue::parse(&world.language).unwrap_or(Tongue::English));
        WorldAtlas { view: CampaignView::new(campaign), world, pack }
    }

    /// Returns the stored world, or one that only has a seed.
    fn world(&self, campaign: &JsonTree) -> WorldRecord {
        let new = || WorldRecord {
            seed: self.seed,
            language: self.language.unwrap_or(Tongue::English).as_str().to_owned(),
            ..WorldRecord::default()
        };
        WorldRecord::read(campaign).ok().flatten().unwrap_or_else(new)
    }

    fn answer(&self, request: &NarratorRequest<'_>) -> Result<NarratorOutput, NarratorError> {
        let stored = WorldRecord::read(request.campaign)?;
        let view = CampaignView { generation: request.generation, tree: request.campaign };
        let create = |seed: u64| {
            let here = view.position(request.actor).unwrap_or_default();
            let mut world = genesis::create(view, seed, request.user_input, &here);
            if let Some(tongue) = self.language {
                tongue.as_str().clone_into(&mut world.language);
            }
            world
        };
        let world = match &stored {
            Some(world) if !world.quest.id.is_empty() => world.clone(),
            // Somebody has stored a seed or a language, and nothing else.
            Some(world) => {
                let new = create(world.seed);
                let language =
                    if world.language.is_empty() { new.language } else { world.language.clone() };
                WorldRecord { version: new.version, language, quest: new.quest, ..world.clone() }
            }
            None => create(self.seed),
        };
        let told = |input: &str| {
            let mut turn = StoryTurn::new(request, world.clone());
            genesis::adopt_inventories(&mut turn);
            acts::answer(&mut turn, input);
            turn.into_output(stored.as_ref())
        };
        let output = told(request.user_input);
        let is_clean =
            |output: &NarratorOutput| rehearse(request, output).is_some_and(|it| it.is_clean);
        if request.retry == 0 && is_clean(&output) {
            return Ok(output);
        }
        // Names of the campaign may be taken for claims. A text without claims is always accepted.
        let pack = LanguagePack::of(Tongue::parse(&world.language).unwrap_or(Tongue::English));
        let mut plain = NarratorOutput::text(pack.label("plain"));
        plain.dialog_type = Some(DialogType::ActionPrompt.as_str().to_owned());
        Ok(plain)
    }
}

/// The places of a campaign. The stored world is read once, however many places are asked for.
pub struct WorldAtlas<'c> {
    view: CampaignView<'c>,
    world: WorldRecord,
    pack: &'static LanguagePack,
}

impl WorldAtlas<'_> {
    /// Returns the name of an area within a sentence.
    #[must_use]
    pub fn place_name(&self, area: &str) -> String {
        let noun = naming::place_noun(self.pack, &self.world, self.view, area);
        match self.pack.tongue {
            Tongue::English => {
                Slots::new().noun("l", &noun).fill("x {l.n}").trim_start_matches("x ").to_owned()
            }
            Tongue::German => noun.bare().trim_matches(['„', '“']).to_owned(),
        }
    }

    /// Returns the direction in which one area lies from another, such as `north`, in the language of the world.
    #[must_use]
    pub fn direction(&self, from: &str, to: &str) -> &'static str {
        let stored = self.world.places.get(from).and_then(|place| place.ways.get(to)).copied();
        let back = || {
            let back = self.world.places.get(to)?.ways.get(from)?;
            Some(Direction::new(*back).opposite().number())
        };
        let number =
            stored.or_else(back).unwrap_or_else(|| roads::raw_direction(self.world.seed, from, to));
        self.pack.variants("directions").get(number % Direction::COUNT).map_or("", String::as_str)
    }
}

impl Narrator for EmbeddedNarrator {
    fn narrate(&mut self, request: &NarratorRequest<'_>) -> Result<NarratorOutput, NarratorError> {
        self.answer(request)
    }
}
