//! Random histories: saving and reading in between, renames and rebuilding do not change the texts.

use proptest::prelude::*;

use super::*;

/// An event in a session.
#[derive(Debug, Clone)]
enum HistoryEvent {
    Turn { turn: u64, file: String, line: u64, offset: u64, events: Vec<(String, String, String)> },
    Group { turn: u64, file: String, scope: String, ops: Vec<&'static str> },
    RenameTurns(String, String),
    RenameDeltas(String, String),
    Snapshot(u64),
    DropSnapshot(u64),
    StartScene { number: u64, turn: u64, location: String },
    EndScene { number: u64, turn: u64 },
}

use HistoryEvent::{
    DropSnapshot, EndScene, Group, RenameDeltas, RenameTurns, Snapshot, StartScene, Turn,
};

impl HistoryEvent {
    fn apply(&self, indexes: &mut Indexes) {
        let snapshot = |turn: u64| format!("snapshot-{turn:04}");
        let scene = |number: u64| format!("scene-{number:03}");
        match self {
            Turn { turn, file, line, offset, events } => {
                let events: Vec<EventFacts<'_>> =
                    events.iter().map(|(id, kind, summary)| event(id, kind, summary)).collect();
                let (turn, line, offset) = (*turn, *line, *offset);
                indexes.add_turn(&TurnFacts { turn, file, line, offset, events: &events });
            }
            Group { turn, file, scope, ops } => {
                indexes.add_group(&GroupFacts { turn: *turn, file, scope, ops });
            }
            RenameTurns(from, to) => indexes.rename_turns(from, to),
            RenameDeltas(from, to) => indexes.rename_deltas(from, to),
            Snapshot(turn) => {
                indexes.add_snapshot(&snapshot(*turn), *turn, &format!("{}.json", snapshot(*turn)));
            }
            DropSnapshot(turn) => indexes.drop_snapshot(&snapshot(*turn)),
            StartScene { number, turn, location } => {
                indexes.start_scene(&scene(*number), "social", *turn, location);
            }
            EndScene { number, turn } => indexes.end_scene(&scene(*number), *turn),
        }
    }
}

/// Pseudo-random numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn text(&mut self, most: u64) -> String {
        let length = self.below(most);
        let mut character = || "aé\" \n…水".chars().cycle().nth(self.below(7).try_into().unwrap());
        (0..length).filter_map(|_| character()).collect()
    }
}

/// A session in which everything happens often, so that a few thousand turns thin every list.
fn history(seed: u64, turns: u64, per_file: u64) -> Vec<HistoryEvent> {
    let mut dice = Dice(seed);
    let mut all = Vec::new();
    let (mut first, mut offset, mut scene) = (1, 0, 0);
    for turn in 1..=turns {
        let file = format!("turns-{first:04}-current.jsonl");
        let events = (0..dice.below(4)).map(|at| {
            let kind = format!("kind-{}", dice.below(3000));
            let summary = if dice.below(2) == 0 { dice.text(90) } else { String::new() };
            (format!("{seed:x}-{turn}-{at}"), kind, summary)
        });
        let events = events.collect();
        all.push(Turn { turn, file: file.clone(), line: turn - first, offset, events });
        offset += 100 + dice.below(900);
        for scope in ["world", "player"] {
            let file = "deltas-current.jsonl".to_owned();
            let ops = ["set", "push", "pull", "delete"].into_iter().filter(|_| dice.below(2) == 0);
            all.push(Group { turn, file, scope: scope.to_owned(), ops: ops.collect() });
        }
        if dice.below(3) > 0 {
            all.push(Snapshot(turn));
        }
        if dice.below(9) == 0 {
            all.push(DropSnapshot(1 + dice.below(turn)));
        }
        if dice.below(2) == 0 {
            all.push(EndScene { number: scene, turn: turn - 1 });
            scene += 1;
            all.push(StartScene { number: scene, turn, location: dice.text(120) });
        }
        if turn - first >= per_file + dice.below(2) {
            all.push(RenameTurns(file, format!("turns-{first:04}-{turn:04}.jsonl")));
            let done = format!("deltas-{first:04}-{turn:04}.jsonl");
            all.push(RenameDeltas("deltas-current.jsonl".to_owned(), done));
            (first, offset) = (turn + 1, 0);
        }
    }
    all
}

/// The same history as seen by a rebuild: files have their final names from the start.
fn in_retrospect(history: &[HistoryEvent]) -> Vec<HistoryEvent> {
    let (mut turns, mut deltas) = ((String::new(), String::new()), (String::new(), String::new()));
    let mut all = Vec::new();
    for happening in history.iter().rev() {
        let mut happening = happening.clone();
        match &mut happening {
            RenameTurns(from, to) => turns = (from.clone(), to.clone()),
            RenameDeltas(from, to) => deltas = (from.clone(), to.clone()),
            Turn { file, .. } if *file == turns.0 => file.clone_from(&turns.1),
            Group { file, .. } if *file == deltas.0 && !deltas.1.is_empty() => {
                file.clone_from(&deltas.1);
            }
            _ => {}
        }
        if !matches!(happening, RenameTurns(..) | RenameDeltas(..)) {
            all.push(happening);
        }
    }
    all.reverse();
    all
}

fn apply_history(history: &[HistoryEvent]) -> Indexes {
    let mut indexes = Indexes::new(SESSION);
    history.iter().for_each(|happening| happening.apply(&mut indexes));
    indexes
}

#[test]
fn the_histories_thin_every_list() {
    let texts = files(&apply_history(&history(1, 5000, 1)));
    for (at, field) in [
        (0, "filesOmitted"),
        (1, "scenesOmitted"),
        (2, "byTypeOmitted"),
        (2, "significantOmitted"),
        (3, "filesOmitted"),
        (3, "snapshotsOmitted"),
    ] {
        assert!(texts[at].contains(&format!("\"{field}\"")), "no {field}");
    }
}

#[test]
fn places_are_thinned_the_same_after_reading() {
    let turn =
        |turn| TurnFacts { turn, file: "turns-1.jsonl", line: turn, offset: turn, events: &[] };
    let (mut lived, mut saved) = (Indexes::new(SESSION), Indexes::new(SESSION));
    for number in 1..=250_000 {
        lived.add_turn(&turn(number));
        saved.add_turn(&turn(number));
        if number % 9973 == 0 || (49_990..50_010).contains(&number) {
            saved = reread(&saved);
        }
    }
    assert_eq!(files(&lived), files(&saved));
    assert!(files(&lived)[0].contains("\"offsetStep\": 400,"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn indexes_that_were_saved_or_made_anew_are_the_same(
        seed in any::<u64>(),
        turns in 1..6000_u64,
        per_file in 0..3_u64,
        saves in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let history = history(seed, turns, per_file);
        let saves: Vec<usize> = saves.iter().map(|save| save.index(history.len())).collect();
        let mut saved = Indexes::new(SESSION);
        for (at, happening) in history.iter().enumerate() {
            happening.apply(&mut saved);
            if saves.contains(&at) {
                saved = reread(&saved);
            }
        }
        prop_assert_eq!(files(&saved), files(&apply_history(&history)));
        prop_assert_eq!(files(&saved), files(&apply_history(&in_retrospect(&history))));
    }
}
