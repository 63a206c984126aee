//! Errors of the disk at every operation: a failed commit leaves nothing, and later ones work or report that the store
//! must be reopened.

use std::sync::Arc;

use everturn_store::disk::Flush;
use everturn_store::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn_store::{
    Durability, FileStore, MemoryStore, Options, Step, Store, StoreError, Writer,
};

use crate::support::{
    Files, append, both, data, open, path, readable, remove, rename, replace, small_log,
};

const EIO: i32 = 5;
const EACCES: i32 = 13;
const ENOSPC: i32 = 28;

/// The result of a fault at one position.
pub(crate) enum Verdict {
    /// The commits end before it.
    Past,
    Fine,
    Wrong(String),
    /// The commit of these steps may exist or not, but whole.
    Open {
        before: Files,
        steps: Vec<Step>,
    },
}

/// Commits that use every kind of step, on files that exist and files that do not.
fn commits() -> Vec<Vec<Step>> {
    let turn = |n: u32| {
        let line = format!("{{\"turn\":{n}}}\n");
        vec![
            append("s/new/turns.jsonl", &line),
            append("s/torn.jsonl", &line),
            append("s/old.jsonl", &line),
            replace("s/state.json", &line),
            replace(&format!("s/fresh-{n}/state.json"), &line),
        ]
    };
    // More than fits into the last block of any file, or into the log.
    let long = format!("{{\"long\":\"{}\"}}\n", "x".repeat(9000));
    vec![
        turn(1),
        turn(2),
        vec![append("s/old.jsonl", "{}\n"), rename("s/old.jsonl", "s/away/old.jsonl")],
        vec![replace("s/state.json", "5"), remove("s/fresh-1"), remove("s/torn.jsonl")],
        vec![append("s/old.jsonl", "{\"second\":\"life\"}\n"), rename("s/away", "s/back")],
        turn(3),
        vec![
            replace("s/state.json", "6"),
            append("s/long.jsonl", &long),
            replace("s/long.json", &long),
            append("s/back/old.jsonl", &long),
            remove("s/fresh-2"),
        ],
    ]
}

fn prepared() -> SimDisk {
    let disk = SimDisk::new();
    disk.put_file(&path("s/old.jsonl"), b"{\"old\":1}\n");
    disk.put_file(&path("s/torn.jsonl"), b"{\"old\":1}\n{\"to");
    disk.put_file(&path("s/state.json"), b"{}");
    disk
}

/// The same files for the model, whose appends repair no tails.
fn model() -> MemoryStore {
    let model = MemoryStore::new();
    let writer = model.lock(&[path("s")]).unwrap();
    let steps = vec![
        append("s/old.jsonl", "{\"old\":1}\n"),
        append("s/torn.jsonl", "{\"old\":1}\n"),
        replace("s/state.json", "{}"),
    ];
    writer.commit(steps, Durability::Synced).unwrap();
    model
}

/// Returns the expected files: the model, with the torn tail as long as nothing was appended there.
fn expected(model: &MemoryStore) -> Files {
    let mut files = model.contents();
    if let Some(content) = files.get_mut(&path("s/torn.jsonl"))
        && content == b"{\"old\":1}\n"
    {
        content.extend_from_slice(b"{\"to");
    }
    files
}

/// Runs the commits with one fault; checks after each that a failure has changed nothing.
fn try_all(disk: &SimDisk, model: &MemoryStore, fault: Fault, options: &Options) -> Verdict {
    let start = disk.changes();
    let process = disk.process();
    let opened = FileStore::open(Arc::new(process), options.clone());
    disk.inject(Fault { at: start + fault.at, ..fault });
    let store = opened.unwrap();
    let Ok(writer) = store.lock_files(&[path("s")]) else {
        return check(disk, model, "a lock that failed");
    };
    let model_writer = model.lock(&[path("s")]).unwrap();
    for steps in commits() {
        let before = expected(model);
        match writer.commit(steps.clone(), Durability::Synced) {
            Ok(_) => {
                model_writer.commit(steps, Durability::Synced).unwrap();
            }
            Err(StoreError::Poisoned { cause }) => {
                if fault.kind == FaultKind::Full {
                    return Verdict::Wrong(format!("a full disk is no reason for doubt: {cause}"));
                }
                if fault.lasting {
                    // The undo failed as well: the outcome is open.
                    return Verdict::Open { before, steps };
                }
                break;
            }
            Err(StoreError::Missing { .. } | StoreError::Taken { .. }) => {}
            Err(_) => {
                for verdict in [check(disk, model, "a failed commit"), check_reopened(disk, model)]
                {
                    if let Verdict::Wrong(_) = verdict {
                        return verdict;
                    }
                }
            }
        }
    }
    if disk.changes() <= start + fault.at { Verdict::Past } else { Verdict::Fine }
}

fn check(disk: &SimDisk, model: &MemoryStore, after: &str) -> Verdict {
    let (found, wanted) = (data(disk), expected(model));
    if found == wanted {
        return Verdict::Fine;
    }
    Verdict::Wrong(format!(
        "after {after}: {:#?} is not {:#?}",
        readable(&found),
        readable(&wanted)
    ))
}

/// Reopens after a failure; with power cuts that lose nothing, something, and all unflushed changes.
fn check_reopened(disk: &SimDisk, model: &MemoryStore) -> Verdict {
    for data in [DataSurvival::Kept, DataSurvival::Lost] {
        for names in [NameSurvival::Kept, NameSurvival::Prefix, NameSurvival::Lost] {
            let survival = Survival { data, names };
            if let Err(problem) = reopened_after(disk, survival, &[expected(model)]) {
                return Verdict::Wrong(format!("{survival:?}: {problem}"));
            }
        }
    }
    Verdict::Fine
}

fn reopened_after(disk: &SimDisk, survival: Survival, allowed: &[Files]) -> Result<(), String> {
    let after = disk.fork();
    after.power_cut(survival);
    open(&after).map_err(|error| format!("cannot reopen: {error}"))?;
    let found = data(&after);
    if allowed.contains(&found) {
        return Ok(());
    }
    let allowed: Vec<_> = allowed.iter().map(readable).collect();
    Err(format!("{survival:?}: {:#?} is none of {allowed:#?}", readable(&found)))
}

fn fails(fault: Fault, ignored: Option<Flush>, options: &Options) -> Verdict {
    fails_on(&prepared(), fault, ignored, options)
}

/// As [`fails`], on a disk that can be flushed at once.
fn fails_on_capable(fault: Fault, options: &Options) -> Verdict {
    let disk = prepared();
    disk.make_capable();
    fails_on(&disk, fault, None, options)
}

fn fails_on(disk: &SimDisk, fault: Fault, ignored: Option<Flush>, options: &Options) -> Verdict {
    let model = model();
    if let Some(why) = ignored {
        disk.ignore_flush(why);
    }
    match try_all(disk, &model, fault, options) {
        Verdict::Fine => check_reopened(disk, &model),
        Verdict::Open { before, steps } => {
            let writer = model.lock(&[path("s")]).unwrap();
            writer.commit(steps, Durability::Synced).unwrap();
            let allowed = [before, expected(&model)];
            for survival in crate::crash::ends(fault.at) {
                if let crate::crash::End::PowerCut(survival) = survival
                    && let Err(problem) = reopened_after(disk, survival, &allowed)
                {
                    return Verdict::Wrong(problem);
                }
            }
            Verdict::Fine
        }
        other => other,
    }
}

/// Runs commits that fail once at one position, with one kind of flush left out.
pub(crate) fn failures_at(at: u64, ignored: Option<Flush>) -> Verdict {
    let fault = Fault { at, kind: FaultKind::Error(ENOSPC), lasting: false };
    fails(fault, ignored, &small_log())
}

fn every_failure_leaves_nothing(trouble: FaultKind, lasting: bool) {
    for options in &both() {
        every_failure_with(trouble, lasting, options, &|fault| fails(fault, None, options));
        every_failure_with(trouble, lasting, options, &|fault| fails_on_capable(fault, options));
    }
}

fn every_failure_with(
    trouble: FaultKind,
    lasting: bool,
    options: &Options,
    fails: &dyn Fn(Fault) -> Verdict,
) {
    let mut at = 0;
    loop {
        match fails(Fault { at, kind: trouble, lasting }) {
            Verdict::Past => break,
            Verdict::Fine | Verdict::Open { .. } => at += 1,
            Verdict::Wrong(problem) => {
                panic!("{trouble:?} at change {at}, staged from {}: {problem}", options.stage_from)
            }
        }
    }
    assert!(at > 60, "only {at} failure points");
    println!("fault suite: {trouble:?} at {at} places");
}

#[test]
fn a_disk_that_is_full_once_leaves_nothing_of_the_commit() {
    every_failure_leaves_nothing(FaultKind::Error(ENOSPC), false);
}

#[test]
fn a_disk_that_stays_full_leaves_nothing_of_the_commit() {
    every_failure_leaves_nothing(FaultKind::Error(ENOSPC), true);
}

#[test]
fn a_disk_without_room_leaves_nothing_of_the_commit_and_no_doubt() {
    every_failure_leaves_nothing(FaultKind::Full, false);
    every_failure_leaves_nothing(FaultKind::Full, true);
}

#[test]
fn an_io_error_leaves_nothing_of_the_commit() {
    every_failure_leaves_nothing(FaultKind::Error(EIO), false);
}

#[test]
fn a_disk_that_keeps_failing_leaves_nothing_of_the_commit() {
    every_failure_leaves_nothing(FaultKind::Error(EIO), true);
}

#[test]
fn a_refused_permission_leaves_nothing_of_the_commit() {
    every_failure_leaves_nothing(FaultKind::Error(EACCES), false);
}

#[test]
fn a_short_write_leaves_nothing_of_the_commit() {
    every_failure_leaves_nothing(FaultKind::Short, false);
}

#[test]
fn a_disk_on_which_every_write_is_short_leaves_nothing_of_the_commit() {
    every_failure_leaves_nothing(FaultKind::Short, true);
}

#[test]
fn a_flush_that_loses_what_it_covered_leaves_nothing_of_the_commit() {
    every_failure_leaves_nothing(FaultKind::FlushLost, false);
}
