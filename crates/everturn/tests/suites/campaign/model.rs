//! Random operations by seed against a stupid model: what the characters are after each turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use everturn::campaign::{
    Campaign, CampaignStatus, CampaignWriter, NarratorOutput, NewCampaign, RecordedNarrator,
    Submission, archive, create, fork, list, restore, set_status, trash, unarchive,
};
use everturn::game::ArchiveOptions;
use everturn::model::NewMark;
use everturn::names::SessionId;
use everturn::store::Store;
use everturn::tree::JsonTree;
use serde_json::{Value, json};

use crate::campaign::support::{answer, at, memory, value};

/// Small random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// What matters of a campaign.
#[derive(Debug, Clone, PartialEq)]
struct Facts {
    position: String,
    hp: i64,
    state: String,
    actor: String,
    checkpoints: u64,
    areas: usize,
}

fn facts(tree: &JsonTree) -> Facts {
    let tree = value(tree);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    Facts {
        position: text(&tree["positions"]["pc_001"]),
        hp: tree["hp"]["pc_002"].as_i64().unwrap(),
        state: text(&tree["character_states"]["pc_002"]),
        actor: text(&tree["selected"]["active_actor_id"]),
        checkpoints: tree["settings_snapshot"]["rollback"]["max_checkpoints"].as_u64().unwrap(),
        areas: tree["map"]["areas"].as_object().unwrap().len(),
    }
}

/// What a campaign has to be.
#[derive(Debug, Clone, Default)]
struct Model {
    /// The facts when each turn was the last, from turn 0 on.
    turns: Vec<Facts>,
    /// The marks: their ids, turns and names.
    marks: BTreeMap<String, (u64, String)>,
    /// The turns that each undo has taken back.
    undone: BTreeMap<u64, Vec<u64>>,
}

impl Model {
    /// What is left of it up to a turn.
    fn cut(&mut self, turn: u64) {
        self.turns.truncate(usize::try_from(turn + 1).unwrap());
        self.marks.retain(|_, (of, _)| *of <= turn);
        self.undone.retain(|of, _| *of <= turn);
    }

    /// The turns of the story.
    fn story(&self) -> Vec<u64> {
        let last = self.turns.len() as u64;
        let is_told = |turn: &u64| {
            !self.undone.contains_key(turn) && !self.undone.values().any(|all| all.contains(turn))
        };
        (1..last).filter(is_told).collect()
    }
}

struct World {
    store: Arc<dyn Store>,
    random: Random,
    campaigns: BTreeMap<SessionId, Model>,
}

impl World {
    fn pick(&mut self) -> SessionId {
        let at = usize::try_from(self.random.below(self.campaigns.len() as u64)).unwrap();
        self.campaigns.keys().nth(at).unwrap().clone()
    }

    fn model(&mut self, id: &SessionId) -> &mut Model {
        self.campaigns.get_mut(id).unwrap()
    }

    fn last(&self, id: &SessionId) -> (u64, Facts) {
        let model = &self.campaigns[id];
        (model.turns.len() as u64 - 1, model.turns.last().unwrap().clone())
    }

    /// A turn with a call that works, or fails, or none; perhaps after an answer that is refused.
    fn turn(&mut self, id: &SessionId, campaign: &mut CampaignWriter) {
        let (_, mut facts) = self.last(id);
        let actor = Submission { actor: Some("pc_001"), ..Submission::new("x") };
        let output = match self.random.below(4) {
            0 => {
                let to = if facts.position == "area_001" { "area_002" } else { "area_001" };
                let works = self.random.below(3) > 0;
                let from = if works { facts.position.clone() } else { "nowhere".to_owned() };
                if works {
                    facts.position = to.to_owned();
                }
                answer(
                    "",
                    &[(
                        "move",
                        json!({"actor_id": "pc_001", "from_area_id": from, "to_area_id": to}),
                    )],
                )
            }
            1 => {
                let delta = i64::try_from(self.random.below(15)).unwrap() - 7;
                facts.hp += delta;
                match facts.hp {
                    ..=0 => facts.state = "dying".to_owned(),
                    _ => facts.state = "alive".to_owned(),
                }
                answer(
                    "",
                    &[(
                        "hp_delta",
                        json!({"target_character_id": "pc_002", "delta": delta, "cause": "x"}),
                    )],
                )
            }
            2 => {
                facts.areas += 1;
                answer("", &[("map_generate", json!({"parent_area_id": "area_001"}))])
            }
            _ => NarratorOutput::text("Silence."),
        };
        let wrong = || NarratorOutput { text: "A new rule!".to_owned(), ..output.clone() };
        let refused = usize::try_from(self.random.below(5)).unwrap();
        let mut outputs = vec![wrong(); refused.min(3)];
        outputs.push(output.clone());
        let result = campaign.submit(&actor, &mut RecordedNarrator::new(outputs), at(5));
        assert_eq!(result.is_ok(), refused < 3);
        if result.is_ok() {
            self.model(id).turns.push(facts);
        }
    }

    fn other(&mut self, id: &SessionId, campaign: &mut CampaignWriter) {
        let (last, mut facts) = self.last(id);
        match self.random.below(7) {
            0 => {
                facts.checkpoints = self.random.below(4);
                let patch = [("rollback.max_checkpoints".to_owned(), json!(facts.checkpoints))];
                campaign.patch_settings(&patch).unwrap();
                *self.model(id).turns.last_mut().unwrap() = facts;
            }
            1 => {
                facts.actor = format!("pc_00{}", self.random.below(2) + 1);
                campaign.select_actor(&facts.actor).unwrap();
                *self.model(id).turns.last_mut().unwrap() = facts;
            }
            2 if !self.campaigns[id].story().is_empty() => {
                let story = self.campaigns[id].story();
                let count = self.random.below((story.len() as u64).min(4)) + 1;
                campaign.undo(count, at(6)).unwrap();
                let undone = story[story.len() - usize::try_from(count).unwrap()..].to_vec();
                let before = usize::try_from(undone[0] - 1).unwrap();
                let back = self.campaigns[id].turns[before].clone();
                self.model(id).undone.insert(last + 1, undone);
                // Settings and the active actor stay as they are.
                let (checkpoints, actor) = (facts.checkpoints, facts.actor);
                self.model(id).turns.push(Facts { checkpoints, actor, ..back });
            }
            5 => {
                let turn = self.random.below(last + 1);
                let name = format!("name {}", self.random.below(3));
                let new = NewMark { turn: Some(turn), ..NewMark::bookmark(&name) };
                let mark = campaign.add_mark(&new, at(6)).unwrap();
                self.model(id).marks.insert(mark.id, (turn, name));
            }
            6 => {
                let known = self.campaigns[id].marks.keys().next().cloned();
                let id_of_mark = known.unwrap_or_else(|| "mark-1".to_owned());
                let removed = campaign.remove_mark(&id_of_mark, at(6)).is_ok();
                assert_eq!(removed, self.model(id).marks.remove(&id_of_mark).is_some());
            }
            3 if self.campaigns.len() < 6 => {
                let turn = self.random.below(last + 1);
                let branch = campaign.rewind(turn).unwrap();
                let whole = self.campaigns[id].clone();
                self.model(id).cut(turn);
                self.campaigns.insert(branch.id, whole);
            }
            _ => {}
        }
    }

    fn fork(&mut self, id: &SessionId) {
        let (last, _) = self.last(id);
        let turn = self.random.below(last + 1);
        let branch = fork(&self.store, id, turn, None).unwrap();
        let mut model = self.campaigns[id].clone();
        model.cut(turn);
        self.campaigns.insert(branch.id, model);
    }

    /// Takes a campaign out of sight and back, in one of the ways there are.
    fn away_and_back(&mut self, id: &SessionId) {
        let how = ArchiveOptions::default();
        match self.random.below(3) {
            0 => {
                set_status(&self.store, id, &CampaignStatus::Paused).unwrap();
                assert!(CampaignWriter::open(Arc::clone(&self.store), id).is_err());
                set_status(&self.store, id, &CampaignStatus::Active).unwrap();
            }
            1 => {
                archive(&self.store, id, &how, at(7), &mut |_| {}).unwrap();
                assert!(!list(&self.store).unwrap().contains(id));
                unarchive(&self.store, id, &how, at(8), &mut |_| {}).unwrap();
            }
            _ => {
                let gone = trash(&self.store, id, at(7)).unwrap();
                assert!(!list(&self.store).unwrap().contains(id));
                restore(&self.store, &gone.name).unwrap();
            }
        }
    }

    fn compare(&mut self, id: &SessionId) {
        let campaign = Campaign::open(Arc::clone(&self.store), id).unwrap();
        let (last, now) = self.last(id);
        assert_eq!(campaign.turn(), last);
        let marks = campaign.marks().unwrap().into_iter();
        let marks: BTreeMap<_, _> = marks.map(|mark| (mark.id, (mark.turn, mark.name))).collect();
        assert_eq!(marks, self.campaigns[id].marks);
        assert_eq!(facts(campaign.state().unwrap()), now);
        let turn = self.random.below(last + 1);
        let moment = campaign.state_at(turn).unwrap();
        assert_eq!(moment.findings, []);
        let expect = &self.campaigns[id].turns[usize::try_from(turn).unwrap()];
        assert_eq!(&facts(&moment.state), expect, "{id} at turn {turn} of {last}");
        assert_eq!(campaign.check().unwrap(), []);
    }
}

fn run(seed: u64) {
    let store = memory();
    let id = create(&store, &NewCampaign::default(), at(0)).unwrap();
    let start = facts(Campaign::open(Arc::clone(&store), &id).unwrap().state().unwrap());
    let campaigns = BTreeMap::from([(id, Model { turns: vec![start], ..Model::default() })]);
    let mut world = World { store, random: Random(seed), campaigns };
    for _ in 0..25 {
        let id = world.pick();
        let mut campaign = CampaignWriter::open(Arc::clone(&world.store), &id).unwrap();
        for _ in 0..4 {
            if world.random.below(3) < 2 {
                world.turn(&id, &mut campaign);
            } else {
                world.other(&id, &mut campaign);
            }
        }
        campaign.release().unwrap();
        if world.campaigns.len() < 6 && world.random.below(6) == 0 {
            world.fork(&id);
        }
        if world.random.below(4) == 0 {
            world.away_and_back(&id);
        }
        world.compare(&id);
    }
    let all: Vec<SessionId> = world.campaigns.keys().cloned().collect();
    for id in all {
        world.compare(&id);
    }
}

#[test]
fn campaigns_do_what_the_model_says() {
    for seed in 0..60 {
        if let Err(problem) = std::panic::catch_unwind(|| run(seed)) {
            println!("seed {seed} failed");
            std::panic::resume_unwind(problem);
        }
    }
}
