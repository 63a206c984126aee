//! Imports legacy sessions, which consist of one file: [`Migration`].
//!
//! Only a few names of the older design are known: `frames`, `checkpoints`, `worldState` and the player. Fields that
//! look like one of these are used as such, and everything else is preserved: other fields of a frame in the field
//! `frame` of its turn, other fields of the document in the field `migratedFrom` of the metadata. Each of them gets a
//! [`MigrationNote`].

mod checkpoints;
mod deltas;
mod fields;
mod frames;
mod texts;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::branch::index_steps;
use super::dialect::Dialect;
use super::error::GameError;
use super::files::GameFiles;
use super::meta::{GameMeta, NewGame, stamp, tree};
use super::paths::{DocumentFile, GameStatus, archive, join_names};
use super::session::{Session, find};
use super::state::GameState;
use super::survey::{GameLocation, UnreadablePolicy, expected_metadata, survey};
use everturn_json::finding::Finding;
use everturn_json::names::{FilePath, SessionId};
use everturn_session::finding_sink::FindingSink;
use everturn_session::repair::content_mark;
use everturn_store::{Durability, FileMode, Precondition, Step, Store, staging_dir};
use everturn_value::document;
use everturn_value::tree::{JsonTree, ValueKind};

use checkpoints::LegacyCheckpoints;
use fields::LegacyFields;
use frames::LegacyFrames;

/// The dialect of migrated sessions.
const DIALECT: Dialect = Dialect::Spec;

/// A note about a legacy field that has no counterpart in a session and was kept elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationNote {
    /// Its path in the legacy document, such as `frames.3.mood`.
    pub path: String,
    /// The reason, and where it was kept.
    pub why: String,
}

/// A legacy session, ready to be imported.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_game::{Migration, Session};
/// use everturn_store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let old = br#"{"sessionId": "old-1", "worldState": {}, "player": {}, "frames": [{"text": "You go."}]}"#;
/// let migration = Migration::read(old, None, now)?;
/// migration.import(&store, now)?;
/// assert_eq!(Session::open(store, &migration.id)?.turn(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Migration {
    /// The ID of the session.
    pub id: SessionId,
    /// The status of the session.
    pub status: GameStatus,
    /// How many frames became turns.
    pub turns: u64,
    /// How many checkpoints became snapshots.
    pub snapshots: u64,
    /// Fields that were kept elsewhere, or interpreted in a way worth knowing.
    pub notes: Vec<MigrationNote>,
    /// Identifies the source.
    source: String,
    meta: GameMeta,
    /// The files of the session by name, without the metadata.
    files: BTreeMap<String, Vec<u8>>,
}

/// The result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportOutcome {
    /// A new session was created.
    New,
    /// The same source was imported before; nothing was changed.
    Already,
}

/// The maximum size of one commit in bytes.
const BATCH: usize = 32 << 20;

impl Migration {
    /// Reads a legacy session. `id` overrides the ID in the document.
    pub fn read(
        bytes: &[u8],
        id: Option<&SessionId>,
        now: Timestamp,
    ) -> Result<Migration, GameError> {
        let document = document::Document::parse(bytes)
            .map_err(|error| GameError::input(format!("not a legacy session: {error}")))?;
        let root = JsonTree::parse(document.text().trim_start_matches('\u{feff}'))
            .map_err(|bad| GameError::input(format!("not a legacy session: not JSON: {bad}")))?;
        if root.kind() != ValueKind::Object {
            let what = format!("not a legacy session: it is {}, not an object", root.kind());
            return Err(GameError::input(what));
        }
        let mut fields = LegacyFields::of(&root, "");
        if !fields.has(&["frames", "checkpoints", "worldState"]) {
            let what =
                "not a legacy session: it has neither frames nor checkpoints nor a worldState";
            return Err(GameError::input(what));
        }
        let source = content_mark(bytes);
        let id = session_id(&mut fields, id, &source)?;
        archive(&id)?;
        fields::migration(&id, source, fields, now)
    }

    /// Creates the session in a store, invisible until it is complete. The same source is imported only once.
    pub fn import(
        &self,
        store: &Arc<dyn Store>,
        now: Timestamp,
    ) -> Result<ImportOutcome, GameError> {
        let place = staging_dir().join(self.id.as_name());
        let mut scopes: Vec<FilePath> =
            GameStatus::ALL.iter().map(|status| status.session(&self.id)).collect();
        scopes.push(place.clone());
        let writer = store.lock(&scopes)?;
        let done = self.build(store, &place, &*writer, now);
        let released = writer.release();
        let done = done?;
        released?;
        Ok(done)
    }

    fn build(
        &self,
        store: &Arc<dyn Store>,
        place: &FilePath,
        writer: &dyn everturn_store::Writer,
        now: Timestamp,
    ) -> Result<ImportOutcome, GameError> {
        if let Some(status) = find(store, &self.id)? {
            return self.find_existing(store, status);
        }
        let taken = archive(&self.id)?;
        if store.stat(&taken)?.is_some() {
            return Err(GameError::Taken { id: self.id.clone(), place: taken });
        }
        let commit = |steps: Vec<Step>| writer.commit(steps, Durability::Synced);
        if store.stat(place)?.is_some() {
            // Left over from an interrupted import.
            commit(vec![Step::Remove { path: place.clone() }])?;
        }
        let (mut steps, mut size) = (Vec::new(), 0);
        for (name, bytes) in &self.files {
            size += bytes.len();
            steps.push(new_file(place, name, bytes.clone()));
            if size > BATCH {
                commit(std::mem::take(&mut steps))?;
                size = 0;
            }
        }
        if !steps.is_empty() {
            commit(steps)?;
        }
        let meta = self.counted_meta(store, place, now)?;
        let mut steps = vec![new_file(place, DocumentFile::Meta.as_str(), meta.to_bytes())];
        steps.extend(index_steps(store, &self.id, self.status, place, &steps)?);
        commit(steps)?;
        let to = self.status.session(&self.id);
        commit(vec![Step::Rename { from: place.clone(), to }])?;
        Ok(ImportOutcome::New)
    }

    /// Returns the metadata with the totals of the files.
    fn counted_meta(
        &self,
        store: &Arc<dyn Store>,
        dir: &FilePath,
        now: Timestamp,
    ) -> Result<GameMeta, GameError> {
        let mut session =
            Session::new(Arc::clone(store), &self.id, self.status, dir.clone(), DIALECT);
        session.meta = Some(self.meta.clone());
        let id = Some(self.id.to_string());
        let place = GameLocation { dir: dir.clone(), id, status: Some(self.status) };
        let facts = survey(&session, &place, UnreadablePolicy::Refuse, &mut NullSink)?;
        let turn = facts.recount.last().unwrap_or(0);
        let mut meta = self.meta.clone();
        for (path, value) in expected_metadata(&place, &GameFiles::list(store, dir)?, &facts, turn)
        {
            meta.put_tree(path, value);
        }
        meta.put(&["stats", "playTimeMs"], &facts.recount.played);
        meta.put(&["stats", "playTimeMinutes"], &(facts.recount.played / 60_000));
        if let Some(time) = facts.recount.last_time {
            meta.put(&["stats", "lastTurnTime"], &time);
        }
        meta.put(&["migratedFrom", "time"], &stamp(now));
        Ok(meta)
    }

    /// Checks whether the existing session came from the same source.
    fn find_existing(
        &self,
        store: &Arc<dyn Store>,
        status: GameStatus,
    ) -> Result<ImportOutcome, GameError> {
        let session = Session::open(Arc::clone(store), &self.id)?;
        let source = session.meta.as_ref().and_then(|meta| meta.text(&["migratedFrom", "source"]));
        if source.as_ref() == Some(&self.source) {
            return Ok(ImportOutcome::Already);
        }
        Err(GameError::Taken { id: self.id.clone(), place: status.session(&self.id) })
    }
}

fn new_file(place: &FilePath, name: &str, bytes: Vec<u8>) -> Step {
    let names: Vec<&str> = name.split('/').collect();
    let file = join_names(place, &names);
    Step::Replace { file, expect: Precondition::Absent, bytes, mode: FileMode::Default }
}

struct NullSink;

impl FindingSink for NullSink {
    fn finding(&mut self, _: Finding) {}

    fn file(&mut self, _: &FilePath) {}
}

/// Returns the ID: the requested one, the one in the document, or one derived from its content.
fn session_id(
    fields: &mut LegacyFields,
    asked: Option<&SessionId>,
    source: &str,
) -> Result<SessionId, GameError> {
    let own = fields.take_string(&["sessionId", "id", "session"]);
    match (asked, own) {
        (Some(asked), Some((key, own))) => {
            if asked.as_str() != own {
                fields.keep_as(&key, tree(&own), "the session has a new id");
            }
            Ok(asked.clone())
        }
        (Some(asked), None) => Ok(asked.clone()),
        (None, Some((_, own))) => Ok(SessionId::parse(&own)?),
        (None, None) => {
            let sum = source.rsplit(':').next().unwrap_or_default();
            Ok(SessionId::parse(&format!("session-{sum}"))?)
        }
    }
}

/// Returns the state of a legacy session, with the IDs that states have now.
fn state(
    id: &SessionId,
    world: Option<JsonTree>,
    player: Option<JsonTree>,
    scene: Option<JsonTree>,
) -> Result<GameState, GameError> {
    let object = |tree: Option<JsonTree>| tree.filter(|tree| tree.kind() == ValueKind::Object);
    let new = NewGame { world: object(world), player: object(player), ..NewGame::new(id.clone()) };
    Ok(GameState { scene: object(scene).unwrap_or_else(JsonTree::null), ..new.state()? })
}
