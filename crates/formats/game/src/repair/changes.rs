//! Repairs the change log: assigns each change to its turn, drops duplicates, and makes them lead to every known state.
//!
//! A change that does not apply because an earlier one is lost is kept: its own previous values are restored before it.
//! If it has none, its line stays without effect, and its changes are stored beside it. Where the changes then lead to another state than a good snapshot or the
//! state files, those win: a change that leads there is added at the turn of that state.

use std::collections::{BTreeMap, HashSet};
use std::iter::Peekable;
use std::vec::IntoIter;

use super::logs::{PlannedLine, SurvivingRecord};
use super::turns::RecoveredTurn;
use crate::changes::{ChangeRecord, DeltaGroup};
use crate::error::GameError;
use crate::paths::SnapshotFile;
use crate::session::Session;
use crate::snapshot::read_with_facts;
use crate::state::{GameState, Scope, unstamped};
use crate::survey::{SurveyResult, id_parts};
use crate::turn::{OWN, UNFIT};
use everturn_json::names::FilePath;
use everturn_value::delta::{Delta, DeltaOp, DeltaPath, apply_group, diff};
use everturn_value::tree::JsonTree;

/// A surviving change.
pub(super) struct NotedChange {
    /// The turn it belongs to.
    pub(super) turn: u64,
    pub(super) change: ChangeRecord,
    text: String,
    file: usize,
}

/// Assigns each change to its turn by its turn number, ID and event. Duplicates are left out.
pub(super) fn assign_change_turns(
    found: Vec<SurvivingRecord<ChangeRecord>>,
    known: &dyn Fn(u64) -> bool,
) -> Vec<NotedChange> {
    let said: Vec<u64> = found.iter().map(|found| found.record.turn).collect();
    let mut seen: HashSet<String> = HashSet::new();
    let mut all: Vec<NotedChange> = Vec::new();
    for (at, SurvivingRecord { record, text, file }) in found.into_iter().enumerate() {
        if !seen.insert(text.clone()) {
            continue;
        }
        let before = at.checked_sub(1).and_then(|at| said.get(at)).copied().unwrap_or(0);
        let after = said.get(at + 1).copied().unwrap_or(u64::MAX);
        let fits = |turn: u64| turn >= before && turn <= after && known(turn);
        let by_id = id_parts(&record.id).map(|(turn, _)| turn);
        let by_event = record.event.as_deref().and_then(id_parts).map(|(turn, _)| turn);
        let turn = match (by_id, by_event) {
            (Some(id), Some(event)) if id == event => id,
            (Some(id), None) if !fits(record.turn) && fits(id) => id,
            (Some(id), Some(event)) if id != record.turn && event != record.turn => {
                [record.turn, id, event].into_iter().find(|turn| fits(*turn)).unwrap_or(record.turn)
            }
            _ => record.turn,
        };
        all.push(NotedChange { turn, change: record, text, file });
    }
    all.sort_by_key(|noted| noted.turn);
    all
}

/// Replays the changes from state to state, and returns the lines to be written.
pub(super) fn repair_changes(
    session: &Session,
    facts: &SurveyResult,
    noted: Vec<NotedChange>,
    told: &BTreeMap<u64, RecoveredTurn>,
) -> Result<Vec<PlannedLine>, GameError> {
    let mut anchors: Vec<SnapshotAnchor> = Vec::new();
    for (file, path) in &facts.good_snapshots {
        anchors.push((file.turn, Some((*file, path.clone()))));
    }
    let stored = facts.stored.turn.filter(|_| facts.stored.verified);
    anchors.extend(stored.map(|turn| (turn, None)));
    anchors.sort_by_key(|(turn, snapshot)| (*turn, snapshot.is_none()));
    let mut walk = ChangeReplayer {
        session,
        facts,
        anchors: anchors.into_iter().peekable(),
        state: None,
        since: 0,
        lines: Vec::new(),
        ids: HashSet::new(),
        turn: 0,
        time: None,
    };
    for mut noted in noted {
        walk.pass(noted.turn)?;
        if noted.turn != walk.turn {
            (walk.turn, walk.ids) = (noted.turn, HashSet::new());
        }
        walk.name(&mut noted, told);
        walk.time = noted.change.time.or(walk.time);
        let text = if walk.fit(&noted.change.group, noted.turn) {
            noted.text
        } else {
            set_aside(&noted.text)
        };
        let (turn, file) = (noted.turn, Some(noted.file));
        walk.lines.push(PlannedLine { turn, text, file });
    }
    walk.pass(u64::MAX)?;
    Ok(walk.lines)
}

/// A known state: its turn, and the snapshot that contains it, or `None` for the state files.
type SnapshotAnchor = (u64, Option<(SnapshotFile, FilePath)>);

struct ChangeReplayer<'a> {
    session: &'a Session,
    facts: &'a SurveyResult,
    /// The anchors that have not been passed yet.
    anchors: Peekable<IntoIter<SnapshotAnchor>>,
    state: Option<GameState>,
    /// Changes up to this turn are included in the state.
    since: u64,
    lines: Vec<PlannedLine>,
    /// The IDs of the changes of this turn.
    ids: HashSet<String>,
    turn: u64,
    time: Option<i64>,
}

impl ChangeReplayer<'_> {
    /// Corrects the turn, ID and event of a change.
    fn name(&mut self, noted: &mut NotedChange, told: &BTreeMap<u64, RecoveredTurn>) {
        let turn = noted.turn;
        let mut set = |key: &str, value: JsonTree| {
            let Ok(mut tree) = JsonTree::parse(noted.text.as_str()) else { return };
            let done = Delta::set(DeltaPath::array([key]), value).apply_in_place(&mut tree);
            if done.is_ok() {
                noted.text = tree.to_line();
            }
        };
        let of = |value: &str| JsonTree::parse(value).unwrap_or_else(|_| JsonTree::null());
        if noted.change.turn != turn {
            set("turnId", of(&turn.to_string()));
        }
        let is_wrong = id_parts(&noted.change.id).is_some_and(|(of, _)| of != turn);
        if is_wrong || !self.ids.insert(noted.change.id.clone()) {
            let id = self.free_id(turn);
            set("deltaId", of(&format!("\"{id}\"")));
        }
        let events = told.get(&turn).map(RecoveredTurn::events).unwrap_or_default();
        let event = noted.change.event.as_ref().filter(|event| !event.is_empty());
        if event.is_some_and(|event| !events.contains(event)) {
            set("eventId", JsonTree::null());
        }
    }

    /// Applies a change. If it needs values that are missing, adds a change before it that restores them. Returns
    /// whether it applies.
    fn fit(&mut self, group: &DeltaGroup, turn: u64) -> bool {
        let Some(state) = self.state.as_mut().filter(|_| turn > self.since) else { return true };
        if state.apply(&mut group.clone()).is_ok() {
            return true;
        }
        let mut missing = DeltaGroup { scope: group.scope, deltas: Vec::new() };
        let mut tried = state.clone();
        for delta in &group.deltas {
            let mut single = DeltaGroup { scope: group.scope, deltas: vec![delta.clone()] };
            if tried.apply(&mut single).is_ok() {
                continue;
            }
            let has_value = matches!(delta.op, DeltaOp::Delete | DeltaOp::Increment);
            let Some(previous) = delta.previous.clone().filter(|_| has_value) else { return false };
            missing.deltas.push(Delta::set(delta.path.clone(), previous));
        }
        let mut repaired = state.clone();
        if repaired.apply(&mut missing).is_err() || repaired.apply(&mut group.clone()).is_err() {
            return false;
        }
        *state = repaired;
        self.push_repaired(missing, turn);
        true
    }

    /// Adds a line with changes that a repair has found.
    fn push_repaired(&mut self, group: DeltaGroup, turn: u64) {
        let id = self.free_id(turn);
        let change =
            ChangeRecord { id, turn, event: None, time: self.time, group, extra: Vec::new() };
        let mut text = String::new();
        self.session.rules().write_change(&change, "", &mut text);
        let open = text.trim_end().strip_suffix('}').unwrap_or_default();
        let text = format!("{open},\"{OWN}\":{{\"mended\":true}}}}");
        self.lines.push(PlannedLine { turn, text, file: None });
    }

    /// Returns an unused ID for a change of a turn.
    fn free_id(&mut self, turn: u64) -> String {
        let rules = self.session.rules();
        let mut number = 1;
        loop {
            let id = rules.change_id(&self.session.id, turn, number);
            if self.ids.insert(id.clone()) {
                return id;
            }
            number += 1;
        }
    }

    /// Passes the known states before the changes of `turn`.
    fn pass(&mut self, turn: u64) -> Result<(), GameError> {
        while let Some((at, snapshot)) = self.anchors.next_if(|(at, _)| *at < turn) {
            let (known, follows) = match snapshot {
                Some((file, path)) => {
                    let bytes = self.session.store.read(&path, 0..u64::MAX)?;
                    let Ok((snapshot, facts)) = read_with_facts(file, bytes) else { continue };
                    (snapshot.state, facts.from.is_some())
                }
                None => (self.stored(), true),
            };
            if follows {
                self.lead_to(&known, at);
            }
            (self.state, self.since) = (Some(known), at);
        }
        Ok(())
    }

    /// Returns the state in the state files.
    fn stored(&self) -> GameState {
        let stored = self.facts.stored.clone();
        GameState {
            world: stored.world.unwrap_or_else(JsonTree::object),
            player: stored.player.unwrap_or_else(JsonTree::object),
            scene: stored.scene.unwrap_or_else(JsonTree::null),
            npcs: stored.npcs,
        }
    }

    /// Adds the changes that lead to a known state.
    fn lead_to(&mut self, known: &GameState, turn: u64) {
        let Some(state) = self.state.clone().filter(|state| !state.is_same(known)) else { return };
        if turn != self.turn {
            (self.turn, self.ids) = (turn, HashSet::new());
        }
        for scope in [Scope::World, Scope::Player, Scope::Scene] {
            let part = |state: &GameState| state.get(scope).map_or_else(JsonTree::null, unstamped);
            let before = part(&state);
            let deltas = diff(&before, &part(known));
            let (mut group, mut after) = (DeltaGroup { scope, deltas }, GameState::empty());
            *after.get_mut(scope) = before;
            if group.deltas.is_empty() || after.apply(&mut group).is_err() {
                continue;
            }
            self.push_repaired(group, turn);
        }
    }
}

/// Returns a line whose changes have no effect and are kept in a field of their own.
fn set_aside(text: &str) -> String {
    let Ok(mut tree) = JsonTree::parse(text) else { return text.to_owned() };
    let Some(deltas) = tree.value_at(&["deltas"]) else { return text.to_owned() };
    let none = JsonTree::parse("[]").unwrap_or_else(|_| JsonTree::null());
    let mut edits = [
        Delta::set(DeltaPath::array(["deltas"]), none),
        Delta::set(DeltaPath::array([OWN, UNFIT]), deltas),
    ];
    match apply_group(&mut edits, &mut tree) {
        Ok(()) => tree.to_line(),
        Err(_) => text.to_owned(),
    }
}
