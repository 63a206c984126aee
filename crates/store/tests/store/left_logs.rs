//! Processes that close a log with records in it, so that the next one continues it.

use std::sync::Arc;

use everturn_json::finding::FindingCode;
use everturn_store::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn_store::disk::{Disk, FileAccess, FilePermissions, Flush};
use everturn_store::{Durability, FileStore, Options, Step, Store, StoreError, Writer};

use crate::crash::{End, end, ends};
use crate::support::{Files, append, data, owner, path, quarantined, readable, rename, replace};

const LOST: Survival = Survival { data: DataSurvival::Lost, names: NameSurvival::Lost };

/// Opens the store as a process with a log that has space for some commits.
fn open(disk: &SimDisk) -> Result<FileStore, StoreError> {
    let options = Options { log_size: 10 << 10, max_log_size: 12 << 10, ..Options::new(owner()) };
    FileStore::open(Arc::new(disk.process()), options)
}

/// Commits as a process of its own, which then closes the store.
fn commit(disk: &SimDisk, scope: &str, steps: Vec<Step>) -> Result<(), StoreError> {
    let store = open(disk)?;
    let writer = store.lock_files(&[path(scope)])?;
    writer.commit(steps, Durability::Synced)?;
    Box::new(writer).release()?;
    store.close()
}

fn turn(scope: &str, n: u32) -> Vec<Step> {
    vec![
        append(&format!("{scope}/log"), &format!("{{\"n\":{n}}}\n")),
        replace(&format!("{scope}/state"), &format!("state {n}")),
    ]
}

/// A disk with one session, on which files keep their numbers, and two commits of two processes.
fn two_turns() -> SimDisk {
    let disk = SimDisk::new();
    disk.keep_numbers();
    commit(&disk, "s", turn("s", 1)).unwrap();
    commit(&disk, "s", turn("s", 2)).unwrap();
    disk
}

fn text(disk: &SimDisk, file: &str) -> Option<String> {
    let contents = disk.contents();
    contents.get(&path(file)).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

fn logs(disk: &SimDisk) -> usize {
    let is_log = |file: &everturn_json::names::FilePath| file.as_str().ends_with(".log");
    disk.contents().into_keys().filter(is_log).count()
}

#[test]
fn a_short_process_flushes_its_commit_and_the_mark_of_its_log() {
    let disk = two_turns();
    let before = disk.flushes();
    commit(&disk, "s", turn("s", 3)).unwrap();
    let mut after = disk.flushes();
    after.iter_mut().for_each(|(why, count)| *count -= before.get(why).unwrap_or(&0));
    after.retain(|_, count| *count > 0);
    assert_eq!(after.into_iter().collect::<Vec<_>>(), [(Flush::Commit, 1), (Flush::HandOver, 1)]);
}

#[test]
fn readers_see_closed_commits_in_the_plain_files() {
    let disk = two_turns();
    assert_eq!(text(&disk, "s/log").unwrap(), "{\"n\":1}\n{\"n\":2}\n");
    let reader = FileStore::open_read_only(Arc::new(disk.process())).unwrap();
    assert!(reader.is_plain());
    assert_eq!(reader.read(&path("s/state"), 0..99).unwrap(), b"state 2");
}

#[test]
fn after_a_power_cut_closed_commits_are_recovered() {
    for keeps_numbers in [false, true] {
        for how in ends(7) {
            let disk = SimDisk::new();
            if keeps_numbers {
                disk.keep_numbers();
            }
            (1..=5).for_each(|n| commit(&disk, "s", turn("s", n)).unwrap());
            let before = data(&disk);
            end(&disk, how);
            let reader = FileStore::open_read_only(Arc::new(disk.process())).unwrap();
            assert_eq!(reader.read(&path("s/state"), 0..99).unwrap(), b"state 5", "{how:?}");
            let store = open(&disk).unwrap();
            assert_eq!(readable(&data(&disk)), readable(&before), "{how:?}");
            assert!(store.take_findings().is_empty());
        }
    }
}

/// The commits of seven processes in two sessions, with what each leaves.
fn scenario() -> Vec<(&'static str, Vec<Step>)> {
    let mut all = vec![("s", turn("s", 1)), ("s", turn("s", 2)), ("t", turn("t", 3))];
    all.push(("s", turn("s", 4)));
    all.push(("s", vec![rename("s/log", "s/log-1"), replace("s/state", "state 5")]));
    all.push(("s", turn("s", 6)));
    // The name is used in another way.
    all.push(("t", vec![replace("t/log", "{}\n")]));
    all
}

fn play(disk: &SimDisk) -> usize {
    let steps = scenario();
    let done = steps.into_iter().take_while(|(scope, steps)| {
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
    let mut findings = store.take_findings();
    // A torn header of an empty log cannot be told from a damaged one.
    findings.retain(|finding| finding.code != FindingCode::BadLog);
    if !findings.is_empty() {
        return Err(format!("{findings:?}"));
    }
    drop(store);
    commit(disk, "s", vec![append("s/more", "{}\n")]).map_err(|error| error.to_string())?;
    let grown = data(disk);
    disk.power_cut(LOST);
    drop(open(disk).map_err(|error| error.to_string())?);
    if data(disk) == grown { Ok(()) } else { Err("the next commit is lost".to_owned()) }
}

/// Crashes at every change of the scenario; returns the number of crashes, or the first loss.
fn crash_everywhere(keeps_numbers: bool, ignored: Option<Flush>) -> Result<u64, String> {
    let states = expected();
    let mut tries = 0;
    for point in 0.. {
        let disk = SimDisk::new();
        if keeps_numbers {
            disk.keep_numbers();
        }
        ignored.into_iter().for_each(|why| disk.ignore_flush(why));
        disk.inject(Fault { at: point, kind: FaultKind::Crash, lasting: false });
        let acknowledged = play(&disk);
        let is_over = !disk.crashed();
        for how in ends(point) {
            let after = disk.fork();
            end(&after, how);
            survives(&after, &states, acknowledged)
                .map_err(|problem| format!("crash at {point}, {how:?}: {problem}"))?;
            // A kill, a recovery that is cut, and a power cut.
            if matches!(how, End::Kill) {
                let after = disk.fork();
                end(&after, how);
                let at = after.changes() + point % 23;
                after.inject(Fault { at, kind: FaultKind::Crash, lasting: false });
                drop(commit(&after, "s", vec![append("s/log", "{}\n")]));
                after.clear_faults();
                after.power_cut(LOST);
                drop(open(&after).map_err(|error| error.to_string())?);
                let found = data(&after);
                let is_missing = |(file, bytes): (&_, &Vec<u8>)| {
                    found.get(file).is_none_or(|found: &Vec<u8>| !found.starts_with(bytes))
                };
                let next = (acknowledged + 1).min(states.len() - 1);
                if states[acknowledged].iter().any(is_missing)
                    && states[next].iter().any(is_missing)
                {
                    return Err(format!("crash at {point}, then {at}: {:#?}", readable(&found)));
                }
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
    for keeps_numbers in [false, true] {
        match crash_everywhere(keeps_numbers, None) {
            Ok(tries) => assert!(tries > 2000, "{tries}"),
            Err(problem) => panic!("{problem}"),
        }
    }
}

/// Saves a file as other programs do: under a temporary name, which is then renamed.
fn save_by_rename(disk: &SimDisk, file: &str, content: &[u8]) {
    let process = disk.process();
    let temp = path("s/temp");
    let made = process.create(&temp, FilePermissions::Default).unwrap();
    made.append(content).unwrap();
    made.sync(Flush::ExistingFile).unwrap();
    process.rename(&temp, &path(file)).unwrap();
    process.sync_dir(&path("s"), Flush::ExistingDir).unwrap();
}

/// Writes into a file as other programs do, and flushes it. A flush of a file includes its name on the file systems for
/// which the promise holds.
fn save_in_place(disk: &SimDisk, file: &str, content: &[u8]) {
    disk.put_file(&path(file), content);
    disk.process().sync_dir(&path("s"), Flush::ExistingDir).unwrap();
}

/// A change by another program.
type ForeignChange = fn(&SimDisk);

/// The ways in which another program changes a session after it was closed, with what stays.
fn foreign_changes() -> Vec<(&'static str, ForeignChange)> {
    vec![
        ("an old content in place", |disk| save_in_place(disk, "s/state", b"state 1")),
        ("an old content by rename", |disk| save_by_rename(disk, "s/state", b"state 1")),
        ("a new content in place", |disk| save_in_place(disk, "s/state", b"theirs")),
        ("a new content by rename", |disk| save_by_rename(disk, "s/state", b"theirs")),
        ("lines in place", |disk| save_in_place(disk, "s/log", b"{\"m\":1}\n{\"m\":2}\n")),
        ("fewer lines by rename", |disk| save_by_rename(disk, "s/log", b"{\"n\":1}\n")),
        ("a removed file", |disk| {
            disk.process().remove(&path("s/state")).unwrap();
            disk.process().sync_dir(&path("s"), Flush::ExistingDir).unwrap();
        }),
    ]
}

/// Returns what is wrong after another program has changed a closed session and the system was restarted or lost power.
fn replay_over_foreign_changes(ignored: Option<Flush>) -> Result<(), String> {
    for (what, change) in foreign_changes() {
        for cuts_power in [false, true] {
            let disk = SimDisk::new();
            disk.keep_numbers();
            ignored.into_iter().for_each(|why| disk.ignore_flush(why));
            (1..=3).for_each(|n| commit(&disk, "s", turn("s", n)).unwrap());
            change(&disk);
            let theirs = data(&disk);
            if cuts_power {
                disk.power_cut(LOST);
            } else {
                disk.restart();
            }
            let store = open(&disk).unwrap();
            let (found, findings) = (data(&disk), store.take_findings());
            if found != theirs || !findings.is_empty() || !quarantined(&disk).is_empty() {
                let found = readable(&found);
                return Err(format!("{what}, {cuts_power}: {found:#?} {findings:?}"));
            }
        }
    }
    Ok(())
}

#[test]
fn what_another_program_saves_after_a_close_is_not_overwritten() {
    if let Err(problem) = replay_over_foreign_changes(None) {
        panic!("{problem}");
    }
}

#[test]
fn what_another_program_saves_between_two_processes_stays() {
    for (what, change) in foreign_changes() {
        let disk = two_turns();
        change(&disk);
        let mut wanted = data(&disk);
        commit(&disk, "s", vec![append("s/other", "{}\n")]).unwrap();
        wanted.insert(path("s/other"), b"{}\n".to_vec());
        assert_eq!(readable(&data(&disk)), readable(&wanted), "{what}");
        disk.power_cut(LOST);
        drop(open(&disk).unwrap());
        assert_eq!(readable(&data(&disk)), readable(&wanted), "{what}");
    }
}

#[test]
fn a_copy_of_a_root_after_a_power_cut_is_recovered() {
    // Without lasting numbers every file looks new, as in a copy.
    let disk = SimDisk::new();
    (1..=3).for_each(|n| commit(&disk, "s", turn("s", n)).unwrap());
    disk.power_cut(LOST);
    drop(open(&disk).unwrap());
    assert_eq!(text(&disk, "s/state").unwrap(), "state 3");
}

#[test]
fn a_failed_background_write_after_a_close_loses_nothing() {
    for file in ["s/log", "s/state"] {
        let disk = two_turns();
        disk.fail_writeback(&path(file));
        let away = || commit(&disk, "s", vec![rename("s/log", "s/log-1")]);
        // The first flush may report the failure; then nothing has happened.
        if away().is_err() {
            away().unwrap();
        }
        disk.power_cut(LOST);
        drop(open(&disk).unwrap());
        assert_eq!(text(&disk, "s/log-1").unwrap(), "{\"n\":1}\n{\"n\":2}\n");
        assert_eq!(text(&disk, "s/state").unwrap(), "state 2");
    }
}

#[test]
fn the_number_of_logs_is_bounded() {
    let disk = SimDisk::new();
    for round in 0..5 {
        for n in 0..9 {
            commit(&disk, &format!("s{n}"), turn(&format!("s{n}"), round)).unwrap();
        }
    }
    assert!(logs(&disk) <= 4, "{}", logs(&disk));
    let before = data(&disk);
    disk.power_cut(LOST);
    drop(open(&disk).unwrap());
    assert_eq!(readable(&data(&disk)), readable(&before));
}

#[test]
fn a_log_is_continued_until_it_is_nearly_full() {
    let disk = SimDisk::new();
    (0..200).for_each(|n| commit(&disk, "s", turn("s", n)).unwrap());
    assert_eq!(logs(&disk), 1);
    let log = disk.contents().remove(&path(".everturn/wal/0001.log")).unwrap();
    assert!(log.len() <= 12 << 10, "{}", log.len());
    assert_eq!(text(&disk, "s/log").unwrap().lines().count(), 200);
}

#[test]
fn where_other_users_can_write_no_log_is_left() {
    let disk = SimDisk::new();
    disk.share();
    commit(&disk, "s", turn("s", 1)).unwrap();
    disk.power_cut(LOST);
    assert_eq!(text(&disk, "s/state").unwrap(), "state 1");
}

/// Returns whether something is lost if these flushes do nothing.
pub(crate) fn notices(why: Flush) -> bool {
    crash_everywhere(true, Some(why)).is_err() || replay_over_foreign_changes(Some(why)).is_err()
}

#[test]
fn a_mark_of_another_log_is_ignored() {
    let disk = two_turns();
    let mark = path(".everturn/wal/0001.closed");
    let file = disk.process().open(&mark, FileAccess::Read).unwrap();
    assert!(file.stat().unwrap().len > 0);
    // One commit of a process that is then killed: the mark no longer fits the end of the log.
    let store = open(&disk).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(turn("s", 3), Durability::Synced).unwrap();
    disk.power_cut(LOST);
    drop((writer, store));
    drop(open(&disk).unwrap());
    assert_eq!(text(&disk, "s/state").unwrap(), "state 3");
}
