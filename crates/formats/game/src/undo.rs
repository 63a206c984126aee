//! Undoes turns by appending a turn with the inverse changes.

use jiff::Timestamp;

use super::changes::{ChangeRecord, DeltaGroup};
use super::error::GameError;
use super::meta::tree;
use super::scenes::{SceneEnd, scene_id_of, scenes_at};
use super::state::{GameState, Scope};
use super::turn::{TurnInput, TurnRecord};
use super::writer::turns::TurnSource;
use super::writer::{GameWriter, TurnOutcome};
use everturn_value::delta::{Delta, DeltaError, DeltaPath};
use everturn_value::tree::JsonTree;

impl GameWriter {
    /// Undoes the last `count` turns: a new turn restores the state before them.
    ///
    /// The log only grows, so an undo can be undone like any other turn.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use everturn_game::{GameWriter, NewGame, TurnInput};
    /// use everturn_json::names::SessionId;
    /// use everturn_store::{MemoryStore, Store};
    ///
    /// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    /// let now = "2026-01-01T10:00:00Z".parse()?;
    /// let id = SessionId::parse("session-abc123")?;
    /// let mut game = GameWriter::create(store, &NewGame::new(id), now)?;
    /// let before = game.state().clone();
    /// let turn = r#"{"actor": "player", "deltas": [
    ///     {"scope": "player", "deltas": [{"op": "set", "path": "hp", "value": 3}]}]}"#;
    /// game.append(&TurnInput::parse(turn)?, now)?;
    /// assert_eq!(game.undo(1, now)?.turn, 2);
    /// assert!(game.state().is_same(&before));
    /// game.undo(1, now)?;
    /// assert_eq!(game.state().player.text_at(&["hp"]).as_deref(), Some("3"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn undo(&mut self, count: u64, now: Timestamp) -> Result<TurnOutcome, GameError> {
        let last = self.session.turn;
        let turns = last.saturating_sub(self.session.first_turn()?);
        if count == 0 {
            return Err(GameError::input("the number of turns to undo must be at least 1"));
        }
        if count > turns {
            return Err(GameError::TooFar { asked: count, turns });
        }
        let target = last - count;
        let mut input = TurnInput::new("system");
        for group in self.inverse_to(target)? {
            input = input.changing(group.scope, group.deltas);
        }
        let first = target + 1;
        let text = match count {
            1 => format!("Turn {last} was undone."),
            _ => format!("Turns {first} to {last} were undone."),
        };
        input.events.push(tree(&serde_json::json!({"type": "undo", "description": text})));
        input
            .state_changes
            .push(tree(&serde_json::json!({"type": "undo", "turns": [first, last]})));
        let turn = self.turn_line(target)?;
        let game_time = turn.as_ref().and_then(|turn| turn.raw.value_at(&["gameTime"]));
        input.game_time = Some(game_time.unwrap_or_else(JsonTree::null));
        if !self.session.rules().has_scene_files() {
            // Restoring the state does not restore the scene's ID.
            input.scene = turn.and_then(|turn| turn.scene);
        }
        self.append_from(TurnSource::Undo, &input, now)
    }

    /// Returns the line of a turn; of several, the last.
    fn turn_line(&self, turn: u64) -> Result<Option<TurnRecord>, GameError> {
        self.session.turns(turn, turn)?.last().transpose()
    }

    /// Returns the changes that lead from the current state to that after `target`, in the order of application.
    fn inverse_to(&self, target: u64) -> Result<Vec<DeltaGroup>, GameError> {
        let rows = self.session.changes(target + 1, self.session.turn)?;
        let changes: Vec<ChangeRecord> = rows.collect::<Result<_, _>>()?;
        let mut state = self.state.clone();
        let no_way = |reason: String| GameError::NoState { turn: target, reason };
        let mut groups = revert_changes(&mut state, &changes)
            .map_err(|(id, error)| no_way(format!("change {id} cannot be reverted: {error}")))?;
        let known = self.session.state_at(target)?.state;
        if !state.scene.is_same(&known.scene) || groups.iter().any(replaces_scene) {
            groups.retain(|group| group.scope != Scope::Scene);
            groups.extend(self.scene_back(&known.scene, target)?);
            state.scene.clone_from(&known.scene);
        }
        if !state.is_same(&known) {
            return Err(no_way(
                "reverting the changes since then gives a different state".to_owned(),
            ));
        }
        Ok(groups)
    }
}

impl GameWriter {
    /// Returns the changes that lead back to the scene after `target`. The current scene does not stay active: it gets
    /// the form that it had then, or ends if it had not started.
    fn scene_back(&self, scene: &JsonTree, target: u64) -> Result<Vec<DeltaGroup>, GameError> {
        let current = &self.state.scene;
        if current.is_same(scene) {
            return Ok(Vec::new());
        }
        let whole = |scene: JsonTree| Delta::set(DeltaPath::root(), scene);
        let mut deltas = Vec::new();
        let id = scene_id_of(current).filter(|id| scene_id_of(scene).as_ref() != Some(id));
        if let Some(id) = id {
            match scenes_at(&self.session, target)?.remove(&id) {
                Some(then) if then.is_same(current) => {}
                Some(then) => deltas.push(whole(then)),
                None if self.session.rules().is_active_scene(current) => {
                    let outcome = Some("Undone.".to_owned());
                    let end = SceneEnd { outcome, ..SceneEnd::default() };
                    deltas = end.deltas(current, self.turn() + 1, &JsonTree::null());
                }
                None => {}
            }
        }
        // Two groups: a scene is left in the form that it has after the first.
        let groups = [deltas, vec![whole(scene.clone())]].into_iter();
        let groups = groups.filter(|deltas| !deltas.is_empty());
        Ok(groups.map(|deltas| DeltaGroup { scope: Scope::Scene, deltas }).collect())
    }
}

/// Returns whether a group of changes sets the whole scene.
fn replaces_scene(group: &DeltaGroup) -> bool {
    let mut deltas = group.deltas.iter();
    group.scope == Scope::Scene && deltas.any(|delta| delta.path.segments().is_empty())
}

/// Reverts all of `changes`, last first, and returns the inverses; fails with the ID of one that has none.
fn revert_changes<'c>(
    state: &mut GameState,
    changes: &'c [ChangeRecord],
) -> Result<Vec<DeltaGroup>, (&'c str, DeltaError)> {
    let mut groups: Vec<DeltaGroup> = Vec::new();
    for change in changes.iter().rev() {
        let scope = change.group.scope;
        for delta in change.group.deltas.iter().rev() {
            let back = state.inverse(scope, delta).map_err(|error| (change.id.as_str(), error))?;
            back.apply(state.get_mut(scope)).map_err(|error| (change.id.as_str(), error))?;
            match groups.last_mut().filter(|group| group.scope == scope) {
                Some(group) => group.deltas.push(back),
                None => groups.push(DeltaGroup { scope, deltas: vec![back] }),
            }
        }
    }
    Ok(groups)
}
