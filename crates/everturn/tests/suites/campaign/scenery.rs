//! What players see of a campaign, and what a narrator says without a turn.

use everturn::campaign::{
    Campaign, CampaignError, Narrator, NarratorError, NarratorOutput, NarratorRequest, Submission,
};

use crate::campaign::support::{answer, exists, first, now, open, play, reader, second, step};

fn shown(campaign: &Campaign) -> (Vec<String>, Vec<String>) {
    let characters = campaign.characters().unwrap().into_iter().map(|one| {
        let (area, hp) = (one.area.unwrap(), one.hp.unwrap());
        let items: Vec<String> =
            one.inventory.iter().map(|(item, count)| format!(" {count} {item}")).collect();
        format!("{} {area} {hp} {}{}", one.id, one.state, items.concat())
    });
    let areas = campaign.areas().unwrap().into_iter();
    let areas = areas.map(|area| format!("{} {}: {}", area.id, area.name, area.roads.join(" ")));
    (characters.collect(), areas.collect())
}

#[test]
fn every_generation_shows_who_is_where_and_where_one_can_go() {
    let (store, id) = first();
    play(&mut open(&store, &id), answer("", &[step("area_001", "area_002")])).unwrap();
    let (characters, areas) = shown(&reader(&store, &id));
    assert_eq!(characters, ["pc_001 area_002 10 alive", "pc_002 area_001 10 alive"]);
    assert_eq!(areas, ["area_001 Starting Area: area_002", "area_002 Side Room: area_001"]);
    let (store, id) = second(|document| {
        document["map"]["areas"]["area_003"]["reachable_area_ids"] =
            serde_json::json!(["area_002", "area_003", "nowhere"]);
        document["map"]["areas"]["area_003"]["name"] = " ".into();
    });
    let (characters, areas) = shown(&reader(&store, &id));
    assert_eq!(characters, ["pc_001 area_001 10 alive 1 rope", "pc_002 area_001 10 alive"]);
    assert_eq!(
        areas,
        ["area_001 Hall: area_002", "area_002 Stairs: area_003", "area_003 area_003: area_002"],
        "roads to oneself and to nowhere are none"
    );
    assert_eq!(reader(&store, &id).end_reason().unwrap(), None);
}

/// Tells what it was asked, through a copy of the request.
struct Echo;

impl Narrator for Echo {
    fn narrate(&mut self, request: &NarratorRequest<'_>) -> Result<NarratorOutput, NarratorError> {
        let question = request.to_owned_request();
        let asked = std::thread::spawn(move || {
            let request = question.as_request();
            format!(
                "{} {} {} {} {} {} {:?} {}",
                request.user_input,
                request.actor,
                request.turn,
                request.recent.len(),
                request.retry,
                request.conflicts.len(),
                request.generation,
                request.campaign.string_at(&["id"]).unwrap()
            )
        });
        Ok(NarratorOutput::text(&asked.join().unwrap()))
    }
}

#[test]
fn a_glimpse_is_no_turn_and_a_question_is_the_whole_request() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    let glimpse = campaign.preview("look", &mut Echo).unwrap();
    assert_eq!(glimpse.text, "look pc_001 0 0 0 0 First camp_0001");
    assert_eq!(campaign.turn(), 0);
    assert!(!exists(&store, "campaigns/camp_0001/turn_log.jsonl"));
    campaign.submit(&Submission::new("x"), &mut Echo, now()).unwrap();
    let glimpse = campaign.preview("look", &mut Echo).unwrap();
    assert_eq!(glimpse.text, "look pc_001 1 1 0 0 First camp_0001");
}

#[test]
fn whoever_plays_a_campaign_can_fork_it() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    play(&mut campaign, answer("", &[step("area_001", "area_002")])).unwrap();
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    let branch = campaign.fork(1, None).unwrap();
    assert_eq!((branch.id.as_str(), branch.turn), ("camp_0002", 1));
    assert_eq!(reader(&store, &branch.id).turn(), 1);
    assert_eq!(reader(&store, &branch.id).lineage().unwrap().unwrap().kind, "fork");
    assert!(matches!(campaign.fork(9, None), Err(CampaignError::NoTurn { .. })));
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    assert_eq!(campaign.turn(), 3);
}
