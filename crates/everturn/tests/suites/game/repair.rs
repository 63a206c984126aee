//! Whatever is wrong with a session: it is repaired, opens, and is as it was when the repair is taken back.

use std::sync::Arc;

use everturn::delta::{Delta, DeltaPath};
use everturn::disk::Disk;
use everturn::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn::game::{
    Dialect, GameError, GameState, GameWriter, RepairReport, Scope, Session, TurnInput,
    plan_repair, repair, undo_repair,
};
use everturn::jsonl::{JsonlScan, ScanItem};
use everturn::names::FilePath;
use everturn::store::{FileStore, LockOwner, Options, Store};
use everturn::tree::JsonTree;

use super::check::{PROGRAM_DAMAGE, program};
use super::damage::{
    SESSION, codes, edit, edit_line, file, files, findings, good, open, replace, text,
};
use super::damages::{CURRENT, DAMAGE};
use super::support::{at, id};

/// What is reported and stays as it is.
const REPORTED: &[&str] = &[
    "wrong-range",
    "file-overlap",
    "lost-turn",
    "twin-turn",
    "missing-scene",
    "session-twice",
    "size-over-max",
    "size-over-target",
    "unknown-file",
    "missing-parent",
    "superseded-turn",
    "restarted-turns",
    "no-metadata",
];

/// The same in sessions of the program, whose logs may have gaps and numbers that start again.
const PROGRAM_REPORTED: &[&str] = &[
    "bad-record",
    "missing-turns",
    "duplicate-turn",
    "turn-order",
    "duplicate-id",
    "wrong-id",
    "dangling-change",
    "bad-change",
];

fn repair_now(disk: &SimDisk) -> RepairReport {
    repair(&open(disk), &id(SESSION), at(1000)).unwrap()
}

/// Repairs a damaged session, looks at it, plays on with a copy of it, and takes the repair back.
fn check(name: &str, disk: &SimDisk, expected: Option<&GameState>) -> Vec<String> {
    let mut wrong = Vec::new();
    let before = files(disk);
    let planned = plan_repair(&open(disk), &id(SESSION)).unwrap();
    assert_eq!(files(disk), before, "{name}: a plan changes nothing");
    let done = repair_now(disk);
    assert_eq!(planned.actions, done.actions, "{name}");
    let found = findings(disk);
    let session = Session::open(open(disk), &id(SESSION)).unwrap();
    let more = if session.dialect() == Dialect::Upstream { PROGRAM_REPORTED } else { &[] };
    let reported = |code: &&str| REPORTED.contains(code) || more.contains(code);
    let left: Vec<_> = codes(&found).into_iter().filter(|code| !reported(code)).collect();
    if !left.is_empty() {
        let told: Vec<String> = found.iter().take(9).map(ToString::to_string).collect();
        wrong.push(format!("{name}: left {left:?} after {:?}\n{}", done.actions, told.join("\n")));
    }
    let again = repair_now(&disk.fork());
    if !again.actions.is_empty() {
        wrong.push(format!("{name}: a second repair does {:?}", again.actions));
    }
    if expected.is_some_and(|expected| !state(disk).is_same(expected)) {
        wrong.push(format!("{name}: the state is another one"));
    }
    if let Err(error) = play_on(&disk.fork()) {
        wrong.push(format!("{name}: {error}"));
    }
    if done.originals.is_some() {
        undo_repair(&open(disk), &id(SESSION), at(2000)).unwrap();
    }
    if files(disk) != before {
        wrong.push(format!("{name}: the undone repair has left something"));
    }
    wrong
}

/// The state after the last turn.
fn state(disk: &SimDisk) -> GameState {
    Session::open(open(disk), &id(SESSION)).unwrap().resume().unwrap().state
}

fn play_on(disk: &SimDisk) -> Result<(), String> {
    let store = open(disk);
    let say = |error: GameError| error.to_string();
    let mut game = GameWriter::open(Arc::clone(&store), &id(SESSION)).map_err(say)?;
    let next = game.turn() + 1;
    let set = Delta::set(DeltaPath::dotted("played.on"), JsonTree::parse("true").unwrap());
    game.append(&TurnInput::new("player").changing(Scope::World, vec![set]), at(5000))
        .map_err(say)?;
    game.close(at(5001)).map_err(say)?;
    let session = Session::open(store, &id(SESSION)).map_err(say)?;
    session.state_at(next).map_err(say)?;
    Ok(())
}

#[test]
fn every_damage_is_repaired_and_every_repair_can_be_taken_back() {
    let mut wrong = Vec::new();
    let whole = state(&good());
    // What is not part of the session is not repaired, and a later version is not touched.
    let other = ["a newer version", "an unknown log", "a session twice"];
    for (name, damage, _) in DAMAGE.iter().filter(|(name, _, _)| !other.contains(name)) {
        let disk = good();
        damage(&disk);
        wrong.extend(check(name, &disk, Some(&whole)));
    }
    // The next turn after one in the wrong file goes into the right one, which is not searched for the last turn. States of
    // which nothing else is left stay unknown.
    let other = ["a turn in another file", "the world cut", "no player"];
    for (name, damage, _) in PROGRAM_DAMAGE.iter().filter(|(name, _, _)| !other.contains(name)) {
        let disk = program();
        damage(&disk);
        wrong.extend(check(name, &disk, None));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn states_without_a_snapshot_are_not_invented() {
    for (name, damage, expected) in PROGRAM_DAMAGE {
        if !["the world cut", "no player"].contains(name) {
            continue;
        }
        let disk = program();
        damage(&disk);
        let before = files(&disk);
        let done = repair_now(&disk);
        assert_eq!(done.actions, [], "{name}");
        assert_eq!(files(&disk), before, "{name}");
        assert_eq!(codes(&findings(&disk)), *expected, "{name}: the finding stays");
        let session = Session::open(open(&disk), &id(SESSION)).unwrap();
        assert!(session.resume().is_err(), "{name}: there is no state to go on from");
        assert!(play_on(&disk).is_err(), "{name}");
        assert_eq!(files(&disk), before, "{name}: a turn that is refused changes nothing");
    }
}

#[test]
fn a_session_of_a_later_version_is_left_alone() {
    let disk = good();
    replace(&disk, "session.meta.json", "\"1.0.0\"", "\"2.0.0\"");
    let before = files(&disk);
    let refused = repair(&open(&disk), &id(SESSION), at(1000)).unwrap_err();
    assert!(matches!(refused, GameError::Newer { .. }), "{refused}");
    assert_eq!(files(&disk), before);
}

#[test]
fn a_last_turn_that_is_cut_anywhere_is_repaired() {
    let whole = text(&good(), CURRENT);
    let last = whole.trim_end().rfind('\n').unwrap() + 1;
    let expected = state(&good());
    let mut wrong = Vec::new();
    for end in last..whole.len() - 1 {
        let disk = good();
        disk.put_file(&file(CURRENT), &whole.as_bytes()[..end]);
        if end % 16 == 0 {
            wrong.extend(check(&format!("cut at {end}"), &disk, Some(&expected)));
        } else {
            let session = Session::open(open(&disk), &id(SESSION)).unwrap();
            let turns = session.turns(1, 200).unwrap().filter(Result::is_ok).count();
            assert_eq!(turns, if end == whole.len() - 1 { 150 } else { 149 }, "cut at {end}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_cannot_be_read_is_never_written_over() {
    let (reads, repaired) = {
        let disk = damaged();
        let before = disk.reads();
        repair_now(&disk);
        (disk.reads() - before, files(&disk))
    };
    assert!(reads > 50, "{reads}");
    let mut refused = 0;
    for at_read in 0..reads {
        // Some disks fail for good.
        let lasting = at_read % 4 == 0;
        let disk = damaged();
        let before = files(&disk);
        disk.inject(Fault { at: disk.reads() + at_read, kind: FaultKind::ReadError(5), lasting });
        let holder = LockOwner { pid: 1, started: String::new() };
        let store = FileStore::open(Arc::new(disk.process()), Options::new(holder)).ok();
        let done = store.and_then(|store| {
            let store: Arc<dyn Store> = Arc::new(store);
            repair(&store, &id(SESSION), at(1000)).ok()
        });
        disk.clear_faults();
        if done.is_some() {
            assert_eq!(files(&disk), repaired, "read {at_read}");
            continue;
        }
        refused += 1;
        open(&disk);
        // Whatever was changed before the disk failed was changed with its original in the trash.
        if files(&disk) != before {
            undo_repair(&open(&disk), &id(SESSION), at(2000)).unwrap();
        }
        assert_eq!(files(&disk), before, "read {at_read}");
    }
    assert!(refused > 50, "{refused}");
}

/// A session with several kinds of damage.
fn damaged() -> SimDisk {
    let disk = good();
    edit_line(&disk, "turns/turns-0001-0100.jsonl", 7, |line| line[..40].to_owned() + "\n");
    edit(&disk, CURRENT, |text| text[..text.len() - 9].to_owned());
    edit(&disk, "snapshots/snapshot-0040.json", |text| text[..500].to_owned());
    edit(&disk, "world.state.json", |text| text[..50].to_owned());
    disk.put_file(&file("indexes/turn-index.json"), b"{");
    disk
}

#[test]
fn a_crash_at_any_change_of_a_repair_loses_nothing() {
    let expected = state(&good());
    let (mut points, start) = (0, damaged().changes());
    for point in start.. {
        let disk = damaged();
        let before = files(&disk);
        disk.inject(Fault { at: point, kind: FaultKind::Crash, lasting: false });
        let holder = LockOwner { pid: 1, started: String::new() };
        let store = FileStore::open(Arc::new(disk.process()), Options::new(holder));
        let done = store.map(|store| {
            repair(&(Arc::new(store) as Arc<dyn Store>), &id(SESSION), at(1000)).is_ok()
        });
        if !disk.crashed() {
            assert!(done.unwrap());
            break;
        }
        points += 1;
        for (data, names) in [
            (DataSurvival::Lost, NameSurvival::Lost),
            (DataSurvival::Kept, NameSurvival::Kept),
            (DataSurvival::Prefix, NameSurvival::Prefix),
        ] {
            let disk = disk.fork();
            disk.power_cut(Survival { data, names });
            let again = disk.fork();
            repair(&open(&again), &id(SESSION), at(1001)).unwrap();
            assert!(state(&again).is_same(&expected), "crash at {point}");
            play_on(&again).unwrap();
            open(&disk);
            if files(&disk) != before {
                undo_repair(&open(&disk), &id(SESSION), at(2000)).unwrap();
            }
            assert_eq!(files(&disk), before, "crash at {point}, {data:?}, {names:?}");
        }
    }
    assert!(points > 20, "{points}");
}

#[test]
fn a_repair_is_not_taken_back_over_what_was_played_since() {
    let disk = damaged();
    repair_now(&disk);
    play_on(&disk).unwrap();
    let played = files(&disk);
    let refused = undo_repair(&open(&disk), &id(SESSION), at(6000)).unwrap_err();
    assert!(refused.to_string().contains("has changed since then"), "{refused}");
    assert_eq!(files(&disk), played);
}

#[test]
fn repairs_are_taken_back_one_by_one() {
    let disk = damaged();
    let first = files(&disk);
    repair_now(&disk);
    let player = files(&disk).remove(&file("player.state.json")).unwrap();
    edit(&disk, "player.state.json", |text| text[..50].to_owned());
    let second = files(&disk);
    repair_now(&disk);
    undo_repair(&open(&disk), &id(SESSION), at(2000)).unwrap();
    assert_eq!(files(&disk), second);
    // The first repair is no longer what the session shows: the player was damaged since.
    let refused = undo_repair(&open(&disk), &id(SESSION), at(2001)).unwrap_err();
    assert!(refused.to_string().contains("has changed since then"), "{refused}");
    assert_eq!(files(&disk), second);
    disk.put_file(&file("player.state.json"), &player);
    undo_repair(&open(&disk), &id(SESSION), at(2002)).unwrap();
    assert_eq!(files(&disk), first);
}

/// Numbers that look random, and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below.max(1)
    }
}

/// Damages some file in some way.
fn strike(disk: &SimDisk, dice: &mut Dice) {
    let all: Vec<_> = files(disk).into_iter().collect();
    let Some((path, mut bytes)) = all.get(dice.roll(all.len())).cloned() else { return };
    let at = dice.roll(bytes.len());
    match dice.roll(6) {
        0 => return disk.process().remove(&path).unwrap(),
        1 => bytes.truncate(at),
        2 => bytes.extend_from_slice(b"{\"turnId\":1"),
        3 => {
            let end = (at + 1 + dice.roll(40)).min(bytes.len());
            bytes[at..end].fill(0);
        }
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << dice.roll(8);
            }
        }
    }
    disk.put_file(&path, &bytes);
}

/// Every record of the log of turns whose number and events agree.
fn records(disk: &SimDisk) -> Vec<String> {
    let mut records = Vec::new();
    let is_turns = |path: &FilePath| path.as_str().contains("/turns/");
    for (path, bytes) in files(disk).into_iter().filter(|(path, _)| is_turns(path)) {
        for item in JsonlScan::new(bytes.as_slice(), path).forward().unwrap() {
            let ScanItem::Record(record) = item.unwrap() else { continue };
            let text = record.text().unwrap().to_owned();
            let tree = JsonTree::parse(text.as_str()).unwrap();
            let turn = tree.text_at(&["turnId"]).and_then(|turn| turn.parse::<u64>().ok());
            let event = tree.string_at(&["events", "0", "eventId"]).unwrap_or_default();
            if turn.is_some_and(|turn| event == format!("abc123-{turn}-1")) {
                records.push(text);
            }
        }
    }
    records.sort();
    records
}

#[test]
fn random_damage_is_repaired_and_nothing_readable_is_lost() {
    for seed in 1..=150_u64 {
        let disk = good();
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for _ in 0..=dice.roll(4) {
            strike(&disk, &mut dice);
        }
        let (before, had) = (files(&disk), records(&disk));
        findings(&disk);
        let done = match repair(&open(&disk), &id(SESSION), at(1000)) {
            Ok(done) => done,
            Err(GameError::Newer { .. }) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        let has = records(&disk);
        // One of two records of a turn is put into the other.
        let is_there = |record: &&String| {
            has.binary_search(record).is_ok()
                || has.iter().any(|other| other.contains(record.trim_end_matches('}')))
        };
        let lost: Vec<_> = had.iter().filter(|record| !is_there(record)).collect();
        assert!(lost.is_empty(), "seed {seed}: {lost:?}");
        play_on(&disk.fork()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        if done.originals.is_some() {
            undo_repair(&open(&disk), &id(SESSION), at(2000)).unwrap();
        }
        assert_eq!(files(&disk), before, "seed {seed}");
    }
}
