//! Makes the world: the quest, and what is in each place. All of it follows from the seed, and is stored once.

use std::collections::BTreeMap;

use serde_json::Value;

use super::dice::Dice;
use super::grammar::Tongue;
use super::intent::words;
use super::lexicon::{LanguagePack, TableEntry};
use super::naming::{is_generic, name_from_log, title, title_of, world_dice};
use super::roads::{assign_ways, reachable};
use super::story::{StoryTurn, quotable};
use super::world::{FoeRecord, ItemRecord, PersonRecord, PlaceRecord, QuestRecord, WorldRecord};
use crate::document_view::CampaignView;
use crate::generation::Generation;

/// The goal of a campaign that has none.
const NO_GOAL: &str = "Define the main objective";

/// The areas of a quest beyond its first one, in the order in which they are found.
const SITES: [&str; 4] = ["haunt", "den", "wild", "vault"];

/// The number of areas beyond which exploring finds no new ones.
pub(super) const MOST_AREAS: usize = 60;

/// Returns the goal of the campaign, if it has one of its own.
pub(super) fn own_goal(view: CampaignView<'_>) -> Option<String> {
    let goal = view.tree.string_at(&["goal", "text"])?;
    (!goal.trim().is_empty() && goal != NO_GOAL).then_some(goal)
}

/// Returns the language of a new world: that of the campaign, else that of the input.
pub(super) fn language_of(view: CampaignView<'_>, input: &str) -> Tongue {
    let paths: [&[&str]; 4] = [
        &["everturn", "language"],
        &["language"],
        &["everturn", "settings", "language"],
        &["meta", "language"],
    ];
    let stored = paths.iter().find_map(|path| view.tree.string_at(path));
    let stored = stored.as_deref().and_then(Tongue::parse);
    stored.unwrap_or_else(|| if sounds_german(input) { Tongue::German } else { Tongue::English })
}

/// Returns whether an input is German rather than English.
pub(super) fn sounds_german(input: &str) -> bool {
    let hits = |tongue: Tongue| {
        let pack = LanguagePack::of(tongue);
        let lists = [&pack.words.articles, &pack.words.fillers, &pack.words.separators];
        let input = words(input);
        let known =
            input.iter().filter(|word| lists.iter().any(|list| list.contains(word))).count();
        let verb = super::intent::understand(pack, &input.join(" ")).intent;
        known + 2 * usize::from(verb != super::intent::Intent::Mention)
    };
    hits(Tongue::German) > hits(Tongue::English)
}

/// Creates the world of a campaign. Places are added as they come into sight.
pub(super) fn create(view: CampaignView<'_>, seed: u64, input: &str, here: &str) -> WorldRecord {
    let tongue = language_of(view, input);
    let pack = LanguagePack::of(tongue);
    let dice = world_dice(view, seed).of("quest");
    let quests: Vec<&TableEntry> = pack.quests.iter().filter(|quest| quest.id != "own").collect();
    let goal = own_goal(view);
    let id = match (&goal, dice.among(&quests)) {
        (None, Some(quest)) => quest.id.clone(),
        _ => "own".to_owned(),
    };
    let mut world = WorldRecord {
        version: 1,
        seed,
        language: tongue.as_str().to_owned(),
        ..WorldRecord::default()
    };
    let people = shuffled(&pack.people, dice.of("people"));
    let mut people = people.iter().map(|person| person.id.clone());
    let mut next = || people.next().unwrap_or_default();
    let obstacle = dice.of("obstacle").among(&pack.obstacles).map(|it| it.id.clone());
    let guardian = dice.of("guardian").among(&pack.foes).map(|it| it.id.clone());
    let names: Vec<&str> = pack.label("guardian_names").split(", ").collect();
    let password = dice.of("password").among(&names).copied().unwrap_or_default();
    world.quest = QuestRecord {
        id,
        status: "active".to_owned(),
        giver: next(),
        informant: next(),
        rival: next(),
        relic: "relic".to_owned(),
        obstacle: obstacle.unwrap_or_default(),
        guardian: guardian.unwrap_or_default(),
        password: password.to_owned(),
        sites: BTreeMap::from([("home".to_owned(), here.to_owned())]),
        ..QuestRecord::default()
    };
    world
}

fn shuffled(entries: &[TableEntry], dice: Dice) -> Vec<&TableEntry> {
    let mut order: Vec<&TableEntry> = entries.iter().collect();
    order.sort_by_key(|entry| dice.of(&entry.id).below(u64::MAX));
    order
}

/// Makes sure that the place of the actor and its neighbours exist, and that the quest can be finished.
pub(super) fn materialize(turn: &mut StoryTurn<'_>) {
    if !turn.view.has_area(&turn.here) {
        return;
    }
    let view = turn.view;
    let here = turn.here.clone();
    let neighbours: Vec<String> = turn.exits().into_iter().map(|(_, area)| area).collect();
    add_place(turn, view, &here);
    for area in &neighbours {
        add_place(turn, view, area);
    }
    assign_ways(&mut turn.world, view, &here);
    place_sites(turn, view);
}

/// Adds a place to the world, and stores its name in the campaign if that has none.
pub(super) fn add_place(turn: &mut StoryTurn<'_>, view: CampaignView<'_>, area: &str) {
    if turn.world.places.contains_key(area) {
        return;
    }
    let pack = turn.pack;
    let stored = view.area_name(area).unwrap_or_default();
    let (kind, noun, prefix) = title_of(pack, view, turn.world.seed, area);
    let mut record = PlaceRecord::default();
    if is_generic(&stored) {
        let Some(kind) = pack.places.get(kind) else { return };
        let remembered = name_from_log(turn.request.recent, area);
        record.name = remembered.clone().unwrap_or_else(|| title(pack, kind, prefix, noun).0);
        record.title = remembered.is_none().then_some((prefix, noun));
        record.kind = kind.id.clone();
        turn.change(&["map", "areas", area, "name"], Value::from(record.name.clone()));
        if view
            .tree
            .string_at(&["map", "areas", area, "description"])
            .is_none_or(|text| text.is_empty())
        {
            let dice = world_dice(view, turn.world.seed).of(area);
            let sight = dice.of("sight").among(&kind.sights).cloned().unwrap_or_default();
            turn.change(&["map", "areas", area, "description"], Value::from(sight));
        }
    } else {
        let parts = words(&stored);
        let given =
            pack.places.iter().find(|kind| parts.iter().any(|word| kind.known.contains(word)));
        record.kind =
            given.or_else(|| pack.places.get(kind)).map(|kind| kind.id.clone()).unwrap_or_default();
        record.name = stored;
    }
    turn.world.places.insert(area.to_owned(), record);
    populate(turn, view, area);
}

/// Puts people, foes and items into a place.
fn populate(turn: &mut StoryTurn<'_>, view: CampaignView<'_>, area: &str) {
    let dice = world_dice(view, turn.world.seed).of(area).of("inhabitants");
    add_item(turn, area, dice.of("item"), false);
    if dice.of("second item").below(2) == 0 {
        add_item(turn, area, dice.of("other item"), false);
    }
    add_item(turn, area, dice.of("hidden item"), true);
    let is_home = turn.world.quest.sites.get("home").is_some_and(|home| home == area);
    if is_home {
        return;
    }
    match dice.of("dweller").below(10) {
        0..=3 => add_person(turn, area, dice),
        4..=6 => add_foe(turn, area, dice),
        7 => {
            add_person(turn, area, dice);
            add_foe(turn, area, dice);
        }
        _ => {}
    }
}

fn add_person(turn: &mut StoryTurn<'_>, area: &str, dice: Dice) {
    let quest = &turn.world.quest;
    let free = |entry: &&TableEntry| {
        !turn.world.people.contains_key(&entry.id)
            && ![&quest.giver, &quest.informant, &quest.rival].contains(&&entry.id)
    };
    let person = shuffled(&turn.pack.people, dice.of("person")).into_iter().find(free);
    if let Some(person) = person {
        put_person(turn, &person.id, area);
    }
}

fn put_person(turn: &mut StoryTurn<'_>, id: &str, area: &str) {
    if let Some(known) = turn.world.people.get_mut(id) {
        area.clone_into(&mut known.at);
        return;
    }
    let Some(entry) = turn.pack.person(id) else { return };
    let record = PersonRecord {
        name: entry.name.head().to_owned(),
        role: entry.text("role").to_owned(),
        at: area.to_owned(),
        ..PersonRecord::default()
    };
    turn.world.people.insert(id.to_owned(), record);
}

fn add_foe(turn: &mut StoryTurn<'_>, area: &str, dice: Dice) {
    let free = |entry: &&TableEntry| {
        !turn.world.foes.contains_key(&entry.id) && turn.world.quest.guardian != entry.id
    };
    let foe = shuffled(&turn.pack.foes, dice.of("foe")).into_iter().find(free);
    if let Some(foe) = foe {
        put_foe(turn, &foe.id, area, 3 + dice.of("strength").roll(4));
    }
}

fn put_foe(turn: &mut StoryTurn<'_>, id: &str, area: &str, strength: i64) {
    if let Some(known) = turn.world.foes.get_mut(id) {
        area.clone_into(&mut known.at);
        return;
    }
    let Some(entry) = turn.pack.foe(id) else { return };
    let record = FoeRecord {
        name: entry.name.bare(),
        at: area.to_owned(),
        strength,
        ..FoeRecord::default()
    };
    turn.world.foes.insert(id.to_owned(), record);
}

fn add_item(turn: &mut StoryTurn<'_>, area: &str, dice: Dice, hidden: bool) {
    let free = |entry: &&TableEntry| !turn.world.items.contains_key(&entry.id);
    let item = shuffled(&turn.pack.items, dice).into_iter().find(free);
    if let Some(item) = item {
        put_item(turn, item, area, hidden);
    }
}

fn put_item(turn: &mut StoryTurn<'_>, entry: &TableEntry, area: &str, hidden: bool) {
    let record = ItemRecord {
        name: entry.name.bare(),
        kind: entry.id.clone(),
        at: area.to_owned(),
        hidden,
        ..ItemRecord::default()
    };
    turn.world.items.insert(entry.id.clone(), record);
}

/// Adds an item with one of these tags, unless there is one; a used one is put back. Returns its ID.
fn item_with_tag(
    turn: &mut StoryTurn<'_>,
    tags: &[String],
    area: &str,
    hidden: bool,
    dice: Dice,
) -> Option<String> {
    let fits = |entry: &&TableEntry| entry.tags.iter().any(|tag| tags.contains(tag));
    let all: Vec<&TableEntry> = shuffled(&turn.pack.items, dice).into_iter().filter(fits).collect();
    let unused = all.iter().find(|entry| !turn.world.items.contains_key(&entry.id)).copied();
    match unused {
        Some(entry) => {
            put_item(turn, entry, area, hidden);
            Some(entry.id.clone())
        }
        None => {
            let lying = |entry: &&&TableEntry| {
                turn.world.items.get(&entry.id).is_some_and(|item| turn.view.has_area(&item.at))
            };
            let entry = all.iter().find(lying)?;
            let item = turn.world.items.get_mut(&entry.id)?;
            area.clone_into(&mut item.at);
            item.hidden = hidden;
            Some(entry.id.clone())
        }
    }
}

/// Gives each site of the quest an area that can be reached; sites wait for areas that are not explored yet.
pub(super) fn place_sites(turn: &mut StoryTurn<'_>, view: CampaignView<'_>) {
    let can_grow = view.allowlist().iter().any(|tool| tool == "map_generate")
        && view.areas().len() < MOST_AREAS;
    let near = reachable(view, &turn.here);
    let is_reachable = |area: &String| near.contains(area);
    let home = turn.world.quest.sites.get("home").cloned();
    if !home.as_ref().is_some_and(is_reachable) {
        let here = turn.here.clone();
        turn.world.quest.sites.insert("home".to_owned(), here);
    }
    place_home(turn);
    for site in SITES {
        let taken: Vec<String> = turn.world.quest.sites.values().cloned().collect();
        let current = turn.world.quest.sites.get(site).cloned();
        if current.as_ref().is_some_and(is_reachable) {
            continue;
        }
        let free = near.iter().find(|area| !taken.contains(area));
        let area = match free {
            Some(area) => area.clone(),
            None if can_grow => {
                turn.world.quest.sites.remove(site);
                continue;
            }
            None => near.last().cloned().unwrap_or_default(),
        };
        turn.world.quest.sites.insert(site.to_owned(), area.clone());
        add_place(turn, view, &area);
        furnish(turn, view, site, &area);
    }
}

fn place_home(turn: &mut StoryTurn<'_>) {
    let home = turn.world.quest.sites.get("home").cloned().unwrap_or_default();
    let giver = turn.world.quest.giver.clone();
    let stays = turn.world.people.get(&giver).is_some_and(|person| person.at == home);
    if !stays {
        put_person(turn, &giver, &home);
    }
}

/// Puts what the quest needs into one of its areas.
fn furnish(turn: &mut StoryTurn<'_>, view: CampaignView<'_>, site: &str, area: &str) {
    let dice = world_dice(view, turn.world.seed).of("site").of(site);
    let quest = turn.world.quest.clone();
    match site {
        "haunt" => {
            put_person(turn, &quest.informant, area);
            put_person(turn, &quest.rival, area);
            // People do not meet where something bites, unless the party has seen it there.
            if turn.world.places.get(area).is_some_and(|place| !place.seen) {
                turn.world.foes.retain(|_, foe| foe.at != area);
            }
            let liked = turn
                .pack
                .person(&quest.informant)
                .map(|person| person.tags.clone())
                .unwrap_or_default();
            let home = quest.sites.get("home").cloned().unwrap_or_default();
            let has_one = turn
                .world
                .items
                .keys()
                .any(|id| liked.iter().any(|tag| turn.has_item_tag(id, tag)));
            if !has_one {
                item_with_tag(turn, &liked, &home, true, dice.of("liked"));
            }
            let clue = item_with_tag(turn, &["read".to_owned()], area, true, dice.of("clue"));
            if let Some(item) = clue.and_then(|id| turn.world.items.get_mut(&id)) {
                item.clue = true;
            }
        }
        "den" => {
            let tags = turn.obstacle().map(|obstacle| obstacle.tags.clone()).unwrap_or_default();
            if let Some(id) = item_with_tag(turn, &tags, area, false, dice.of("means")) {
                turn.world.quest.means = id;
            }
            let has_foe =
                turn.world.foes.values().any(|foe| foe.at == area && foe.outcome.is_empty());
            if !has_foe {
                add_foe(turn, area, dice.of("den"));
            }
        }
        "vault" => {
            put_foe(turn, &quest.guardian, area, 7);
            let relic = turn.world.items.entry(quest.relic.clone()).or_default();
            if relic.at.is_empty() || view.has_area(&relic.at) {
                area.clone_into(&mut relic.at);
                relic.hidden = !quest.passed;
            }
            if let Some(entry) = turn.pack.quest(&quest.id) {
                relic.name = entry.name.bare();
            }
        }
        _ => {}
    }
}

/// Adds the items of the campaign's own inventories, which only later generations have.
pub(super) fn adopt_inventories(turn: &mut StoryTurn<'_>) {
    if !matches!(turn.view.generation, Generation::Second | Generation::Third) {
        return;
    }
    for member in turn.view.party() {
        let inventory = turn.view.tree.value_at(&["actors", member.as_str(), "inventory"]);
        let inventory = inventory.map(|all| all.children()).unwrap_or_default();
        for (name, count) in inventory {
            let is_some = crate::document_view::integer(&count).is_some_and(|count| count > 0);
            let is_known =
                turn.world.items.values().any(|item| item.name == name && item.at == member);
            if is_some && !is_known && quotable(&name).is_some() {
                let id = format!("{member}:{name}");
                let record = ItemRecord { name, at: member.clone(), ..ItemRecord::default() };
                turn.world.items.insert(id, record);
            }
        }
    }
}

/// Tells the names of the world in another language.
pub(super) fn translate(turn: &mut StoryTurn<'_>, tongue: Tongue) {
    turn.pack = LanguagePack::of(tongue);
    let pack = turn.pack;
    tongue.as_str().clone_into(&mut turn.world.language);
    let mut renamed = Vec::new();
    for (area, place) in &mut turn.world.places {
        if let (Some((prefix, noun)), Some(kind)) = (place.title, pack.place(&place.kind)) {
            place.name = title(pack, kind, prefix, noun).0;
            renamed.push((area.clone(), place.name.clone()));
        }
    }
    for (area, name) in renamed {
        turn.change(&["map", "areas", &area, "name"], Value::from(name));
    }
    for (id, person) in &mut turn.world.people {
        if let Some(entry) = pack.person(id) {
            entry.text("role").clone_into(&mut person.role);
        }
    }
    for (id, foe) in &mut turn.world.foes {
        if let Some(entry) = pack.foe(id) {
            foe.name = entry.name.bare();
        }
    }
    if turn.world.quest.id != "own"
        && let Some(quest) = pack.quest(&turn.world.quest.id)
    {
        turn.change(&["goal", "text"], Value::from(quest.text("goal")));
    }
}
