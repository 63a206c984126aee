//! A turn that is being told: [`StoryTurn`] has the state, the stored world, and the answer so far.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::dice::Dice;
use super::genesis;
use super::grammar::{Gender, Noun, Slots, Tongue};
use super::intent::Direction;
use super::lexicon::{LanguagePack, TableEntry};
use super::naming;
pub(super) use super::naming::{quotable, short};
use super::roads;
use super::voice::Voice;
use super::world::{FoeRecord, GONE, ItemRecord, PersonRecord, WorldRecord};
use crate::dialog::DialogType;
use crate::document_view::{CampaignView, DEFAULT_HP};
use crate::draft::tree_of;
use crate::generation::RuleSet;
use crate::narrator::{DocumentChange, NarratorOutput, NarratorRequest};
use crate::row::turn_number;

/// A turn that is being told.
pub(super) struct StoryTurn<'a> {
    pub(super) request: &'a NarratorRequest<'a>,
    pub(super) view: CampaignView<'a>,
    pub(super) pack: &'static LanguagePack,
    pub(super) world: WorldRecord,
    pub(super) dice: Dice,
    /// The area of the actor.
    pub(super) here: String,
    pub(super) kind: DialogType,
    /// Changes to the document outside of the world.
    pub(super) changes: Vec<DocumentChange>,
    /// Whether foes may act in this turn.
    pub(super) takes_time: bool,
    /// The members of the party who came along in this turn.
    pub(super) arrived: Vec<String>,
    voice: Voice,
    paragraphs: Vec<String>,
    statuses: Vec<String>,
    calls: Vec<Value>,
    /// The hit points of characters after the calls so far.
    hp: BTreeMap<String, i64>,
    rolls: u64,
}

impl<'a> StoryTurn<'a> {
    pub(super) fn new(request: &'a NarratorRequest<'a>, world: WorldRecord) -> StoryTurn<'a> {
        let view = CampaignView { generation: request.generation, tree: request.campaign };
        let tongue = Tongue::parse(&world.language).unwrap_or(Tongue::English);
        let here = view.position(request.actor).unwrap_or_default();
        let dice = Dice::new(world.seed).of("turn").number(request.turn);
        // A preview shows the last turn again, so it may say what that turn has said.
        let last = request.recent.last().and_then(|row| row.string_at(&["turn_id"]));
        let is_preview = last.and_then(|id| turn_number(&id)) == Some(request.turn);
        let recent = if is_preview { &[] } else { request.recent };
        let mut turn = StoryTurn {
            request,
            view,
            pack: LanguagePack::of(tongue),
            world,
            dice,
            here,
            kind: DialogType::SceneDescription,
            changes: Vec::new(),
            takes_time: false,
            arrived: Vec::new(),
            voice: Voice::new(recent, dice),
            paragraphs: Vec::new(),
            statuses: Vec::new(),
            calls: Vec::new(),
            hp: BTreeMap::new(),
            rolls: 0,
        };
        genesis::materialize(&mut turn);
        turn
    }

    pub(super) fn actor(&self) -> &'a str {
        self.request.actor
    }

    // Telling.

    /// Adds a sentence of a phrase to the paragraph. If all were told lately, a status line takes its place.
    pub(super) fn tell(&mut self, phrase: &str, slots: &Slots) {
        if self.tell_optional(phrase, slots) {
            return;
        }
        if let Some(subject) = slots.subject() {
            self.status("again", subject);
        }
    }

    /// Adds a sentence of a phrase, unless all were told lately. Returns whether one was added.
    pub(super) fn tell_optional(&mut self, phrase: &str, slots: &Slots) -> bool {
        let variants = self.pack.variants(phrase);
        self.tell_one_of(variants, slots)
    }

    /// Adds one of these texts, unless all were told lately.
    pub(super) fn tell_one_of(&mut self, variants: &[String], slots: &Slots) -> bool {
        let chosen = self.voice.choose(variants, slots);
        if let Some(text) = &chosen {
            match self.paragraphs.last_mut() {
                Some(last) if !last.is_empty() => {
                    last.push(' ');
                    last.push_str(text);
                }
                Some(last) => last.push_str(text),
                None => self.paragraphs.push(text.clone()),
            }
        }
        chosen.is_some()
    }

    /// Starts a paragraph.
    pub(super) fn paragraph(&mut self) {
        if self.paragraphs.last().is_some_and(|last| !last.is_empty()) {
            self.paragraphs.push(String::new());
        }
    }

    /// Adds a status line below the text.
    pub(super) fn status(&mut self, label: &str, text: impl AsRef<str>) {
        let text = text.as_ref().trim_end_matches('.');
        let end = if text.ends_with(['?', '!']) { "" } else { "." };
        let line = format!("{}: {text}{end}", self.pack.label(label));
        if !self.statuses.contains(&line) {
            self.statuses.push(line);
        }
    }

    /// Adds a status line from a template.
    pub(super) fn status_phrase(&mut self, label: &str, phrase: &str, slots: &Slots) {
        let text = slots.fill(self.pack.label(phrase));
        self.status(label, text);
    }

    /// Formats a list: `a`, `a and b`, `a, b and c`.
    pub(super) fn listed(&self, items: &[String]) -> String {
        match items {
            [] => self.pack.label("nothing").to_owned(),
            [only] => only.clone(),
            [rest @ .., last] => format!("{} {} {last}", rest.join(", "), self.pack.label("and")),
        }
    }

    // Rules.

    /// Returns whether a tool may be called now.
    pub(super) fn may(&self, tool: &str) -> bool {
        let first_has_none = matches!(tool, "inventory_add" | "actor_spawn" | "move_options")
            && self.view.generation.rules() == RuleSet::First;
        let is_listed = self.view.allowlist().iter().any(|allowed| allowed == tool);
        let is_up = self.view.state(self.actor()) == "alive" && !self.falls(self.actor());
        is_listed && !first_has_none && is_up
    }

    /// Returns whether a character has lost the last hit point in this turn.
    pub(super) fn falls(&self, character: &str) -> bool {
        self.hp.get(character).is_some_and(|hp| *hp <= 0)
            && self.view.is_on("rules.hp_zero_ends_game")
    }

    pub(super) fn call(&mut self, tool: &str, args: &Value, reason: &str) {
        let id = format!("call_{:03}", self.calls.len() + 1);
        self.calls.push(json!({"id": id, "tool": tool, "args": args, "reason": reason}));
    }

    /// Withdraws the last call.
    pub(super) fn withdraw_call(&mut self) {
        self.calls.pop();
    }

    /// Returns whether the actor has come here in this turn.
    pub(super) fn arrived_now(&self) -> bool {
        self.view.position(self.actor()).as_deref() != Some(&self.here)
    }

    pub(super) fn hp_of(&self, character: &str) -> i64 {
        let stored = || self.view.hp(character).unwrap_or(DEFAULT_HP);
        self.hp.get(character).copied().unwrap_or_else(stored)
    }

    /// Changes the hit points of a character, if that is allowed.
    pub(super) fn change_hp(&mut self, character: &str, delta: i64, cause: &str) -> bool {
        let is_listed = self.view.allowlist().iter().any(|tool| tool == "hp_delta");
        let is_dying = self.view.state(self.actor()) == "dying";
        let may =
            self.may("hp_delta") || is_listed && is_dying && character == self.actor() && delta > 0;
        let after = self.hp_of(character).checked_add(delta);
        let Some(after) = after.filter(|_| may && delta != 0) else { return false };
        let args = json!({"target_character_id": character, "delta": delta, "cause": cause});
        self.call("hp_delta", &args, cause);
        let after =
            if self.view.generation.rules() == RuleSet::Second { after.max(0) } else { after };
        self.hp.insert(character.to_owned(), after);
        let name = self.member(character);
        if character == self.actor() {
            let most = self.view.most_hp(character).to_string();
            let slots = Slots::new().text("n", after.to_string()).text("m", most);
            self.status_phrase("hurt", "you_points", &slots);
        } else {
            let slots = Slots::new().noun("p", &name).text("n", after.to_string());
            self.status_phrase("hurt", "points", &slots);
        }
        true
    }

    /// Rolls a die with this many sides.
    pub(super) fn roll(&mut self, sides: u64) -> i64 {
        self.rolls += 1;
        self.dice.of("roll").number(self.rolls).roll(sides)
    }

    /// Rolls d20 plus a bonus against a difficulty, shows the dice, and returns whether it succeeds.
    pub(super) fn check(&mut self, bonus: i64, difficulty: i64) -> bool {
        let die = self.roll(20);
        let (total, succeeds) = (die + bonus, die + bonus >= difficulty);
        let sum = if bonus == 0 {
            format!("d20 = {die}")
        } else {
            format!("d20 = {die}, {bonus:+} = {total}")
        };
        let against = self.pack.label("against");
        let outcome = self.pack.label(if succeeds { "success" } else { "failure" });
        self.status("dice", format!("{sum} {against} {difficulty}, {outcome}"));
        succeeds
    }

    // Nouns.

    pub(super) fn proper(&self, name: &str) -> Noun {
        Noun::proper(self.pack.tongue, name, Gender::Neuter)
    }

    /// Returns the noun of a place.
    pub(super) fn place_noun(&self, area: &str) -> Noun {
        naming::place_noun(self.pack, &self.world, self.view, area)
    }

    /// Returns the name of a party member.
    pub(super) fn member(&self, actor: &str) -> Noun {
        let met = self.view.tree.string_at(&["actors", actor, "meta", "character_id"]);
        let met = met.as_deref().and_then(|name| name.split(',').next());
        let given = self.view.tree.string_at(&["everturn", "characters", actor, "name"]);
        let given = given.as_deref().filter(|name| !name.trim().is_empty());
        let name = met.filter(|name| !name.trim().is_empty()).or(given).unwrap_or(actor);
        let name = quotable(name).filter(|name| name.chars().count() <= 40);
        let name = name.unwrap_or_else(|| self.pack.label("stranger").to_owned());
        self.proper(&name)
    }

    /// Returns the entry of an item's kind.
    pub(super) fn item_entry(&self, id: &str) -> Option<&'static TableEntry> {
        let item = self.world.items.get(id)?;
        if id == self.world.quest.relic {
            return self.pack.quest(&self.world.quest.id);
        }
        self.pack.item(&item.kind)
    }

    pub(super) fn item_noun(&self, id: &str) -> Noun {
        match self.item_entry(id) {
            Some(entry) => entry.name.clone(),
            None => {
                let name = self.world.items.get(id).map_or("", |item| item.name.as_str());
                let name = quotable(name).map_or_else(|| "?".to_owned(), |name| short(&name));
                match self.pack.tongue {
                    Tongue::English => Noun::parse(Tongue::English, &name),
                    Tongue::German => {
                        Noun::proper(Tongue::German, &format!("„{name}“"), Gender::Neuter)
                    }
                }
            }
        }
    }

    pub(super) fn has_item_tag(&self, id: &str, tag: &str) -> bool {
        id != self.world.quest.relic && self.item_entry(id).is_some_and(|entry| entry.has_tag(tag))
    }

    pub(super) fn person_noun(&self, id: &str) -> Noun {
        self.pack.person(id).map_or_else(|| self.proper(id), |entry| entry.name.clone())
    }

    pub(super) fn foe_noun(&self, id: &str) -> Noun {
        self.pack.foe(id).map_or_else(|| self.proper(id), |entry| entry.name.clone())
    }

    pub(super) fn obstacle(&self) -> Option<&'static TableEntry> {
        self.pack.obstacle(&self.world.quest.obstacle)
    }

    // The scene.

    /// Returns the ways from here: direction and area.
    pub(super) fn exits(&self) -> Vec<(Direction, String)> {
        self.exits_of(&self.here)
    }

    pub(super) fn exits_of(&self, area: &str) -> Vec<(Direction, String)> {
        let ways = self.world.places.get(area).map(|place| &place.ways);
        let roads = self.view.roads(area).into_iter();
        let roads = roads.filter(|to| to != area && self.view.has_area(to));
        let direction = |to: &String| {
            let stored = ways.and_then(|ways| ways.get(to)).copied();
            Direction::new(
                stored.unwrap_or_else(|| roads::raw_direction(self.world.seed, area, to)),
            )
        };
        let mut exits: Vec<(Direction, String)> = roads.map(|to| (direction(&to), to)).collect();
        exits.sort();
        exits
    }

    pub(super) fn direction_name(&self, direction: Direction) -> &'static str {
        self.pack.variants("directions").get(direction.number()).map_or("", String::as_str)
    }

    /// Returns the first step to an area, and whether there is a way at all.
    pub(super) fn first_step(&self, to: &str) -> Option<(Direction, String)> {
        roads::first_step(self.view, &self.here, to)
            .and_then(|step| self.exits().into_iter().find(|(_, area)| *area == step))
    }

    /// Returns the visible items at a location.
    pub(super) fn items_at(&self, at: &str) -> Vec<String> {
        let is_there = |(_, item): &(&String, &ItemRecord)| item.at == at && !item.hidden;
        self.world.items.iter().filter(is_there).map(|(id, _)| id.clone()).collect()
    }

    /// Returns the items that the actor or a companion beside them carries.
    pub(super) fn carried(&self) -> Vec<String> {
        self.items_at(self.actor())
    }

    pub(super) fn people_here(&self) -> Vec<String> {
        let is_here = |(_, person): &(&String, &PersonRecord)| person.at == self.here;
        self.world.people.iter().filter(is_here).map(|(id, _)| id.clone()).collect()
    }

    /// Returns the foes that are in the way here. A guardian is not seen before the obstacle is passed.
    pub(super) fn foes_here(&self) -> Vec<String> {
        let quest = &self.world.quest;
        let is_here = |(id, foe): &(&String, &FoeRecord)| {
            foe.at == self.here
                && foe.outcome.is_empty()
                && (**id != quest.guardian || quest.passed)
        };
        self.world.foes.iter().filter(is_here).map(|(id, _)| id.clone()).collect()
    }

    /// Returns the other party members who are here and on their feet.
    pub(super) fn companions(&self) -> Vec<String> {
        let is_up = |other: &String| self.view.state(other) == "alive" && !self.falls(other);
        self.members_here().into_iter().filter(is_up).collect()
    }

    /// Returns the other party members who are here.
    pub(super) fn members_here(&self) -> Vec<String> {
        let is_here = |other: &String| {
            other != self.actor()
                && (self.view.position(other).as_deref() == Some(&self.here)
                    || self.arrived.contains(other))
        };
        self.view.party().into_iter().filter(is_here).collect()
    }

    /// Returns how many friends stand beside the actor.
    pub(super) fn allies(&self) -> i64 {
        let people = self.people_here();
        let friends = people
            .iter()
            .filter(|id| self.world.people.get(*id).is_some_and(|person| person.follows));
        i64::try_from(self.companions().len() + friends.count()).unwrap_or(0)
    }

    /// Returns whether this is the last place of the quest.
    pub(super) fn is_vault(&self) -> bool {
        self.world.quest.sites.get("vault") == Some(&self.here)
    }

    /// Puts an item at a location, and keeps the inventories of later generations in step.
    pub(super) fn put_item(&mut self, id: &str, at: &str) {
        let Some(item) = self.world.items.get_mut(id) else { return };
        let from = std::mem::replace(&mut item.at, at.to_owned());
        item.hidden = false;
        if at == GONE {
            item.lit = false;
        }
        let name = item.name.clone();
        if self.view.generation.rules() == RuleSet::Second && from != at {
            self.take_from_inventory(&from, &name);
            let party = self.view.party();
            if at == self.actor() && self.may("inventory_add") {
                let args = json!({"actor_id": at, "item_id": name, "quantity": 1});
                self.call("inventory_add", &args, "the player takes it");
            } else if party.iter().any(|member| member == at) {
                self.set_inventory(at, &name, 1);
            }
        }
    }

    fn take_from_inventory(&mut self, owner: &str, name: &str) {
        if self.view.tree.value_at(&["actors", owner, "inventory", name]).is_some() {
            self.set_inventory(owner, name, -1);
        }
    }

    fn set_inventory(&mut self, owner: &str, name: &str, delta: i64) {
        let path = ["actors", owner, "inventory"];
        let Some(Ok(Value::Object(mut all))) =
            self.view.tree.value_at(&path).map(|inventory| inventory.to_value())
        else {
            return;
        };
        let count = all.get(name).and_then(Value::as_i64).unwrap_or(0).saturating_add(delta);
        if count > 0 {
            all.insert(name.to_owned(), count.into());
        } else {
            all.remove(name);
        }
        self.change(&path, Value::Object(all));
    }

    /// Records a change to the document.
    pub(super) fn change(&mut self, path: &[&str], value: Value) {
        let path = path.iter().map(|&part| part.to_owned()).collect();
        self.changes.push(DocumentChange { path, value });
    }

    /// Returns the answer without the changes to the world.
    pub(super) fn output(&self) -> NarratorOutput {
        let prose = self.paragraphs.iter().filter(|text| !text.trim().is_empty()).cloned();
        let status = (!self.statuses.is_empty()).then(|| self.statuses.join("\n"));
        NarratorOutput {
            text: prose.chain(status).collect::<Vec<_>>().join("\n\n"),
            dialog_type: Some(self.kind.as_str().to_owned()),
            tool_calls: self.calls.iter().map(tree_of).collect(),
            changes: Vec::new(),
        }
    }

    /// Returns the answer with everything that it stores.
    pub(super) fn into_output(self, before: Option<&WorldRecord>) -> NarratorOutput {
        let mut output = self.output();
        output.changes = self.changes;
        output.changes.extend(self.world.changes_since(before));
        output
    }
}
