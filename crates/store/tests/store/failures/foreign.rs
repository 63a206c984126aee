//! Other programs change the files between our commits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use everturn_json::finding::FindingCode;
use everturn_store::disk::sim::SimDisk;
use everturn_store::disk::{Disk, FileAccess, FilePermissions, Flush};
use everturn_store::{
    CommitReceipt, Durability, FileStore, Options, RecoveryProgress, RecoveryStage, Step,
    StoreError, Writer,
};

use super::{LOST, survivals, text};
use crate::support::{append, open, owner, path, quarantined, remove, rename, replace, small_log};

/// A locked session with one line of ours.
struct Session {
    disk: SimDisk,
    store: FileStore,
    writer: Box<dyn Writer>,
}

fn session() -> Session {
    let disk = SimDisk::new();
    disk.put_file(&path("s/log"), b"{\"theirs\":0}\n");
    let store = open(&disk).unwrap();
    let writer: Box<dyn Writer> = Box::new(store.lock_files(&[path("s")]).unwrap());
    let session = Session { disk, store, writer };
    session.append("{\"ours\":1}\n");
    session
}

impl Session {
    fn append(&self, line: &str) -> CommitReceipt {
        self.writer.commit(vec![append("s/log", line)], Durability::Synced).unwrap()
    }

    /// Writes at the end of the log as another program.
    fn foreign(&self, bytes: &[u8]) {
        let file = self.disk.process().open(&path("s/log"), FileAccess::Append).unwrap();
        assert_eq!(file.append(bytes).unwrap().written, bytes.len());
    }

    /// Checks that after any power cut each of these lines exists once.
    fn check_after_cuts(&self, lines: &[&str]) {
        for survival in survivals() {
            let after = self.disk.fork();
            after.power_cut(survival);
            drop(open(&after).unwrap());
            let log = text(&after, "s/log");
            for line in lines {
                let count = log.split_inclusive('\n').filter(|found| found == line).count();
                assert_eq!(count, 1, "{survival:?}: {line:?} in {log:?}");
            }
        }
    }
}

#[test]
fn a_line_of_another_program_stays_where_it_is() {
    let session = session();
    session.foreign(b"{\"theirs\":1}\n");
    assert_eq!(session.append("{\"ours\":2}\n").appended, [37]);
    session.foreign(b"{\"theirs\":2}\n");
    session.append("{\"ours\":3}\n");
    let all = "{\"theirs\":0}\n{\"ours\":1}\n{\"theirs\":1}\n{\"ours\":2}\n{\"theirs\":2}\n{\"ours\":3}\n";
    assert_eq!(text(&session.disk, "s/log"), all);
    session.check_after_cuts(&["{\"ours\":1}\n", "{\"ours\":2}\n", "{\"ours\":3}\n"]);
}

#[test]
fn a_complete_line_without_a_newline_gets_one() {
    let session = session();
    session.foreign(b"{\"theirs\":1}");
    let receipt = session.append("{\"ours\":2}\n");
    assert_eq!((receipt.appended, receipt.findings.len()), (vec![37], 0));
    let log = "{\"theirs\":0}\n{\"ours\":1}\n{\"theirs\":1}\n{\"ours\":2}\n";
    assert_eq!(text(&session.disk, "s/log"), log);
    session.check_after_cuts(&["{\"ours\":1}\n", "{\"ours\":2}\n"]);
}

#[test]
fn half_a_line_is_set_aside_and_reported() {
    let session = session();
    session.foreign(b"{\"theirs\":");
    let receipt = session.append("{\"ours\":2}\n");
    assert_eq!((receipt.appended, receipt.findings.len()), (vec![24], 1));
    assert_eq!(text(&session.disk, "s/log"), "{\"theirs\":0}\n{\"ours\":1}\n{\"ours\":2}\n");
    assert_eq!(quarantined(&session.disk), [b"{\"theirs\":"]);
    session.check_after_cuts(&["{\"ours\":1}\n", "{\"ours\":2}\n"]);
    let after = session.disk.fork();
    after.power_cut(LOST);
    assert_eq!(quarantined(&after), [b"{\"theirs\":"], "it is safe before it is cut off");
}

#[test]
fn a_file_that_was_replaced_is_appended_to_under_its_name() {
    let session = session();
    let other = session.disk.process();
    let file = other.create(&path("s/tmp"), FilePermissions::Default).unwrap();
    file.append(b"{\"compacted\":1}\n").unwrap();
    file.sync(Flush::CheckpointFile).unwrap();
    other.rename(&path("s/tmp"), &path("s/log")).unwrap();
    other.sync_dir(&path("s"), Flush::CheckpointDir).unwrap();
    assert_eq!(session.append("{\"ours\":2}\n").appended, [16]);
    assert_eq!(text(&session.disk, "s/log"), "{\"compacted\":1}\n{\"ours\":2}\n");
    session.store.checkpoint().unwrap();
    session.append("{\"ours\":3}\n");
    session.check_after_cuts(&["{\"ours\":2}\n", "{\"ours\":3}\n"]);
    let after = session.disk.fork();
    after.power_cut(LOST);
    drop(open(&after).unwrap());
    assert_eq!(text(&after, "s/log"), "{\"compacted\":1}\n{\"ours\":2}\n{\"ours\":3}\n");
}

#[test]
fn a_file_that_was_replaced_by_one_of_the_same_length_is_noticed() {
    let session = session();
    let other = session.disk.process();
    let file = other.create(&path("s/tmp"), FilePermissions::Default).unwrap();
    file.append(b"{\"compacted\":123456789}\n").unwrap();
    other.rename(&path("s/tmp"), &path("s/log")).unwrap();
    assert_eq!(session.append("{\"ours\":2}\n").appended, [24]);
    assert_eq!(text(&session.disk, "s/log"), "{\"compacted\":123456789}\n{\"ours\":2}\n");
}

#[test]
fn a_file_that_was_cut_goes_on_at_its_new_end() {
    let session = session();
    let file = session.disk.process().open(&path("s/log"), FileAccess::Append).unwrap();
    file.set_len(13).unwrap();
    assert_eq!(session.append("{\"ours\":2}\n").appended, [13]);
    file.set_len(18).unwrap();
    let receipt = session.append("{\"ours\":3}\n");
    assert_eq!((receipt.appended, receipt.findings.len()), (vec![13], 1));
    assert_eq!(quarantined(&session.disk), [b"{\"our"]);
    assert_eq!(text(&session.disk, "s/log"), "{\"theirs\":0}\n{\"ours\":3}\n");
    session.check_after_cuts(&["{\"ours\":3}\n"]);
}

#[test]
fn a_file_that_was_removed_is_made_again() {
    let session = session();
    session.disk.process().remove(&path("s/log")).unwrap();
    assert_eq!(session.append("{\"ours\":2}\n").appended, [0]);
    assert_eq!(text(&session.disk, "s/log"), "{\"ours\":2}\n");
    session.check_after_cuts(&["{\"ours\":2}\n"]);
}

#[test]
fn what_others_wrote_after_our_replacement_is_not_undone_by_a_replay() {
    let session = session();
    session.writer.commit(vec![replace("s/state", "ours")], Durability::Synced).unwrap();
    let other = session.disk.process();
    let file = other.create(&path("s/tmp"), FilePermissions::Default).unwrap();
    file.append(b"theirs").unwrap();
    file.sync(Flush::CheckpointFile).unwrap();
    other.rename(&path("s/tmp"), &path("s/state")).unwrap();
    other.sync_dir(&path("s"), Flush::CheckpointDir).unwrap();
    session.disk.power_cut(LOST);
    let store = open(&session.disk).unwrap();
    assert_eq!(text(&session.disk, "s/state"), "theirs");
    let findings = store.take_findings();
    assert!(findings.iter().any(|finding| finding.file == path("s/state")), "{findings:?}");
}

#[test]
fn what_was_made_anew_after_a_removal_stays_when_the_removal_is_replayed() {
    let disk = SimDisk::new();
    let process = disk.process();
    let store = FileStore::open(Arc::new(process.clone()), small_log()).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/x", "{\"old\":1}\n")], Durability::Synced).unwrap();
    store.checkpoint().unwrap();
    writer.commit(vec![remove("s/x")], Durability::Synced).unwrap();
    let theirs = disk.process().create(&path("s/x"), FilePermissions::Default).unwrap();
    theirs.append(b"theirs").unwrap();
    process.kill();
    let opened = open(&disk).unwrap();
    assert_eq!(text(&disk, "s/x"), "theirs");
    let findings = opened.take_findings();
    assert!(
        findings.iter().any(|finding| finding.code == FindingCode::ChangedByOthers),
        "{findings:?}"
    );
}

#[test]
fn written_lines_survive_another_program_that_replaces_their_file() {
    let disk = SimDisk::new();
    let store = open(&disk).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "{\"n\":1}\n")], Durability::Synced).unwrap();
    store.checkpoint().unwrap();
    writer.commit(vec![append("s/log", "{\"n\":2}\n")], Durability::Buffered).unwrap();
    let other = disk.process();
    other
        .create(&path("s/new"), FilePermissions::Default)
        .unwrap()
        .append(b"{\"compacted\":1}\n")
        .unwrap();
    other.rename(&path("s/new"), &path("s/log")).unwrap();
    let next = writer.commit(vec![append("s/other", "{\"n\":3}\n")], Durability::Synced);
    assert!(matches!(next, Err(StoreError::Poisoned { .. })), "{next:?}");
    drop((writer, store));
    open(&disk).unwrap();
    assert_eq!(text(&disk, "s/log"), "{\"compacted\":1}\n{\"n\":2}\n");
    assert_eq!(text(&disk, "s/other"), "{\"n\":3}\n");
}

/// Saves a file as another program, by a rename or in place, without a flush.
fn save_unflushed(disk: &SimDisk, file: &str, content: &[u8], in_place: bool) {
    let other = disk.process();
    if in_place {
        let open = other.open(&path(file), FileAccess::Append).unwrap();
        open.set_len(0).unwrap();
        open.append(content).unwrap();
    } else {
        other
            .create(&path("s/their-temp"), FilePermissions::Default)
            .unwrap()
            .append(content)
            .unwrap();
        other.rename(&path("s/their-temp"), &path(file)).unwrap();
    }
}

/// Commits on top of an unflushed save: after a power cut all of it must exist.
fn unflushed_save(in_place: bool, ignored: Option<Flush>) -> Result<(), String> {
    let disk = SimDisk::new();
    disk.put_file(&path("s/state"), b"hp 10");
    disk.put_file(&path("s/journal"), b"{}\n");
    if let Some(why) = ignored {
        disk.ignore_flush(why);
    }
    let store = open(&disk).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    for turn in 1..=3 {
        if turn != 2 {
            save_unflushed(&disk, "s/state", format!("title {turn}").as_bytes(), in_place);
            save_unflushed(&disk, "s/journal", format!("{{\"t\":{turn}}}\n").as_bytes(), in_place);
        }
        let mut steps = vec![
            append("s/log", &format!("{{\"turn\":{turn}}}\n")),
            replace("s/state", &format!("hp {}", 10 + turn)),
        ];
        if turn == 3 {
            steps.push(remove("s/journal"));
        }
        writer.commit(steps, Durability::Synced).unwrap();
    }
    for survival in survivals() {
        let after = disk.fork();
        after.power_cut(survival);
        drop(open(&after).unwrap());
        let found = (text(&after, "s/state"), text(&after, "s/log"), text(&after, "s/journal"));
        let turns = "{\"turn\":1}\n{\"turn\":2}\n{\"turn\":3}\n";
        if found != ("hp 13".to_owned(), turns.to_owned(), String::new()) {
            return Err(format!("{survival:?}: {found:?}"));
        }
    }
    Ok(())
}

#[test]
fn commits_on_top_of_a_save_that_was_not_flushed_are_kept() {
    for in_place in [false, true] {
        unflushed_save(in_place, None).unwrap();
    }
}

/// Returns whether acknowledged commits are lost if the contents they replace and remove are not flushed first.
pub(crate) fn notices(why: Flush) -> bool {
    unflushed_save(false, Some(why)).is_err() || unflushed_save(true, Some(why)).is_err()
}

#[test]
fn a_save_that_was_not_flushed_is_found_although_its_directory_was_flushed_before() {
    let disk = SimDisk::new();
    for file in ["s/first", "s/state", "s/journal", "s/known"] {
        disk.put_file(&path(file), b"0");
    }
    let store = FileStore::open(Arc::new(disk.process()), Options::new(owner())).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    let commit = |steps: Vec<Step>| writer.commit(steps, Durability::Synced).unwrap();
    let cut = |expected: &[&str]| {
        for survival in survivals() {
            let after = disk.fork();
            after.power_cut(survival);
            drop(open(&after).unwrap());
            let found = ["s/state", "s/known", "s/journal"].map(|file| text(&after, file));
            assert_eq!(found, expected, "{survival:?}");
            assert_eq!(quarantined(&after), [] as [Vec<u8>; 0], "{survival:?}");
        }
    };
    commit(vec![replace("s/known", "1")]);
    store.checkpoint().unwrap();
    commit(vec![replace("s/first", "1")]);
    for file in ["s/state", "s/known"] {
        save_unflushed(&disk, file, b"theirs", false);
    }
    commit(vec![replace("s/state", "1"), replace("s/known", "2")]);
    cut(&["1", "2", "0"]);
    // The append needs a barrier, which flushes the directory too, so nothing there is left to flush.
    commit(vec![append("s/first", "{}\n")]);
    save_unflushed(&disk, "s/journal", b"theirs", false);
    commit(vec![remove("s/journal")]);
    cut(&["1", "2", ""]);
}

#[test]
fn a_save_on_top_of_a_commit_costs_one_flush_of_its_directory_for_each_batch() {
    let disk = SimDisk::new();
    let files: Vec<String> = (0..5).map(|number| format!("s/{number}")).collect();
    files.iter().for_each(|file| disk.put_file(&path(file), b"0"));
    let store = FileStore::open(Arc::new(disk.process()), Options::new(owner())).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    let commit = |content: &str| {
        let before = disk.flushes();
        let steps = files.iter().map(|file| replace(file, content)).collect();
        writer.commit(steps, Durability::Synced).unwrap();
        let count = |why: Flush| {
            let of = |flushes: &BTreeMap<Flush, u64>| flushes.get(&why).copied().unwrap_or(0);
            of(&disk.flushes()) - of(&before)
        };
        [Flush::ExistingFile, Flush::ExistingDir].map(count)
    };
    assert_eq!(commit("1"), [5, 1]);
    assert_eq!(commit("2"), [0, 0]);
    files.iter().for_each(|file| save_unflushed(&disk, file, b"theirs", false));
    assert_eq!(commit("3"), [5, 1]);
    assert_eq!(commit("4"), [0, 0]);
    disk.process().remove(&path("s/0")).unwrap();
    assert_eq!(commit("5"), [0, 1]);
    // Removing what this process has written costs as little.
    store.checkpoint().unwrap();
    let flushed = |disk: &SimDisk| disk.flushes().get(&Flush::ExistingFile).copied();
    let before = flushed(&disk);
    writer.commit(vec![remove("s/0")], Durability::Synced).unwrap();
    assert_eq!(flushed(&disk), before);
    save_unflushed(&disk, "s/1", b"theirs", false);
    writer.commit(vec![remove("s/1")], Durability::Synced).unwrap();
    assert_eq!(flushed(&disk), before.map(|count| count + 1));
}

/// Saves, as another program and without a flush, what a commit has replaced or removed. Recovery keeps the save; then
/// the power is cut.
fn kept_save(ignored: Option<Flush>) -> Result<(), String> {
    let disk = SimDisk::new();
    for file in ["s/state", "s/journal", "s/dir/file", "s/old/file"] {
        disk.put_file(&path(file), b"0");
    }
    let store = open(&disk).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    let steps = vec![
        replace("s/state", "ours"),
        remove("s/journal"),
        remove("s/dir"),
        rename("s/old", "s/new"),
    ];
    writer.commit(steps, Durability::Synced).unwrap();
    disk.kill_all();
    let files = ["s/state", "s/journal", "s/dir/file", "s/old/file"];
    for file in ["s/state", "s/journal"] {
        save_unflushed(&disk, file, b"theirs", false);
    }
    for dir in ["s/dir", "s/old"] {
        let other = disk.process();
        other.create_dir(&path(dir)).unwrap();
        let file = other.create(&path(&format!("{dir}/file")), FilePermissions::Default).unwrap();
        file.append(b"theirs").unwrap();
    }
    ignored.into_iter().for_each(|why| disk.ignore_flush(why));
    drop(open(&disk).unwrap());
    for survival in survivals() {
        let after = disk.fork();
        after.power_cut(survival);
        drop(open(&after).unwrap());
        let found = files.map(|file| text(&after, file));
        if found != ["theirs"; 4] {
            return Err(format!("{survival:?}: {found:?}"));
        }
    }
    Ok(())
}

#[test]
fn a_save_that_recovery_keeps_is_flushed_before_the_log_is_recycled() {
    kept_save(None).unwrap();
}

/// Returns whether a save that recovery keeps is lost if it is not flushed.
pub(crate) fn notices_kept(why: Flush) -> bool {
    kept_save(Some(why)).is_err()
}

#[test]
fn a_recovery_tells_how_far_it_has_read_a_large_file() {
    let disk = SimDisk::new();
    let old = "{\"theirs\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}\n".repeat(60_000);
    disk.put_file(&path("s/log"), old.as_bytes());
    let store = FileStore::open(Arc::new(disk.process()), Options::new(owner())).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "{\"ours\":1}\n")], Durability::Synced).unwrap();
    let all = disk.contents().remove(&path("s/log")).unwrap();
    disk.kill_all();
    // Another program has removed the first line.
    let rest = all.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    disk.put_file(&path("s/log"), &all[rest..]);
    let told: Arc<Mutex<Vec<RecoveryStage>>> = Arc::default();
    let progress = RecoveryProgress::new({
        let told = Arc::clone(&told);
        move |stage| told.lock().unwrap().push(stage)
    });
    let options = Options { progress, ..Options::new(owner()) };
    drop(FileStore::open(Arc::new(disk.process()), options).unwrap());
    let told = told.lock().unwrap();
    assert_eq!(told[..2], [RecoveryStage::Begin, RecoveryStage::Name { done: 0, total: 1 }]);
    let len = (all.len() - rest) as u64;
    let pieces = told.iter().filter_map(|stage| match stage {
        RecoveryStage::Bytes { done, total } => Some((*done, *total)),
        _ => None,
    });
    let pieces: Vec<(u64, u64)> = pieces.collect();
    assert!(pieces.len() > 3, "{pieces:?}");
    assert!(pieces.iter().all(|(done, total)| *total == len && done <= total), "{pieces:?}");
    assert_eq!(pieces[..2], [(0, len), (1 << 20, len)]);
}
