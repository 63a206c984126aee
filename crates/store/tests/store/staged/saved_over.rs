//! Another program saves a file after a staged content got that name and the process was killed.

use everturn_json::finding::FindingCode;
use everturn_store::disk::sim::{Fault, FaultKind, SimDisk};
use everturn_store::disk::{Disk, FileAccess, FilePermissions};
use everturn_store::{Durability, Writer};

use super::{content, open_staging, text};
use crate::crash::{end, ends};
use crate::support::{append, open, path, quarantined, rename, replace, staged};

/// Replaces the content of a file as another program.
fn save(disk: &SimDisk, file: &str, in_place: bool) {
    let other = disk.process();
    let theirs = if in_place {
        let open = other.open(&path(file), FileAccess::Append).unwrap();
        open.set_len(0).unwrap();
        open
    } else {
        other.create(&path("s/their-temp"), FilePermissions::Default).unwrap()
    };
    theirs.append(b"by another program").unwrap();
    if !in_place {
        other.rename(&path("s/their-temp"), &path(file)).unwrap();
    }
}

/// Returns the disk of a process that was killed after it replaced `s/state` several times, and renamed it.
fn killed(replacements: usize, renamed: bool) -> (SimDisk, &'static str) {
    let disk = SimDisk::new();
    disk.put_file(&path("s/state"), b"old");
    let process = disk.process();
    let store = open_staging(&process);
    let writer = store.lock_files(&[path("s")]).unwrap();
    for number in 1..=replacements {
        writer.commit(vec![replace("s/state", &content(number))], Durability::Synced).unwrap();
    }
    if renamed {
        writer.commit(vec![rename("s/state", "s/moved")], Durability::Synced).unwrap();
    }
    disk.kill_all();
    (disk, if renamed { "s/moved" } else { "s/state" })
}

#[test]
fn an_acknowledged_content_goes_to_the_quarantine() {
    for (replacements, renamed) in [(1, false), (3, false), (2, true)] {
        for in_place in [false, true] {
            let (disk, file) = killed(replacements, renamed);
            save(&disk, file, in_place);
            let store = open(&disk).unwrap();
            assert_eq!(text(&disk, file), "by another program");
            assert_eq!(quarantined(&disk), [content(replacements).as_bytes()]);
            let findings = store.take_findings();
            assert_eq!(
                findings.iter().map(|found| found.code).collect::<Vec<_>>(),
                [FindingCode::ChangedByOthers]
            );
            assert!(findings[0].message.contains(".everturn/quarantine/"), "{findings:?}");
            drop(store);
            assert_eq!(staged(&disk), []);
        }
    }
}

#[test]
fn the_old_content_written_into_the_file_itself_is_replaced_again() {
    let (disk, file) = killed(1, false);
    let other = disk.process().open(&path(file), FileAccess::Append).unwrap();
    other.set_len(0).unwrap();
    other.append(b"old").unwrap();
    open(&disk).unwrap();
    assert_eq!(text(&disk, file), content(1));
    assert_eq!(quarantined(&disk), [] as [Vec<u8>; 0]);
}

#[test]
fn lines_appended_to_a_file_that_was_replaced_are_not_taken_for_the_replacement() {
    let disk = SimDisk::new();
    let store = open_staging(&disk);
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![replace("s/log", "{\"first\":1}\n")], Durability::Synced).unwrap();
    writer.commit(vec![append("s/log", "{\"second\":2}\n")], Durability::Synced).unwrap();
    assert_eq!(staged(&disk), [], "the name was settled");
    for how in ends(0) {
        let disk = disk.fork();
        end(&disk, how);
        open(&disk).unwrap();
        assert_eq!(text(&disk, "s/log"), "{\"first\":1}\n{\"second\":2}\n", "{how:?}");
        assert_eq!(quarantined(&disk), [] as [Vec<u8>; 0]);
    }
}

#[test]
fn a_recovery_that_is_killed_keeps_the_content_too() {
    let mut kept = 0;
    for point in 0.. {
        let (disk, file) = killed(1, false);
        // The content is not in place yet.
        let beside = staged(&disk).remove(0);
        disk.put_file(&path("s/state"), b"old");
        disk.put_file(&beside, content(1).as_bytes());
        disk.inject(Fault { at: disk.changes() + point, kind: FaultKind::Crash, lasting: false });
        let done = open(&disk).is_ok();
        disk.clear_faults();
        if done && !disk.crashed() {
            break;
        }
        disk.kill_all();
        if text(&disk, file) != content(1) {
            continue;
        }
        save(&disk, file, false);
        open(&disk).unwrap();
        // Once the log is recycled, a save of the other program is a change like any other.
        let kept_now = quarantined(&disk) == [content(1).as_bytes()];
        kept += usize::from(kept_now);
        let recycled = staged(&disk).is_empty() && !kept_now;
        assert!(kept_now || recycled, "killed at change {point}");
    }
    assert!(kept > 1, "{kept}");
}
