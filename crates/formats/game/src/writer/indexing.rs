//! Keeps the indexes up to date with the turns, or rebuilds them from the logs.

use super::GameWriter;
use super::turns::replace;
use crate::changes::ChangeRecord;
use crate::error::GameError;
use crate::indexes::{EventFacts, GroupFacts, IndexKind, Indexes, TurnFacts};
use crate::paths::{LogFile, LogKind, join_names, scene_path};
use crate::scenes::{is_start, scene_id_of, started_scene};
use crate::session::Session;
use crate::state::Scope;
use crate::turn::Event;
use everturn_json::names::{FilePath, SceneId};
use everturn_store::{Step, StoreError, read_optional};
use everturn_value::delta::{Delta, DeltaOp};
use everturn_value::tree::JsonTree;

/// Returns the path of an index.
pub(crate) fn index_path(session: &FilePath, kind: IndexKind) -> FilePath {
    join_names(session, &["indexes", kind.file_name()])
}

/// Returns the name of a file without its directory.
fn name(path: &FilePath) -> String {
    path.name().map(|name| name.to_string()).unwrap_or_default()
}

/// A turn with its changes and the position of its line.
pub(crate) struct IndexedTurn<'a> {
    pub(crate) turn: u64,
    /// The file name, the line number counted from 0, and the offset of the line.
    pub(crate) place: (&'a str, u64, u64),
    pub(crate) events: &'a [Event],
    /// The changes, each with the name of its file.
    pub(crate) changes: &'a [(&'a ChangeRecord, &'a str)],
    pub(crate) scene: Option<&'a str>,
    /// The same if it is the first turn of a scene that has a file. Other programs start scenes without saying so.
    pub(crate) new_scene: Option<&'a str>,
}

/// Adds a turn and its changes, which may start or end a scene.
pub(crate) fn add_turn(indexes: &mut Indexes, row: &IndexedTurn<'_>) {
    let facts: Vec<EventFacts<'_>> = row
        .events
        .iter()
        .map(|event| EventFacts {
            id: &event.id,
            kind: &event.kind,
            summary: &event.description,
            significant: event.is_significant(),
        })
        .collect();
    let (turn, (file, line, offset)) = (row.turn, row.place);
    indexes.add_turn(&TurnFacts { turn, file, line, offset, events: &facts });
    for (change, file) in row.changes {
        let ops: Vec<&str> = change.group.deltas.iter().map(|delta| delta.op.as_str()).collect();
        let scope = change.group.scope.as_str();
        indexes.add_group(&GroupFacts { turn: change.turn, file, scope, ops: &ops });
    }
    let scene = row.changes.iter().rev().find_map(|(change, _)| started_scene(change));
    let scopes = row.changes.iter().filter(|(change, _)| change.group.scope == Scope::Scene);
    let deltas = scopes.flat_map(|(change, _)| &change.group.deltas);
    let wholes: Vec<&Delta> = deltas.filter(|delta| delta.path.segments().is_empty()).collect();
    // Scenes that an undo leaves or restores show their turns themselves.
    for side in wholes.iter().flat_map(|delta| [&delta.previous, &delta.value]).flatten() {
        let last = side.text_at(&["time", "turnRange", "1"]);
        if let Some((id, last)) = scene_id_of(side).zip(last) {
            indexes.set_scene_end(&id, last.parse().ok());
        }
    }
    if row.changes.iter().any(|(change, _)| ends_scene(change)) {
        match (scene, row.scene.filter(|_| wholes.is_empty())) {
            // The turn belongs to the scene that it starts; the previous one has ended.
            (Some(_), _) => indexes.end_newest_scene(turn),
            (None, Some(scene)) => indexes.end_scene(scene, turn),
            (None, None) => {}
        }
    }
    if let Some(scene) = scene {
        let text = |path: &[&str]| scene.string_at(path).unwrap_or_default();
        let place = text(&["location", "id"]);
        indexes.start_scene(&text(&["sceneId"]), &text(&["type"]), turn, &place);
    } else if row.events.iter().any(is_start) {
        indexes.start_scene(row.scene.unwrap_or_default(), "", turn, "");
    } else if let Some(id) = row.new_scene.filter(|_| wholes.is_empty()) {
        indexes.start_scene(id, "", turn, "");
    }
}

/// Returns whether a change ends the scene.
pub(super) fn ends_scene(change: &ChangeRecord) -> bool {
    let ends = |delta: &Delta| {
        let is_status = matches!(delta.path.segments(), [key] if &**key == "status");
        let value = delta.value.as_ref().map(JsonTree::to_line);
        delta.op == DeltaOp::Set && is_status && value.as_deref() == Some("\"completed\"")
    };
    change.group.scope == Scope::Scene && change.group.deltas.iter().any(ends)
}

/// Loads the indexes of a session. Returns `None` if they are missing or unusable.
pub(crate) fn load(session: &Session) -> Result<Option<Indexes>, StoreError> {
    let mut texts: [Vec<u8>; 4] = Default::default();
    for (kind, text) in IndexKind::ALL.into_iter().zip(&mut texts) {
        match session.store.read(&index_path(&session.dir, kind), 0..u64::MAX) {
            Ok(bytes) => *text = bytes,
            Err(StoreError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Indexes::parse(session.id.as_str(), &texts).ok())
}

/// Adds the turns after the last indexed one from the logs.
pub(crate) fn catch_up(session: &Session, indexes: &mut Indexes) -> Result<(), GameError> {
    let first = indexes.through() + 1;
    let mut changes = session.changes(first, session.turn)?;
    let mut next = changes.next_line().transpose()?;
    let mut turns = session.turns(first, session.turn)?;
    while let Some(row) = turns.next_line() {
        let (turn, path, line) = row?;
        let mut made = Vec::new();
        while let Some((change, path, _)) = next.take_if(|(change, ..)| change.turn <= turn.turn) {
            made.push((change, name(&path)));
            next = changes.next_line().transpose()?;
        }
        let made: Vec<_> = made.iter().map(|(change, file)| (change, file.as_str())).collect();
        let is_new = |id: &&str| !indexes.has_scene(id);
        let new_scene = match turn.scene.as_deref().filter(is_new) {
            Some(id) if session.has_scene_file(id)? => Some(id),
            _ => None,
        };
        let row = IndexedTurn {
            turn: turn.turn,
            place: (&name(&path), line.line.saturating_sub(1), line.offset),
            events: &turn.events(),
            changes: &made,
            scene: turn.scene.as_deref(),
            new_scene,
        };
        add_turn(indexes, &row);
        if let Some(id) = new_scene {
            describe_scene(session, indexes, id)?;
        }
    }
    Ok(())
}

/// Adds what the file of a scene says about it, if the changes do not.
fn describe_scene(session: &Session, indexes: &mut Indexes, id: &str) -> Result<(), GameError> {
    let path = SceneId::parse(id).ok().and_then(|id| scene_path(&session.dir, &id).ok());
    let Some(path) = path else { return Ok(()) };
    let text =
        read_optional(&session.store, &path)?.and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some(scene) = text.and_then(|text| JsonTree::parse(text).ok()) {
        let text = |path: &[&str]| scene.string_at(path).unwrap_or_default();
        indexes.describe_scene(id, &text(&["type"]), &text(&["location", "id"]));
    }
    Ok(())
}

/// Rebuilds the indexes from the logs and the names of the snapshots.
pub(crate) fn rebuild(session: &Session) -> Result<Indexes, GameError> {
    let mut indexes = Indexes::new(session.id.as_str());
    catch_up(session, &mut indexes)?;
    add_snapshots(session, &mut indexes, None)?;
    Ok(indexes)
}

/// Adds the snapshots after the last listed one.
fn add_snapshots(
    session: &Session,
    indexes: &mut Indexes,
    known: Option<u64>,
) -> Result<(), GameError> {
    let snapshots = &session.files()?.snapshots;
    for (file, _) in snapshots.iter().filter(|(file, _)| Some(file.turn) > known) {
        indexes.add_snapshot(&file.id(), file.turn, &file.render());
    }
    Ok(())
}

impl GameWriter {
    /// Returns the indexes up to the last turn; loads or rebuilds them if necessary.
    pub(crate) fn indexes(&mut self) -> Result<&mut Indexes, GameError> {
        let indexes = match self.indexes.take() {
            Some(indexes) => indexes,
            None => self.read_indexes()?,
        };
        Ok(self.indexes.insert(indexes))
    }

    /// Returns the steps that write the indexes.
    pub(crate) fn index_steps(&mut self) -> Result<Vec<Step>, GameError> {
        let texts = self.indexes()?.texts();
        let dir = &self.session.dir;
        let step =
            |(kind, text): (IndexKind, String)| replace(index_path(dir, kind), text.into_bytes());
        Ok(texts.into_iter().map(step).collect())
    }

    fn read_indexes(&self) -> Result<Indexes, GameError> {
        // If files were renamed since the indexes were written, rebuilding is simpler than tracking the names.
        let begun = self.turns.first.max(self.deltas.first);
        match load(&self.session)? {
            Some(mut indexes)
                if indexes.through() + 1 >= begun && indexes.through() <= self.turn() =>
            {
                catch_up(&self.session, &mut indexes)?;
                let known = indexes.last_snapshot();
                add_snapshots(&self.session, &mut indexes, known)?;
                Ok(indexes)
            }
            _ => rebuild(&self.session),
        }
    }

    /// Adds a stored turn to the indexes, if they are loaded.
    pub(super) fn index_turn(
        &mut self,
        turn: u64,
        offset: u64,
        firsts: (u64, u64),
        events: &[Event],
        changes: &[ChangeRecord],
        scene: Option<&str>,
    ) {
        let Some(indexes) = &mut self.indexes else { return };
        let (turns, deltas) = firsts;
        let file = LogFile::current(LogKind::Turns, turns).render(LogKind::Turns);
        let delta_file = LogFile::current(LogKind::Deltas, deltas).render(LogKind::Deltas);
        let changes: Vec<_> = changes.iter().map(|change| (change, delta_file.as_str())).collect();
        let place = (file.as_str(), turn - turns, offset);
        let new_scene = None;
        add_turn(
            indexes,
            &IndexedTurn { turn, place, events, changes: &changes, scene, new_scene },
        );
        if self.turns.first > turns {
            indexes.rename_turns(&file, &LogFile::closed(turns, turn).render(LogKind::Turns));
        }
        if self.deltas.first > deltas {
            indexes
                .rename_deltas(&delta_file, &LogFile::closed(deltas, turn).render(LogKind::Deltas));
        }
        if scene.is_some_and(|id| !indexes.has_scene(id)) {
            // Whether it exists is seen when the indexes are loaded again.
            self.indexes = None;
        }
    }
}
