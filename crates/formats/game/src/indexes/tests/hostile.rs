//! Texts that are not indexes of this session: they give an error with the cause and the position, never a panic.

use proptest::prelude::*;

use super::*;

/// Reads the indexes of the small session after `from` was replaced by `to` in the one of `kind`.
fn changed(kind: IndexKind, from: &str, to: &str) -> Result<Indexes, IndexError> {
    let texts = small().texts().map(|(each, text)| {
        if each == kind {
            assert!(text.contains(from), "{kind} has no {from}");
            text.replacen(from, to, 1)
        } else {
            text
        }
    });
    Indexes::parse(SESSION, &texts)
}

#[track_caller]
fn refused(kind: IndexKind, from: &str, to: &str, expect: &str) {
    let error = changed(kind, from, to).expect_err(to).to_string();
    assert!(error.starts_with(kind.file_name()) && error.contains(expect), "{error}");
}

#[test]
fn fields_that_are_missing_or_wrong_are_named() {
    use IndexKind::{Deltas, Events, Scenes, Turns};
    for (kind, from, to, expect) in [
        (Turns, "totalTurns", "turns", "totalTurns"),
        (Turns, "\"totalTurns\": 120", "\"totalTurns\": -1", "totalTurns"),
        (Turns, "\"totalTurns\": 120", "\"totalTurns\": 1.5", "totalTurns"),
        (Turns, "\"totalTurns\": 120", "\"totalTurns\": 18446744073709551616", "totalTurns"),
        (Turns, "throughTurn", "through", "throughTurn"),
        (Turns, "\"throughTurn\": 120", "\"throughTurn\": 119", "turnOffsets"),
        (Turns, "\"files\": [", "\"files\": [7,", "files[0]"),
        (Turns, "[1, 100]", "[100, 1]", "files[0]"),
        (Turns, "[1, 100]", "[1, 100, 100]", "files[0]"),
        (Turns, "[101, 120]", "{\"0\": 1, \"1\": 2}", "files[1]"),
        (Turns, "\"offsetStep\": 50", "\"offsetStep\": 0", "offsetStep"),
        (Turns, "\"offsetStep\": 50", "\"offsetStep\": 150", "offsetStep"),
        (Turns, "\"offsetStep\": 50", "\"offsetStep\": 100", "turnOffsets"),
        (Turns, "\"50\":", "\"050\":", "turnOffsets.050"),
        (Turns, "\"50\":", "\"x\":", "turnOffsets.x"),
        (Turns, "\"50\":", "\"500\":", "turnOffsets.100"),
        (Turns, "\"120\":", "\"150\":", "turnOffsets"),
        (Turns, ", \"offset\": 3920", "", "turnOffsets.50"),
        (Scenes, "\"totalScenes\": 2", "\"totalScenes\": 3", "totalScenes"),
        (Scenes, "[101, null]", "[null, 101]", "scenes[1]"),
        (Scenes, "\"social\"", "null", "scenes[0]"),
        (Scenes, "  ]", "  ], \"scenesOmitted\": 1", "scenesThinned"),
        (
            Scenes,
            "  ]",
            "  ], \"scenesOmitted\": 1, \"scenesThinned\": {\"first\": 3, \"step\": 2, \"passed\": 1}",
            "scenesThinned",
        ),
        (
            Scenes,
            "  ]",
            "  ], \"scenesOmitted\": 1, \"scenesThinned\": {\"first\": 1, \"step\": 0, \"passed\": 1}",
            "scenesThinned",
        ),
        (
            Scenes,
            "  ]",
            "  ], \"scenesOmitted\": 1, \"scenesThinned\": {\"first\": 1, \"step\": 2, \"passed\": 3}",
            "scenesThinned",
        ),
        (Events, "\"totalEvents\": 120", "\"totalEvents\": 121", "totalEvents"),
        (Events, "\"walk\": 80", "\"walk\": \"80\"", "byType.walk"),
        (Events, "\"walk\": 80", "\"walk\": 80, \"ride\": 0", "byType.ride"),
        (Events, "\"byType\": {", "\"byType\": [], \"x\": {", "byType"),
        (Events, "\"ev-60-1\"", "[\"ev-60-1\"]", "significant[0]"),
        (Deltas, "\"totalDeltas\": 240", "\"totalDeltas\": 241", "totalDeltas"),
        (Deltas, "\"push\": 120", "\"push\": 121", "totalDeltas"),
        (Deltas, "snapshots/", "../", "snapshots[0]"),
        (Deltas, "\"byScope\"", "\"scope\"", "byScope"),
    ] {
        refused(kind, from, to, expect);
    }
    let long = format!("\"{}\"", "x".repeat(256));
    refused(Scenes, "\"social\"", &long, "scenes[0]");
    refused(Events, "\"walk\": 80", &format!("{long}: 80"), "byType.xxx");
}

#[test]
fn a_text_that_is_not_json_is_refused() {
    for kind in IndexKind::ALL {
        refused(kind, "{\n", "\n", "not JSON");
        refused(kind, "\n}", "", "not JSON");
        refused(kind, "\n}", "\n}}", "not JSON");
        refused(kind, "{\n", "{\"deep\": [[[[", "not JSON");
        let deep = |levels| format!("{{\"x\": {}{},\n", "[".repeat(levels), "]".repeat(levels));
        refused(kind, "{\n", &deep(100_000), "not JSON: recursion limit");
        refused(kind, "{\n", "{\"x\": 1e999,\n", "not JSON");
        refused(kind, "{\n", "{\"x\": \"\\ud800\",\n", "not JSON");
        refused(kind, "{\n", "{\"x\": {\"a\": 1, \"\\u0061\": 2},\n", "a duplicate key at byte 15");
        refused(kind, "{\n", "{\"throughTurn\": 120,\n", "a duplicate key");
        refused(kind, "{\n", &format!("{{{}\n", " ".repeat(1_000_000)), "too many for an index");
        assert_eq!(changed(kind, "{\n", "{\"unknown\": [{}],\n").as_ref(), Ok(&small()));
    }
    let whole = ["[]", "null", "7", "", "\u{feff}{}"];
    for text in whole {
        assert!(Indexes::parse(SESSION, &[text; 4]).unwrap_err().to_string().contains("not JSON"));
    }
    assert!(
        Indexes::parse(SESSION, &[b"{\"x\": \"\xff\"}"; 4])
            .unwrap_err()
            .to_string()
            .contains("not JSON")
    );
}

#[test]
fn indexes_of_another_session_or_another_turn_are_refused() {
    for kind in IndexKind::ALL {
        refused(kind, SESSION, "another", "belongs to session \"another\"");
        refused(kind, "sessionId", "session", "sessionId");
        refused(kind, &format!("\"{SESSION}\""), "7", "sessionId");
        if kind != IndexKind::Turns {
            refused(kind, "\"throughTurn\": 120", "\"throughTurn\": 119", "up to 119");
        }
    }
}

#[test]
fn a_list_beyond_its_budget_is_refused() {
    let scene = r#"{ "sceneId": "s", "type": "t", "turnRange": [1, 2], "location": "l" },"#;
    let many = format!("\"scenes\": [{}", scene.repeat(4000));
    refused(IndexKind::Scenes, "\"scenes\": [", &many, "scenes");
    let kinds: String = (0..3000).map(|number| format!("\"kind-{number}\": 1, ")).collect();
    refused(IndexKind::Events, "\"walk\"", &format!("{kinds}\"walk\""), "byType");
    let places: String = (3..2000)
        .map(|number| {
            format!("\"{}\": {{\"file\": \"f\", \"line\": 1, \"offset\": 1}}, ", number * 50)
        })
        .collect();
    let texts =
        files(&small()).map(|text| text.replace("\"throughTurn\": 120", "\"throughTurn\": 99951"));
    let turns = texts[0].replace("\"120\"", &format!("{places}\"99951\""));
    let error = Indexes::parse(SESSION, &[&turns, &texts[1], &texts[2], &texts[3]]).unwrap_err();
    assert_eq!(error.to_string(), "turn-index.json: \"turnOffsets\" is missing or invalid");
}

/// Adds entries that any index must accept after it was read, whatever its numbers.
fn goes_on(mut indexes: Indexes) {
    for turn in [indexes.through().saturating_add(1), u64::MAX] {
        let events = [event("e", "walk", "on")];
        let file = "turns-0101-current.jsonl";
        indexes.add_turn(&TurnFacts { turn, file, line: 0, offset: 0, events: &events });
        indexes.rename_turns(file, "turns-x.jsonl");
        let file = "deltas-current.jsonl";
        indexes.add_group(&GroupFacts { turn, file, scope: "world", ops: &["set"] });
        indexes.drop_snapshot("snapshot-0100");
        indexes.end_scene("scene-002", turn);
        for _ in 0..4000 {
            indexes.start_scene("scene-002", "social", turn, "loc");
        }
        reread(&indexes);
    }
}

#[test]
fn numbers_at_the_end_of_their_range_do_not_overflow() {
    let most = u64::MAX.to_string();
    for (kind, from) in [
        (IndexKind::Turns, "\"totalTurns\": 120"),
        (IndexKind::Turns, "\"eventCount\": 20"),
        (IndexKind::Deltas, "\"deltaCount\": 40"),
        (IndexKind::Deltas, "\"turnId\": 100"),
    ] {
        let (key, _) = from.split_once(' ').unwrap();
        goes_on(changed(kind, from, &format!("{key} {most}")).unwrap());
    }
    let thinned = format!(
        "],\n \"scenesOmitted\": {most}, \"scenesThinned\": {{\"first\": 2, \"step\": 1048576, \"passed\": 1048576}}"
    );
    let texts = files(&small());
    let scenes =
        texts[1].replace("\n  ]", &thinned).replace("Scenes\": 2", &format!("Scenes\": {most}"));
    goes_on(Indexes::parse(SESSION, &[&texts[0], &scenes, &texts[2], &texts[3]]).unwrap());
}

const MISPRINTS: [&str; 12] =
    ["", "0", "9", "-", "\"", "}", "]", ",", "null", "99999999999999999999", "\u{0}", "é"];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn a_misprint_is_refused_or_borne(
        kind in 0..4_usize,
        at in any::<prop::sample::Index>(),
        length in 0..4_usize,
        put in prop::sample::select(MISPRINTS.to_vec()),
    ) {
        let mut texts = files(&small()).map(String::into_bytes);
        let start = at.index(texts[kind].len());
        let end = (start + length).min(texts[kind].len());
        texts[kind].splice(start..end, put.bytes());
        if let Ok(indexes) = Indexes::parse(SESSION, &texts) {
            let file = "turns-0101-current.jsonl";
            let turn = indexes.through().saturating_add(1);
            let mut indexes = reread(&indexes);
            indexes.add_turn(&TurnFacts { turn, file, line: 0, offset: 0, events: &[] });
            reread(&indexes);
        }
    }
}
