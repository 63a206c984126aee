//! Campaigns to play with.

use std::sync::Arc;

use everturn::campaign::{
    Campaign, CampaignError, CampaignWriter, NarratorOutput, NewCampaign, PlayOutcome,
    RecordedNarrator, Submission, create,
};
use everturn::names::{FilePath, SessionId};
use everturn::store::{Durability, FileMode, MemoryStore, Precondition, Step, Store};
use everturn::tree::JsonTree;
use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) fn now() -> Timestamp {
    at(0)
}

/// So many seconds after the first turn.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_768_406_700 + seconds).unwrap()
}

pub(crate) fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

pub(crate) fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default())
}

/// A store with a new campaign of the first generation.
pub(crate) fn first() -> (Arc<dyn Store>, SessionId) {
    let store = memory();
    let id = create(&store, &NewCampaign::default(), now()).unwrap();
    (store, id)
}

/// Puts a file where it is wanted, whatever was there.
pub(crate) fn put(store: &Arc<dyn Store>, file: &str, text: &str) {
    let writer = store.lock(&[path(file)]).unwrap();
    let (file, bytes) = (path(file), text.as_bytes().to_vec());
    let (expect, mode) = (Precondition::Anything, FileMode::Default);
    let step = Step::Replace { file, expect, bytes, mode };
    writer.commit(vec![step], Durability::Synced).unwrap();
    writer.release().unwrap();
}

pub(crate) fn read(store: &Arc<dyn Store>, file: &str) -> String {
    String::from_utf8(store.read(&path(file), 0..u64::MAX).unwrap()).unwrap()
}

pub(crate) fn exists(store: &Arc<dyn Store>, file: &str) -> bool {
    store.stat(&path(file)).unwrap().is_some()
}

/// A campaign of the second generation: two actors, three areas, roads 1 to 2 and 2 to 3 and back to 2.
pub(crate) fn second_document() -> Value {
    json!({
        "id": "camp_0001",
        "selected": {
            "world_id": "world_001", "map_id": "map_001",
            "party_character_ids": ["pc_001", "pc_002"], "active_actor_id": "pc_001"
        },
        "settings_snapshot": {
            "context": {"full_context_enabled": true, "compress_enabled": false},
            "rules": {"hp_zero_ends_game": true},
            "rollback": {"max_checkpoints": 0},
            "dialog": {
                "auto_type_enabled": true, "strict_semantic_guard": false,
                "conflict_text_checks_enabled": false, "turn_profile_trace_enabled": false
            },
            "characters": {"fact_generation": {"draft_mode": "deterministic"}}
        },
        "settings_revision": 0,
        "allowlist": ["move", "hp_delta", "inventory_add", "map_generate", "move_options",
            "world_generate", "actor_spawn"],
        "map": {
            "areas": {
                "area_001": {"id": "area_001", "name": "Hall", "description": "A hall.",
                    "parent_area_id": null, "reachable_area_ids": ["area_002"]},
                "area_002": {"id": "area_002", "name": "Stairs", "description": "",
                    "parent_area_id": null, "reachable_area_ids": ["area_003"]},
                "area_003": {"id": "area_003", "name": "Attic", "description": "",
                    "parent_area_id": null, "reachable_area_ids": ["area_002"]}
            },
            "connections": [
                {"from_area_id": "area_001", "to_area_id": "area_002"},
                {"from_area_id": "area_002", "to_area_id": "area_003"},
                {"from_area_id": "area_003", "to_area_id": "area_002"}
            ]
        },
        "actors": {
            "pc_001": {"position": "area_001", "hp": 10, "character_state": "alive",
                "inventory": {"rope": 1}, "meta": {}},
            "pc_002": {"position": "area_001", "hp": 10, "character_state": "alive",
                "inventory": {}, "meta": {}}
        },
        "positions": {}, "hp": {}, "character_states": {},
        "goal": {"text": " Find the key ", "status": "active"},
        "milestone": {"current": "intro", "last_advanced_turn": 0, "turn_trigger_interval": 6,
            "pressure": 0, "pressure_threshold": 2, "summary": ""},
        "lifecycle": {"ended": false, "reason": null, "ended_at": null},
        "created_at": "2026-01-14T16:05:00+00:00"
    })
}

/// A store with a campaign of the second generation, after changes to its document.
pub(crate) fn second(change: impl FnOnce(&mut Value)) -> (Arc<dyn Store>, SessionId) {
    let store = memory();
    let mut document = second_document();
    change(&mut document);
    let text = serde_json::to_string_pretty(&document).unwrap();
    put(&store, "campaigns/camp_0001/campaign.json", &text);
    (store, id("camp_0001"))
}

/// As [`first`], after changes to the document.
pub(crate) fn first_with(change: impl FnOnce(&mut Value)) -> (Arc<dyn Store>, SessionId) {
    let (store, id) = first();
    let file = "campaigns/camp_0001/campaign.json";
    let mut document: Value = serde_json::from_str(&read(&store, file)).unwrap();
    change(&mut document);
    put(&store, file, &serde_json::to_string_pretty(&document).unwrap());
    (store, id)
}

pub(crate) fn open(store: &Arc<dyn Store>, id: &SessionId) -> CampaignWriter {
    CampaignWriter::open(Arc::clone(store), id).unwrap()
}

pub(crate) fn reader(store: &Arc<dyn Store>, id: &SessionId) -> Campaign {
    Campaign::open(Arc::clone(store), id).unwrap()
}

/// An answer with these calls, which are given as (tool, arguments).
pub(crate) fn answer(text: &str, calls: &[(&str, Value)]) -> NarratorOutput {
    let call = |(number, (tool, args)): (usize, &(&str, Value))| {
        JsonTree::from_value(&json!({"id": format!("call_{number}"), "tool": tool, "args": args}))
            .unwrap()
    };
    NarratorOutput {
        text: text.to_owned(),
        dialog_type: Some("scene_description".to_owned()),
        tool_calls: calls.iter().enumerate().map(call).collect(),
        changes: Vec::new(),
    }
}

/// Plays a turn with one answer of the narrator.
pub(crate) fn play(
    campaign: &mut CampaignWriter,
    output: NarratorOutput,
) -> Result<PlayOutcome, CampaignError> {
    campaign.submit(&Submission::new("go on"), &mut RecordedNarrator::new([output]), now())
}

/// A call of the first rules that moves the active actor.
pub(crate) fn step(from: &str, to: &str) -> (&'static str, Value) {
    ("move", json!({"actor_id": "pc_001", "from_area_id": from, "to_area_id": to}))
}

pub(crate) fn value(tree: &JsonTree) -> Value {
    tree.to_value().unwrap()
}
