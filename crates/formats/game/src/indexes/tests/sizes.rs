//! The sizes of the texts, and the cost of adding.

use super::*;

const LIMIT: usize = 500_000;

/// The number of entries of each of the six lists.
fn listed(indexes: &Indexes) -> [usize; 6] {
    let [turn_files, offsets] = indexes.turns.listed();
    let [delta_files, snapshots] = indexes.deltas.listed();
    let (scenes, events) = (indexes.scenes.listed(), indexes.events.listed());
    [turn_files, offsets, scenes, events, delta_files, snapshots]
}

/// A long session in files of `per_file` turns.
fn long(turns: u64, per_file: u64) -> Indexes {
    let mut indexes = Indexes::new(SESSION);
    let kinds = ["move", "interact", "overcome", "attack", "defend", "knowledge_gain"];
    for turn in 1..=turns {
        let (first, line) = (turn - (turn - 1) % per_file, (turn - 1) % per_file);
        let last = first + per_file - 1;
        let ids = [1, 2, 3].map(|number| format!("{SESSION}-{turn}-{number}"));
        let summary =
            format!("The keeper of tower {turn} gives up what she knows of the drowned road");
        let summaries = [if turn % 5 == 0 { summary.as_str() } else { "" }, "", ""];
        let mut kind = kinds.iter().cycle().skip(usize::try_from(turn).unwrap() % 6);
        let events: Vec<EventFacts<'_>> =
            (0..3).map(|at| event(&ids[at], kind.next().unwrap(), summaries[at])).collect();
        let file = format!("turns-{first:04}-{last:04}.jsonl");
        let offset = line * 102_400;
        indexes.add_turn(&TurnFacts { turn, file: &file, line, offset, events: &events });
        let file = format!("deltas-{first:04}-{last:04}.jsonl");
        for scope in ["world", "player", "scene"] {
            let ops = ["set", "increment", "push", "pull", "delete"];
            indexes.add_group(&GroupFacts { turn, file: &file, scope, ops: &ops });
        }
        if turn % 20 == 0 {
            let id = format!("snapshot-{turn:04}");
            indexes.add_snapshot(&id, turn, &format!("{id}.json"));
        }
        if turn % 25 == 1 {
            indexes.end_scene(&format!("scene-{:03}", turn / 25), turn - 1);
            let place = "loc-the-upper-market-of-san-cristobal";
            indexes.start_scene(&format!("scene-{:03}", turn / 25 + 1), "exploration", turn, place);
        }
    }
    indexes
}

#[test]
fn no_text_passes_its_limit_in_a_long_session() {
    for per_file in [20, 100, 1] {
        let indexes = long(100_000, per_file);
        for (kind, text) in indexes.texts() {
            println!("{kind}: {} bytes in files of {per_file} turns", text.len());
            assert!(text.len() < LIMIT, "{kind} has {} bytes", text.len());
            assert!(text.len() > 90_000, "{kind} has {} bytes only", text.len());
        }
        println!("{:?} entries", listed(&indexes));
        reread(&indexes);
    }
}

#[test]
fn totals_stay_true_when_lists_are_thinned() {
    let texts = files(&long(100_000, 20));
    let values = texts.map(|text| serde_json::from_str::<serde_json::Value>(&text).unwrap());
    let check = |at: usize, list: &str, total: u64| {
        let value = &values[at];
        let listed = value[list].as_array().unwrap().len() as u64;
        assert_eq!(listed + value[format!("{list}Omitted")].as_u64().unwrap(), total, "{list}");
    };
    check(0, "files", 5000);
    check(1, "scenes", 4000);
    check(2, "significant", 20_000);
    check(3, "files", 5000);
    check(3, "snapshots", 5000);
    let totals = ["totalTurns", "totalScenes", "totalEvents", "totalDeltas"];
    let found: Vec<u64> =
        values.iter().zip(totals).map(|(value, total)| value[total].as_u64().unwrap()).collect();
    assert_eq!(found, [100_000, 4000, 300_000, 1_500_000]);
    assert_eq!(values[0]["offsetStep"], 200);
    assert_eq!(values[3]["byOperation"]["pull"], 300_000);
}

#[test]
fn no_text_passes_its_limit_whatever_the_names_and_numbers_are() {
    let mut indexes = Indexes::new(&"s".repeat(255));
    let start = u64::MAX - 100_000 * 50;
    for number in 0..100_000_u64 {
        let turn = start + number * 50;
        // Each name is different, too long, and made of characters that take six bytes when escaped.
        let name: String = format!("{number:-<400}").replace('-', "\u{1}");
        let events = [event(&name, &name, &name)];
        let offset = u64::MAX - number;
        indexes.add_turn(&TurnFacts { turn, file: &name, line: offset, offset, events: &events });
        indexes.rename_turns(&name, &name.replace('\u{1}', "\\"));
        indexes.add_group(&GroupFacts { turn, file: &name, scope: &name, ops: &[&name] });
        indexes.rename_deltas(&name, &name.replace('\u{1}', "\n"));
        indexes.add_snapshot(&name, turn, &name);
        indexes.start_scene(&name, &name, turn, &name);
        indexes.end_scene(&name, u64::MAX);
    }
    let texts = files(&indexes);
    for text in &texts {
        assert!(text.len() < LIMIT, "{} bytes", text.len());
    }
    assert_eq!(Indexes::parse(&"s".repeat(255), &texts).unwrap(), indexes);
}

#[test]
fn adding_a_turn_costs_the_same_however_long_the_session_is() {
    // A list that becomes shorter was traversed; any other change touches one entry.
    let touched = |turns: u64| {
        let mut indexes = Indexes::new(SESSION);
        let mut touched = 0;
        for turn in 1..=turns {
            let before = listed(&indexes);
            let (file, id) =
                (format!("turns-{turn:04}-{turn:04}.jsonl"), format!("{SESSION}-{turn}"));
            let events = [event(&id, "talk", "Something that matters for the rest of the story")];
            indexes.add_turn(&TurnFacts { turn, file: &file, line: 0, offset: 0, events: &events });
            indexes.add_group(&GroupFacts { turn, file: &file, scope: "world", ops: &["set"] });
            indexes.add_snapshot(&id, turn, &file);
            indexes.start_scene(&id, "social", turn, "loc-harbour");
            for (before, after) in before.into_iter().zip(listed(&indexes)) {
                touched += if after < before { before + 1 } else { 1 };
            }
        }
        touched as u64 / turns
    };
    let (short, long) = (touched(10_000), touched(100_000));
    assert!(long <= 24 && long <= short + 1, "{short} entries touched by a turn, then {long}");
}
