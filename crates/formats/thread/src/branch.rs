//! Branches: forks a thread at a turn, and rewinds a thread to a turn.

use std::sync::Arc;

use jiff::Timestamp;

use crate::paths::{log_file, thread_dir};
use crate::record::RecordType;
use crate::thread::Thread;
use crate::writer::header_members;
use everturn_json::names::{FilePath, SessionId};
use everturn_session::format::SessionError;
use everturn_session::marks;
use everturn_session::model::{BranchKind, ForkOptions, ForkOutcome, SessionRef};
use everturn_store::{Durability, Fingerprint, Precondition, Step, Store};
use everturn_value::tree::JsonTree;

/// Creates a thread with the records of another up to a turn, or all of them.
pub(crate) fn fork(
    store: &Arc<dyn Store>,
    parent: &SessionRef,
    how: &ForkOptions,
    now: Timestamp,
) -> Result<ForkOutcome, SessionError> {
    let id = match &how.id {
        Some(id) => SessionId::parse_new(id)?,
        None => free_id(store, &parent.id)?,
    };
    let dir = thread_dir(&id);
    let writer = store.lock(&[parent.path.clone(), dir.clone()])?;
    if store.stat(&dir)?.is_some() {
        return Err(SessionError::Taken { id: id.to_string(), path: dir });
    }
    let cut = Truncation::at(store, &parent.path, how.turn)?;
    let steps = copy_steps(store, parent, (&id, &dir), &cut, BranchKind::Fork, now)?;
    writer.commit(steps, Durability::Synced)?;
    writer.release()?;
    let session = SessionRef { id: id.to_string(), path: dir };
    Ok(ForkOutcome { session, turn: cut.turn, findings: Vec::new() })
}

/// Rewinds to a turn. The thread as it was becomes a branch in the same commit.
pub(crate) fn rewind(
    store: &Arc<dyn Store>,
    place: &SessionRef,
    turn: u64,
    now: Timestamp,
) -> Result<ForkOutcome, SessionError> {
    let id = free_id(store, &place.id)?;
    let dir = thread_dir(&id);
    let writer = store.lock(&[place.path.clone(), dir.clone()])?;
    let cut = Truncation::at(store, &place.path, Some(turn))?;
    let mut steps = copy_steps(store, place, (&id, &dir), &cut, BranchKind::Rewind, now)?;
    let expect = Precondition::Content(Fingerprint::of(&cut.bytes));
    steps.push(Step::replace_expecting(log_file(&place.path), expect, cut.kept.clone()));
    if let Some(bytes) = marks::truncated_marks(store, &place.path, turn)? {
        steps.push(Step::replace(marks::marks_file(&place.path), bytes));
    }
    writer.commit(steps, Durability::Synced)?;
    writer.release()?;
    let session = SessionRef { id: id.to_string(), path: dir };
    Ok(ForkOutcome { session, turn: cut.turn, findings: Vec::new() })
}

/// An unused ID for a branch of a thread.
fn free_id(store: &Arc<dyn Store>, parent: &str) -> Result<SessionId, SessionError> {
    for number in 1..10_000_u32 {
        let id = SessionId::parse(&format!("{parent}-{number}"))?;
        if store.stat(&thread_dir(&id))?.is_none() {
            return Ok(id);
        }
    }
    Err(SessionError::request(format!("there is no free ID for a branch of {parent}")))
}

/// A log, and the part of it that remains up to a turn.
struct Truncation {
    turn: u64,
    thread: Thread,
    bytes: Vec<u8>,
    kept: Vec<u8>,
}

impl Truncation {
    fn at(
        store: &Arc<dyn Store>,
        dir: &FilePath,
        turn: Option<u64>,
    ) -> Result<Truncation, SessionError> {
        let thread = Thread::open(store, dir)?;
        let bytes = store.read(&log_file(dir), 0..u64::MAX)?;
        let line = thread.main_line();
        let last = line.len() as u64;
        let turn = turn.unwrap_or(last);
        if turn > last {
            return Err(SessionError::NoTurn { turn, first: 0, last });
        }
        let index = usize::try_from(turn).unwrap_or(usize::MAX);
        let Some(next) = line.get(index) else {
            return Ok(Truncation { turn, thread, kept: bytes.clone(), bytes });
        };
        let end = index.checked_sub(1).and_then(|index| line.get(index));
        let mut kept = Vec::new();
        for (position, record) in thread.records.iter().enumerate().take(*next) {
            let is_header = record.kind == RecordType::Header;
            // Behind the turn, only what belongs to it: pending writes, and checkpoints of subgraphs.
            let is_part = record.kind == RecordType::Writes || !record.namespace().is_empty();
            if is_header || end.is_some_and(|end| position <= *end || is_part) {
                let range = usize::try_from(record.offset).unwrap_or(usize::MAX)
                    ..usize::try_from(record.end()).unwrap_or(usize::MAX);
                kept.extend_from_slice(bytes.get(range).unwrap_or_default());
                kept.push(b'\n');
            }
        }
        Ok(Truncation { turn, thread, bytes, kept })
    }
}

/// The steps that copy a thread: of a fork up to the turn, of a rewind as it was.
fn copy_steps(
    store: &Arc<dyn Store>,
    from: &SessionRef,
    (id, dir): (&SessionId, &FilePath),
    cut: &Truncation,
    kind: BranchKind,
    now: Timestamp,
) -> Result<Vec<Step>, SessionError> {
    let content = if kind == BranchKind::Fork { &cut.kept } else { &cut.bytes };
    let old = cut.thread.header().map(|header| header.tree.children()).unwrap_or_default();
    let own = ["type", "id", "created", "parent", "turn", "branch"];
    let other = old.into_iter().filter(|(key, _)| !own.contains(&key.as_str()));
    let text = |text: &str| JsonTree::from_value(text).unwrap_or_else(|_| JsonTree::null());
    let lineage = [
        ("parent".to_owned(), text(&from.id)),
        ("turn".to_owned(), JsonTree::from_trusted_str(&cut.turn.to_string())),
        ("branch".to_owned(), text(kind.as_str())),
    ];
    let header = JsonTree::from_members(header_members(id, now).chain(lineage).chain(other));
    let start = cut.thread.header().map_or(0, |header| header.end().saturating_add(1));
    let rest = content.get(usize::try_from(start).unwrap_or(usize::MAX)..).unwrap_or_default();
    let mut bytes = format!("{}\n", header.to_line()).into_bytes();
    bytes.extend_from_slice(rest);
    let mut steps = vec![Step::create(log_file(dir), bytes)];
    let file = marks::marks_file(&from.path);
    if store.stat(&file)?.is_some() {
        let bytes = store.read(&file, 0..u64::MAX)?;
        let left = match kind {
            BranchKind::Fork => marks::truncate_marks(&bytes, cut.turn),
            BranchKind::Rewind => None,
        };
        steps.push(Step::create(marks::marks_file(dir), left.unwrap_or(bytes)));
    }
    Ok(steps)
}
