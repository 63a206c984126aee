//! Branches of sessions: forks and rewinds.

use jiff::Timestamp;
use serde_json::json;

use super::error::CodeliaError;
use super::home::CodeliaHome;
use super::index::IndexRow;
use super::log::{MessageCount, MessageReader};
use super::paths::stamp;
use super::sessions::Session;
use super::writer::{last_user_message_in, replace};
use everturn_json::finding::Finding;
use everturn_json::names::{FilePath, SessionId};
use everturn_store::{Durability, Fingerprint, Precondition, Step};
use everturn_value::document::{Document, JsonStyle};

/// A session made from another.
#[derive(Debug, Clone)]
pub(super) struct CodeliaFork {
    pub(super) id: SessionId,
    pub(super) log: FilePath,
    /// The last message: of a fork, its own; after a rewind, that of the rewound session.
    pub(super) turn: u64,
    pub(super) findings: Vec<Finding>,
}

/// The whole log of a session, and where its first messages end.
struct LoadedLog {
    session: Session,
    bytes: Vec<u8>,
    messages: u64,
}

impl LoadedLog {
    fn read(
        home: &CodeliaHome,
        id: &SessionId,
        findings: &mut Vec<Finding>,
    ) -> Result<LoadedLog, CodeliaError> {
        let session = home.find(id, findings)?;
        let bytes = match session.has_log || !session.has_legacy {
            true => everturn_store::read_optional(&home.store, &session.log)?.unwrap_or_default(),
            false => {
                let what =
                    format!("session {id} is a legacy session; append to it first, or repair it");
                return Err(CodeliaError::input(what));
            }
        };
        let messages = MessageCount::count(&home.store, &session.log, None)?.messages;
        Ok(LoadedLog { session, bytes, messages })
    }

    /// The bytes up to the end of a message, including whatever is not a message before it.
    fn until(&self, home: &CodeliaHome, turn: u64) -> Result<Vec<u8>, CodeliaError> {
        if turn > self.messages {
            return Err(CodeliaError::NoTurn { turn, last: self.messages });
        }
        if turn == self.messages {
            return Ok(self.bytes.clone());
        }
        if turn == 0 {
            return Ok(Vec::new());
        }
        for message in MessageReader::open(&home.store, &self.session.log, 0, 0)? {
            let message = message?;
            if message.number == turn {
                let end = usize::try_from(message.offset + message.length).unwrap_or(usize::MAX);
                let mut bytes = self.bytes.get(..end).unwrap_or_default().to_vec();
                bytes.push(b'\n');
                return Ok(bytes);
            }
        }
        let reason = format!("message {turn} is too long to fork after");
        Err(CodeliaError::damaged(&self.session.log, reason))
    }
}

/// The file that records the origin of a branch.
fn lineage(
    parent: &SessionId,
    turn: u64,
    kind: &str,
    now: Timestamp,
) -> Result<Vec<u8>, CodeliaError> {
    let value = json!({
        "lineage": {"parent": parent.as_str(), "turn": turn, "kind": kind, "time": stamp(now)},
    });
    let document = Document::new(&value, JsonStyle::PRETTY_RAW_LINE)
        .map_err(|error| CodeliaError::input(error.to_string()))?;
    Ok(document.into_bytes())
}

/// An unused id, derived from another.
fn free_id(
    home: &CodeliaHome,
    id: &SessionId,
    what: &str,
    turn: u64,
) -> Result<SessionId, CodeliaError> {
    let mut name = format!("{id}-{what}-{turn}");
    let mut count = 2_u64;
    loop {
        let id = SessionId::parse(&name)?;
        match home.find(&id, &mut Vec::new()) {
            Err(CodeliaError::NoSession { .. }) => return Ok(id),
            Err(error) => return Err(error),
            Ok(_) => name = format!("{id}-{count}"),
        }
        count += 1;
    }
}

/// Creates a session from the first messages of another.
pub(super) fn fork(
    home: &CodeliaHome,
    id: &SessionId,
    turn: Option<u64>,
    new: Option<SessionId>,
    now: Timestamp,
) -> Result<CodeliaFork, CodeliaError> {
    let mut findings = Vec::new();
    let whole = LoadedLog::read(home, id, &mut findings)?;
    let turn = turn.unwrap_or(whole.messages);
    let bytes = whole.until(home, turn)?;
    let new = match new {
        Some(new) => new,
        None => free_id(home, id, "fork", turn)?,
    };
    let (log, sidecar) = (home.files.log(&new)?, home.files.lineage(&new)?);
    let writer = home.store.lock(&[log.clone(), sidecar.clone()])?;
    match home.find(&new, &mut findings) {
        Err(CodeliaError::NoSession { .. }) => {}
        Ok(_) => return Err(CodeliaError::Taken { id: new, path: log }),
        Err(error) => return Err(error),
    }
    let steps = vec![
        replace(&log, Precondition::Absent, bytes),
        replace(&sidecar, Precondition::Anything, lineage(id, turn, "fork", now)?),
    ];
    writer.commit(steps, Durability::Synced)?;
    update_index(home, &new, &log, Some((id, whole.session.row.as_ref())), now, &mut findings)?;
    writer.release()?;
    Ok(CodeliaFork { id: new, log, turn, findings })
}

/// Rewinds a session to one of its messages. The session as it was becomes a branch.
pub(super) fn rewind(
    home: &CodeliaHome,
    id: &SessionId,
    turn: u64,
    now: Timestamp,
) -> Result<CodeliaFork, CodeliaError> {
    let mut findings = Vec::new();
    let last = LoadedLog::read(home, id, &mut Vec::new())?.messages;
    let new = free_id(home, id, "branch", last)?;
    let (log, sidecar) = (home.files.log(&new)?, home.files.lineage(&new)?);
    let own = [home.files.log(id)?, home.files.lineage(id)?];
    let scopes: Vec<FilePath> = own.into_iter().chain([log.clone(), sidecar.clone()]).collect();
    let writer = home.store.lock(&scopes)?;
    let whole = LoadedLog::read(home, id, &mut findings)?;
    let bytes = whole.until(home, turn)?;
    let is = Fingerprint::of(&whole.bytes);
    let steps: Vec<Step> = vec![
        replace(&log, Precondition::Absent, whole.bytes.clone()),
        replace(&sidecar, Precondition::Absent, lineage(id, turn, "rewind", now)?),
        replace(&whole.session.log, Precondition::Content(is), bytes),
    ];
    writer.commit(steps, Durability::Synced)?;
    update_index(home, &new, &log, Some((id, whole.session.row.as_ref())), now, &mut findings)?;
    update_index(home, id, &whole.session.log, None, now, &mut findings)?;
    writer.release()?;
    Ok(CodeliaFork { id: new, log, turn, findings })
}

/// Updates the index row of a session whose log was written; for a branch, also its parent.
fn update_index(
    home: &CodeliaHome,
    id: &SessionId,
    log: &FilePath,
    parent: Option<(&SessionId, Option<&IndexRow>)>,
    now: Timestamp,
    findings: &mut Vec<Finding>,
) -> Result<(), CodeliaError> {
    let tally = MessageCount::count(&home.store, log, None)?;
    let said = last_user_message_in(home, log)?;
    let told = home.index_to_write().and_then(|index| {
        index.change(id.as_str(), &mut |before| {
            let mut row = before.unwrap_or_else(|| {
                let like = parent.and_then(|(_, row)| row.cloned()).unwrap_or_default();
                let new = IndexRow::new(id.as_str(), stamp(now));
                let IndexRow { meta_json, workspace_root, .. } = like;
                IndexRow { meta_json, workspace_root, ..new }
            });
            row.updated_at = stamp(now);
            row.message_count = i64::try_from(tally.messages).ok();
            row.last_user_message.clone_from(&said);
            row.set_own("log", tally.mark.to_value());
            if let Some((parent, _)) = parent {
                row.set_own("parent", parent.as_str().into());
                row.set_own("created", stamp(now).into());
            }
            Some(row)
        })
    });
    // The logs are safe; the index is updated when the session is next opened for writing.
    findings.extend(told.err().map(|error| home.unusable(&error)));
    Ok(())
}
