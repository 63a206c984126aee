//! Plays whole games: random ones that must never contradict the state, and ones that must be won.

mod stories;
mod winner;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use self::winner::{next_move, win};
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

/// The labels of status lines, which may be repeated.
fn is_status(table: &GameTable, line: &str) -> bool {
    let pack = super::LanguagePack::of(super::Tongue::parse(&table.world().language).unwrap());
    let labels = [
        "here",
        "ways",
        "carry",
        "dice",
        "hurt",
        "foe",
        "goal",
        "step",
        "done",
        "seen",
        "met",
        "settled",
        "known",
        "again",
        "which",
        "not_understood",
        "try",
        "missing",
        "party",
        "asleep",
        "the_end",
        "rules_label",
        "said_before",
        "made",
        "found_label",
        "at",
    ];
    labels.iter().any(|label| line.starts_with(&format!("{}:", pack.label(label))))
}

/// What a random player says; `{a}` and `{b}` are things of the world.
const IN_ENGLISH: &[&str] = &[
    "look",
    "search",
    "take everything",
    "take {a}",
    "drop {a}",
    "give {a} to {b}",
    "use {a} on {b}",
    "use {a}",
    "attack",
    "attack {a}",
    "go to {a}",
    "explore",
    "yes",
    "back",
    "talk",
    "talk to {a}",
    "ask {a} about {b}",
    "rest",
    "wait",
    "listen",
    "inventory",
    "status",
    "goal",
    "flee",
    "Joss, follow me",
    "wait here",
    "{a}",
    "light {a}",
    "read {a}",
    "open {a}",
    "throw {a} at {b}",
    "eat {a}",
    "examine {a}",
    "sneak",
    "join us",
    "sing",
    "north",
    "east",
    "roll 3d6",
    "persuade {a}",
    "help",
    "frobnicate",
    "tell {a} about {b}",
    "thank {a}",
];
/// The same in German.
const IN_GERMAN: &[&str] = &[
    "schau dich um",
    "suche",
    "nimm alles",
    "nimm {a}",
    "lege {a} ab",
    "gib {a} an {b}",
    "benutze {a} mit {b}",
    "greif an",
    "greif {a} an",
    "geh zu {a}",
    "erkunde",
    "ja",
    "zurück",
    "rede mit {a}",
    "frage {a} nach {b}",
    "raste",
    "warte",
    "horche",
    "inventar",
    "status",
    "ziel",
    "fliehe",
    "Joss, folge mir",
    "warte hier",
    "{a}",
    "zünde {a} an",
    "lies {a}",
    "öffne {a}",
    "wirf {a} nach {b}",
    "iss {a}",
    "untersuche {a}",
    "schleiche",
    "singe",
    "norden",
    "osten",
    "würfle 3w6",
    "überrede {a}",
    "hilfe",
    "quarbel",
    "danke",
];

/// Something that a player may say, with words of the scene in it.
fn random_input(table: &GameTable, dice: Dice) -> String {
    let world = table.world();
    let german = world.language == "de";
    let mut things: Vec<String> = world.items.values().map(|item| item.name.clone()).collect();
    things.extend(world.people.values().map(|person| person.name.clone()));
    things.extend(world.foes.values().map(|foe| foe.name.clone()));
    things.extend(world.places.keys().cloned());
    things.extend(
        ["it", "table", "everything", "Joss", "goblin", "me", "water", "Tisch", "es"]
            .map(str::to_owned),
    );
    let thing = |which: &str| dice.of(which).among(&things).cloned().unwrap_or_default();
    let template = dice
        .of("template")
        .among(if german { IN_GERMAN } else { IN_ENGLISH })
        .copied()
        .unwrap_or("look");
    template.replace("{a}", &thing("a")).replace("{b}", &thing("b"))
}

/// Asserts that a text agrees with the state after its turn.
fn assert_agrees(table: &GameTable, input: &str, text: &str) {
    let world = table.world();
    let view = table.view();
    let here = table.here();
    let pack = super::LanguagePack::of(super::Tongue::parse(&world.language).unwrap());
    let context = || format!("> {input}\n{text}\nat {here}");
    let line_of = |label: &str| {
        text.lines().find_map(|line| line.strip_prefix(&format!("{}: ", pack.label(label))))
    };
    if let Some(line) =
        line_of("here").filter(|line| *line != format!("{}.", pack.label("nothing")))
    {
        for person in world.people.values() {
            let is_listed = line.contains(&format!("{} (", person.name));
            assert_eq!(is_listed, person.at == here, "{}: {}", person.name, context());
        }
        for (id, item) in world.items.iter().filter(|(id, _)| **id != world.quest.relic) {
            let entry = pack.item(&item.kind);
            let Some(entry) = entry else { continue };
            let named = super::Slots::new().noun("o", &entry.name).fill("x {o.i}");
            let is_listed = line.contains(named.trim_start_matches("x "));
            if is_listed {
                assert!(item.at == here && !item.hidden, "{id} is listed: {}", context());
            }
        }
    }
    if let Some(line) = line_of("ways") {
        for (area, place) in &world.places {
            let is_road = view.roads(&here).contains(area);
            if place.title.is_some() && line.contains(&place.name) && !is_road {
                panic!("{area} is no way from {here}: {}", context());
            }
        }
    }
    let hurt = pack.label("hurt");
    let own = format!("{hurt}: {}", if world.language == "de" { "du hast " } else { "you have " });
    if let Some(line) = text.lines().rfind(|line| line.starts_with(&own)) {
        let number: i64 = line[own.len()..].split(' ').next().unwrap().parse().unwrap();
        assert_eq!(Some(number), view.hp("Mira"), "{}", context());
    }
    // The stored names are those of the map, and every way of a place leads to an area next to it.
    for (area, place) in &world.places {
        assert_eq!(view.area_name(area).as_deref(), Some(place.name.as_str()), "{area}");
        let mut seen = BTreeSet::new();
        for (to, direction) in &place.ways {
            assert!(view.roads(area).contains(to), "{area} -> {to}");
            assert!(seen.insert(direction), "two ways lead the same direction from {area}");
        }
    }
    for item in world.items.values() {
        let at = item.at.as_str();
        let exists = at == "gone"
            || view.has_area(at)
            || view.party().iter().any(|member| member == at)
            || world.people.contains_key(at);
        assert!(exists, "{} is at {at}", item.name);
    }
}

/// Plays random turns. Returns the table and the number of sentences and of different ones.
fn play_random(seed: u64, language: &str, turns: u64) -> (GameTable, usize, usize) {
    let mut table = GameTable::new(seed, language);
    let mut last: VecDeque<BTreeSet<String>> = VecDeque::new();
    let mut count = BTreeMap::new();
    for number in 0..turns {
        if table.turn > 0 && table.world().slips.get("Mira").is_some_and(|slips| *slips >= 3) {
            // That story is over; another one begins.
            table = GameTable::new(seed + 1000 * number, language);
            last.clear();
        }
        let dice = Dice::new(seed).of("random").number(number);
        let input = if table.turn == 0 { String::new() } else { random_input(&table, dice) };
        let text = table.say(&input);
        assert!(!text.trim().is_empty(), "nothing is said to {input:?}");
        assert!(!text.contains(['{', '}']), "{text}");
        assert_agrees(&table, &input, &text);
        let prose: Vec<String> =
            text.lines().filter(|line| !is_status(&table, line)).flat_map(sentences).collect();
        let mut own = BTreeSet::new();
        for sentence in prose {
            let is_new =
                !last.iter().any(|told| told.contains(&sentence)) && own.insert(sentence.clone());
            assert!(is_new, "turn {number}, {input:?}: {sentence:?} was told within 50 turns");
            *count.entry(sentence).or_insert(0_usize) += 1;
        }
        last.push_back(own);
        if last.len() > 50 {
            last.pop_front();
        }
    }
    (table, count.values().sum(), count.len())
}

#[test]
fn a_thousand_random_turns_agree_with_the_state_and_repeat_no_sentence() {
    for (seed, language) in [(1, "en"), (2, "de"), (3, "en")] {
        let (_, all, different) = play_random(seed, language, 1000);
        println!("seed {seed} {language}: {different} of {all} sentences differ");
        assert!(different > 250, "{different}");
    }
}

#[test]
fn the_quest_can_be_won_from_any_state() {
    for (seed, language) in (10..22).zip(["en", "de"].into_iter().cycle()) {
        let (mut table, ..) = play_random(seed, language, 20 * (seed - 9));
        let status = win(&mut table);
        let text = table.say(if language == "de" { "ziel" } else { "goal" });
        assert!(["achieved", "completed", "failed", "lost"].contains(&status.as_str()), "{status}");
        if status == "failed" {
            assert!(text.contains("lost") || text.contains("verloren"), "{text}");
        }
        if status == "lost" {
            let text = table.say(if language == "de" { "raste" } else { "rest" });
            assert!(
                text.contains("The end: choose another") || text.contains("Ende: wähle jemand"),
                "{text}"
            );
        }
    }
}

#[test]
fn every_quest_can_be_won_in_both_languages() {
    let mut won = BTreeSet::new();
    for seed in 0..60 {
        let language = if seed % 2 == 0 { "en" } else { "de" };
        let mut table = GameTable::new(seed, language);
        table.say("");
        let steps = (0..300).find(|_| {
            let input = next_move(&table);
            table.say(&input);
            table.campaign.string_at(&["goal", "status"]).as_deref() != Some("active")
                || table.world().slips.get("Mira").is_some_and(|slips| *slips >= 3)
        });
        let steps = steps.unwrap_or_else(|| panic!("seed {seed}: {:?}", table.world().quest));
        assert!(steps >= 6, "seed {seed} is over after {steps} turns");
        if table.campaign.string_at(&["goal", "status"]).as_deref() == Some("achieved") {
            won.insert(table.world().quest.id);
        }
    }
    assert!(won.len() >= 15, "{won:?}");
}
