//! New campaigns: what can be given, what is refused, and what narrators receive.

use std::sync::Arc;

use everturn::campaign::{
    self, CampaignWriter, EmbeddedNarrator, Generation, Narrator, NarratorError, NarratorOutput,
    NarratorRequest, Submission,
};
use everturn::model::NewSession;
use everturn::names::SessionId;
use everturn::store::Store;
use everturn::tree::JsonTree;
use serde_json::{Value, json};

use crate::campaign::support::{memory, now, reader, value};
use crate::common::capabilities::KnownCapabilities;

/// Creates a campaign from the fields of a JSON object.
fn created(fields: Value) -> Result<(Arc<dyn Store>, SessionId), String> {
    let store = memory();
    let fields = JsonTree::parse(fields.to_string()).unwrap();
    let new = NewSession { fields, ..NewSession::with_id("") };
    let made = campaign::FORMAT.editable().create(&store, &new, now());
    let made = made.map_err(|error| error.to_string())?;
    let id = SessionId::parse(&made.session_ref().id).unwrap();
    made.close(now()).unwrap();
    Ok((store, id))
}

fn full() -> Value {
    json!({
        "title": "Salt", "premise": "The sea has gone.", "goal": "Bring the sea back",
        "tone": "dry", "language": "de", "map_size": 7, "allowlist": ["move", "hp_delta"],
        "characters": [
            {"name": "Ann", "description": "a smith", "hp": 14},
            {"id": "pc_002", "name": "Ben"},
        ],
    })
}

#[test]
fn a_campaign_has_what_it_is_given() {
    for rules in [1, 2] {
        let mut fields = full();
        fields["rules"] = json!(rules);
        let (store, id) = created(fields).unwrap();
        let campaign = reader(&store, &id);
        assert_eq!(campaign.check().unwrap(), []);
        let state = value(campaign.state().unwrap());
        assert_eq!(state["goal"]["text"], "Bring the sea back");
        assert_eq!(state["allowlist"], json!(["move", "hp_delta"]));
        assert_eq!(state["everturn"]["title"], "Salt");
        let characters = campaign.characters().unwrap();
        let found: Vec<(&str, Option<i64>)> =
            characters.iter().map(|one| (one.id.as_str(), one.hp)).collect();
        assert_eq!(found, [("Ann", Some(14)), ("pc_002", Some(10))]);
        assert_eq!(campaign.areas().unwrap().len(), 7);
        assert!(campaign.areas().unwrap().iter().all(|area| !area.roads.is_empty()));
        let expect = if rules == 1 { Generation::First } else { Generation::Second };
        assert_eq!(campaign.generation().unwrap(), expect);
        let place =
            everturn::model::SessionRef { id: id.to_string(), path: campaign.dir().clone() };
        assert_eq!(campaign::FORMAT.read_summary(&store, &place).unwrap().title, "Salt");
    }
}

#[test]
fn a_map_can_be_given() {
    let map = json!({
        "areas": {
            "quay": {"name": "Quay", "description": "Planks."},
            "ship": {"name": "Ship", "parent_area_id": "quay"},
        },
        "connections": [{"from_area_id": "quay", "to_area_id": "ship"}],
    });
    for (rules, back) in [(1, vec!["quay".to_owned()]), (2, vec![])] {
        let (store, id) = created(json!({"map": map, "rules": rules})).unwrap();
        let campaign = reader(&store, &id);
        assert_eq!(campaign.check().unwrap(), []);
        let areas = campaign.areas().unwrap();
        assert_eq!(
            (areas[0].name.as_str(), &areas[0].roads[..]),
            ("Quay", &["ship".to_owned()][..])
        );
        assert_eq!(areas[1].roads, back);
        assert!(
            campaign.characters().unwrap().iter().all(|one| one.area.as_deref() == Some("quay"))
        );
    }
}

#[test]
fn what_makes_no_campaign_is_refused() {
    for (fields, expect) in [
        (json!({"rules": 3}), "rules are 1 or 2"),
        (json!({"map_size": 1}), "2 to 1000"),
        (json!({"map_size": 5000}), "2 to 1000"),
        (json!({"allowlist": ["fly"]}), "unknown tool \"fly\""),
        (json!({"characters": [{"hp": 3}]}), "needs a name"),
        (json!({"characters": [{"name": "A", "hp": 0}]}), "at least 1 hp"),
        (json!({"characters": [{"name": "A"}, {"name": "A"}]}), "distinct"),
        (json!({"characters": [{"name": "A"}], "party": ["A"]}), "one of the two"),
        (json!({"map": {"areas": {}}}), "needs areas"),
        (
            json!({"map": {"areas": {"a": {}}, "connections": [{"from_area_id": "a", "to_area_id": "b"}]}}),
            "\"b\", which is not on it",
        ),
        (json!({"title": 5}), "title is a number"),
        (json!({"colour": "red"}), "campaigns have no \"colour\""),
    ] {
        let error = created(fields.clone()).err().unwrap();
        assert!(error.contains(expect), "{fields}: {error}");
    }
}

#[test]
fn new_campaigns_without_fields_are_those_of_the_program() {
    let (store, id) = created(json!({})).unwrap();
    let state = value(reader(&store, &id).state().unwrap());
    assert_eq!(state.get("everturn"), None);
    assert_eq!(state["map"]["areas"].as_object().unwrap().len(), 2);
}

struct PremiseSpy(Option<String>);

impl Narrator for PremiseSpy {
    fn narrate(&mut self, request: &NarratorRequest<'_>) -> Result<NarratorOutput, NarratorError> {
        self.0 = request.premise();
        Ok(NarratorOutput::text("Silence."))
    }
}

#[test]
fn narrators_receive_the_premise() {
    let (store, id) = created(full()).unwrap();
    let mut campaign = CampaignWriter::open(store, &id).unwrap();
    let mut spy = PremiseSpy(None);
    campaign.submit(&Submission::new("look"), &mut spy, now()).unwrap();
    let told = spy.0.unwrap();
    for part in ["Salt", "The sea has gone.", "dry", "de", "Ann: a smith", "pc_002: Ben"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn the_embedded_narrator_tells_the_premise_and_speaks_the_language() {
    let (store, id) = created(full()).unwrap();
    let mut campaign = CampaignWriter::open(store, &id).unwrap();
    let mut narrator = EmbeddedNarrator::new(3);
    let opening = campaign.submit(&Submission::new(""), &mut narrator, now()).unwrap();
    let text = opening.row.string_at(&["assistant_text"]).unwrap();
    assert!(text.starts_with("The sea has gone.") && text.contains("Wege:"), "{text}");
    assert!(text.contains("Ben"), "{text}");
    let goal = value(campaign.state().unwrap())["goal"]["text"].clone();
    assert_eq!(goal, "Bring the sea back");
    let status = campaign.submit(&Submission::new("status"), &mut narrator, now()).unwrap();
    let text = status.row.string_at(&["assistant_text"]).unwrap();
    assert!(text.contains("14"), "{text}");
}
