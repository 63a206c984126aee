//! Moves sessions to the trash and restores them: the log with the files beside it, and its row.
//!
//! The log is the truth: one commit moves the files, then the row is removed. A row left behind by a crash belongs to a
//! session in the trash and is skipped; see [`CodeliaHome::is_trashed`]. The content of the row is kept with the log.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::error::CodeliaError;
use super::format::{CodeliaFormat, NAME};
use super::home::CodeliaHome;
use super::index::IndexRow;
use super::paths::HomePaths;
use super::repair::update_index_row;
use super::sessions::candidate_paths;
use everturn_archive::PackProgress;
use everturn_json::names::{FilePath, Name, NameError, SessionId};
use everturn_session::format::{FormatLifecycle, SessionError, Transition, error_chain};
use everturn_session::model::{SessionRef, TransitionOutcome, TrashedSession};
use everturn_session::repair::original_path;
use everturn_session::trash::{
    self as common, TrashEntry, TrashError, TrashName, allocate, move_to_trash,
};
use everturn_store::{Durability, FileMode, Precondition, Step, Store, StoreError, read_optional};

/// The file in the trash that keeps the row.
const ROW: &str = "row.json";

impl From<TrashError> for CodeliaError {
    fn from(error: TrashError) -> CodeliaError {
        match error {
            TrashError::Store(error) => CodeliaError::Store(error),
            TrashError::Name(error) => CodeliaError::Name(error),
            TrashError::Taken { id, place } => CodeliaError::Taken { id, path: place },
            TrashError::Damaged { file, reason } => CodeliaError::Damaged { file, reason },
            other => CodeliaError::input(other.to_string()),
        }
    }
}

/// All files that are moved with a session.
fn parts(id: &SessionId) -> Result<Vec<FilePath>, NameError> {
    let files = HomePaths::default();
    Ok(vec![files.log(id)?, files.lineage(id)?, files.legacy(id)?])
}

fn row_file(place: &FilePath) -> Result<FilePath, NameError> {
    Ok(place.join(&Name::parse(ROW)?))
}

/// Moves a session to the trash.
fn trash(
    home: &CodeliaHome,
    place: &SessionRef,
    now: Timestamp,
) -> Result<TransitionOutcome, CodeliaError> {
    let store = &home.store;
    let id = SessionId::parse(&place.id)?;
    let name = allocate(store, &id, now)?;
    let mut scopes = parts(&id)?;
    scopes.push(name.trash_path()?);
    let writer = store.lock(&scopes)?;
    let session = home.find(&id, &mut Vec::new())?;
    if !session.has_log && !session.has_legacy {
        return Err(CodeliaError::input(format!("session {id} has no messages to keep")));
    }
    let mut steps = Vec::new();
    for file in parts(&id)? {
        if store.stat(&file).is_ok_and(|stat| stat.is_some()) {
            steps.push(move_to_trash(&name, &file)?.1);
        }
    }
    if let Some(row) = &session.row {
        let (file, bytes) = (row_file(&name.trash_path()?)?, row_text(row));
        let (expect, mode) = (Precondition::Absent, FileMode::Default);
        steps.push(Step::Replace { file, expect, bytes, mode });
    }
    refuse_locked_index(home)?;
    writer.commit(steps, Durability::Synced)?;
    let deferred_error = drop_row(home, &id).err().map(|error| error_chain(&error));
    writer.release()?;
    Ok(TransitionOutcome {
        session: place.clone(),
        trashed: Some(name.to_string()),
        deferred_error,
    })
}

/// Fails if another process is writing to the index, whose row would not follow the files. Nothing is changed then, and
/// the caller may wait.
fn refuse_locked_index(home: &CodeliaHome) -> Result<(), CodeliaError> {
    if !home.has_locked_index() {
        return Ok(());
    }
    let owner = "the database is locked".to_owned();
    Err(StoreError::Busy { scope: home.files.database(), owner }.into())
}

fn drop_row(home: &CodeliaHome, id: &SessionId) -> Result<(), CodeliaError> {
    with_room(home, || {
        if home.index()?.is_some() {
            home.index_to_write()?.change(id.as_str(), &mut |_| None)?;
        }
        Ok(())
    })
}

/// Changes the index; on a full disk, with the space that the store has reserved for this.
fn with_room(
    home: &CodeliaHome,
    mut change: impl FnMut() -> Result<(), CodeliaError>,
) -> Result<(), CodeliaError> {
    loop {
        match change() {
            Err(CodeliaError::Index(error))
                if error.may_be_full() && home.store.release_reserve().unwrap_or(false) => {}
            outcome => return outcome,
        }
    }
}

fn row_text(row: &IndexRow) -> Vec<u8> {
    let IndexRow {
        session_id,
        updated_at,
        run_id,
        invoke_seq,
        schema_version,
        meta_json,
        message_count,
        last_user_message,
        workspace_root,
    } = row;
    let value = json!({
        "session_id": session_id, "updated_at": updated_at, "run_id": run_id, "invoke_seq": invoke_seq,
        "schema_version": schema_version, "meta_json": meta_json, "message_count": message_count,
        "last_user_message": last_user_message, "workspace_root": workspace_root,
    });
    format!("{value}\n").into_bytes()
}

/// Parses the kept row; an unreadable one is rebuilt from the log.
fn row_of(bytes: &[u8]) -> Option<IndexRow> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| value.get(key).and_then(Value::as_i64);
    Some(IndexRow {
        session_id: text("session_id")?,
        updated_at: text("updated_at")?,
        run_id: text("run_id"),
        invoke_seq: number("invoke_seq"),
        schema_version: number("schema_version")?,
        meta_json: text("meta_json"),
        message_count: number("message_count"),
        last_user_message: text("last_user_message"),
        workspace_root: text("workspace_root"),
    })
}

/// Restores a session from the trash, and updates the index.
fn restore(home: &CodeliaHome, name: &str) -> Result<SessionRef, CodeliaError> {
    let store = &home.store;
    let parsed = TrashName::parse_given(name)?;
    let (id, place) = (parsed.id.clone(), parsed.trash_path()?);
    let mut scopes = parts(&id)?;
    scopes.push(place.clone());
    let writer = store.lock(&scopes)?;
    let missing = || CodeliaError::input(format!("there is no session {name} in the trash"));
    let (back, _) = common::entry_sizes(store, std::slice::from_ref(&parsed), candidate_paths)?
        .pop()
        .ok_or_else(missing)?;
    let mut steps = Vec::new();
    for file in parts(&id)? {
        let now_at = original_path(&place, &file);
        if store.stat(&file).is_ok_and(|stat| stat.is_some()) {
            return Err(CodeliaError::Taken { id, path: file });
        }
        if store.stat(&now_at).is_ok_and(|stat| stat.is_some()) {
            steps.push(Step::Rename { from: now_at, to: file });
        }
    }
    let row = read_optional(store, &row_file(&place)?)?.and_then(|bytes| row_of(&bytes));
    refuse_locked_index(home)?;
    writer.commit(steps, Durability::Synced)?;
    with_room(home, || {
        if home.index()?.is_some() {
            // On a nearly full disk, only one connection at a time can use the index.
            let mut add_row = |known: Option<IndexRow>| known.or_else(|| row.clone());
            home.index_to_write()?.change(id.as_str(), &mut add_row)?;
            update_index_row(home, &home.find(&id, &mut Vec::new())?)?;
        }
        Ok(())
    })?;
    // Only the kept row is left in the trash, and the index has it again.
    writer.commit(vec![Step::Remove { path: place }], Durability::Buffered)?;
    writer.release()?;
    Ok(SessionRef { id: id.to_string(), path: back.path })
}

/// Removes sessions from the trash for good, if they are unchanged since they were listed.
fn purge(home: &CodeliaHome, wanted: &[TrashedSession]) -> Result<(), CodeliaError> {
    let (mut entries, mut kept_rows) = (Vec::new(), Vec::new());
    for trashed in wanted {
        let (entry, bytes) = TrashEntry::from_listed(trashed)?;
        // A row left behind by a crash would be a session without messages.
        if let Err(CodeliaError::NoSession { .. }) = home.find(&entry.name.id, &mut Vec::new())
            && drop_row(home, &entry.name.id).is_err()
        {
            kept_rows.push(entry.name.id.clone());
        }
        entries.push((entry, bytes));
    }
    common::purge(&home.store, &entries, candidate_paths)?;
    // On a full disk, the index may have room for these changes now.
    kept_rows.iter().try_for_each(|id| drop_row(home, id))
}

impl FormatLifecycle for CodeliaFormat {
    fn transitions(&self) -> &'static [Transition] {
        &[Transition::Trash]
    }

    fn transition(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        transition: Transition,
        now: Timestamp,
        _: &mut dyn FnMut(PackProgress),
    ) -> Result<TransitionOutcome, SessionError> {
        match transition {
            Transition::Trash => Ok(trash(&CodeliaHome::new(Arc::clone(store)), place, now)?),
            other => Err(other.unsupported(NAME)),
        }
    }

    fn archived(&self, _: &SessionRef) -> Option<SessionRef> {
        None
    }

    fn list_trash(&self, store: &Arc<dyn Store>) -> Result<Vec<TrashedSession>, SessionError> {
        Ok(common::list_sessions(store, candidate_paths).map_err(CodeliaError::from)?)
    }

    fn restore(&self, store: &Arc<dyn Store>, name: &str) -> Result<SessionRef, SessionError> {
        Ok(restore(&CodeliaHome::new(Arc::clone(store)), name)?)
    }

    fn purge(&self, store: &Arc<dyn Store>, listed: &[TrashedSession]) -> Result<(), SessionError> {
        Ok(purge(&CodeliaHome::new(Arc::clone(store)), listed)?)
    }
}
