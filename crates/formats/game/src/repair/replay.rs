//! Computes states from the surviving data.

use std::collections::BTreeSet;

use crate::error::GameError;
use crate::session::Session;
use crate::snapshot::Snapshot;
use crate::state::{GameState, Scope};
use crate::survey::{SurveyResult, SurveyedStates};
use everturn_json::names::FilePath;
use everturn_value::tree::JsonTree;

/// A known state.
enum StateAnchor {
    Snapshot(FilePath),
    /// The state files.
    Stored,
}

/// Receives states.
pub(super) trait StateObserver {
    /// Receives the state after `turn`, one of the requested turns.
    fn state(&mut self, turn: u64, state: &GameState) -> Result<(), GameError>;

    /// Receives a scene as it is when it ends, or at the end of the log.
    fn scene(&mut self, scene: &JsonTree) -> Result<(), GameError>;
}

/// Computes the states of a session, from one known state to the next; returns the last.
///
/// Changes that do not apply are left out. Before the first known state nothing is reported. If none is known, there is
/// no state: nothing is invented.
pub(super) fn replay_states(
    session: &Session,
    facts: &SurveyResult,
    wanted: &BTreeSet<u64>,
    told: &mut dyn StateObserver,
) -> Result<Option<GameState>, GameError> {
    let mut anchors: Vec<(u64, StateAnchor)> = facts
        .good_snapshots
        .iter()
        .map(|(file, path)| (file.turn, StateAnchor::Snapshot(path.clone())))
        .collect();
    let end = session.turn.max(facts.recount.last().unwrap_or(0)).max(facts.recount.last_change);
    if facts.stored.verified {
        anchors.push((facts.stored.turn.unwrap_or(end).min(end), StateAnchor::Stored));
    }
    anchors.sort_by_key(|(turn, anchor)| (*turn, matches!(anchor, StateAnchor::Stored)));
    let mut walk = StateReplayer {
        session,
        stored: &facts.stored,
        anchors: anchors.into_iter().peekable(),
        wanted: wanted.iter().copied().collect::<Vec<_>>().into_iter().peekable(),
        state: None,
        since: 0,
        observer: told,
    };
    let mut rows = session.changes(0, u64::MAX - 1)?;
    let mut file = None;
    while let Some(row) = rows.next_line() {
        let (mut change, path, _) = row?;
        rows.findings.clear();
        if file.as_ref() != Some(&path) {
            walk.detach_state();
            file = Some(path);
        }
        walk.pass(change.turn)?;
        let since = walk.since;
        let Some(state) = walk.state.as_mut().filter(|_| change.turn > since) else {
            continue;
        };
        let before = (change.group.scope == Scope::Scene).then(|| state.scene.clone());
        if state.apply(&mut change.group).is_ok()
            && let Some(before) = before
            && before.string_at(&["sceneId"]) != state.scene.string_at(&["sceneId"])
        {
            walk.observer.scene(&before)?;
        }
    }
    walk.pass(u64::MAX)?;
    let state = walk.state.take();
    if let Some(state) = &state {
        walk.observer.scene(&state.scene)?;
    }
    Ok(state)
}

struct StateReplayer<'a> {
    session: &'a Session,
    stored: &'a SurveyedStates,
    anchors: std::iter::Peekable<std::vec::IntoIter<(u64, StateAnchor)>>,
    wanted: std::iter::Peekable<std::vec::IntoIter<u64>>,
    state: Option<GameState>,
    since: u64,
    observer: &'a mut dyn StateObserver,
}

impl StateReplayer<'_> {
    /// Passes the known and the requested states before the changes of `turn`.
    fn pass(&mut self, turn: u64) -> Result<(), GameError> {
        loop {
            let anchor = self.anchors.peek().map(|(at, _)| *at).filter(|at| *at < turn);
            let wanted = self.wanted.peek().copied().filter(|at| *at < turn);
            match (anchor, wanted) {
                (None, None) => return Ok(()),
                (Some(at), wanted) if wanted.is_none_or(|wanted| at <= wanted) => self.anchor()?,
                _ => {
                    self.wanted.next();
                    if let (Some(state), Some(at)) = (&self.state, wanted) {
                        self.observer.state(at, state)?;
                    }
                }
            }
        }
    }

    fn anchor(&mut self) -> Result<(), GameError> {
        let Some((turn, anchor)) = self.anchors.next() else { return Ok(()) };
        match anchor {
            StateAnchor::Snapshot(path) => {
                if let Ok(Snapshot { state, .. }) = self.session.load_snapshot(&path)? {
                    (self.state, self.since) = (Some(state), turn);
                }
            }
            StateAnchor::Stored => {
                let SurveyedStates { world, player, scene, npcs, .. } = self.stored.clone();
                let state = self.state.get_or_insert_with(GameState::empty);
                let parts = [
                    (Scope::World, world),
                    (Scope::Player, player),
                    (Scope::Scene, scene),
                    (Scope::Npcs, npcs),
                ];
                for (scope, tree) in parts {
                    if let Some(tree) = tree {
                        *state.get_mut(scope) = tree;
                    }
                }
                self.since = turn;
            }
        }
        Ok(())
    }

    /// Copies the state into texts of its own, so that those of the logs can be freed.
    fn detach_state(&mut self) {
        if let Some(state) = &mut self.state {
            state.detach_texts();
        }
    }
}
