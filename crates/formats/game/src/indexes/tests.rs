//! The four indexes together: texts, sizes, round trips, and invalid texts.

mod histories;
mod hostile;
mod sizes;

use super::*;

const SESSION: &str = "7f3b9c62-1d58-4e0a-9b57-c2a4d1e8f036";

/// The contents of the four files.
fn files(indexes: &Indexes) -> [String; 4] {
    indexes.texts().map(|(_, text)| text)
}

/// The indexes after a round trip.
fn reread(indexes: &Indexes) -> Indexes {
    let read = Indexes::parse(SESSION, &files(indexes)).unwrap();
    assert_eq!(&read, indexes);
    assert_eq!(files(&read), files(indexes));
    read
}

fn event<'a>(id: &'a str, kind: &'a str, summary: &'a str) -> EventFacts<'a> {
    EventFacts { id, kind, summary, significant: !summary.is_empty() }
}

/// A session of 120 turns with everything that an index lists.
fn small() -> Indexes {
    let mut indexes = Indexes::new(SESSION);
    indexes.start_scene("scene-001", "social", 1, "loc-harbour");
    for turn in 1..=120_u64 {
        let id = format!("ev-{turn}-1");
        let summary = if turn == 60 { "The \"Gull\" sails" } else { "" };
        let events = [event(&id, if turn % 3 == 0 { "talk" } else { "walk" }, summary)];
        let (file, line) = match turn {
            101.. => ("turns-0101-current.jsonl", turn - 101),
            _ => ("turns-0001-current.jsonl", turn - 1),
        };
        indexes.add_turn(&TurnFacts { turn, file, line, offset: line * 80, events: &events });
        let file = "deltas-current.jsonl";
        indexes.add_group(&GroupFacts { turn, file, scope: "world", ops: &["set", "push"] });
        if turn == 100 {
            indexes.rename_turns("turns-0001-current.jsonl", "turns-0001-0100.jsonl");
            indexes.rename_deltas("deltas-current.jsonl", "deltas-0001-0100.jsonl");
            indexes.add_snapshot("snapshot-0100", 100, "snapshot-0100.json");
            indexes.add_snapshot("snapshot-0100-x", 100, "snapshot-0100-x.json");
            indexes.end_scene("scene-001", 100);
            indexes.start_scene("scene-002", "travel", 101, "loc-sea");
            indexes.drop_snapshot("snapshot-0100-x");
        }
    }
    indexes
}

#[test]
fn the_texts_are_laid_out_for_people() {
    let [turns, scenes, events, deltas] = files(&small());
    let expect = r#"{
  "sessionId": "7f3b9c62-1d58-4e0a-9b57-c2a4d1e8f036",
  "totalTurns": 120,
  "throughTurn": 120,
  "files": [
    { "file": "turns-0001-0100.jsonl", "range": [1, 100], "eventCount": 100 },
    { "file": "turns-0101-current.jsonl", "range": [101, 120], "eventCount": 20 }
  ],
  "offsetStep": 50,
  "turnOffsets": {
    "1": { "file": "turns-0001-0100.jsonl", "line": 0, "offset": 0 },
    "50": { "file": "turns-0001-0100.jsonl", "line": 49, "offset": 3920 },
    "100": { "file": "turns-0001-0100.jsonl", "line": 99, "offset": 7920 },
    "120": { "file": "turns-0101-current.jsonl", "line": 19, "offset": 1520 }
  }
}"#;
    assert_eq!(turns, expect);
    let expect = r#"{
  "sessionId": "7f3b9c62-1d58-4e0a-9b57-c2a4d1e8f036",
  "totalScenes": 2,
  "throughTurn": 120,
  "scenes": [
    { "sceneId": "scene-001", "type": "social", "turnRange": [1, 100], "location": "loc-harbour" },
    { "sceneId": "scene-002", "type": "travel", "turnRange": [101, null], "location": "loc-sea" }
  ]
}"#;
    assert_eq!(scenes, expect);
    let expect = r#"{
  "sessionId": "7f3b9c62-1d58-4e0a-9b57-c2a4d1e8f036",
  "totalEvents": 120,
  "throughTurn": 120,
  "byType": {
    "walk": 80,
    "talk": 40
  },
  "significant": [
    { "eventId": "ev-60-1", "type": "talk", "summary": "The \"Gull\" sails" }
  ]
}"#;
    assert_eq!(events, expect);
    let expect = r#"{
  "sessionId": "7f3b9c62-1d58-4e0a-9b57-c2a4d1e8f036",
  "totalDeltas": 240,
  "throughTurn": 120,
  "files": [
    { "file": "deltas-0001-0100.jsonl", "turnRange": [1, 100], "deltaCount": 200 },
    { "file": "deltas-current.jsonl", "turnRange": [101, 120], "deltaCount": 40 }
  ],
  "snapshots": [
    { "snapshotId": "snapshot-0100", "turnId": 100, "file": "snapshots/snapshot-0100.json" }
  ],
  "byScope": {
    "world": 240
  },
  "byOperation": {
    "set": 120,
    "push": 120
  }
}"#;
    assert_eq!(deltas, expect);
}

#[test]
fn indexes_without_anything_are_written_and_read() {
    let empty = Indexes::new(SESSION);
    reread(&empty);
    let [turns, scenes, ..] = files(&empty);
    assert!(turns.ends_with("\"files\": [],\n  \"offsetStep\": 50,\n  \"turnOffsets\": {}\n}"));
    assert!(scenes.ends_with("\"throughTurn\": 0,\n  \"scenes\": []\n}"));
    assert_eq!(empty.through(), 0);
}

#[test]
fn files_have_their_names_and_covered_turns() {
    assert_eq!(
        IndexKind::ALL.map(IndexKind::file_name),
        ["turn-index.json", "scene-index.json", "event-index.json", "delta-index.json"]
    );
    assert_eq!(reread(&small()).through(), 120);
    assert_eq!(IndexKind::ALL, small().texts().map(|(kind, _)| kind));
}

#[test]
fn a_turn_that_comes_late_disturbs_no_place() {
    let mut indexes = small();
    let late =
        TurnFacts { turn: 7, file: "turns-0101-current.jsonl", line: 20, offset: 9, events: &[] };
    indexes.add_turn(&late);
    assert_eq!(indexes.through(), 120);
    let turns = &files(&reread(&indexes))[0];
    assert!(turns.contains("\"range\": [7, 120]") && !turns.contains("\"7\": {"));
}
