//! Readers beside an active writer: a snapshot shows the files as one commit left them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use everturn_json::names::FilePath;
use everturn_store::disk::sim::{Fault, FaultKind, SimDisk};
use everturn_store::disk::{Disk, FileKind, RealDisk};
use everturn_store::{
    Durability, FileStore, MemoryStore, Options, Step, Store, StoreError, Writer,
};

use crate::hooked::HookedDisk;
use crate::support::{
    Files, append, both, owner, path, readable, remove, rename, replace, small_log,
};

const SCOPE: &str = "s";

/// Commits of several files each, of every kind of step.
fn batches() -> Vec<Vec<Step>> {
    let turn = |number: usize| {
        let line = format!("{{\"turn\":{number}}}\n");
        vec![append("s/turns.jsonl", &line), append("s/deltas.jsonl", &line)]
    };
    let with = |number: usize, last: Vec<Step>| {
        let mut steps = turn(number);
        steps.push(replace("s/state.json", &format!("{{\"turn\":{number}}}")));
        steps.extend(last);
        steps
    };
    vec![
        with(1, vec![]),
        with(2, vec![replace("s/snapshots/2.json", "{\"turn\":2}")]),
        with(3, vec![rename("s/snapshots", "s/old")]),
        with(4, vec![remove("s/old")]),
        turn(5),
        vec![rename("s/turns.jsonl", "s/a.jsonl"), rename("s/deltas.jsonl", "s/b.jsonl")],
        with(7, vec![]),
    ]
}

/// Returns the files after none, one, two … of the batches.
fn states() -> Vec<Files> {
    let model = MemoryStore::new();
    let writer = model.lock(&[path(SCOPE)]).unwrap();
    let mut states = vec![model.contents()];
    for steps in batches() {
        writer.commit(steps, Durability::Synced).unwrap();
        states.push(model.contents());
    }
    states
}

/// Reads everything that a store shows in the scope.
fn read_all(store: &Arc<dyn Store>) -> Result<Files, StoreError> {
    let mut files = Files::new();
    let mut waiting = vec![path(SCOPE)];
    while let Some(place) = waiting.pop() {
        match store.stat(&place)?.map(|stat| stat.kind) {
            Some(FileKind::Dir) => {
                let entries = store.list(&place)?.entries.into_iter();
                waiting.extend(entries.map(|entry| place.join(&entry.name)));
            }
            Some(_) => {
                let content = store.read(&place, 0..u64::MAX)?;
                files.insert(place, content);
            }
            None => {}
        }
    }
    Ok(files)
}

fn scope() -> Vec<FilePath> {
    vec![path(SCOPE)]
}

/// Returns what one attempt of a reader shows, if it succeeds.
fn look(reader: &FileStore) -> Option<Files> {
    let snapshot = reader.try_snapshot(&scope()).unwrap()?;
    Some(read_all(&snapshot).unwrap())
}

#[test]
fn a_snapshot_of_an_added_scope_is_what_one_commit_left() {
    let disk = SimDisk::new();
    let (shown, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let reader = FileStore::open_read_only(Arc::new(disk.process())).unwrap();
    let hook = {
        let (shown, refused) = (Arc::clone(&shown), Arc::clone(&refused));
        move || {
            let Some(snapshot) = reader.try_snapshot(&[path("copy")]).unwrap() else {
                refused.fetch_add(1, Ordering::Relaxed);
                return;
            };
            let [a, b] = ["copy/a.json", "copy/b.json"].map(|file| {
                let file = path(file);
                let is_there = snapshot.stat(&file).unwrap().is_some();
                is_there.then(|| snapshot.read(&file, 0..u64::MAX).unwrap())
            });
            assert_eq!(a, b);
            shown.fetch_add(1, Ordering::Relaxed);
        }
    };
    let writing = HookedDisk::new(Arc::new(disk.process())).before_changes(hook);
    let store = FileStore::open(Arc::new(writing), small_log()).unwrap();
    let mut writer = store.lock_files(&scope()).unwrap();
    for number in 0..6 {
        let state = replace("s/state.json", &format!("{number}"));
        writer.commit(vec![state.clone()], Durability::Synced).unwrap();
        writer.add_scopes(&[path("copy")]).unwrap();
        let copy = |name: &str| replace(&format!("copy/{name}.json"), &format!("{number}"));
        writer.commit(vec![copy("a"), state, copy("b")], Durability::Synced).unwrap();
        writer.release_added_scopes().unwrap();
    }
    Box::new(writer).release().unwrap();
    let (shown, refused) = (shown.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
    assert!(shown > 20 && refused > 6, "{shown} shown, {refused} refused");
}

#[test]
fn at_every_step_of_a_writer_a_snapshot_is_what_one_commit_left() {
    let states = states();
    for options in both() {
        let disk = SimDisk::new();
        let acknowledged = Arc::new(Mutex::new(0));
        let (shown, refused) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
        let reader = FileStore::open_read_only(Arc::new(disk.process())).unwrap();
        let hook = {
            let (acknowledged, states) = (Arc::clone(&acknowledged), states.clone());
            let (shown, refused) = (Arc::clone(&shown), Arc::clone(&refused));
            move || {
                let done = *acknowledged.lock().unwrap();
                match look(&reader) {
                    Some(files) => {
                        let mut expected = states.iter().skip(done).take(2);
                        assert!(
                            expected.any(|state| *state == files),
                            "{done} acknowledged: {:#?}",
                            readable(&files)
                        );
                        *shown.lock().unwrap() += 1;
                    }
                    None => *refused.lock().unwrap() += 1,
                }
            }
        };
        let writing = HookedDisk::new(Arc::new(disk.process())).before_changes(hook);
        let store = FileStore::open(Arc::new(writing), options).unwrap();
        let writer = store.lock_files(&scope()).unwrap();
        for steps in batches() {
            writer.commit(steps, Durability::Synced).unwrap();
            *acknowledged.lock().unwrap() += 1;
        }
        Box::new(writer).release().unwrap();
        let (shown, refused) = (*shown.lock().unwrap(), *refused.lock().unwrap());
        assert!(shown > 30 && refused > 10, "shown {shown} times, refused {refused} times");
    }
}

/// Runs one attempt of a reader, and `meddle` before its operation number `at`.
fn look_while(disk: &SimDisk, at: u64, meddle: impl FnOnce() + Send + 'static) -> Option<Files> {
    let hooked = HookedDisk::new(Arc::new(disk.process())).at_operation(at, meddle);
    look(&FileStore::open_read_only(Arc::new(hooked)).unwrap())
}

#[test]
fn a_commit_in_the_middle_of_a_snapshot_is_in_it_whole_or_not_at_all() {
    let states = states();
    let mut refused = 0;
    for at in 0..200 {
        for (done, next) in batches().into_iter().enumerate() {
            let disk = SimDisk::new();
            let store = FileStore::open(Arc::new(disk.process()), small_log()).unwrap();
            let writer = store.lock_files(&scope()).unwrap();
            for steps in batches().into_iter().take(done) {
                writer.commit(steps, Durability::Synced).unwrap();
            }
            let files = look_while(&disk, at, move || {
                writer.commit(next, Durability::Synced).unwrap();
                // The writer stays.
                std::mem::forget(writer);
            });
            match files {
                Some(files) => assert!(
                    states[done..done + 2].contains(&files),
                    "operation {at} after {done}: {:#?}",
                    readable(&files)
                ),
                None => refused += 1,
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_writer_that_comes_and_goes_during_a_snapshot_is_noticed() {
    let states = states();
    let mut refused = 0;
    for at in 0..200 {
        for (done, next) in batches().into_iter().enumerate() {
            let disk = SimDisk::new();
            let commit = |disk: &SimDisk, batches: Vec<Vec<Step>>| {
                let store = FileStore::open(Arc::new(disk.process()), small_log()).unwrap();
                let writer = store.lock_files(&scope()).unwrap();
                for steps in batches {
                    writer.commit(steps, Durability::Synced).unwrap();
                }
                Box::new(writer).release().unwrap();
                store.close().unwrap();
            };
            commit(&disk, batches().into_iter().take(done).collect());
            let other = disk.clone();
            match look_while(&disk, at, move || commit(&other, vec![next])) {
                Some(files) => assert!(
                    states[done..done + 2].contains(&files),
                    "operation {at} after {done}: {:#?}",
                    readable(&files)
                ),
                None => refused += 1,
            }
        }
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn a_snapshot_stays_as_it_is_while_the_writer_goes_on() {
    let states = states();
    for (done, state) in states.iter().enumerate().take(batches().len()) {
        let disk = SimDisk::new();
        let store = FileStore::open(Arc::new(disk.process()), small_log()).unwrap();
        let writer = store.lock_files(&scope()).unwrap();
        let mut coming = batches().into_iter();
        for steps in coming.by_ref().take(done) {
            writer.commit(steps, Durability::Synced).unwrap();
        }
        let reader = FileStore::open_read_only(Arc::new(disk.process())).unwrap();
        let snapshot = reader.snapshot(&scope()).unwrap().unwrap();
        assert!(matches!(snapshot.lock(&scope()), Err(StoreError::ReadOnly)));
        for steps in coming {
            writer.commit(steps, Durability::Synced).unwrap();
            assert_eq!(readable(&read_all(&snapshot).unwrap()), readable(state));
        }
    }
}

#[test]
fn a_writer_that_dies_in_the_middle_of_a_commit_does_not_keep_readers_out() {
    let states = states();
    for point in 0.. {
        let disk = SimDisk::new();
        let mut acknowledged = 0;
        disk.inject(Fault { at: point, kind: FaultKind::Crash, lasting: false });
        let process = disk.process();
        let mut write = || -> Result<(), StoreError> {
            let store = FileStore::open(Arc::new(process.clone()), small_log())?;
            let writer = store.lock_files(&scope())?;
            for steps in batches() {
                writer.commit(steps, Durability::Synced)?;
                acknowledged += 1;
            }
            Box::new(writer).release()
        };
        let ended = write();
        if ended.is_ok() {
            assert!(point > 50, "only {point} places to die at");
            return;
        }
        disk.kill_all();
        let reader = FileStore::open_read_only(Arc::new(disk.process())).unwrap();
        let files = look(&reader).unwrap();
        let next = (acknowledged + 2).min(states.len());
        assert!(
            states[acknowledged..next].contains(&files),
            "point {point}, {acknowledged} acknowledged: {:#?}",
            readable(&files)
        );
        // A process that writes something else takes over the log. The lock file of the dead one stays.
        let other = FileStore::open(Arc::new(disk.process()), small_log()).unwrap();
        let writer = other.lock_files(&[path("t")]).unwrap();
        writer.commit(vec![append("t/log", "{}\n")], Durability::Synced).unwrap();
        assert_eq!(readable(&look(&reader).unwrap()), readable(&files), "point {point}");
    }
}

#[test]
fn a_reader_gives_up_once_beside_a_writer_that_does_not_end_its_commit() {
    let disk = SimDisk::new();
    let operations = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&operations);
    let counting = HookedDisk::new(Arc::new(disk.process())).before_reads(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let reader = FileStore::open_read_only(Arc::new(counting)).unwrap();
    let given_up = Arc::new(Mutex::new(Vec::new()));
    let hook = {
        let given_up = Arc::clone(&given_up);
        move || {
            let mut given_up = given_up.lock().unwrap();
            if given_up.is_empty() && reader.try_snapshot(&scope()).unwrap().is_none() {
                for _ in 0..3 {
                    let before = operations.load(Ordering::Relaxed);
                    let error = reader.snapshot(&scope()).err();
                    given_up.push((error, operations.load(Ordering::Relaxed) - before));
                }
            }
        }
    };
    let writing = HookedDisk::new(Arc::new(disk.process())).before_changes(hook);
    let store = FileStore::open(Arc::new(writing), small_log()).unwrap();
    let writer = store.lock_files(&scope()).unwrap();
    for steps in batches() {
        writer.commit(steps, Durability::Synced).unwrap();
    }
    let given_up = std::mem::take(&mut *given_up.lock().unwrap());
    for (error, _) in &given_up {
        let is_named = |error: &StoreError| matches!(error, StoreError::Busy { owner, .. } if owner.contains("pid 1"));
        assert!(error.as_ref().is_some_and(is_named), "{error:?}");
    }
    let counts: Vec<usize> = given_up.iter().map(|(_, count)| *count).collect();
    assert!(
        matches!(counts[..], [first, second, third] if first > 100 && second < 50 && third < 50),
        "{counts:?}"
    );
}

#[test]
fn readers_get_their_turn_beside_a_writer_that_never_rests() {
    const FILES: usize = 2000;
    let place = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::create(place.path()).unwrap());
    let store = FileStore::open(Arc::clone(&disk), Options::new(owner())).unwrap();
    let writer = store.lock_files(&scope()).unwrap();
    let many = (0..FILES).map(|n| replace(&format!("s/many/{n}.json"), "{}")).collect();
    writer.commit(many, Durability::Synced).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            let mut turn = 0;
            while !stop.load(Ordering::Relaxed) {
                turn += 1;
                let line = format!("{{\"turn\":{turn}}}\n");
                let steps = vec![
                    append("s/turns.jsonl", &line),
                    append("s/deltas.jsonl", &line),
                    replace("s/state.json", &line),
                ];
                writer.commit(steps, Durability::Buffered).unwrap();
                // Buffered commits are applied when they are read.
                assert!(store.stat(&path("s/state.json")).unwrap().is_some());
            }
        });
        let reader = FileStore::open_read_only(Arc::clone(&disk)).unwrap();
        let mut last = 0;
        for _ in 0..40 {
            let snapshot = reader.snapshot(&scope()).unwrap().unwrap();
            let read = |file: &str| snapshot.read(&path(file), 0..u64::MAX).unwrap_or_default();
            let (turns, deltas) = (read("s/turns.jsonl"), read("s/deltas.jsonl"));
            assert_eq!(turns, deltas);
            let state = read("s/state.json");
            assert!(turns.ends_with(&state), "{:?}", String::from_utf8_lossy(&state));
            assert!(turns.len() >= last);
            last = turns.len();
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Reads beside a writer that commits without a gap: every few operations, the reader waits until another commit was
/// made, or the writer pauses, which it does only if it honours the requests of readers.
fn read_slowly_beside_a_writer(honours_pauses: bool) -> Result<(), StoreError> {
    const STEPS: usize = 10;
    let place = tempfile::tempdir().unwrap();
    let disk = || HookedDisk::new(Arc::new(RealDisk::open(place.path()).unwrap()));
    let pausing = Arc::new(AtomicBool::new(false));
    let writing = if honours_pauses { disk().with_pauses(&pausing) } else { disk() };
    let store = FileStore::open(Arc::new(writing), Options::new(owner())).unwrap();
    let writer = store.lock_files(&scope()).unwrap();
    let (stop, commits) = (AtomicBool::new(false), Arc::new(AtomicUsize::new(0)));
    let commit = || {
        let line = format!("{{\"turn\":{}}}\n", commits.load(Ordering::Relaxed));
        let steps = vec![append("s/turns.jsonl", &line), replace("s/state.json", &line)];
        writer.commit(steps, Durability::Buffered).unwrap();
        // Buffered commits are applied when they are read.
        assert!(store.stat(&path("s/state.json")).unwrap().is_some());
        commits.fetch_add(1, Ordering::Relaxed);
    };
    commit();
    thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                commit();
            }
        });
        let (seen, mut step) = (Arc::clone(&commits), 0);
        let wait = move || {
            step += 1;
            let before = seen.load(Ordering::Relaxed);
            while step % STEPS == 0
                && seen.load(Ordering::Relaxed) == before
                && !pausing.load(Ordering::Relaxed)
            {
                thread::yield_now();
            }
        };
        let reader = FileStore::open_read_only(Arc::new(disk().before_reads(wait)));
        let read = reader.and_then(|reader| reader.snapshot(&scope()).map(drop));
        stop.store(true, Ordering::Relaxed);
        read
    })
}

#[test]
fn a_slow_reader_starves_beside_a_writer_that_makes_no_pause_when_asked() {
    read_slowly_beside_a_writer(true).unwrap();
    let starved = read_slowly_beside_a_writer(false);
    assert!(matches!(starved, Err(StoreError::Busy { .. })), "{starved:?}");
}
