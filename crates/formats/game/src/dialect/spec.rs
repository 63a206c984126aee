//! The documented dialect: `SpecDialect`.

mod files;
mod lines;

use jiff::Timestamp;

use super::GameDialect;
use crate::branch::Truncation;
use crate::changes::{ChangeRecord, ChangeText, DeltaGroup};
use crate::error::GameError;
use crate::meta::{GameMeta, with_first};
use crate::paths::{LogFile, LogKind, SnapshotFile, scene_name, scene_path, short};
use crate::portable;
use crate::scenes::scene_id_of;
use crate::session::Session;
use crate::state::{GameState, STAMP, Scope, unstamped};
use crate::turn::{TurnInput, TurnLineParts, TurnRecord};
use crate::writer::GameWriter;
use crate::writer::turns::TurnDraft;
use everturn_json::names::{FilePath, SceneId, SessionId};
use everturn_store::Step;
use everturn_value::delta::Delta;
use everturn_value::tree::{JsonTree, TextSlice, ValueKind};

/// The field of a state that names its session.
const SESSION: &str = "sessionId";

/// The rules of [`Dialect::Spec`](super::Dialect::Spec).
pub(super) struct SpecDialect;

impl GameDialect for SpecDialect {
    fn renames_full_logs(&self) -> bool {
        true
    }

    fn repeats_turns(&self) -> bool {
        false
    }

    fn logs_every_change(&self) -> bool {
        true
    }

    fn keeps_metadata(&self) -> bool {
        true
    }

    fn defers_states(&self) -> bool {
        true
    }

    fn has_scene_files(&self) -> bool {
        true
    }

    fn has_npcs_file(&self) -> bool {
        false
    }

    fn log_file(&self, log: LogKind, first: u64, _turn: u64) -> LogFile {
        LogFile::current(log, first)
    }

    fn snapshot_file(&self, turn: u64) -> SnapshotFile {
        SnapshotFile { turn, is_upstream: false }
    }

    fn event_id(&self, session: &SessionId, turn: u64, number: u64) -> String {
        format!("{}-{turn}-{number}", short(session.as_str()))
    }

    fn change_id(&self, session: &SessionId, turn: u64, sequence: u64) -> String {
        format!("delta-{}-{turn}-{sequence}", short(session.as_str()))
    }

    fn line_count(&self, _group: &DeltaGroup) -> u64 {
        1
    }

    fn turn_line(&self, parts: &TurnLineParts<'_>, input: &TurnInput) -> String {
        lines::turn_line(parts, input)
    }

    fn write_change(&self, change: &ChangeRecord, _cause: &str, out: &mut String) {
        lines::write_change(change, out);
    }

    fn read_change(&self, text: &ChangeText<'_>, slice: &TextSlice) -> Result<DeltaGroup, String> {
        lines::read_change(text, slice)
    }

    fn check_delta(
        &self,
        number: usize,
        scope: Scope,
        delta: &Delta,
        state: &GameState,
    ) -> Result<(), GameError> {
        if scope == Scope::Npcs {
            let scopes = "known scopes: world, player, scene";
            return Err(GameError::input(format!(
                "{scope} is not a scope of this session; {scopes}"
            )));
        }
        let first = delta.path.segments().first();
        if scope != Scope::Scene && first.is_some_and(|first| &**first == STAMP) {
            return Err(GameError::input(format!(
                "change {number} of scope {scope}: {STAMP} is the write time of the file, and is not part of \
                 the state"
            )));
        }
        let id = |tree: &JsonTree| tree.value_at(&[SESSION]);
        let own =
            state.get(scope).filter(|_| first.is_none() && scope != Scope::Scene).and_then(id);
        let other = delta.value.as_ref().and_then(id).zip(own);
        if first.is_some_and(|first| &**first == SESSION)
            || other.is_some_and(|(given, own)| !given.is_same(&own))
        {
            return Err(GameError::input(format!(
                "change {number} of scope {scope}: {SESSION} names the session that the file belongs to, and cannot \
                 be changed"
            )));
        }
        Ok(())
    }

    fn rewrite_group(&self, group: &mut DeltaGroup, special: &[bool], after: &JsonTree) {
        portable::rewrite(group, special, after);
    }

    /// The time at which a file was written is not part of the state, and a whole state without the ID of its session
    /// keeps it.
    fn stored_group(&self, group: &DeltaGroup, state: &GameState) -> DeltaGroup {
        let is_stamped = matches!(group.scope, Scope::World | Scope::Player);
        let id = state.get(group.scope).and_then(|state| state.value_at(&[SESSION]));
        let keep = |value: JsonTree| match &id {
            Some(id) => with_first(&value, &[(SESSION, id.clone())]),
            None => value,
        };
        let stored = |delta: &Delta| {
            if is_stamped && delta.path.segments().is_empty() {
                let value = delta.value.as_ref().map(unstamped);
                let is_object = |value: &JsonTree| value.kind() == ValueKind::Object;
                let value = match value {
                    Some(value) if is_object(&value) => Some(keep(value)),
                    other => other,
                };
                Delta { value, ..delta.clone() }
            } else {
                delta.clone()
            }
        };
        DeltaGroup { scope: group.scope, deltas: group.deltas.iter().map(stored).collect() }
    }

    fn scene(&self, state: &GameState) -> JsonTree {
        state.scene.clone()
    }

    fn is_active_scene(&self, scene: &JsonTree) -> bool {
        scene.string_at(&["status"]).as_deref() == Some("active")
    }

    /// The scene of the state. If the state has none, it is the last scene that a turn named, unless this turn has
    /// removed the scene.
    fn scene_after(&self, game: &GameWriter, changes: &[ChangeRecord]) -> Option<String> {
        let replaces_scene = |change: &ChangeRecord| {
            let mut paths = change.group.deltas.iter().map(|delta| delta.path.segments());
            change.group.scope == Scope::Scene && paths.any(<[_]>::is_empty)
        };
        let own = scene_id_of(&game.state.scene);
        if changes.iter().any(replaces_scene) {
            return own;
        }
        own.or_else(|| game.meta.text(&["current", "sceneId"]))
    }

    /// IDs of scenes are numbered.
    fn next_scene_id(&self, game: &GameWriter, _now: Timestamp) -> Result<SceneId, GameError> {
        let mut count = game.meta.number(&["stats", "totalScenes"]).unwrap_or(0);
        loop {
            count += 1;
            let id = SceneId::parse(&scene_name(count))?;
            let place = scene_path(&game.session.dir, &id)?;
            if game.session.store.stat(&place)?.is_none() {
                return Ok(id);
            }
        }
    }

    fn prepare_writing(
        &self,
        session: &mut Session,
        meta: &mut GameMeta,
        state: GameState,
        _last: Option<&TurnRecord>,
    ) -> Result<GameState, GameError> {
        let state = state.unstamped();
        let is_foreign = session.noted_states().is_none();
        if is_foreign || meta.turn() < Some(session.turn) {
            files::recount(session, meta, &state)?;
        }
        if is_foreign {
            // Written with the next turn, together with the states.
            meta.put_tree(&["stateFiles"], JsonTree::object());
        }
        session.meta = Some(meta.clone());
        Ok(state)
    }

    fn turn_files(
        &self,
        game: &mut GameWriter,
        input: &TurnInput,
        draft: &TurnDraft,
        scene: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<Step>, GameError> {
        files::turn_files(game, input, draft, scene, now)
    }

    fn truncated_files(
        &self,
        session: &Session,
        cut: &Truncation,
        dir: &FilePath,
        state: &GameState,
        meta: &mut GameMeta,
        now: Timestamp,
    ) -> Result<Vec<Step>, GameError> {
        files::truncated_files(session, cut, dir, state, meta, now)
    }
}
