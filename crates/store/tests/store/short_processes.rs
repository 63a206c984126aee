//! Processes that commit once and end: with few flushes, on a disk that can be flushed at once, and beside other
//! programs.

use std::sync::Arc;

use everturn_json::names::FilePath;
use everturn_store::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn_store::disk::{Disk, FileAccess, FilePermissions, Flush, RealDisk};
use everturn_store::{Durability, FileStore, Options, Step, Store, StoreError, Writer};

use crate::crash::{End, end, ends};
use crate::failures::survivals;
use crate::support::{
    Files, append, data, open, owner, path, quarantined, readable, remove, rename, replace,
};

const LOST: Survival = Survival { data: DataSurvival::Lost, names: NameSurvival::Lost };

/// Commits as a process of its own, which then closes the store.
fn commit(disk: &SimDisk, scope: &str, steps: Vec<Step>) -> Result<(), StoreError> {
    let store = FileStore::open(Arc::new(disk.process()), Options::new(owner()))?;
    let writer = store.lock_files(&[path(scope)])?;
    writer.commit(steps, Durability::Synced)?;
    Box::new(writer).release()?;
    store.close()
}

fn turn(scope: &str, n: u32) -> Vec<Step> {
    vec![
        append(&format!("{scope}/log"), &format!("{{\"n\":{n}}}\n")),
        replace(&format!("{scope}/state"), &format!("state {n}")),
        replace(&format!("{scope}/index/turns"), &format!("index {n}")),
    ]
}

fn capable() -> SimDisk {
    let disk = SimDisk::new();
    disk.make_capable();
    disk
}

/// A capable disk with one session, and two commits of two processes.
fn two_turns() -> SimDisk {
    let disk = capable();
    commit(&disk, "s", turn("s", 1)).unwrap();
    commit(&disk, "s", turn("s", 2)).unwrap();
    disk
}

fn text(disk: &SimDisk, file: &str) -> String {
    let content = disk.contents().remove(&path(file)).unwrap_or_default();
    String::from_utf8_lossy(&content).into_owned()
}

/// Returns the flushes of a commit by a process of its own.
fn flushes_of(disk: &SimDisk, scope: &str, steps: Vec<Step>) -> Vec<(Flush, u64)> {
    let before = disk.flushes();
    commit(disk, scope, steps).unwrap();
    let mut after = disk.flushes();
    after.iter_mut().for_each(|(why, count)| *count -= before.get(why).unwrap_or(&0));
    after.into_iter().filter(|(_, count)| *count > 0).collect()
}

const FEW: [(Flush, u64); 3] = [(Flush::Commit, 1), (Flush::Recycle, 1), (Flush::CheckpointAll, 1)];

#[test]
fn a_short_process_flushes_three_times() {
    let disk = two_turns();
    assert_eq!(flushes_of(&disk, "s", turn("s", 3)), FEW);
    // Processes that change another session in between cost nothing.
    commit(&disk, "t", turn("t", 1)).unwrap();
    assert_eq!(flushes_of(&disk, "s", turn("s", 4)), FEW);
    assert_eq!(flushes_of(&disk, "t", turn("t", 2)), FEW);
    // A new name in a directory whose names are flushed costs nothing, either.
    let new = vec![append("s/journal", "{}\n"), replace("s/new", "1")];
    assert_eq!(flushes_of(&disk, "s", new), FEW);
}

#[test]
fn what_another_program_has_changed_is_flushed_first() {
    let disk = two_turns();
    foreign(&disk, "s/state", b"theirs");
    let flushes = flushes_of(&disk, "s", turn("s", 3));
    assert_eq!(flushes[..2], [(Flush::Commit, 1), (Flush::Recycle, 1)]);
    assert!(flushes.contains(&(Flush::ExistingFile, 1)), "{flushes:?}");
    assert!(flushes.contains(&(Flush::ExistingDir, 1)), "{flushes:?}");
}

#[test]
fn without_a_list_every_file_is_flushed_again() {
    for damage in [&b""[..], b"everturn flushed files\nsum 0000000000000000\n", b"\xff"] {
        let disk = two_turns();
        disk.put_file(&path(".everturn/wal/0001.flushed"), damage);
        let flushes = flushes_of(&disk, "s", turn("s", 3));
        assert!(flushes.contains(&(Flush::ExistingFile, 2)), "{flushes:?}");
    }
}

#[test]
fn one_file_is_flushed_by_itself() {
    let disk = capable();
    disk.put_file(&path("s/log"), b"{}\n");
    commit(&disk, "s", vec![append("s/log", "{}\n")]).unwrap();
    disk.mount_at(&path("s"));
    let flushes = flushes_of(&disk, "s", vec![append("s/log", "{}\n")]);
    let files = [(Flush::CheckpointFile, 1), (Flush::CheckpointDir, 1)];
    assert_eq!(flushes[2..], files, "another device is not flushed with the root");
}

#[test]
fn an_error_of_another_program_does_not_harm_a_commit() {
    let disk = two_turns();
    foreign(&disk, "other", b"lost");
    disk.fail_writeback(&path("other"));
    let flushes = flushes_of(&disk, "s", turn("s", 3));
    assert!(flushes.contains(&(Flush::CheckpointFile, 3)), "{flushes:?}");
    disk.power_cut(LOST);
    assert_eq!(text(&disk, "s/state"), "state 3");
}

#[test]
fn an_error_of_our_file_is_noticed() {
    for file in ["s/log", "s/state"] {
        let disk = two_turns();
        let store = open(&disk).unwrap();
        let writer = store.lock_files(&[path("s")]).unwrap();
        writer.commit(turn("s", 3), Durability::Synced).unwrap();
        disk.fail_writeback(&path(file));
        assert!(Box::new(writer).release().is_err(), "{file}");
        drop(store);
        disk.kill_all();
        drop(open(&disk).unwrap());
        disk.power_cut(LOST);
        drop(open(&disk).unwrap());
        assert_eq!(text(&disk, "s/log").lines().count(), 3, "{file}");
        assert_eq!(text(&disk, "s/state"), "state 3", "{file}");
    }
}

/// The commits of several processes in two sessions.
fn scenario() -> Vec<(&'static str, Vec<Step>)> {
    vec![
        ("s", turn("s", 1)),
        ("s", turn("s", 2)),
        ("t", turn("t", 3)),
        ("s", turn("s", 4)),
        ("s", vec![rename("s/log", "s/log-1"), replace("s/state", "state 5")]),
        ("s", turn("s", 6)),
        // The name is used in another way.
        ("t", vec![replace("t/log", "{}\n")]),
        ("t", vec![remove("t/state"), append("t/log", "{}\n")]),
        ("s", vec![remove("s/index"), replace("s/state", "state 9")]),
    ]
}

fn play(disk: &SimDisk) -> usize {
    let done = scenario().into_iter().take_while(|(scope, steps)| {
        let store = open(disk);
        let writer = store.as_ref().ok().and_then(|store| store.lock_files(&[path(scope)]).ok());
        // Errors after the commit do not take it back.
        writer.is_some_and(|writer| writer.commit(steps.clone(), Durability::Synced).is_ok())
    });
    done.count()
}

fn expected() -> Vec<Files> {
    let disk = SimDisk::new();
    let mut states = vec![Files::new()];
    for (scope, steps) in scenario() {
        commit(&disk, scope, steps).unwrap();
        states.push(data(&disk));
    }
    states
}

fn survives(disk: &SimDisk, states: &[Files], acknowledged: usize) -> Result<(), String> {
    let store = open(disk).map_err(|error| error.to_string())?;
    let found = data(disk);
    let next = (acknowledged + 1).min(states.len() - 1);
    if found != states[acknowledged] && found != states[next] {
        return Err(format!("{acknowledged} commits: {:#?}", readable(&found)));
    }
    let findings = store.take_findings();
    if !findings.is_empty() || !quarantined(disk).is_empty() {
        return Err(format!("{findings:?}"));
    }
    drop(store);
    commit(disk, "s", vec![append("s/more", "{}\n")]).map_err(|error| error.to_string())?;
    let grown = data(disk);
    disk.power_cut(LOST);
    if data(disk) == grown { Ok(()) } else { Err("a closed commit is not in the files".to_owned()) }
}

/// Crashes at every change of the scenario; returns the number of crashes, or the first loss.
fn crash_everywhere(ignored: Option<Flush>) -> Result<u64, String> {
    let states = expected();
    let mut tries = 0;
    for point in 0.. {
        let disk = capable();
        ignored.into_iter().for_each(|why| disk.ignore_flush(why));
        disk.inject(Fault { at: point, kind: FaultKind::Crash, lasting: false });
        let acknowledged = play(&disk);
        let is_over = !disk.crashed();
        for how in ends(point) {
            let after = disk.fork();
            end(&after, how);
            survives(&after, &states, acknowledged)
                .map_err(|problem| format!("crash at {point}, {how:?}: {problem}"))?;
            if matches!(how, End::Kill) {
                // A kill, a next process that is cut, and a power cut.
                let after = disk.fork();
                end(&after, how);
                let at = after.changes() + point % 37;
                after.inject(Fault { at, kind: FaultKind::Crash, lasting: false });
                drop(commit(&after, "u", vec![append("u/log", "{}\n")]));
                after.clear_faults();
                after.power_cut(LOST);
                drop(commit(&after, "u", vec![remove("u/log")]));
                after.power_cut(LOST);
                survives(&after, &states, acknowledged)
                    .map_err(|problem| format!("crash at {point}, then {at}: {problem}"))?;
            }
            tries += 1;
        }
        if is_over {
            break;
        }
    }
    Ok(tries)
}

#[test]
fn every_crash_of_short_processes_is_survived() {
    match crash_everywhere(None) {
        Ok(tries) => assert!(tries > 2000, "{tries}"),
        Err(problem) => panic!("{problem}"),
    }
}

/// Returns whether something is lost if these flushes do nothing.
pub(crate) fn notices(why: Flush) -> bool {
    crash_everywhere(Some(why)).is_err()
}

/// Writes into a file as another program, without a flush.
fn foreign(disk: &SimDisk, file: &str, content: &[u8]) {
    let process = disk.process();
    let file = path(file);
    drop(process.create(&file, FilePermissions::Default));
    let opened = process.open(&file, FileAccess::Write).unwrap();
    opened.set_len(0).unwrap();
    opened.write_at(0, content).unwrap();
}

/// Saves a file as another program: under a temporary name, which is then renamed, without a flush.
fn foreign_rename(disk: &SimDisk, file: &str, content: &[u8]) {
    foreign(disk, "s/temp", content);
    disk.process().rename(&path("s/temp"), &path(file)).unwrap();
}

/// A change by another program.
type ForeignChange = fn(&SimDisk);

/// The ways in which another program changes a session between two processes, none of them flushed.
fn foreign_changes() -> Vec<(&'static str, ForeignChange)> {
    vec![
        ("another content in place", |disk| foreign(disk, "s/state", b"theirs!")),
        ("another content by rename", |disk| foreign_rename(disk, "s/state", b"theirs!")),
        ("the same content in place", |disk| foreign(disk, "s/state", b"state 2")),
        ("the same content by rename", |disk| foreign_rename(disk, "s/state", b"state 2")),
        ("an older content", |disk| foreign_rename(disk, "s/state", b"state 1")),
        ("a removed file", |disk| disk.process().remove(&path("s/state")).unwrap()),
        ("a file that was away", |disk| {
            disk.process().rename(&path("s/state"), &path("s/away")).unwrap();
            disk.process().rename(&path("s/away"), &path("s/state")).unwrap();
        }),
        ("a file that comes back", |disk| {
            disk.process().remove(&path("s/state")).unwrap();
            foreign(disk, "s/state", b"state 2");
        }),
        ("a removed journal", |disk| disk.process().remove(&path("s/journal")).unwrap()),
    ]
}

/// Returns what is lost of a commit that follows a change by another program, after each power cut.
fn commit_over_foreign_changes(ignored: Option<Flush>) -> Result<(), String> {
    for (what, change) in foreign_changes() {
        let disk = two_turns();
        commit(&disk, "s", vec![replace("s/journal", "old")]).unwrap();
        change(&disk);
        ignored.into_iter().for_each(|why| disk.ignore_flush(why));
        let store = open(&disk).unwrap();
        let writer = store.lock_files(&[path("s")]).unwrap();
        let steps = vec![replace("s/state", "state 3"), replace("s/journal", "new")];
        writer.commit(steps, Durability::Synced).unwrap();
        for survival in survivals() {
            let after = disk.fork();
            after.power_cut(survival);
            let reopened = open(&after).unwrap();
            let found = ["s/state", "s/journal"].map(|file| text(&after, file));
            let findings = reopened.take_findings();
            if found != ["state 3", "new"] || !findings.is_empty() {
                return Err(format!("{what}, {survival:?}: {found:?} {findings:?}"));
            }
        }
    }
    Ok(())
}

#[test]
fn commits_over_changes_of_other_programs_are_kept() {
    if let Err(problem) = commit_over_foreign_changes(None) {
        panic!("{problem}");
    }
    assert!(commit_over_foreign_changes(Some(Flush::ExistingFile)).is_err());
    assert!(commit_over_foreign_changes(Some(Flush::ExistingDir)).is_err());
}

#[test]
fn a_wiped_log_is_empty_and_continues() {
    let disk = two_turns();
    let store = FileStore::open(Arc::new(disk.process()), Options::new(owner())).unwrap();
    store.wipe_logs().unwrap();
    drop(store);
    let log = disk.contents().remove(&path(".everturn/wal/0001.log")).unwrap();
    assert!(!String::from_utf8_lossy(&log).contains("state 2"));
    assert_eq!(text(&disk, ".everturn/wal/0001.flushed"), "", "it has names");
    commit(&disk, "s", turn("s", 3)).unwrap();
    assert_eq!(flushes_of(&disk, "s", turn("s", 4)), FEW);
}

#[test]
fn a_real_disk_tells_every_change() {
    let dir = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(dir.path()).unwrap();
    disk.create_dir(&path("s")).unwrap();
    let file = disk.create(&path("s/f"), FilePermissions::Default).unwrap();
    let stamps = || ["s", "s/f"].map(|name| disk.change_stamp(&path(name)).unwrap());
    assert_eq!(disk.change_stamp(&path("s/none")).unwrap(), None);
    if stamps()[0].is_none() {
        println!("this file system does not tell changes apart");
        return;
    }
    for _ in 0..200 {
        let before = stamps();
        assert_eq!(stamps(), before);
        disk.open(&path("s/f"), FileAccess::Write).unwrap().write_at(0, b"same").unwrap();
        let written = stamps();
        assert!(written[0] == before[0] && written[1] != before[1]);
        disk.rename(&path("s/f"), &path("s/g")).unwrap();
        disk.rename(&path("s/g"), &path("s/f")).unwrap();
        let renamed = stamps();
        assert!(renamed[0] != written[0] && renamed[1] != written[1]);
        disk.create(&path("s/new"), FilePermissions::Default).unwrap();
        disk.remove(&path("s/new")).unwrap();
        let made = stamps();
        assert!(made[0] != renamed[0] && made[1] == renamed[1]);
    }
    drop(file);
}

#[test]
fn a_short_process_flushes_three_times_on_a_real_disk() {
    let dir = tempfile::tempdir().unwrap();
    let mut counts = Vec::new();
    for n in 1..=6 {
        let disk = RealDisk::open(dir.path()).unwrap();
        let can = disk.sync_all(Flush::CheckpointAll).unwrap()
            && disk.change_stamp(&FilePath::root()).unwrap().is_some();
        let before = disk.flushes();
        let disk = Arc::new(disk);
        let store = FileStore::open(Arc::clone(&disk) as Arc<dyn Disk>, Options::new(owner()));
        let store = store.unwrap();
        let writer = store.lock_files(&[path("s")]).unwrap();
        writer.commit(turn("s", n), Durability::Synced).unwrap();
        Box::new(writer).release().unwrap();
        store.close().unwrap();
        counts.extend(can.then(|| disk.flushes() - before));
    }
    // Other programs may have much unwritten data at any moment.
    let fewest = counts.iter().skip(2).min();
    assert!(fewest.is_none_or(|fewest| *fewest == 3), "{counts:?}");
    println!("flushes of short processes: {counts:?}");
}
