//! Each kind of damage has its finding, and a good session has none.

use std::sync::Arc;

use everturn::check::{FindingSink, check_path};
use everturn::disk::Disk;
use everturn::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn::finding::{Finding, Severity};
use everturn::game::{GameWriter, NewScene, SceneEnd, check_session};
use everturn::names::FilePath;
use everturn::store::{FileStore, LockOwner, Options, Store};

use super::damage::{codes, edit, edit_line, file, findings, good, open, remove, rename};
use super::damages::{DAMAGE, Damage, META, TURNS};
use super::support::{at, game, id, memory, new_session, turn};

#[test]
fn a_good_session_has_no_findings() {
    let found = findings(&good());
    assert_eq!(
        found,
        [],
        "{}",
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn each_damage_has_its_findings() {
    compare(good, DAMAGE);
}

#[track_caller]
fn compare(good: fn() -> SimDisk, damages: &[Damage]) {
    let mut wrong = Vec::new();
    for (name, damage, expect) in damages {
        let disk = good();
        damage(&disk);
        let mut found = findings(&disk);
        if !expect.contains(&"stale-index") {
            // Whatever changes the logs leaves the indexes behind.
            found.retain(|finding| finding.code.as_str() != "stale-index");
        }
        if codes(&found) != *expect {
            let told: Vec<String> = found.iter().map(ToString::to_string).collect();
            wrong.push(format!(
                "{name}: {:?} instead of {expect:?}\n{}",
                codes(&found),
                told[..told.len().min(9)].join("\n")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A session as the program writes it.
pub(crate) fn program() -> SimDisk {
    let disk = SimDisk::new();
    let turn = |turn: u64, time: u64, more: &str| {
        format!(
            "{{\"turnId\":{turn},\"turnNumber\":{turn},\"actor\":\"player\",\"sceneId\":\"scene-1\",\
             \"timestamp\":{time},\"events\":[{{\"eventId\":\"session-1-{turn}-1\",\"type\":\"move\"}}]{more}}}\n"
        )
    };
    let turns: String = (1..=3).map(|number| turn(number, number * 1000, "")).collect();
    let delta = "{\"deltaId\":\"session-1-1-1\",\"turnId\":1,\"sequence\":1,\"timestamp\":1000,\"target\":\"world\",\
                 \"operation\":\"set\",\"path\":[\"day\"],\"previousValue\":1,\"newValue\":2,\"cause\":\"time_pass\",\
                 \"eventId\":\"session-1-1-1\"}\n";
    let files = [
        ("session.meta.json", "{\n  \"startTime\": 1,\n  \"player\": \"Player\"\n}\n"),
        ("world.state.json", "{\n  \"day\": 2\n}\n"),
        ("player.state.json", "{}\n"),
        ("npcs.state.json", "{}\n"),
        ("turns/turns-0001-0100.jsonl", &turns),
        ("deltas/deltas-0001-0100.jsonl", delta),
    ];
    for (name, content) in files {
        disk.put_file(&file(name), content.as_bytes());
    }
    disk
}

pub(crate) const PROGRAM_DAMAGE: &[Damage] = &[
    ("nothing", |_| {}, &[]),
    ("no metadata", |disk| remove(disk, META), &["no-metadata"]),
    (
        "a turn that is written again",
        |disk| {
            edit_line(disk, TURNS, 2, |line| {
                format!("{line}\n{}\n", line.replace("]}", "],\"playerReasoning\":\"x\"}"))
            });
        },
        &["superseded-turn"],
    ),
    (
        "numbers that start again",
        |disk| edit(disk, TURNS, |text| text.clone() + &text.replace("000,", "999,")),
        &["restarted-turns"],
    ),
    ("a turn missing", |disk| edit_line(disk, TURNS, 2, |_| String::new()), &["missing-turns"]),
    (
        "a change without its turn",
        |disk| edit_line(disk, TURNS, 1, |_| String::new()),
        &["dangling-change", "missing-turns"],
    ),
    (
        "a turn in another file",
        |disk| rename(disk, TURNS, "turns/turns-0101-0200.jsonl"),
        &["wrong-range"],
    ),
    (
        "the world cut",
        |disk| edit(disk, "world.state.json", |text| text[..5].to_owned()),
        &["bad-document"],
    ),
    ("no player", |disk| remove(disk, "player.state.json"), &["missing-file"]),
];

#[test]
fn a_session_of_the_program_is_measured_by_its_own_rules() {
    compare(program, PROGRAM_DAMAGE);
}

/// Plays on as soon as the check has begun to read.
struct Busy {
    game: Option<GameWriter>,
    found: Vec<String>,
}

impl FindingSink for Busy {
    fn finding(&mut self, finding: Finding) {
        self.found.push(finding.to_string());
    }

    fn file(&mut self, file: &FilePath) {
        if file.as_str().ends_with("world.state.json")
            && let Some(mut game) = self.game.take()
        {
            game.append(&turn(6), at(6)).unwrap();
            game.close(at(6)).unwrap();
        }
    }
}

#[test]
fn what_others_write_while_a_session_is_checked_is_no_finding() {
    let store = memory();
    let mut game = game(&store, "session-abc123");
    for number in 1..=5 {
        game.append(&turn(number), at(1)).unwrap();
    }
    let mut busy = Busy { game: Some(game), found: Vec::new() };
    let checked = check_session(&store, &id("session-abc123"), &mut busy).unwrap();
    assert_eq!(busy.found, Vec::<String>::new());
    assert!(busy.game.is_none());
    // Both logs were read as they were, without the turn that came meanwhile.
    assert_eq!(checked.records, 5 + 10);
}

#[test]
fn a_file_that_cannot_be_read_is_the_only_finding() {
    let disk = good();
    let start = disk.reads();
    findings(&disk);
    let (reads, mut told) = (disk.reads() - start, 0);
    for read in 0..reads {
        let disk = good();
        let fault =
            Fault { at: disk.reads() + read, kind: FaultKind::ReadError(5), lasting: false };
        disk.inject(fault);
        let mut busy = Busy { game: None, found: Vec::new() };
        let shared: Arc<dyn Disk> = Arc::new(disk.process());
        if check_path(&shared, &FilePath::root(), &mut busy).is_err() {
            // The start itself could not be read.
            continue;
        }
        told += busy.found.len();
        let other: Vec<_> =
            busy.found.iter().filter(|found| !found.contains("(unreadable)")).collect();
        assert!(other.is_empty(), "read {read}: {other:#?}");
    }
    assert!(told > 20, "{told} of {reads}");
}

/// Plays until the disk crashes.
fn play(disk: &SimDisk) -> Option<()> {
    let owner = LockOwner { pid: 1, started: String::new() };
    let store: Arc<dyn Store> =
        Arc::new(FileStore::open(Arc::new(disk.process()), Options::new(owner)).ok()?);
    let mut game = GameWriter::create(store, &new_session("session-abc123"), at(0)).ok()?;
    for number in 1..=12 {
        let now = at(i64::try_from(number).ok()?);
        match number {
            2 | 5 => drop(game.start_scene(&NewScene::new("exploration"), now).ok()?),
            8 => drop(game.end_scene(&SceneEnd::default(), now).ok()?),
            number => drop(game.append(&turn(number), now).ok()?),
        }
    }
    game.close(at(20)).ok()
}

#[test]
fn a_session_is_whole_whenever_its_writer_dies() {
    let mut points = 0;
    for point in 0.. {
        let disk = SimDisk::new();
        disk.inject(Fault { at: point, kind: FaultKind::Crash, lasting: false });
        let played = play(&disk);
        if !disk.crashed() {
            assert_eq!(played, Some(()));
            break;
        }
        points += 1;
        for (data, names) in
            [(DataSurvival::Lost, NameSurvival::Lost), (DataSurvival::Kept, NameSurvival::Kept)]
        {
            let disk = disk.fork();
            disk.power_cut(Survival { data, names });
            open(&disk);
            let found = findings(&disk);
            let wrong: Vec<_> = found
                .iter()
                .filter(|finding| finding.code.severity() == Severity::Finding)
                .map(ToString::to_string)
                .collect();
            assert!(wrong.is_empty(), "crash at {point}: {wrong:#?}");
        }
    }
    assert!(points > 50, "{points}");
}
