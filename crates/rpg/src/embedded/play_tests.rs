//! Plays whole games: random ones that must never contradict the state, and ones that must be won.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::EmbeddedNarrator;
use super::dice::Dice;
use super::voice::sentences;
use super::world::WorldRecord;
use crate::document_view::CampaignView;
use crate::turn::{TurnSetup, play};
use crate::{RulesError, WorldError};
use everturn_value::tree::JsonTree;
use serde_json::{Value, json};

/// The rows that a narrator receives.
const RECENT: usize = 50;

/// A campaign in memory.
pub(super) struct GameTable {
    pub(super) campaign: JsonTree,
    rows: VecDeque<JsonTree>,
    turn: u64,
    narrator: EmbeddedNarrator,
}

fn document() -> Value {
    json!({
        "id": "camp_0001",
        "selected": {"world_id": "world_001", "map_id": "map_001", "party_character_ids": ["Mira", "Joss"],
            "active_actor_id": "Mira"},
        "settings_snapshot": {"rules": {"hp_zero_ends_game": true}},
        "allowlist": ["move", "hp_delta", "map_generate"],
        "goal": {"text": "Define the main objective", "status": "active"},
        "milestone": {"current": "intro", "last_advanced_turn": 0},
    })
}

impl GameTable {
    pub(super) fn new(seed: u64, language: &str) -> GameTable {
        GameTable::of(&document(), seed, language)
    }

    fn of(document: &Value, seed: u64, language: &str) -> GameTable {
        let campaign = JsonTree::from_value(document).unwrap();
        let narrator = EmbeddedNarrator::new(seed).with_language(language);
        GameTable { campaign, rows: VecDeque::new(), turn: 0, narrator }
    }

    fn try_say(&mut self, input: &str) -> Result<Value, RulesError> {
        let rows: Vec<JsonTree> = self.rows.iter().cloned().collect();
        let setup = TurnSetup {
            campaign: &self.campaign,
            user_input: input,
            actor: None,
            turn: self.turn + 1,
            recent: &rows,
            worlds: &|_| -> Result<_, WorldError> { Ok(None) },
            now: "2026-01-14T16:05:00Z".parse().unwrap(),
            seed: self.turn,
        };
        let played = play(&setup, &mut self.narrator)?;
        self.turn += 1;
        self.campaign = played.draft.into_parts().0;
        self.rows.push_back(JsonTree::from_value(&played.row).unwrap());
        if self.rows.len() > RECENT {
            self.rows.pop_front();
        }
        Ok(played.row)
    }

    pub(super) fn say(&mut self, input: &str) -> String {
        let row = self.try_say(input).unwrap_or_else(|error| panic!("{input}: {error}"));
        assert_eq!(row["tool_feedback"], Value::Null, "{input}: {row}");
        assert_eq!(row["conflict_report"], Value::Null, "{input}: {row}");
        row["assistant_text"].as_str().unwrap().to_owned()
    }

    pub(super) fn world(&self) -> WorldRecord {
        WorldRecord::read(&self.campaign).unwrap().unwrap()
    }

    fn view(&self) -> CampaignView<'_> {
        CampaignView::new(&self.campaign)
    }

    pub(super) fn here(&self) -> String {
        self.view().position("Mira").unwrap()
    }
}

#[test]
#[ignore = "prints a game to read"]
fn transcript() {
    let seed = std::env::var("SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(1);
    let mut table = GameTable::new(seed, &std::env::var("TONGUE").unwrap_or_else(|_| "en".to_owned()));
    println!("{}\n", table.say(""));
    let script = std::env::var("SCRIPT").unwrap_or_default();
    for input in script.split('|') {
        println!("> {input}\n{}\n", table.say(input));
    }
    println!("{}", serde_json::to_string_pretty(&table.world().quest).unwrap());
}
