//! Large new contents are written once, beside the log, and never stay there.

mod saved_over;
mod undone;

use std::sync::Arc;

use everturn_json::finding::FindingCode;
use everturn_json::names::FilePath;
use everturn_store::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn_store::disk::{Disk, Flush, RealDisk};
use everturn_store::{
    Durability, FileMode, FileStore, Options, Precondition, Step, Store, StoreError, Writer,
};

use crate::crash::{end, ends};
use crate::support::{append, data, open, owner, path, remove, replace, staged, staging};

const LOST: Survival = Survival { data: DataSurvival::Lost, names: NameSurvival::Lost };
const ENOSPC: i32 = 28;

fn open_staging(disk: &SimDisk) -> FileStore {
    FileStore::open(Arc::new(disk.process()), staging()).unwrap()
}

fn text(disk: &SimDisk, file: &str) -> String {
    String::from_utf8(data(disk).remove(&path(file)).unwrap_or_default()).unwrap()
}

/// Returns a content of some length, unique for each number.
fn content(number: usize) -> String {
    format!("{{\"number\":{number}}}")
}

fn secret(file: &str, content: &str) -> Step {
    Step::Replace {
        file: path(file),
        expect: Precondition::Anything,
        bytes: content.as_bytes().to_vec(),
        mode: FileMode::OwnerOnly,
    }
}

#[test]
fn any_number_of_replacements_keeps_one_staged_file_for_each_name() {
    any_number_of_replacements(&SimDisk::new(), &[1, 1, 1]);
    let disk = SimDisk::new();
    disk.refuse_links();
    any_number_of_replacements(&disk, &[0, 0, 0]);
}

/// Replaces four files repeatedly. `kept` is the number of staged files for each of the first three.
fn any_number_of_replacements(disk: &SimDisk, kept: &[usize]) {
    let store = open_staging(disk);
    let kept_now = |number: usize| match kept.iter().sum::<usize>() {
        0 => 0,
        _ => kept.iter().take(number + 1).sum::<usize>() + 1,
    };
    let writer = store.lock_files(&[path("s")]).unwrap();
    for number in 0..50 {
        let one = format!("s/{}/state", number % 3);
        let steps = vec![replace(&one, &content(number)), replace("s/other", &content(number))];
        writer.commit(steps, Durability::Synced).unwrap();
        assert_eq!(text(disk, "s/other"), content(number));
        assert!(staged(disk).len() <= kept_now(number), "{number}: {:?}", staged(disk));
    }
    assert_eq!(staged(disk).is_empty(), kept_now(0) == 0);
    // A removed name needs no staged file.
    let count = staged(disk).len();
    writer.commit(vec![remove("s/other")], Durability::Synced).unwrap();
    assert!(count == 0 || staged(disk).len() < count);
    writer.commit(vec![replace("s/other", &content(50))], Durability::Synced).unwrap();
    store.checkpoint().unwrap();
    assert_eq!(staged(disk), []);
    assert!(disk.flushes()[&Flush::StagedFile] >= 100);
    // Neither do refused batches, which are never logged.
    let absent = |file: &str, bytes: &str| Step::Replace {
        file: path(file),
        expect: Precondition::Absent,
        bytes: bytes.as_bytes().to_vec(),
        mode: FileMode::Default,
    };
    let refused = vec![replace("s/fresh", &content(1)), absent("s/other", &content(2))];
    writer.commit(refused, Durability::Synced).unwrap_err();
    let refused = vec![replace("s/other/below", &content(1))];
    writer.commit(refused, Durability::Synced).unwrap_err();
    let refused = vec![replace("s/0", &content(1))];
    writer.commit(refused, Durability::Synced).unwrap_err();
    assert_eq!(staged(disk), []);
    assert_eq!(text(disk, "s/fresh"), "");
}

#[test]
fn what_is_only_written_waits_for_no_flush() {
    let disk = SimDisk::new();
    let store = open_staging(&disk);
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "{}\n")], Durability::Synced).unwrap();
    // The first replacement in a directory flushes what others may have done there.
    writer.commit(vec![replace("s/first", &content(1))], Durability::Synced).unwrap();
    let before = (disk.flushes(), staged(&disk));
    writer.commit(vec![replace("s/state", &content(1))], Durability::Buffered).unwrap();
    assert_eq!((disk.flushes(), staged(&disk)), before);
    assert_eq!(store.read(&path("s/state"), 0..99).unwrap(), content(1).as_bytes());
}

#[test]
fn permissions_that_changed_on_the_way_to_the_log_are_kept() {
    let disk = SimDisk::new();
    let store = open_staging(&disk);
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![replace("s/state", "before")], Durability::Synced).unwrap();
    // This is not applied yet, so the next content is staged with the default permissions.
    writer.commit(vec![secret("s/state", &content(1))], Durability::Buffered).unwrap();
    writer.commit(vec![replace("s/state", &content(2))], Durability::Synced).unwrap();
    assert_eq!(store.stat(&path("s/state")).unwrap().unwrap().mode, 0o600);
    assert_eq!(text(&disk, "s/state"), content(2));
    assert_eq!(staged(&disk), []);
}

/// Commits a replacement of a secret and one of a new file; kills the process at the change `point`.
fn killed_at(point: u64) -> Option<SimDisk> {
    let disk = SimDisk::new();
    let store = open_staging(&disk);
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "{}\n")], Durability::Synced).unwrap();
    let at = disk.changes() + point;
    disk.inject(Fault { at, kind: FaultKind::Crash, lasting: false });
    let steps = vec![secret("s/secret", &content(1)), replace("s/state", &content(2))];
    let outcome = writer.commit(steps, Durability::Synced);
    assert_eq!(outcome.is_err(), disk.crashed());
    disk.crashed().then_some(disk)
}

#[test]
fn what_a_killed_process_has_staged_is_swept_by_its_heir_and_was_never_open_to_others() {
    let (mut points, mut left) = (0, 0);
    while let Some(disk) = killed_at(points) {
        for how in ends(points) {
            let disk = disk.fork();
            end(&disk, how);
            let process = disk.process();
            let staged_now = staged(&disk);
            left += staged_now.len();
            for file in staged_now.iter().filter(|file| file.as_str().ends_with("-1.staged")) {
                assert_eq!(process.stat(file).unwrap().unwrap().mode, 0o600);
            }
            let heir = open_staging(&disk);
            let writer = heir.lock_files(&[path("t")]).unwrap();
            writer.commit(vec![append("t/log", "{}\n")], Durability::Synced).unwrap();
            assert_eq!(staged(&disk), [], "killed at {points}, {how:?}");
        }
        points += 1;
    }
    assert!(points > 8 && left > 50, "{points} {left}");
}

#[test]
fn what_a_living_process_has_staged_is_its_own() {
    let disk = SimDisk::new();
    let living = open_staging(&disk);
    let writer = living.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "{}\n")], Durability::Synced).unwrap();
    let file = path(".everturn/wal/0001-77.staged");
    disk.put_file(&file, b"about to be named by a record");
    for _ in 0..2 {
        let other = open_staging(&disk);
        let writer = other.lock_files(&[path("t")]).unwrap();
        writer.commit(vec![replace("t/state", &content(1))], Durability::Synced).unwrap();
        other.close().unwrap();
    }
    assert_eq!(staged(&disk), [file]);
    drop((writer, living));
    let heir = open_staging(&disk);
    heir.lock_files(&[path("t")])
        .and_then(|writer| writer.commit(vec![append("t/log", "{}\n")], Durability::Synced))
        .unwrap();
    assert_eq!(staged(&disk), []);
}

/// Returns a disk after a power cut that lost all names since the log was created, except those of staged files.
fn only_staged() -> SimDisk {
    let disk = SimDisk::new();
    disk.put_file(&path("s/state"), b"0");
    let store = open_staging(&disk);
    let writer = store.lock_files(&[path("s"), path("t")]).unwrap();
    writer.commit(vec![replace("s/state", &content(1))], Durability::Synced).unwrap();
    writer.commit(vec![replace("t/state", &content(2))], Durability::Synced).unwrap();
    disk.power_cut(LOST);
    assert_eq!(staged(&disk).len(), 2);
    disk
}

/// Returns the staged file for `t/state` on such a disk.
fn staged_for_t(disk: &SimDisk) -> FilePath {
    staged(disk).pop().unwrap()
}

/// Checks that the scope `t` cannot be locked, however often it is tried; the other scope can.
fn is_closed(disk: &SimDisk) {
    for _ in 0..2 {
        let store = open(disk).unwrap();
        let codes: Vec<_> = store.take_findings().iter().map(|found| found.code).collect();
        assert_eq!(codes, [FindingCode::CannotReplay]);
        let refused = store.lock_files(&[path("t")]).map(|_| ()).unwrap_err();
        let StoreError::Blocked { cause, .. } = &refused else { panic!("{refused:?}") };
        assert!(matches!(**cause, StoreError::Lost { .. }), "{cause:?}");
        assert!(cause.to_string().contains("t/state"), "{cause}");
        let writer = store.lock_files(&[path("s")]).unwrap();
        writer.commit(vec![append("s/log", "{}\n")], Durability::Synced).unwrap();
        assert_eq!(text(disk, "s/state"), content(1));
        assert_eq!(text(disk, "t/state"), "");
        drop((writer, store));
        disk.power_cut(LOST);
    }
}

/// Checks that the scope `t` can be locked again, and shows this.
fn is_open(disk: &SimDisk, shown: &str) {
    let store = open(disk).unwrap();
    let writer = store.lock_files(&[path("t")]).unwrap();
    writer.commit(vec![append("t/log", "{}\n")], Durability::Synced).unwrap();
    assert_eq!(text(disk, "t/state"), shown);
    drop((writer, store));
    assert_eq!(staged(disk), []);
}

#[test]
fn a_staged_content_that_is_damaged_or_gone_closes_its_scope_and_no_other() {
    let whole = only_staged();
    let file = staged_for_t(&whole);
    is_open(&whole.fork(), &content(2));
    // Damaged, then repaired.
    for bit in 0..8 * content(2).len() {
        let disk = whole.fork();
        disk.flip_bit(&file, bit / 8, u8::try_from(bit % 8).unwrap());
        is_closed(&disk);
        disk.flip_bit(&file, bit / 8, u8::try_from(bit % 8).unwrap());
        is_open(&disk, &content(2));
    }
    // Shortened or extended, then restored.
    for found in [&content(2)[..5], "", &format!("{}x", content(2))] {
        let disk = whole.fork();
        disk.put_file(&file, found.as_bytes());
        is_closed(&disk);
        disk.put_file(&file, content(2).as_bytes());
        is_open(&disk, &content(2));
    }
    // Missing; then the user decides on the content of the file.
    let disk = whole.fork();
    disk.process().remove(&file).unwrap();
    disk.process().sync_dir(&path(".everturn/wal"), Flush::StagedDir).unwrap();
    is_closed(&disk);
    disk.put_file(&path("t/state"), b"decided");
    is_open(&disk, "decided");
}

#[test]
fn a_log_that_waits_keeps_what_it_names() {
    let disk = only_staged();
    let file = staged_for_t(&disk);
    disk.put_file(&path("t/state/in-the-way"), b"");
    for _ in 0..3 {
        let store = open(&disk).unwrap();
        assert!(store.lock_files(&[path("t")]).is_err());
        let writer = store.lock_files(&[path("u")]).unwrap();
        writer.commit(vec![append("u/log", "{}\n")], Durability::Synced).unwrap();
        assert!(staged(&disk).contains(&file));
    }
    for name in ["t/state/in-the-way", "t/state"] {
        disk.process().remove(&path(name)).unwrap();
    }
    is_open(&disk, &content(2));
}

#[test]
fn a_content_of_another_program_is_kept_and_reported() {
    let disk = only_staged();
    disk.put_file(&path("t/state"), b"by another program");
    let store = open(&disk).unwrap();
    let codes: Vec<_> = store.take_findings().iter().map(|found| found.code).collect();
    assert_eq!(codes, [FindingCode::ChangedByOthers]);
    drop(store);
    is_open(&disk, "by another program");
}

#[test]
fn a_reader_sees_a_staged_content_that_is_not_in_its_place() {
    let disk = only_staged();
    let changes = disk.changes();
    let reader = FileStore::open_read_only(Arc::new(disk.process())).unwrap();
    let read = || String::from_utf8(reader.read(&path("t/state"), 0..u64::MAX).unwrap()).unwrap();
    assert_eq!(read(), content(2));
    assert_eq!(disk.changes(), changes);
    is_open(&disk, &content(2));
    assert_eq!(read(), content(2));
}

/// Returns the bytes written and flushes of a commit of five files with 900 KB and of the checkpoint after it.
fn cost(stage_from: usize) -> ([u64; 2], [u64; 2]) {
    let disk = SimDisk::new();
    let options = Options { stage_from, ..Options::new(owner()) };
    let store = FileStore::open(Arc::new(disk.process()), options).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "{}\n")], Durability::Synced).unwrap();
    store.checkpoint().unwrap();
    let snapshot: Vec<Step> =
        (0..5).map(|n| replace(&format!("s/snapshot/{n}"), &"x".repeat(180_000))).collect();
    let now = || [disk.bytes_written(), disk.flushes().values().sum()];
    let start = now();
    writer.commit(snapshot, Durability::Synced).unwrap();
    let committed = now();
    store.checkpoint().unwrap();
    let end = now();
    let diff = |from: [u64; 2], to: [u64; 2]| [to[0] - from[0], to[1] - from[1]];
    (diff(start, committed), diff(committed, end))
}

#[test]
fn a_large_content_is_flushed_once_and_not_written_into_the_log() {
    let (commit, checkpoint) = cost(64 << 10);
    println!("900 KB in 5 files, staged: commit {commit:?}, checkpoint {checkpoint:?}");
    let (logged_commit, logged_checkpoint) = cost(usize::MAX);
    println!("through the log: commit {logged_commit:?}, checkpoint {logged_checkpoint:?}");
    // The content and its copy, which is never flushed.
    assert!(commit[0] + checkpoint[0] < 1_802_000, "{commit:?} {checkpoint:?}");
    assert!(logged_commit[0] > 1_800_000, "{logged_commit:?}");
    // Five files, the directory beside the log, and the log; the checkpoint flushes no file.
    assert_eq!(commit[1], 7);
    assert_eq!(checkpoint[1] + 5, logged_checkpoint[1]);
}

#[test]
fn threads_stage_side_by_side() {
    const THREADS: usize = 4;
    const COMMITS: usize = 12;
    let dir = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(dir.path()).unwrap());
    let options = Options { stage_from: 1000, ..Options::new(owner()) };
    let store = FileStore::open(Arc::clone(&disk), options).unwrap();
    let large = |thread: usize, n: usize| format!("{thread} {n} {}", "x".repeat(5000 + n));
    std::thread::scope(|threads| {
        for thread in 0..THREADS {
            let store = store.clone();
            threads.spawn(move || {
                let writer = store.lock(&[path(&format!("s{thread}"))]).unwrap();
                for n in 0..COMMITS {
                    let file = |name| format!("s{thread}/{name}");
                    let steps = vec![
                        replace(&file("state"), &large(thread, n)),
                        append(&file("log"), "{}\n"),
                        replace(&file(&format!("snapshot-{n}")), &large(thread, n)),
                    ];
                    writer.commit(steps, Durability::Synced).unwrap();
                }
            });
        }
    });
    for (thread, n) in (0..THREADS).flat_map(|thread| (0..COMMITS).map(move |n| (thread, n))) {
        let read = |name: String| {
            let bytes = store.read(&path(&format!("s{thread}/{name}")), 0..u64::MAX).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(read(format!("snapshot-{n}")), large(thread, n));
        assert_eq!(read("state".to_owned()), large(thread, COMMITS - 1));
    }
    let wal = disk.list(&path(".everturn/wal")).unwrap();
    let names: Vec<_> = wal.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert!(names.iter().all(|name| !name.ends_with(".staged")), "{names:?}");
}
