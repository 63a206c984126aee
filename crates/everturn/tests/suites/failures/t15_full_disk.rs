//! T15: a disk that is full, a power cut, a batch that is half there; and files of no length.

use everturn::disk::sim::SimDisk;
use everturn::format::RepairMode;

use crate::common::capabilities::KnownCapabilities;
use crate::failures::crashes::{crash_everywhere, fail_everywhere};
use crate::failures::foreign::{layout, lines, only, store as files};
use crate::failures::kinds::{ALL, Kind, at, open};
use crate::failures::records::{FILE, says, user};
use crate::failures::support::{checked, numbers, read, wrong};

const TURNS: usize = 3;

/// Makes a session and says something; returns how many of these were acknowledged.
fn work(kind: &Kind, disk: &SimDisk) -> usize {
    let Ok(store) = open(disk) else { return 0 };
    if kind.create(&store).is_err() {
        return 0;
    }
    let mut done = 1;
    for turn in 1..=TURNS {
        if kind.say(&store, &format!("Turn {turn}.")).is_err() {
            return done;
        }
        done += 1;
    }
    done
}

/// Whether every turn that was acknowledged is there once, in its order, and at most one more.
fn verify(kind: &Kind, disk: &SimDisk, done: usize) -> Result<(), String> {
    let store = open(disk).map_err(|error| error.to_string())?;
    let place = kind.place_of(&store, kind.id).map_err(|error| error.to_string())?;
    if place.is_none() {
        return if done == 0 { Ok(()) } else { Err("the session is gone".to_owned()) };
    }
    let found = numbers(&read(kind, &store).0);
    let least: Vec<usize> = (1..done.max(1)).collect();
    let most: Vec<usize> = (1..=done).collect();
    if found != least && found != most {
        return Err(format!("{found:?}"));
    }
    // And it goes on.
    kind.say(&store, "Turn 9.").map_err(|error| error.to_string())?;
    drop(store);
    let wrong = wrong(disk);
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

#[test]
fn t15_a_full_disk_at_any_write_loses_no_turn_that_was_acknowledged() {
    for kind in ALL.iter() {
        let name = format!("t15 {}", kind.layout);
        let least = 10;
        fail_everywhere(
            &name,
            TURNS + 1,
            least,
            1,
            |disk| work(kind, disk),
            |disk, done| verify(kind, disk, done),
        );
    }
}

#[test]
fn t15_a_power_cut_at_any_write_loses_no_turn_that_was_acknowledged() {
    for kind in ALL.iter() {
        let name = format!("t15 {}", kind.layout);
        crash_everywhere(
            &name,
            TURNS + 1,
            20,
            |disk| work(kind, disk),
            |disk, done, _| verify(kind, disk, done),
        );
    }
}

#[test]
fn t15_a_document_of_no_length_is_noticed_and_healed() {
    let mut healed = Vec::new();
    for kind in ALL.iter() {
        let whole = SimDisk::new();
        let store = open(&whole).unwrap();
        kind.create(&store).unwrap();
        for turn in 1..=TURNS {
            kind.say(&store, &format!("Turn {turn}.")).unwrap();
        }
        let expect = read(kind, &store).0;
        let session = kind.place(&store).unwrap();
        drop(store);
        for file in whole.contents().into_keys().filter(|file| file.is_within(&session.path)) {
            // A log of no length has no earlier generation; and the document of a chat is its log.
            let is_document = [".json", ".yaml"].iter().any(|end| file.as_str().ends_with(end));
            if !is_document || kind.layout == "chatlog" {
                continue;
            }
            let place = format!("{}: {file}", kind.layout);
            let disk = whole.fork();
            disk.put_file(&file, b"");
            let about = |disk: &SimDisk| checked(disk).iter().filter(|it| it.file == file).count();
            assert!(about(&disk) > 0, "{place}: nothing was noticed");
            let store = open(&disk).unwrap();
            let done = kind.layout().editable().repair(&store, &session, RepairMode::Apply, at(9));
            done.unwrap_or_else(|error| panic!("{place}: {error}"));
            let told = read(kind, &store).0;
            drop(store);
            assert_eq!(wrong(&disk), [""; 0], "{place}");
            assert_eq!(told, expect, "{place}");
            healed.push(file);
        }
    }
    assert!(healed.len() > 5, "{healed:?}");
}

#[test]
fn t15_a_mended_copy_and_what_was_set_aside_come_together_or_not_at_all() {
    let claude = layout("claude-code");
    let mut torn = lines(&[user("u1", "", "One."), says("a1", "u1", "First.")]);
    torn.extend(b"{\"type\": \"us");
    let from = files(&[(FILE, &torn)]);
    let repaired = claude.foreign().repaired_copy(&from, &only(claude, &from)).unwrap();
    let aside = repaired.quarantine_name().unwrap().unwrap();
    let work = |disk: &SimDisk| match open(disk) {
        Ok(store) => usize::from(repaired.write(&store).is_ok()),
        Err(_) => 0,
    };
    let verify = |disk: &SimDisk, done: usize| {
        drop(open(disk).map_err(|error| error.to_string())?);
        let there = |name: &str| disk.contents().keys().any(|file| file.as_str() == name);
        match (there(repaired.name.as_str()), there(aside.as_str()), done) {
            (true, true, _) | (false, false, 0) => Ok(()),
            left => Err(format!("copy, what was set aside, acknowledged: {left:?}")),
        }
    };
    crash_everywhere("repaired copies", 1, 4, work, |disk, done, _| verify(disk, done));
    fail_everywhere("repaired copies", 1, 4, 1, work, verify);
}
