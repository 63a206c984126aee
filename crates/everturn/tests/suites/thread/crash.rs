//! Checkpoints, pending writes and items, cut at every change of the disk.

use super::{at, checkpoint, layout, texts};
use crate::common::crashes::crash_everywhere;
use crate::common::kinds::open;
use everturn::disk::sim::SimDisk;
use everturn::format::SessionError;
use everturn::model::NewSession;
use everturn::thread::ThreadWriter;

type Operation = fn(&mut ThreadWriter) -> Result<(), SessionError>;

fn append(thread: &mut ThreadWriter, text: &str) -> Result<(), SessionError> {
    thread.append(text, at(1)).map(drop)
}

/// Every way to change a thread.
const OPERATIONS: [Operation; 9] = [
    |thread| append(thread, r#"{"role":"user","content":"hello","key":"k1"}"#),
    |thread| append(thread, &checkpoint("a", None, 2)),
    |thread| {
        append(thread, r#"{"type":"writes","checkpoint":"a","task":"k","writes":[[0,"x",1]]}"#)
    },
    |thread| append(thread, &checkpoint("b", Some("a"), 4)),
    |thread| append(thread, &checkpoint("c", Some("a"), 30)),
    |thread| append(thread, &checkpoint("d", Some("b"), 31)),
    |thread| {
        let several =
            [r#"{"role":"user","content":"two"}"#, r#"{"role":"user","content":"three"}"#];
        thread.append_all(&several, at(2)).map(drop)
    },
    |thread| thread.retain(|record| record.id() != "b", &[], at(3)).map(drop),
    |thread| {
        let add = [r#"{"role":"user","content":"four"}"#];
        thread.retain(|record| record.text("content").is_none(), &add, at(3)).map(drop)
    },
];

fn work(disk: &SimDisk) -> usize {
    let mut done = 0;
    let mut run = || -> Result<(), SessionError> {
        let store = open(disk)?;
        let mut thread = ThreadWriter::create(&store, &NewSession::with_id("t1"), at(0))?;
        done += 1;
        for operation in OPERATIONS {
            operation(&mut thread)?;
            done += 1;
        }
        thread.release()?;
        done += 1;
        Ok(())
    };
    drop(run());
    done
}

/// What the thread says after each operation, and how many records it has.
fn seen(disk: &SimDisk) -> Result<Option<(Vec<String>, usize)>, SessionError> {
    let store = open(disk)?;
    let Some(place) = layout().locate(&store)?.sessions.pop() else { return Ok(None) };
    let reader = layout().open(&store, &place)?;
    let thread = everturn::thread::Thread::open(&store, &place.path)?;
    assert_eq!(thread.findings.len(), 0);
    Ok(Some((texts(&*reader), thread.records().len())))
}

#[test]
fn every_acknowledged_record_survives_a_crash_at_any_change() {
    let count = OPERATIONS.len() + 2;
    let states: Vec<_> = (0..=count)
        .map(|operations| {
            let disk = SimDisk::new();
            if operations > 0 {
                let store = open(&disk).unwrap();
                let mut thread =
                    ThreadWriter::create(&store, &NewSession::with_id("t1"), at(0)).unwrap();
                for operation in OPERATIONS.iter().take(operations - 1) {
                    operation(&mut thread).unwrap();
                }
                thread.release().unwrap();
            }
            seen(&disk).unwrap()
        })
        .collect();
    crash_everywhere("threads", count, 20, work, |disk, done, _| {
        let found = seen(disk).map_err(|error| error.to_string())?;
        let next = &states[(done + 1).min(count)];
        match found == states[done] || found == *next {
            true => Ok(()),
            false => Err(format!("{found:?}, not {:?} or {next:?}", states[done])),
        }
    });
}
