//! Damaged documents of campaigns as the upstream program writes them: without changes, so that everything comes from
//! what is left of the document and from the rows.

use std::fmt::Write as _;
use std::sync::Arc;

use everturn::campaign::{plan_repair, repair, undo_repair};
use everturn::finding::{FindingCode, Severity};
use everturn::store::Store;
use serde_json::{Value, json};

use crate::campaign::support::{id, memory, now, path, put, reader, second_document, value};

const FILE: &str = "campaigns/camp_0001/campaign.json";
const LOG: &str = "campaigns/camp_0001/turn_log.jsonl";

/// Writes a value as Python's `json.dumps` does, with an indent of two or on one line.
fn dumps(value: &Value, indent: Option<usize>) -> String {
    let text = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap();
        let mut out = String::new();
        for unit in quoted.encode_utf16() {
            match unit {
                0x20..0x7f => out.push(char::from(u8::try_from(unit).unwrap())),
                _ => write!(out, "\\u{unit:04x}").unwrap(),
            }
        }
        out
    };
    let members: Vec<String> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| format!("{}: {}", text(key), dumps(value, indent.map(|i| i + 2))))
            .collect(),
        Value::Array(list) => list.iter().map(|one| dumps(one, indent.map(|i| i + 2))).collect(),
        Value::String(string) => return text(string),
        other => return other.to_string(),
    };
    let [open, close] = if value.is_object() { ["{", "}"] } else { ["[", "]"] };
    match indent {
        _ if members.is_empty() => format!("{open}{close}"),
        None => format!("{open}{}{close}", members.join(", ")),
        Some(indent) => {
            let (inner, outer) = (" ".repeat(indent + 2), " ".repeat(indent));
            format!("{open}\n{inner}{}\n{outer}{close}", members.join(&format!(",\n{inner}")))
        }
    }
}

/// A campaign of the first generation, with values of its own everywhere.
fn first_document() -> Value {
    json!({
        "id": "camp_0001",
        "selected": {
            "world_id": "w\u{e9}lt", "map_id": "m",
            "party_character_ids": ["pc_001", "pc_002"], "active_actor_id": "pc_002"
        },
        "settings_snapshot": {
            "context": {"full_context_enabled": false, "compress_enabled": true},
            "rules": {"hp_zero_ends_game": false},
            "rollback": {"max_checkpoints": 3},
            "dialog": {"auto_type_enabled": false}
        },
        "settings_revision": 4,
        "allowlist": ["move", "map_generate"],
        "map": {
            "areas": {
                "area_001": {"id": "area_001", "name": "Throne Hall", "parent_area_id": null},
                "area_002": {"id": "area_002", "name": "K\u{fc}che", "parent_area_id": null},
                "area_003": {"id": "area_003", "name": "Generated Area", "parent_area_id": "area_002"}
            },
            "connections": [
                {"from_area_id": "area_001", "to_area_id": "area_002"},
                {"from_area_id": "area_002", "to_area_id": "area_003"}
            ]
        },
        "positions": {"pc_001": "area_001", "pc_002": "area_003"},
        "hp": {"pc_001": 10, "pc_002": 7},
        "character_states": {"pc_001": "alive", "pc_002": "restrained_permanent"},
        "goal": {"text": "Find the crown", "status": "active"},
        "milestone": {"current": "milestone_15", "last_advanced_turn": 90},
        "created_at": "2026-01-14T09:10:51.675241+00:00"
    })
}

fn row(turn: u64, revision: u64, applied: &Value, summary: &Value) -> String {
    let row = json!({
        "turn_id": format!("turn_{turn:04}"),
        "timestamp": "2026-01-14T16:05:30.123456+00:00",
        "user_input": "go on",
        "dialog_type": "scene_description",
        "dialog_type_source": "model",
        "settings_revision": revision,
        "assistant_text": "You go on.",
        "assistant_structured": {"tool_calls": []},
        "applied_actions": applied,
        "tool_feedback": null,
        "conflict_report": null,
        "state_summary": summary,
    });
    dumps(&row, None) + "\n"
}

/// The log of [`first_document`].
fn first_log() -> String {
    let summary = |second: &str| {
        json!({
            "active_actor_id": "pc_002",
            "positions": {"pc_001": "area_001", "pc_002": second},
            "hp": {"pc_001": 10, "pc_002": 7},
            "character_states": {"pc_001": "alive", "pc_002": "restrained_permanent"},
        })
    };
    let action = |tool: &str, args: Value, result: Value| json!([{"tool": tool, "args": args, "result": result, "timestamp": "2026-01-14T16:05:30+00:00"}]);
    let go = |from: &str, to: &str| {
        let args = json!({"actor_id": "pc_002", "from_area_id": from, "to_area_id": to});
        action("move", args, json!({"to_area_id": to}))
    };
    let grow = action(
        "map_generate",
        json!({"parent_area_id": "area_002"}),
        json!({"new_area_id": "area_003"}),
    );
    [
        row(1, 4, &go("area_001", "area_002"), &summary("area_002")),
        row(2, 4, &grow, &summary("area_002")),
        row(3, 4, &go("area_002", "area_003"), &summary("area_003")),
    ]
    .concat()
}

/// The log of `second_document`.
fn second_log() -> String {
    let summary = json!({
        "active_actor_id": "pc_001",
        "positions": {"pc_001": "area_001", "pc_002": "area_001"},
        "positions_parent": {"pc_001": "area_001", "pc_002": "area_001"},
        "positions_child": {"pc_001": null, "pc_002": null},
        "hp": {"pc_001": 10, "pc_002": 10},
        "character_states": {"pc_001": "alive", "pc_002": "alive"},
        "inventories": {"pc_001": {"rope": 1}, "pc_002": {}},
        "objective": "Find the key",
        "active_area_id": "area_001",
        "active_area_name": "Hall",
        "active_area_description": "A hall.",
        "active_actor_inventory": {"rope": 1},
    });
    row(1, 0, &json!([]), &summary)
}

/// A campaign of the upstream program.
struct Original {
    document: Value,
    text: String,
    log: Option<String>,
}

impl Original {
    fn first() -> Original {
        let document = first_document();
        Original { text: dumps(&document, Some(0)), document, log: Some(first_log()) }
    }

    fn second() -> Original {
        let document = second_document();
        Original { text: dumps(&document, Some(0)), document, log: Some(second_log()) }
    }

    /// Repairs the campaign with this text of the document, and returns the document then. One run is enough, and can
    /// be undone.
    fn repaired(&self, text: &[u8]) -> (Value, Vec<String>) {
        let (store, id) = (memory(), id("camp_0001"));
        put_bytes(&store, FILE, text);
        if let Some(log) = &self.log {
            put(&store, LOG, log);
        }
        repair(&store, &id, now()).unwrap();
        let campaign = reader(&store, &id);
        let state = value(campaign.state().unwrap());
        let found = campaign.check().unwrap();
        let lost = found.iter().filter(|one| one.code == FindingCode::LostValue);
        let lost = lost.map(|one| one.message.clone()).collect();
        assert!(
            plan_repair(&store, &id).unwrap().actions.is_empty(),
            "a second run has work to do"
        );
        undo_repair(&store, &id, now()).ok();
        assert_eq!(store.read(&path(FILE), 0..u64::MAX).unwrap(), text, "the undo");
        (state, lost)
    }
}

fn put_bytes(store: &Arc<dyn Store>, file: &str, bytes: &[u8]) {
    use everturn::store::{Durability, FileMode, Precondition, Step};
    let writer = store.lock(&[path(file)]).unwrap();
    let (expect, mode) = (Precondition::Anything, FileMode::Default);
    let step = Step::Replace { file: path(file), expect, bytes: bytes.to_vec(), mode };
    writer.commit(vec![step], Durability::Synced).unwrap();
    writer.release().unwrap();
}

/// A value of a document with one value per line.
struct Leaf {
    path: Vec<String>,
    value: Value,
    /// The line of the value, and of the starts of what contains it.
    line: usize,
    above: Vec<usize>,
    /// Where its text ends.
    end: usize,
}

/// Reads the values of a document that `dumps` has written.
fn leaves(text: &str) -> Vec<Leaf> {
    let (mut leaves, mut open, mut offset) = (Vec::new(), Vec::<(String, usize, usize)>::new(), 0);
    for (line, whole) in text.split_inclusive('\n').enumerate() {
        let content = whole.trim().trim_end_matches(',');
        let (key, rest) = match content.split_once("\": ") {
            Some((key, rest)) if content.starts_with('"') => (key[1..].to_owned(), rest),
            _ => (open.last().map_or(String::new(), |(_, _, count)| count.to_string()), content),
        };
        if !matches!(rest, "}" | "]")
            && let Some((_, _, count)) = open.last_mut()
        {
            *count += 1;
        }
        match rest {
            "{" | "[" => open.push((key, line, 0)),
            "}" | "]" => drop(open.pop()),
            _ => {
                let inside = open.iter().skip(1);
                let path = inside.map(|(key, ..)| key.clone()).chain([key]).collect();
                let value = serde_json::from_str(rest).unwrap();
                let above = open.iter().map(|(_, line, _)| *line).collect();
                let end = offset + whole.trim_end().trim_end_matches(',').len();
                leaves.push(Leaf { path, value, line, above, end });
            }
        }
        offset += whole.len();
    }
    leaves
}

fn at<'v>(document: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(document, |value, key| match value {
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    })
}

/// Every value that is not as it was must be reported as lost.
fn must_be_reported(original: &Value, found: &Value, lost: &[String], what: &str) {
    for leaf in leaves(&dumps(original, Some(0))) {
        if at(found, &leaf.path) == Some(&leaf.value) {
            continue;
        }
        let names = (1..=leaf.path.len()).map(|length| leaf.path[..length].join("."));
        let told = names.into_iter().any(|name| {
            lost.iter().any(|lost| lost.starts_with(&format!("the value of {name} was lost")))
        });
        let now = at(found, &leaf.path);
        assert!(told, "{what}: {} is {now:?}, not {}, {lost:?}", leaf.path.join("."), leaf.value);
    }
}

#[test]
fn a_document_with_more_after_it_loses_nothing() {
    for original in [Original::first(), Original::second()] {
        for tail in ["}", "\n}", "\0\0\0\0", "+00:00\"\n}", "{"] {
            let (found, lost) = original.repaired(format!("{}{tail}", original.text).as_bytes());
            assert_eq!(found, original.document, "{tail:?}");
            assert_eq!(lost, Vec::<String>::new());
        }
    }
}

#[test]
fn a_document_that_is_cut_keeps_every_value_before_the_cut() {
    for original in [Original::first(), Original::second()] {
        let leaves = leaves(&original.text);
        for cut in 0..original.text.len() {
            let (found, lost) = original.repaired(&original.text.as_bytes()[..cut]);
            for leaf in &leaves {
                let end = leaf.end + usize::from(leaf.value.is_number());
                if end <= cut {
                    let now = at(&found, &leaf.path);
                    assert_eq!(now, Some(&leaf.value), "cut at {cut}: {}", leaf.path.join("."));
                }
            }
            must_be_reported(&original.document, &found, &lost, &format!("cut at {cut}"));
        }
    }
}

#[test]
fn values_after_a_cut_come_from_the_log() {
    let original = Original::first();
    for cut in (0..original.text.find("\"goal\"").unwrap()).step_by(13) {
        let (found, _) = original.repaired(&original.text.as_bytes()[..cut]);
        for part in ["positions", "hp", "character_states", "settings_revision"] {
            assert_eq!(found[part], original.document[part], "cut at {cut}");
        }
        assert_eq!(found["selected"]["active_actor_id"], "pc_002", "cut at {cut}");
        let area = &found["map"]["areas"]["area_003"];
        assert_eq!(*area, original.document["map"]["areas"]["area_003"], "cut at {cut}");
        let roads = found["map"]["connections"].as_array().unwrap();
        for road in original.document["map"]["connections"].as_array().unwrap() {
            assert!(roads.contains(road), "cut at {cut}: {roads:?}");
        }
    }
}

#[test]
fn a_damaged_byte_costs_at_most_its_line() {
    const BYTES: &[u8] = b"\"},\\\nx\xff {]:0\0";
    for original in [Original::first(), Original::second()] {
        let leaves = leaves(&original.text);
        let text = original.text.as_bytes();
        for at_byte in 0..text.len() {
            let line = original.text[..at_byte].matches('\n').count();
            for step in 0..3 {
                let byte = BYTES[(at_byte * 3 + step) % BYTES.len()];
                if text[at_byte] == byte {
                    continue;
                }
                let mut damaged = text.to_vec();
                damaged[at_byte] = byte;
                let (found, _) = original.repaired(&damaged);
                // A newline that is gone joins two lines.
                let last = line + usize::from(text[at_byte] == b'\n');
                let is_hit = |hit: usize| (line..=last).contains(&hit);
                let shifts = |leaf: &Leaf| {
                    // An element of an array that is lost moves the later ones.
                    leaves.iter().any(|other| {
                        let is_lost = is_hit(other.line) || other.above.iter().copied().any(is_hit);
                        let same = leaf.path.iter().zip(&other.path);
                        let depth = same.take_while(|(one, other)| one == other).count();
                        let is_index = |path: &[String]| {
                            path.get(depth).is_some_and(|key| key.parse::<usize>().is_ok())
                        };
                        is_lost && is_index(&leaf.path) && is_index(&other.path)
                    })
                };
                for leaf in &leaves {
                    if is_hit(leaf.line) || leaf.above.iter().copied().any(is_hit) || shifts(leaf) {
                        continue;
                    }
                    let now = at(&found, &leaf.path);
                    let what = format!("{:?} at {at_byte} (line {line})", char::from(byte));
                    assert_eq!(now, Some(&leaf.value), "{what}: {}", leaf.path.join("."));
                }
            }
        }
    }
}

#[test]
fn without_rows_what_is_missing_gets_defaults_and_is_reported() {
    let original = Original { log: None, ..Original::first() };
    let cut = original.text.find("\"hp_zero").unwrap();
    let (found, lost) = original.repaired(&original.text.as_bytes()[..cut]);
    assert_eq!(found["selected"], original.document["selected"]);
    assert_eq!(
        found["settings_snapshot"]["context"],
        original.document["settings_snapshot"]["context"]
    );
    must_be_reported(&original.document, &found, &lost, "without rows");
}

#[test]
fn values_of_the_wrong_kind_come_from_the_log() {
    for (field, wrong) in [
        ("hp", json!([])),
        ("positions", json!("area_001")),
        ("character_states", json!(null)),
        ("settings_revision", json!("4")),
        ("selected", json!({"party_character_ids": 7, "active_actor_id": []})),
    ] {
        let original = Original::first();
        let mut document = original.document.clone();
        document[field] = wrong;
        let (found, _) = original.repaired(dumps(&document, Some(0)).as_bytes());
        let mut expect = original.document[field].clone();
        if field == "selected" {
            expect["world_id"] = found[field]["world_id"].clone();
            expect["map_id"] = found[field]["map_id"].clone();
        }
        assert_eq!(found[field], expect, "{field}");
        assert_eq!(found["goal"], original.document["goal"], "{field}");
    }
    let original = Original::first();
    let mut document = original.document.clone();
    document["hp"]["pc_002"] = json!("seven");
    let (found, lost) = original.repaired(dumps(&document, Some(0)).as_bytes());
    assert_eq!((found, lost), (original.document, Vec::new()));
}

#[test]
fn what_was_lost_stays_reported_and_the_campaign_can_be_played() {
    let original = Original::first();
    let (store, id) = (memory(), id("camp_0001"));
    let cut = original.text.find("Find the crown").unwrap();
    put(&store, FILE, &original.text[..cut]);
    put(&store, LOG, original.log.as_deref().unwrap());
    repair(&store, &id, now()).unwrap();
    let found = reader(&store, &id).check().unwrap();
    let lost: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(found.len(), 4, "{lost:?}");
    assert!(found.iter().all(|finding| finding.code.severity() == Severity::Warning), "{lost:?}");
    assert!(lost[2].starts_with("the value of goal.text was lost"), "{lost:?}");
    let mut campaign = crate::campaign::support::open(&store, &id);
    let played = crate::campaign::support::play(
        &mut campaign,
        everturn::campaign::NarratorOutput::text("Silence."),
    );
    assert_eq!(played.unwrap().turn, 4);
}
