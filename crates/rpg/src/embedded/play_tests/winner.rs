//! A player who wants to win, and knows the stored world.

use super::super::grammar::Tongue;
use super::super::lexicon::LanguagePack;
use super::super::roads;
use super::super::world::WorldRecord;
use super::GameTable;

/// A player who wants to win, and knows the stored world.
pub(super) fn win(table: &mut GameTable) -> String {
    for _ in 0..400 {
        let status = table.campaign.string_at(&["goal", "status"]).unwrap();
        if status != "active" {
            return status;
        }
        // A character who is lost is told so; another one has to act.
        if table.world().slips.get("Mira").is_some_and(|slips| *slips >= 3) {
            return "lost".to_owned();
        }
        let input = next_move(table);
        table.say(&input);
    }
    panic!("the quest cannot be won: {:?}\n{}", table.world().quest, table.campaign.to_line());
}

pub(super) fn next_move(table: &GameTable) -> String {
    let world = table.world();
    let view = table.view();
    let (here, quest) = (table.here(), &world.quest);
    let german = world.language == "de";
    let say =
        |english: &str, other: &str| if german { other.to_owned() } else { english.to_owned() };
    if view.state("Mira") != "alive" {
        return say("rest", "raste");
    }
    let foes: Vec<&String> = world
        .foes
        .iter()
        .filter(|(id, foe)| {
            foe.at == here && foe.outcome.is_empty() && (**id != quest.guardian || quest.passed)
        })
        .map(|(id, _)| id)
        .collect();
    let hp = view.hp("Mira").unwrap();
    if hp < 5 && !foes.is_empty() && !view.roads(&here).is_empty() {
        return say("flee", "fliehe");
    }
    if hp < 8 && foes.is_empty() {
        return say("rest", "raste");
    }
    let go = |area: &str| match roads::first_step(view, &here, area) {
        Some(step) => say(&format!("go to {step}"), &format!("geh zu {step}")),
        None => say("explore", "erkunde"),
    };
    let relic = &world.items.get(&quest.relic);
    let relic_at = relic.map_or("", |item| item.at.as_str());
    if relic_at == "Mira" {
        let home = quest.sites.get("home").cloned().unwrap_or_default();
        let pack = LanguagePack::of(Tongue::parse(&world.language).unwrap());
        let giver =
            world.people.get(&quest.giver).map(|person| person.name.clone()).unwrap_or_default();
        let relic = pack.quest(&quest.id).unwrap().name.head().to_owned();
        return match here == home {
            true => say(&format!("give the {relic} to {giver}"), &format!("gib {giver} {relic}")),
            false => go(&home),
        };
    }
    if relic_at == "Joss" {
        let pack = LanguagePack::of(Tongue::parse(&world.language).unwrap());
        let relic = pack.quest(&quest.id).unwrap().name.head().to_owned();
        let at = view.position("Joss").unwrap();
        return if at == here {
            say(&format!("take the {relic}"), &format!("nimm {relic}"))
        } else {
            go(&at)
        };
    }
    let Some(vault) = quest.sites.get("vault").cloned() else {
        let all = roads::reachable(view, &here);
        let thin = all.iter().find(|area| view.roads(area).len() < 4).cloned().unwrap_or_default();
        return if here == thin { say("explore", "erkunde") } else { go(&thin) };
    };
    let target = if quest.passed && view.has_area(relic_at) { relic_at.to_owned() } else { vault };
    if here != target {
        return go(&target);
    }
    let foe = foes.first().map(|foe| foe.as_str());
    at_the_vault(&world, foe)
}

/// What to do where the relic is kept.
fn at_the_vault(world: &WorldRecord, foe: Option<&str>) -> String {
    let quest = &world.quest;
    let german = world.language == "de";
    let say =
        |english: &str, other: &str| if german { other.to_owned() } else { english.to_owned() };
    let pack = LanguagePack::of(Tongue::parse(&world.language).unwrap());
    if let Some(foe) = foe {
        let name = pack.foe(foe).unwrap().name.bare();
        return say(&format!("attack the {name}"), &format!("greif {name} an"));
    }
    if !quest.spotted {
        return if quest.located { say("look", "schau dich um") } else { say("search", "suche") };
    }
    if !quest.passed {
        let obstacle = pack.obstacle(&quest.obstacle).unwrap().name.head().to_owned();
        return say(&format!("open the {obstacle}"), &format!("öffne {obstacle}"));
    }
    let relic = pack.quest(&quest.id).unwrap().name.head().to_owned();
    say(&format!("take the {relic}"), &format!("nimm {relic}"))
}
