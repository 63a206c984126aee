//! Crash everywhere: the workload is cut at every change it makes to the disk, and whatever a crash can leave is
//! reopened and compared with what was acknowledged.

use everturn_store::disk::Flush;
use everturn_store::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn_store::{Durability, Options, Writer};

use crate::support::{
    Files, append, both, data, open, path, quarantined, readable, small_log, staging,
};
use crate::workload::{Promise, run};

/// The kind of a crash: a kill of the processes, or a power cut.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    Kill,
    PowerCut(Survival),
}

pub(crate) fn ends(point: u64) -> Vec<End> {
    let data = [
        DataSurvival::Lost,
        DataSurvival::Kept,
        DataSurvival::Prefix,
        DataSurvival::Hole,
        DataSurvival::Last,
        DataSurvival::Mixed(point),
        DataSurvival::Mixed(!point),
    ];
    let names = [NameSurvival::Lost, NameSurvival::Kept, NameSurvival::Prefix];
    let cuts = data.iter().flat_map(|data| names.iter().map(|names| (*data, *names)));
    let cuts = cuts.map(|(data, names)| End::PowerCut(Survival { data, names }));
    std::iter::once(End::Kill).chain(cuts).collect()
}

pub(crate) fn end(disk: &SimDisk, end: End) {
    match end {
        // A killed process loses no writes; unflushed ones can still be lost later.
        End::Kill => disk.kill_all(),
        End::PowerCut(survival) => disk.power_cut(survival),
    }
}

/// Returns the states that may be found after a crash.
fn allowed(promise: &Promise, how: End) -> Vec<&Files> {
    let mut states = vec![&promise.certain];
    states.extend(&promise.possible);
    if matches!(how, End::PowerCut(_)) {
        states.extend(&promise.since_sync);
    }
    states
}

/// Opens what a crash left, compares it with the promise, continues, and opens it again.
pub(crate) fn verify(disk: &SimDisk, promise: &Promise, how: End) -> Result<(), String> {
    let say = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    let store = open(disk).map_err(|error| say("open", &error))?;
    let found = data(disk);
    if !allowed(promise, how).contains(&&found) {
        let (found, certain) = (readable(&found), readable(&promise.certain));
        let findings = store.take_findings();
        return Err(format!("found {found:#?}\npromised {certain:#?}\nreported {findings:#?}"));
    }
    for (file, torn) in &promise.torn {
        let stays = found.get(file).is_some_and(|content| content.ends_with(torn));
        if !stays && !quarantined(disk).contains(torn) {
            return Err(format!("the torn end of {file} is lost"));
        }
    }
    let writer = store.lock_files(&[path("a")]).map_err(|error| say("lock", &error))?;
    let steps = vec![append("a/log.jsonl", "{\"after\":1}\n"), append("a/x.jsonl", "{}\n")];
    writer.commit(steps, Durability::Synced).map_err(|error| say("commit", &error))?;
    let grown = data(disk);
    drop((writer, store));
    disk.power_cut(Survival { data: DataSurvival::Lost, names: NameSurvival::Lost });
    drop(open(disk).map_err(|error| say("reopen", &error))?);
    let left = data(disk);
    let log = left.get(&path("a/log.jsonl")).cloned().unwrap_or_default();
    if left != grown || !log.ends_with(b"{\"after\":1}\n") {
        return Err(format!(
            "after going on: {:#?} became {:#?}",
            readable(&grown),
            readable(&left)
        ));
    }
    Ok(())
}

/// Runs the workload up to the change `point`; `None` if it ends before.
pub(crate) fn crash_at(
    point: u64,
    ignored: Option<Flush>,
    options: &Options,
) -> Option<(SimDisk, Promise)> {
    crash_on(SimDisk::new(), point, ignored, options)
}

/// As [`crash_at`], on a disk that can be flushed at once.
pub(crate) fn crash_on_capable(point: u64, options: &Options) -> Option<(SimDisk, Promise)> {
    let disk = SimDisk::new();
    disk.make_capable();
    crash_on(disk, point, None, options)
}

fn crash_on(
    disk: SimDisk,
    point: u64,
    ignored: Option<Flush>,
    options: &Options,
) -> Option<(SimDisk, Promise)> {
    if let Some(why) = ignored {
        disk.ignore_flush(why);
    }
    disk.inject(Fault { at: point, kind: FaultKind::Crash, lasting: false });
    let (promise, outcome) = run(&disk, options);
    if !disk.crashed() {
        outcome.unwrap();
    }
    disk.crashed().then_some((disk, promise))
}

#[test]
fn the_workload_itself_does_what_the_model_says() {
    for options in both() {
        let disk = SimDisk::new();
        let (promise, outcome) = run(&disk, &options);
        outcome.unwrap();
        assert_eq!(readable(&data(&disk)), readable(&promise.certain));
        assert!(promise.commits > 30, "{}", promise.commits);
    }
}

fn every_crash_is_survived(crash: impl Fn(u64) -> Option<(SimDisk, Promise)>) {
    let (mut points, mut tries) = (0_u64, 0_u64);
    while let Some((disk, promise)) = crash(points) {
        for how in ends(points) {
            let after = disk.fork();
            end(&after, how);
            if let Err(problem) = verify(&after, &promise, how) {
                panic!("crash at change {points}, {how:?}: {problem}");
            }
            tries += 1;
        }
        points += 1;
    }
    assert!(points > 300, "only {points} places to crash at");
    println!("crash suite: {points} crash points, {tries} crashes survived");
}

#[test]
fn every_crash_leaves_what_was_promised() {
    every_crash_is_survived(|point| crash_at(point, None, &small_log()));
}

#[test]
fn every_crash_among_staged_contents_leaves_what_was_promised() {
    every_crash_is_survived(|point| crash_at(point, None, &staging()));
}

#[test]
fn every_crash_on_a_disk_that_is_flushed_at_once_leaves_what_was_promised() {
    both().iter().for_each(|options| {
        every_crash_is_survived(|point| crash_on_capable(point, options));
    });
}

fn every_crash_of_recovery_is_survived(options: &Options) {
    let (mut point, mut tries) = (0_u64, 0_u64);
    while let Some((disk, promise)) = crash_at(point, None, options) {
        let all = ends(point);
        let how = all[usize::try_from(point).unwrap() % all.len()];
        end(&disk, how);
        let start = disk.changes();
        for again in start.. {
            let second = disk.fork();
            second.inject(Fault { at: again, kind: FaultKind::Crash, lasting: false });
            drop(open(&second));
            if !second.crashed() {
                break;
            }
            let twice = ends(point ^ again);
            let last = twice[usize::try_from(again).unwrap() % twice.len()];
            end(&second, last);
            // A kill leaves unflushed commits in the page cache, where a power cut can still lose them. The outcome of
            // a power cut is final: a kill after it loses nothing more.
            let worst = if matches!(last, End::PowerCut(_)) { last } else { how };
            if let Err(problem) = verify(&second, &promise, worst) {
                panic!("crash at {point}, {how:?}, then at {again}, {last:?}: {problem}");
            }
            tries += 1;
        }
        point += 1;
    }
    assert!(tries > 500, "only {tries}");
    println!("crash suite: {tries} crashes during recovery survived");
}

#[test]
fn a_crash_during_recovery_changes_nothing() {
    every_crash_of_recovery_is_survived(&small_log());
}

#[test]
fn a_crash_during_recovery_of_staged_contents_changes_nothing() {
    every_crash_of_recovery_is_survived(&staging());
}
