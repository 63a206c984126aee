//! T9: what cannot be read is not empty, and nothing is written over it.

use everturn::disk::sim::{Fault, FaultKind, SimDisk};
use everturn::names::FilePath;
use everturn::store::OWN_DIR;

use crate::common::capabilities::KnownCapabilities;
use crate::failures::kinds::{ALL, Kind, at, open};
use crate::failures::support::{numbers, path, read};

const EIO: i32 = 5;
const EACCES: i32 = 13;
const ENOENT: i32 = 2;

/// A session that was given back in order, with all its files.
fn session(kind: &Kind) -> SimDisk {
    let disk = SimDisk::new();
    let store = open(&disk).unwrap();
    kind.create(&store).unwrap();
    for turn in 1..=3 {
        kind.say(&store, &format!("Turn {turn}.")).unwrap();
    }
    drop(store);
    disk
}

fn files(disk: &SimDisk) -> Vec<(FilePath, Vec<u8>)> {
    let own = path(OWN_DIR);
    disk.contents().into_iter().filter(|(file, _)| !file.is_within(&own)).collect()
}

/// Whether everything is still there that was there: nothing is gone, and what was replaced tells more.
fn is_kept(kind: &Kind, disk: &SimDisk, expect: &[usize]) -> Result<(), String> {
    let told = read(kind, &open(disk).unwrap()).0;
    let found = numbers(&told);
    if found.starts_with(expect) { Ok(()) } else { Err(format!("{found:?}: {told:?}")) }
}

#[test]
fn t09_a_read_that_fails_never_leads_to_a_write_over_what_is_there() {
    for kind in ALL.iter() {
        let whole = session(kind);
        let mut refused = 0;
        for code in [EIO, EACCES, ENOENT] {
            for ahead in 0.. {
                let disk = whole.fork();
                let at_read = disk.reads() + ahead;
                disk.inject(Fault {
                    at: at_read,
                    kind: FaultKind::ReadError(code),
                    lasting: false,
                });
                let done = open(&disk.process())
                    .map_err(everturn::format::SessionError::from)
                    .and_then(|store| {
                        let layout = kind.layout();
                        // A place that is listed, as a command finds it before anything goes wrong.
                        let places = layout.locate(&store)?.sessions;
                        let Some(place) = places.into_iter().find(|place| place.id == kind.id)
                        else {
                            return Ok(false);
                        };
                        let mut editor = layout.editable().edit(&store, &place)?;
                        editor.append(&kind.turn_of("Turn 4."), at(4))?;
                        editor.release().map(|()| true)
                    });
                let failed = disk.reads() > at_read;
                disk.clear_faults();
                let place = format!("{}, read {ahead} fails with {code}", kind.layout);
                if !failed {
                    assert!(done.unwrap(), "{place}");
                    break;
                }
                let is_refused = !matches!(done, Ok(true));
                refused += u64::from(is_refused);
                let expect: &[usize] = if is_refused { &[1, 2, 3] } else { &[1, 2, 3, 4] };
                if let Err(problem) = is_kept(kind, &disk, expect) {
                    panic!("{place}, {done:?}: {problem}");
                }
            }
        }
        assert!(refused > 5, "{}: only {refused} were refused", kind.layout);
    }
}

#[test]
fn t09_a_document_that_cannot_be_parsed_is_never_written_over() {
    for kind in ALL.iter() {
        let whole = session(kind);
        let undamaged = whole.fork();
        kind.say(&open(&undamaged).unwrap(), "Turn 4.").unwrap();
        let undamaged = undamaged.contents();
        for (file, content) in files(&whole) {
            if !file.as_str().ends_with(".json") && !file.as_str().ends_with(".yaml") {
                continue;
            }
            for damaged in [&content[..content.len() / 2], b"", b"\0\0\0\0", b"[1, 2"] {
                let disk = whole.fork();
                disk.put_file(&file, damaged);
                let place =
                    format!("{}: {file} is {:?}", kind.layout, String::from_utf8_lossy(damaged));
                let store = open(&disk).unwrap();
                let done = kind.say(&store, "Turn 4.");
                drop(store);
                let now = disk.contents();
                // Everything else is what it was, or has grown.
                for (other, before) in files(&whole).iter().filter(|(other, _)| *other != file) {
                    let after =
                        now.get(other).unwrap_or_else(|| panic!("{place}: {other} is gone"));
                    assert!(
                        done.is_ok() || after == before,
                        "{place}: {other} was changed although nothing was said"
                    );
                }
                let kept = now.get(&file).is_some_and(|after| after == damaged);
                let elsewhere = now.iter().any(|(other, bytes)| {
                    other.is_within(&path(OWN_DIR)) && !damaged.is_empty() && bytes == damaged
                });
                // What was made anew from other files is what it would be if it had never been damaged.
                let renewed = now.get(&file) == undamaged.get(&file);
                assert!(kept || elsewhere || renewed, "{place}: written over, {done:?}");
            }
        }
    }
}
