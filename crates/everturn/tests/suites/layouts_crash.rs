//! What every layout does to whole sessions, through their one shape: marks, branches, the trash, repairs. Each is cut
//! at every change of the disk, and every session is then as before it or as after it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::panic, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::capabilities::KnownCapabilities;
use crate::common::crashes::{crash_everywhere, fail_everywhere};
use everturn::disk::sim::SimDisk;
use everturn::format::{self, RepairMode, SessionError, SessionFormat, Transition};
use everturn::model::{ForkOptions, NewMark, NewSession, SessionRef};
use everturn::names::FilePath;
use everturn::store::{
    AppendAt, Durability, FileStore, LockOwner, MemoryStore, Options, Step, Store, StoreError,
};
use everturn::tree::JsonTree;
use everturn_samples::{FormatSample, formats, sample};
use jiff::Timestamp;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_261_600 + second).unwrap()
}

type Op = fn(&FormatSample, &dyn SessionFormat, &Arc<dyn Store>) -> Result<(), SessionError>;

fn place(
    kind: &FormatSample,
    layout: &dyn SessionFormat,
    store: &Arc<dyn Store>,
) -> Result<SessionRef, SessionError> {
    let mut places = layout.locate(store)?.sessions;
    places.retain(|place| place.id == kind.id);
    Ok(places.remove(0))
}

fn say(
    kind: &FormatSample,
    layout: &dyn SessionFormat,
    store: &Arc<dyn Store>,
) -> Result<(), SessionError> {
    let mut editor = layout.editable().edit(store, &place(kind, layout, store)?)?;
    editor.append(&kind.turn("Look."), at(1))?;
    editor.release()
}

/// Another program dies while it writes.
fn tear(
    kind: &FormatSample,
    layout: &dyn SessionFormat,
    store: &Arc<dyn Store>,
) -> Result<(), SessionError> {
    let file = FilePath::parse(kind.log).unwrap();
    let lock = if kind.format == "chatlog" { FilePath::parse("chats") } else { Ok(file.clone()) };
    let writer = store.lock(&[lock.unwrap()])?;
    // A line that is whole, and says nothing.
    let lines = b"{\"torn\": [}\n".to_vec();
    let step = Step::Append { file, at: AppendAt::End, lines };
    writer.commit(vec![step], Durability::Synced)?;
    writer.release()?;
    place(kind, layout, store).map(drop)
}

fn repairing(
    kind: &FormatSample,
    layout: &dyn SessionFormat,
    store: &Arc<dyn Store>,
    how: RepairMode,
) -> Result<(), SessionError> {
    layout.editable().repair(store, &place(kind, layout, store)?, how, at(20)).map(drop)
}

/// What is done to every session.
const OPS: &[Op] = &[
    |kind, layout, store| {
        let fields = JsonTree::parse(kind.fields).unwrap();
        layout
            .editable()
            .create(store, &NewSession { fields, ..NewSession::with_id(kind.id) }, at(0))?
            .close(at(0))
    },
    say,
    say,
    say,
    |kind, layout, store| {
        let forking = ForkOptions { id: Some("fork-1".to_owned()), turn: Some(2) };
        layout
            .editable()
            .fork(store, &place(kind, layout, store)?, &forking, at(3), &mut |_| {})
            .map(drop)
    },
    |kind, layout, store| {
        layout
            .editable()
            .rewind(store, &place(kind, layout, store)?, 1, at(4), &mut |_| {})
            .map(drop)
    },
    say,
    tear,
    |kind, layout, store| repairing(kind, layout, store, RepairMode::Apply),
    |kind, layout, store| repairing(kind, layout, store, RepairMode::Undo),
    |kind, layout, store| repairing(kind, layout, store, RepairMode::Apply),
    say,
];

/// What is done to sessions of layouts that have marks.
const MARKS: &[Op] = &[
    |kind, layout, store| {
        let mark = NewMark::bookmark("here");
        layout.editable().add_mark(store, &place(kind, layout, store)?, &mark, at(5)).map(drop)
    },
    |kind, layout, store| {
        let place = place(kind, layout, store)?;
        let marks = layout.open(store, &place)?.marks()?;
        layout.editable().remove_mark(store, &place, &marks[0].id, at(6)).map(drop)
    },
];

/// What is done to sessions as a whole.
const TRASH: &[Op] = &[
    |kind, layout, store| {
        let place = place(kind, layout, store)?;
        layout.movable().transition(store, &place, Transition::Trash, at(7), &mut |_| {}).map(drop)
    },
    |_, layout, store| {
        layout.movable().restore(store, &layout.movable().list_trash(store)?[0].name).map(drop)
    },
    |kind, layout, store| {
        let place = place(kind, layout, store)?;
        layout.movable().transition(store, &place, Transition::Trash, at(8), &mut |_| {}).map(drop)
    },
    |_, layout, store| layout.movable().purge(store, &layout.movable().list_trash(store)?),
];

/// Layouts whose whole sessions have crash suites of their own: `game/crash.rs` and `campaign/crash.rs`.
const OWN_SUITES: [&str; 2] = ["game", "campaign"];

/// Layouts whose turns cannot be marked.
const WITHOUT_MARKS: [&str; 1] = ["codelia"];

const TESTED: [&str; 4] = ["codelia", "linggen", "thread", "chatlog"];

#[test]
fn every_layout_has_a_crash_suite() {
    let mut tested: Vec<&str> = TESTED.into_iter().chain(OWN_SUITES).collect();
    let mut all: Vec<&str> = formats().collect();
    tested.sort_unstable();
    all.sort_unstable();
    assert_eq!(tested, all);
}

fn ops(kind: &FormatSample) -> Vec<Op> {
    let marks = MARKS.iter().filter(|_| !WITHOUT_MARKS.contains(&kind.format));
    OPS.iter().chain(marks).chain(TRASH).copied().collect()
}

/// What anybody can see: what each session says, its marks, and what is in the trash.
type Seen = BTreeMap<String, String>;

fn seen(layout: &dyn SessionFormat, store: &Arc<dyn Store>) -> Result<Seen, SessionError> {
    let mut seen = Seen::new();
    for place in layout.locate(store)?.sessions {
        let reader = layout.open(store, &place)?;
        let turns = reader.turns()?;
        let mut entries = reader.entries(turns.clone())?;
        let mut told = format!("{turns:?}");
        while let Some(entry) = entries.next() {
            told.push_str(&format!(" {}", entry?.text));
        }
        for mark in reader.marks()? {
            told.push_str(&format!(" *{}", mark.name));
        }
        seen.insert(place.id, told);
    }
    for trashed in layout.movable().list_trash(store)? {
        seen.insert(format!("trash {}", trashed.name), String::new());
    }
    Ok(seen)
}

fn states(kind: &FormatSample, layout: &dyn SessionFormat) -> Vec<Seen> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut all = vec![Seen::new()];
    for (number, op) in ops(kind).iter().enumerate() {
        let done = op(kind, layout, &store);
        done.unwrap_or_else(|error| panic!("{}, operation {number}: {error}", kind.format));
        all.push(seen(layout, &store).unwrap());
    }
    all
}

fn open(disk: &SimDisk) -> Result<Arc<dyn Store>, StoreError> {
    let owner = LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
    let options = Options { log_size: 24 << 10, max_log_size: 32 << 10, ..Options::new(owner) };
    Ok(Arc::new(FileStore::open(Arc::new(disk.process()), options)?))
}

fn verify(
    layout: &dyn SessionFormat,
    disk: &SimDisk,
    before: &Seen,
    after: &Seen,
) -> Result<(), String> {
    let store = open(disk).map_err(|error| error.to_string())?;
    let found = seen(layout, &store).map_err(|error| error.to_string())?;
    for id in found.keys().chain(before.keys()) {
        let here = found.get(id);
        if here != before.get(id) && here != after.get(id) {
            return Err(format!(
                "{id} is {here:?}, not {:?} or {:?}",
                before.get(id),
                after.get(id)
            ));
        }
    }
    // One commit changes all sessions that an operation concerns.
    if found != *before && found != *after {
        return Err(format!("only a part of the operation is done: {found:?}"));
    }
    Ok(())
}

fn check(kind: &FormatSample) {
    let layout = format::find(kind.format).unwrap();
    let (states, ops) = (states(kind, layout), ops(kind));
    let work = |disk: &SimDisk| match open(disk) {
        Ok(store) => ops.iter().take_while(|op| op(kind, layout, &store).is_ok()).count(),
        Err(_) => 0,
    };
    let around = |done: usize| (&states[done], &states[(done + 1).min(ops.len())]);
    crash_everywhere(kind.format, ops.len(), 60, work, |disk, done, _| {
        let (before, after) = around(done);
        verify(layout, disk, before, after)
    });
    fail_everywhere(kind.format, ops.len(), 60, 3, work, |disk, done| {
        let (before, after) = around(done);
        verify(layout, disk, before, after)
    });
}

#[test]
fn whole_sessions_of_codelia_are_as_before_or_as_after() {
    check(sample("codelia"));
}

#[test]
fn whole_sessions_of_linggen_are_as_before_or_as_after() {
    check(sample("linggen"));
}

#[test]
fn whole_threads_are_as_before_or_as_after() {
    check(sample("thread"));
}

#[test]
fn whole_chat_logs_are_as_before_or_as_after() {
    check(sample("chatlog"));
}
