//! Branches: forks a session at a message, and rewinds a session to a message.

use std::sync::Arc;

use jiff::Timestamp;

use super::document::JsonDocument;
use super::error::LinggenError;
use super::paths::{SessionFile, session_dir};
use super::session::{Lineage, Session, SessionLocation};
use super::writer::{create, free_id, meta_text};
use everturn_json::names::SessionId;
use everturn_session::marks;
use everturn_store::disk::FileKind;
use everturn_store::{Durability, FileMode, Fingerprint, Precondition, Step, Store, read_optional};

/// The result of a fork or a rewind.
#[derive(Debug, Clone)]
pub struct LinggenFork {
    /// The new session.
    pub place: SessionLocation,
    /// The last message that both share.
    pub turn: u64,
}

/// Creates a session beside another one, with its messages up to `turn`, or all of them.
pub fn fork(
    store: &Arc<dyn Store>,
    parent: &SessionLocation,
    turn: Option<u64>,
    id: Option<SessionId>,
    now: Timestamp,
) -> Result<LinggenFork, LinggenError> {
    let cut = Truncation::at(store, parent, turn)?;
    let place = sibling_session(store, parent, id, now)?;
    let writer = store.lock(&[parent.dir.clone(), place.dir.clone()])?;
    // Another process may have written before the lock was taken.
    let cut = if turn.is_none() { Truncation::at(store, parent, turn)? } else { cut };
    let steps = copy(store, parent, &place, "fork", &cut, Some(&cut.head), now)?;
    writer.commit(steps, Durability::Synced)?;
    writer.release()?;
    Ok(LinggenFork { place, turn: cut.turn })
}

/// Rewinds to a message. The session as it was becomes a branch in the same commit, so nothing is lost.
pub fn rewind(
    store: &Arc<dyn Store>,
    session: &SessionLocation,
    turn: u64,
    now: Timestamp,
) -> Result<LinggenFork, LinggenError> {
    let place = sibling_session(store, session, None, now)?;
    let writer = store.lock(&[session.dir.clone(), place.dir.clone()])?;
    let cut = Truncation::at(store, session, Some(turn))?;
    let mut steps = copy(store, session, &place, "rewind", &cut, None, now)?;
    if let Some(before) = &cut.before
        && cut.head.len() != before.len()
    {
        let file = SessionFile::Messages.of(&session.dir);
        let expect = Precondition::Content(Fingerprint::of(before));
        steps.push(Step::Replace { file, expect, bytes: cut.head, mode: FileMode::Default });
        if let Some(bytes) = marks::truncated_marks(store, &session.dir, turn)? {
            let (file, expect) = (marks::marks_file(&session.dir), Precondition::Anything);
            steps.push(Step::Replace { file, expect, bytes, mode: FileMode::Default });
        }
    }
    match JsonDocument::read_or_new(store, &SessionFile::Lineage.of(&session.dir)) {
        Ok(mut own) => {
            own.set("changed", &now.to_string())?;
            steps.push(own.step(FileMode::Default));
        }
        // The check reports it. It is no reason not to rewind.
        Err(LinggenError::Damaged { .. }) => {}
        Err(error) => return Err(error),
    }
    writer.commit(steps, Durability::Synced)?;
    writer.release()?;
    Ok(LinggenFork { place, turn: cut.turn })
}

/// The location of a new session beside another one.
fn sibling_session(
    store: &Arc<dyn Store>,
    session: &SessionLocation,
    id: Option<SessionId>,
    now: Timestamp,
) -> Result<SessionLocation, LinggenError> {
    let sessions = session.dir.parent().unwrap_or_default();
    let id = match id {
        Some(id) => id,
        None => free_id(store, &sessions, now)?,
    };
    let dir = session_dir(&sessions, &id);
    if store.stat(&dir)?.is_some() {
        return Err(LinggenError::Taken { id: id.to_string(), path: dir });
    }
    Ok(SessionLocation { id, dir })
}

/// The messages of a session up to one of them.
struct Truncation {
    turn: u64,
    /// The whole file, and its start; empty if there is no file.
    before: Option<Vec<u8>>,
    head: Vec<u8>,
}

impl Truncation {
    fn at(
        store: &Arc<dyn Store>,
        place: &SessionLocation,
        turn: Option<u64>,
    ) -> Result<Truncation, LinggenError> {
        let session = Session::open(Arc::clone(store), place)?;
        let (mut last, mut end) = (0, 0);
        for row in session.rows()? {
            let row = row?;
            last = row.number.unwrap_or_default();
            if turn.is_none_or(|turn| last <= turn) {
                end = row.offset + row.length;
            }
        }
        if let Some(turn) = turn.filter(|turn| *turn > last) {
            return Err(LinggenError::NoTurn { turn, last });
        }
        let before = read_optional(store, &SessionFile::Messages.of(&place.dir))?;
        let bytes = before.as_deref().unwrap_or_default();
        let end = usize::try_from(end).unwrap_or(usize::MAX);
        let mut head = bytes.get(..end).unwrap_or(bytes).to_vec();
        if !head.is_empty() {
            let crlf = bytes.get(end..).unwrap_or_default().starts_with(b"\r\n");
            head.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
        }
        Ok(Truncation { turn: turn.unwrap_or(last), before, head })
    }
}

/// The steps that copy a session, with these messages or, if `None`, with all of them.
fn copy(
    store: &Arc<dyn Store>,
    session: &SessionLocation,
    to: &SessionLocation,
    kind: &str,
    cut: &Truncation,
    messages: Option<&Vec<u8>>,
    now: Timestamp,
) -> Result<Vec<Step>, LinggenError> {
    let opened = Session::open(Arc::clone(store), session)?;
    let mut yaml = match opened.meta() {
        Some(meta) => meta.yaml.clone(),
        None => meta_text(&to.id, &opened.derived_title()?.unwrap_or_default(), now)?,
    };
    yaml.set("id", &to.id.as_str().into())?;
    yaml.set("created_at", &now.as_second().into())?;
    let mut steps = vec![create(SessionFile::Meta.of(&to.dir), yaml.text().as_bytes().to_vec())];
    let bytes = messages.or(cut.before.as_ref()).cloned().unwrap_or_default();
    steps.push(create(SessionFile::Messages.of(&to.dir), bytes));
    let lineage = Lineage { parent: session.id.to_string(), turn: cut.turn, kind: kind.to_owned() };
    // The branch of a rewind holds what was there before.
    steps.push(lineage.step(&to.dir, messages.map(|_| now))?);
    let own = [SessionFile::Meta, SessionFile::Messages, SessionFile::Lineage];
    for entry in store.list(&session.dir)?.entries {
        let is_own = own.iter().any(|file| file.as_str() == entry.name.as_str());
        if entry.kind == FileKind::File && !entry.linked && !is_own {
            let bytes = store.read(&session.dir.join(&entry.name), 0..u64::MAX)?;
            let left = match messages {
                Some(_) if entry.name.as_str() == marks::FILE => {
                    marks::truncate_marks(&bytes, cut.turn)
                }
                _ => None,
            };
            steps.push(create(to.dir.join(&entry.name), left.unwrap_or(bytes)));
        }
    }
    Ok(steps)
}
