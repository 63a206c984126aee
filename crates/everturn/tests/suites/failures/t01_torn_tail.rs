//! T1: a last line that is torn after a kill or a power cut.

use std::sync::Arc;

use everturn::disk::sim::SimDisk;
use everturn::finding::FindingCode;
use everturn::game::{GameWriter, Session, TurnInput};
use everturn::names::SessionId;
use serde_json::Value;

use crate::common::capabilities::KnownCapabilities;
use crate::failures::foreign::{codes, counts, layout, only, open as open_file, store, told};
use crate::failures::kinds::{ALL, open};
use crate::failures::records::files;
use crate::failures::support::{
    at_byte, bytes, checked, log, numbers, played, quarantined, read, starts,
};

#[test]
fn t01_a_torn_last_line_takes_nothing_else_away_in_every_layout() {
    for kind in ALL.iter() {
        let (before, file) = (played(kind, 2), log(kind));
        let (short, long) = (bytes(&before, &file), bytes(&played(kind, 3), &file));
        let last = long.strip_prefix(&short[..]).unwrap();
        let (expect, _) = read(kind, &open(&before.fork()).unwrap());
        assert!(last.len() > 20 && numbers(&expect) == [1, 2], "{}: {expect:?}", kind.layout);
        for cut in 1..last.len() - 1 {
            let place = format!("{}, cut at {cut}", kind.layout);
            let disk = before.fork();
            let torn = &last[..cut];
            disk.put_file(&file, &[&short[..], torn].concat());
            // Everything else loads, and the tail is reported.
            let store = open(&disk).unwrap();
            assert_eq!(read(kind, &store).0, expect, "{place}");
            let found = checked(&disk);
            assert!(
                at_byte(&found, &file, FindingCode::TornTail, short.len()).is_some(),
                "{place}"
            );
            // The next turn starts on a line of its own, and the damaged bytes are kept.
            drop(kind.begin(&store, "Turn 3.", crate::failures::kinds::at(1)).unwrap());
            assert_eq!(numbers(&read(kind, &store).0), [1, 2, 3], "{place}");
            assert_eq!(quarantined(&disk), [torn], "{place}");
            let now = bytes(&disk, &file);
            assert!(now.starts_with(&short), "{place}");
            for line in now.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                assert!(serde_json::from_slice::<Value>(line).is_ok(), "{place}");
            }
        }
    }
}

/// Cuts the last record of a game's log at every byte; says what the log had before and after.
fn cut_game(file: &str, from: &SimDisk, mut each: impl FnMut(&SimDisk, &[u8], &str)) {
    let file = crate::failures::support::path(&format!("sessions/active/session-one/{file}"));
    let whole = bytes(from, &file);
    let start = starts(&whole)[starts(&whole).len() - 2];
    for cut in start..whole.len() - 1 {
        let disk = from.fork();
        disk.put_file(&file, &whole[..cut]);
        each(&disk, &whole[start..cut], &format!("{file}, cut at {cut}"));
    }
}

#[test]
fn t01_a_game_whose_last_turn_is_torn_loads_the_others_and_goes_on() {
    let kind = ALL.iter().find(|kind| kind.layout == "game").unwrap();
    let whole = played(kind, 3);
    let turn = |number| {
        TurnInput::parse(&format!(
        r#"{{"actor": "gm", "narration": "Turn {number}.", "events": [{{"type": "a"}}, {{"type": "b"}}],
            "deltas": [{{"scope": "world", "deltas": [{{"op": "set", "path": "clock", "value": {number}}}]}}]}}"#
    ))
    .unwrap()
    };
    let id = SessionId::parse("session-one").unwrap();
    let mut game = GameWriter::open(open(&whole).unwrap(), &id).unwrap();
    game.append(&turn(4), crate::failures::kinds::at(1)).unwrap();
    game.release().unwrap();
    cut_game("turns/turns-0001-current.jsonl", &whole, |disk, torn, place| {
        let store = open(disk).unwrap();
        assert_eq!(numbers(&read(kind, &store).0), [1, 2, 3], "{place}");
        let mut game = GameWriter::open(Arc::clone(&store), &id).unwrap();
        assert!(game.findings().iter().any(|found| found.code == FindingCode::LostTurn), "{place}");
        assert_eq!(
            game.append(&turn(5), crate::failures::kinds::at(2)).unwrap().turn,
            5,
            "{place}"
        );
        game.close(crate::failures::kinds::at(3)).unwrap();
        let told = read(kind, &store).0;
        assert_eq!((numbers(&told), told.len()), (vec![1, 2, 3, 5], 5), "{place}");
        let kept: Vec<&[u8]> = if torn.is_empty() { vec![] } else { vec![torn] };
        assert_eq!(quarantined(disk), kept, "{place}");
        // The lost turn is told, its changes stay, and nothing else is wrong.
        let state = Session::open(store, &id).unwrap().state_at(4).unwrap().state;
        assert_eq!(state.world.text_at(&["clock"]).as_deref(), Some("4"), "{place}");
        let found: Vec<FindingCode> = checked(disk)
            .iter()
            .filter(|found| found.code != FindingCode::SetAside)
            .map(|found| found.code)
            .collect();
        assert_eq!(found, [FindingCode::LostTurn], "{place}");
    });
    // A torn change takes away that change, and no turn.
    cut_game("deltas/deltas-current.jsonl", &whole, |disk, torn, place| {
        let store = open(disk).unwrap();
        assert_eq!(numbers(&read(kind, &store).0), [1, 2, 3, 4], "{place}");
        let mut game = GameWriter::open(Arc::clone(&store), &id).unwrap();
        assert_eq!(
            game.append(&turn(5), crate::failures::kinds::at(2)).unwrap().turn,
            5,
            "{place}"
        );
        drop(game);
        assert_eq!(numbers(&read(kind, &store).0), [1, 2, 3, 4, 5], "{place}");
        let kept: Vec<&[u8]> = if torn.is_empty() { vec![] } else { vec![torn] };
        assert_eq!(quarantined(disk), kept, "{place}");
        let state = Session::open(store, &id).unwrap().state_at(5).unwrap().state;
        assert_eq!(state.world.text_at(&["clock"]).as_deref(), Some("5"), "{place}");
    });
}

#[test]
fn t01_a_torn_last_line_takes_nothing_else_away_from_other_programs() {
    for (name, file, records) in files() {
        let texts: Vec<String> = records.iter().map(Value::to_string).collect();
        let whole = format!("{}\n{}\n", texts[0], texts[1]);
        let expect = told(&*open_file(name, file, whole.as_bytes()));
        for cut in 1..texts[2].len() {
            let torn = &texts[2][..cut];
            let damaged = format!("{whole}{torn}");
            let reader = open_file(name, file, damaged.as_bytes());
            assert_eq!(told(&*reader), expect, "{name}, cut at {cut}");
            assert_eq!(codes(&reader.findings()), ["3 torn-tail"], "{name}, cut at {cut}");
            assert_eq!(counts(&*reader)[..4], [3, 2, 0, 1], "{name}, cut at {cut}");
            // A copy has the damaged bytes beside it.
            let from = store(&[(file, damaged.as_bytes())]);
            let repaired =
                layout(name).foreign().repaired_copy(&from, &only(layout(name), &from)).unwrap();
            let into = store(&[]);
            repaired.write(&into).unwrap();
            let aside = crate::failures::support::path(&format!("{file}.quarantine"));
            let aside = into.read(&aside, 0..u64::MAX).unwrap();
            assert_eq!(aside, format!("{torn}\n").into_bytes(), "{name}, cut at {cut}");
        }
    }
}
