//! What costs little to try besides: marks at the start of files, line ends, padding, clocks, other programs' oddities.

use everturn::disk::sim::{Fault, FaultKind, SimDisk};
use everturn::format::{SessionError, Transition};
use serde_json::{Value, json};

use crate::common::capabilities::KnownCapabilities;
use crate::failures::foreign::{branch_lines, codes, counts, lines, open as open_file, told};
use crate::failures::kinds::{ALL, at, open};
use crate::failures::records::{FILE, files, says, talk};
use crate::failures::support::{bytes, log, numbers, played, read, wrong};

const ENOSPC: i32 = 28;

#[test]
fn marks_line_ends_padding_and_open_ends_are_no_loss_in_every_layout() {
    type Change = fn(&[u8]) -> Vec<u8>;
    let changes: &[(&str, Change)] = &[
        ("a byte order mark", |good| [b"\xef\xbb\xbf", good].concat()),
        ("CRLF", |good| String::from_utf8_lossy(good).replace('\n', "\r\n").into_bytes()),
        ("NUL bytes at the end", |good| [good, &[0; 600]].concat()),
        ("no newline at the end", |good| good[..good.len() - 1].to_vec()),
        ("blank lines", |good| String::from_utf8_lossy(good).replace('\n', "\n\n").into_bytes()),
    ];
    for kind in ALL.iter() {
        let (whole, file) = (played(kind, 3), log(kind));
        let good = bytes(&whole, &file);
        let expect = read(kind, &open(&whole).unwrap()).0;
        for (name, change) in changes {
            let disk = whole.fork();
            disk.put_file(&file, &change(&good));
            let store = open(&disk).unwrap();
            assert_eq!(read(kind, &store).0, expect, "{}: {name}", kind.layout);
            kind.say(&store, "Turn 4.").unwrap();
            let told = read(kind, &store).0;
            assert_eq!(numbers(&told), [1, 2, 3, 4], "{}: {name}: {told:?}", kind.layout);
            drop(store);
            assert_eq!(wrong(&disk), [""; 0], "{}: {name}", kind.layout);
        }
    }
}

#[test]
fn marks_line_ends_padding_and_open_ends_are_no_loss_of_other_programs() {
    for (name, file, records) in files() {
        let good = String::from_utf8(lines(&records)).unwrap();
        let expect = told(&*open_file(name, file, good.as_bytes()));
        for changed in [
            format!("\u{feff}{good}"),
            good.replace('\n', "\r\n"),
            good.trim_end().to_owned(),
            good.replace('\n', "\n\n"),
            format!("{good}{}", "\0".repeat(600)),
        ] {
            let reader = open_file(name, file, changed.as_bytes());
            assert_eq!(told(&*reader), expect, "{name}: {changed:?}");
            let padded = u64::from(changed.ends_with('\0'));
            assert_eq!(counts(&*reader)[..4], [3 + padded, 3, 0, padded], "{name}: {changed:?}");
        }
    }
}

#[test]
fn a_clock_that_goes_backwards_changes_no_order() {
    for kind in ALL.iter() {
        let disk = SimDisk::new();
        let store = open(&disk).unwrap();
        kind.create(&store).unwrap();
        for (turn, second) in [(1, 500), (2, 400), (3, -100_000), (4, 0), (5, 400)] {
            kind.begin(&store, &format!("Turn {turn}."), at(second)).unwrap().release().unwrap();
        }
        let told = read(kind, &store).0;
        assert_eq!(numbers(&told), [1, 2, 3, 4, 5], "{}: {told:?}", kind.layout);
        drop(store);
        assert_eq!(wrong(&disk), [""; 0], "{}", kind.layout);
    }
    // In files of other programs, the order of the lines counts.
    let mut records = talk();
    for (record, time) in records.iter_mut().zip(["10:03", "10:01", "10:02", "10:00"]) {
        record["timestamp"] = format!("2026-01-01T{time}:00Z").into();
    }
    let reader = open_file("claude-code", FILE, &lines(&records));
    let texts = ["1 user: One.", "1 assistant: First.", "2 user: Two.", "2 assistant: Second."];
    assert_eq!(told(&*reader), texts);
}

#[test]
fn going_back_to_a_message_that_is_not_there_loses_nothing() {
    let gemini = |id: &str, text: &str| json!({"id": id, "type": "user", "content": text, "timestamp": "2026-01-01T10:00:00Z"});
    let records = [
        json!({"sessionId": "g", "startTime": "2026-01-01T10:00:00Z"}),
        gemini("m1", "One."),
        gemini("m2", "Two."),
        json!({"$rewindTo": "unknown"}),
        gemini("m3", "Three."),
    ];
    let reader = open_file("gemini-cli", "session-1.jsonl", &lines(&records));
    assert_eq!(counts(&*reader), [5, 5, 0, 0, 0]);
    let others = branch_lines(&*reader);
    assert_eq!(others.len(), 1, "{others:?}");
    let branch = others[0].split(' ').next().unwrap();
    let along = crate::failures::foreign::told_along(&*reader, branch);
    assert_eq!(along, ["1 user: One.", "2 user: Two."]);
}

#[test]
fn times_of_whole_seconds_change_no_order() {
    let goose = |text: &str| json!({"role": "user", "created": 1_767_261_600, "content": [{"type": "text", "text": text}]});
    let header = json!({"description": "G", "working_dir": "/srv/app"});
    let said: Vec<Value> = (0..20).map(|number| goose(&format!("Number {number}."))).collect();
    let reader = open_file("goose", "g.jsonl", &lines(&[vec![header], said].concat()));
    let expect: Vec<String> =
        (0..20).map(|number| format!("{} user: Number {number}.", number + 1)).collect();
    assert_eq!(told(&*reader), expect);
}

#[test]
fn a_message_of_numbered_characters_is_read() {
    let mut spread = crate::failures::records::user("u1", "", "x");
    spread["message"] = json!({"0": "H", "1": "i", "2": "!", "role": "user"});
    let reader = open_file("claude-code", FILE, &lines(&[spread, says("a1", "u1", "Hello.")]));
    assert_eq!(told(&*reader), ["1 user: Hi!", "1 assistant: Hello."]);
    assert_eq!(codes(&reader.findings()), ["1 bad-record"]);
    assert_eq!(counts(&*reader), [2, 1, 1, 0, 0]);
}

#[test]
fn a_disk_that_is_full_while_a_session_is_archived_leaves_it_as_it_was() {
    let mut tried = Vec::new();
    for kind in ALL.iter() {
        let whole = SimDisk::new();
        let store = open(&whole).unwrap();
        kind.create(&store).unwrap();
        kind.say(&store, "Turn 1.").unwrap();
        let place = kind.place(&store).unwrap();
        kind.layout()
            .movable()
            .transition(&store, &place, Transition::Complete, at(4), &mut |_| {})
            .ok();
        let expect = read(kind, &store).0;
        drop(store);
        let trial = open(&whole.fork()).unwrap();
        let place = kind.place(&trial).unwrap();
        let archived = kind.layout().movable().transition(
            &trial,
            &place,
            Transition::Archive,
            at(5),
            &mut |_| {},
        );
        if matches!(archived, Err(SessionError::Unsupported { .. })) {
            continue;
        }
        for point in 0.. {
            let disk = whole.fork();
            let at_change = disk.changes() + point;
            disk.inject(Fault { at: at_change, kind: FaultKind::Error(ENOSPC), lasting: false });
            let done = open(&disk.process()).map_err(SessionError::from).and_then(|store| {
                let place = kind.place(&store)?;
                kind.layout().movable().transition(
                    &store,
                    &place,
                    Transition::Archive,
                    at(5),
                    &mut |_| {},
                )
            });
            let was_full = disk.changes() > at_change;
            disk.clear_faults();
            let store = open(&disk).unwrap();
            let stage = |stage: Transition| {
                kind.layout().movable().transition(
                    &store,
                    &kind.place(&store)?,
                    stage,
                    at(6),
                    &mut |_| {},
                )
            };
            let place = format!("{}, change {point}: {done:?}", kind.layout);
            // It is a session as before, or an archive of which only the end could not be told.
            if done.is_err() && kind.layout().archived(&kind.place(&store).unwrap()).is_none() {
                assert_eq!(read(kind, &store).0, expect, "{place}");
                stage(Transition::Archive).unwrap();
            }
            stage(Transition::Unarchive).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(read(kind, &store).0, expect, "{place}");
            if !was_full {
                tried.push(kind.layout);
                break;
            }
        }
    }
    assert_eq!(tried, ["game", "campaign"], "layouts that have archives");
}
