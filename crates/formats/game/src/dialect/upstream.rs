//! The dialect of the upstream program: `UpstreamDialect`.

mod files;
mod increments;
mod lines;

use jiff::Timestamp;

use super::GameDialect;
use crate::branch::Truncation;
use crate::changes::{ChangeRecord, ChangeText, DeltaGroup, touches};
use crate::error::GameError;
use crate::meta::GameMeta;
use crate::paths::{LogFile, LogKind, SnapshotFile};
use crate::portable;
use crate::session::Session;
use crate::state::{GameState, Scope};
use crate::turn::{TurnInput, TurnLineParts, TurnRecord};
use crate::writer::turns::TurnDraft;
use crate::writer::{GameWriter, TURNS_PER_FILE};
use everturn_json::names::{FilePath, SceneId, SessionId};
use everturn_store::Step;
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::tree::{JsonTree, TextSlice, ValueKind};

pub(crate) use increments::IncrementTotals;

/// The member of the world that is the scene.
const SCENE: &str = "currentScene";

/// The rules of [`Dialect::Upstream`](super::Dialect::Upstream).
pub(super) struct UpstreamDialect;

impl GameDialect for UpstreamDialect {
    fn renames_full_logs(&self) -> bool {
        false
    }

    fn repeats_turns(&self) -> bool {
        true
    }

    fn logs_every_change(&self) -> bool {
        false
    }

    fn keeps_metadata(&self) -> bool {
        false
    }

    fn defers_states(&self) -> bool {
        false
    }

    fn has_scene_files(&self) -> bool {
        false
    }

    fn has_npcs_file(&self) -> bool {
        true
    }

    fn log_file(&self, _log: LogKind, _first: u64, turn: u64) -> LogFile {
        let start = (turn - 1) / TURNS_PER_FILE * TURNS_PER_FILE;
        LogFile::closed(start + 1, start + TURNS_PER_FILE)
    }

    fn snapshot_file(&self, turn: u64) -> SnapshotFile {
        SnapshotFile { turn, is_upstream: true }
    }

    fn event_id(&self, session: &SessionId, turn: u64, number: u64) -> String {
        format!("{session}-{turn}-{number}")
    }

    fn change_id(&self, session: &SessionId, turn: u64, sequence: u64) -> String {
        format!("{session}-{turn}-{sequence}")
    }

    fn line_count(&self, group: &DeltaGroup) -> u64 {
        group.deltas.len() as u64
    }

    fn turn_line(&self, parts: &TurnLineParts<'_>, input: &TurnInput) -> String {
        lines::turn_line(parts, input)
    }

    fn write_change(&self, change: &ChangeRecord, cause: &str, out: &mut String) {
        lines::write_change(change, cause, out);
    }

    fn read_change(&self, text: &ChangeText<'_>, slice: &TextSlice) -> Result<DeltaGroup, String> {
        lines::read_change(text, slice)
    }

    fn increment_totals(&self, session: &Session) -> Result<IncrementTotals, GameError> {
        IncrementTotals::of(session)
    }

    fn rewrite_group(&self, group: &mut DeltaGroup, special: &[bool], after: &JsonTree) {
        portable::rewrite_upstream(group, special, after);
    }

    fn check_delta(
        &self,
        _number: usize,
        _scope: Scope,
        _delta: &Delta,
        _state: &GameState,
    ) -> Result<(), GameError> {
        Ok(())
    }

    /// The scene is a part of the world.
    fn stored_group(&self, group: &DeltaGroup, _state: &GameState) -> DeltaGroup {
        if group.scope != Scope::Scene {
            return group.clone();
        }
        let in_world = |delta: &Delta| {
            let segments = delta.path.segments().iter().cloned();
            let path = DeltaPath::array(std::iter::once(Box::from(SCENE)).chain(segments));
            Delta { path, ..delta.clone() }
        };
        DeltaGroup { scope: Scope::World, deltas: group.deltas.iter().map(in_world).collect() }
    }

    fn scene(&self, state: &GameState) -> JsonTree {
        state.world.value_at(&[SCENE]).unwrap_or_else(JsonTree::null)
    }

    fn is_active_scene(&self, scene: &JsonTree) -> bool {
        let status = scene.string_at(&["status"]);
        scene.kind() == ValueKind::Object && status.is_none_or(|status| status == "active")
    }

    /// The scene of the turn before, unless this turn changes it.
    fn scene_after(&self, game: &GameWriter, changes: &[ChangeRecord]) -> Option<String> {
        if touches(changes, Scope::World, SCENE, 1) {
            return game.scene_id();
        }
        game.meta.text(&["current", "sceneId"])
    }

    /// IDs of scenes contain the time.
    fn next_scene_id(&self, game: &GameWriter, now: Timestamp) -> Result<SceneId, GameError> {
        let mut ids = (now.as_millisecond()..).map(|time| format!("scene-{time}"));
        let free = ids.find(|id| game.scene_id().as_ref() != Some(id));
        Ok(SceneId::parse(&free.unwrap_or_default())?)
    }

    fn prepare_writing(
        &self,
        _session: &mut Session,
        meta: &mut GameMeta,
        state: GameState,
        last: Option<&TurnRecord>,
    ) -> Result<GameState, GameError> {
        meta.put(&["current", "sceneId"], &last.and_then(|turn| turn.scene.as_deref()));
        Ok(state)
    }

    fn turn_files(
        &self,
        game: &mut GameWriter,
        _input: &TurnInput,
        _draft: &TurnDraft,
        scene: Option<&str>,
        _now: Timestamp,
    ) -> Result<Vec<Step>, GameError> {
        // The metadata is never written; the next turn uses this value.
        game.meta.put(&["current", "sceneId"], &scene);
        Ok(files::state_files(&game.session.dir, &game.state))
    }

    fn truncated_files(
        &self,
        _session: &Session,
        _cut: &Truncation,
        dir: &FilePath,
        state: &GameState,
        _meta: &mut GameMeta,
        _now: Timestamp,
    ) -> Result<Vec<Step>, GameError> {
        Ok(files::state_files(dir, state))
    }
}
