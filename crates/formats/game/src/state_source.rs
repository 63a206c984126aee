//! Where the state after the last turn comes from.
//!
//! State files are a cache. Everturn records in the metadata which turn they show, and their checksums; other programs
//! write them now and then, and record nothing. So the newest good snapshot and the changes since then decide. Only
//! where there is no snapshot are the files needed, and only if the changes show of which turn they are.

use super::changes::ChangeRecord;
use super::error::GameError;
use super::history::StateAt;
use super::paths::{DocumentFile, scene_path};
use super::scenes::scene_id_of;
use super::session::{Session, StoredState};
use super::state::GameState;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SceneId};
use everturn_store::{StoreError, read_optional};
use everturn_value::delta::{Delta, DeltaOp};
use everturn_value::tree::{JsonTree, ValueKind};

/// The end of the message of a finding about an unusable state file.
const INSTEAD: &str = "the state is computed from a snapshot and the changes";

/// The number of turns that are tried, and of changes on either side that are compared, to date state files.
const MOST_CANDIDATES: usize = 200;
const MOST_COMPARED: usize = 100;

/// Returns the state after the last turn.
pub(crate) fn last_state(session: &Session) -> Result<StateAt, GameError> {
    match session.stored_state() {
        Ok(StoredState { turn: Some(turn), state, touched: None }) => {
            from_files(session, turn, state)
        }
        Ok(StoredState { turn: Some(_), state, touched: Some(file) }) => {
            from_touched_files(session, state, &file)
        }
        Ok(StoredState { turn: None, state, .. }) => from_undated_files(session, state),
        Err(error @ (GameError::Damaged { .. } | GameError::Store(StoreError::Missing { .. }))) => {
            without_files(session, error)
        }
        Err(error) => Err(error),
    }
}

/// Computes the state from the state files of a turn.
fn from_files(session: &Session, turn: u64, mut state: GameState) -> Result<StateAt, GameError> {
    let mut findings = Vec::new();
    session.advance(&mut state, turn, session.turn, &mut findings)?;
    Ok(StateAt { turn: session.turn, state, findings })
}

/// The same if a state file is not as Everturn wrote it: the files count if they agree with the changes.
fn from_touched_files(
    session: &Session,
    stored: GameState,
    file: &FilePath,
) -> Result<StateAt, GameError> {
    let (turn, mut findings) = (session.turn, Vec::new());
    let followed = session.by_snapshot(turn, &mut findings)?;
    if followed.as_ref().is_some_and(|state| state.is_same(&stored)) {
        return Ok(StateAt { turn, state: stored, findings });
    }
    let what = "it differs from what was written";
    let Some(state) = followed else {
        let noted = session.noted_states().unwrap_or(turn);
        let mut moment = from_files(session, noted, stored)?;
        let message = format!("{what}, and there is no other source of the state");
        moment.findings.push(Finding::new(file, FindingCode::StateDiffers, message));
        return Ok(moment);
    };
    if shows_an_earlier_turn(session, &stored)? {
        // Another program has written it, and since then turns were added.
        return Ok(StateAt { turn, state, findings });
    }
    findings.push(Finding::new(file, FindingCode::StateDiffers, format!("{what}; {INSTEAD}")));
    Ok(StateAt { turn, state, findings })
}

/// Returns whether state files show the state after some turn since the newest good snapshot.
fn shows_an_earlier_turn(session: &Session, stored: &GameState) -> Result<bool, GameError> {
    for (file, path) in session.files()?.snapshots_until(session.turn) {
        let Ok(snapshot) = session.load_snapshot(path)? else { continue };
        let mut state = snapshot.state;
        let mut passed = file.turn;
        for change in session.changes(file.turn + 1, session.turn)? {
            let mut change = change?;
            if change.turn > passed && state.is_same(stored) {
                return Ok(true);
            }
            passed = change.turn;
            if state.apply(&mut change.group).is_err() {
                return Ok(false);
            }
        }
        return Ok(false);
    }
    Ok(false)
}

/// The same if nothing records which turn the state files show.
fn from_undated_files(session: &Session, stored: GameState) -> Result<StateAt, GameError> {
    let (turn, mut findings) = (session.turn, Vec::new());
    if let Some(mut state) = session.by_snapshot(turn, &mut findings)? {
        take_scene(session, &mut state, turn)?;
        return Ok(StateAt { turn, state, findings });
    }
    match turn_of_states(session, &stored)? {
        Some(shown) => {
            let mut moment = from_files(session, shown, stored)?;
            moment.findings.append(&mut findings);
            take_scene(session, &mut moment.state, turn)?;
            Ok(moment)
        }
        None => {
            let message = "there is no snapshot, and the changes do not show of which turn it is";
            let file = DocumentFile::World.in_dir(&session.dir);
            findings.push(Finding::new(&file, FindingCode::StateDiffers, message.to_owned()));
            Ok(StateAt { turn, state: stored, findings })
        }
    }
}

/// The same if a state file cannot be used.
fn without_files(session: &Session, error: GameError) -> Result<StateAt, GameError> {
    let (turn, mut findings) = (session.turn, Vec::new());
    let Some(mut state) = session.by_snapshot(turn, &mut findings)? else { return Err(error) };
    take_scene(session, &mut state, turn)?;
    findings.push(match &error {
        GameError::Store(StoreError::Missing { path }) => {
            let message = format!("the file is missing; {INSTEAD}");
            Finding::new(path, FindingCode::MissingFile, message)
        }
        GameError::Damaged { file, reason } => {
            let message = format!("it cannot be read: {reason}; {INSTEAD}");
            Finding::new(file, FindingCode::StateDiffers, message)
        }
        _ => return Err(error),
    });
    Ok(StateAt { turn, state, findings })
}

/// Takes the scene from its file if the session has a scene that the changes do not start.
///
/// Everturn stores the start of a scene as a change. Other programs may only write the file of the scene, and name it
/// in the turns.
pub(crate) fn take_scene(
    session: &Session,
    state: &mut GameState,
    turn: u64,
) -> Result<(), GameError> {
    if !session.rules().has_scene_files() || session.noted_states().is_some() {
        return Ok(());
    }
    let row = session.turns(turn, turn)?.last().transpose()?;
    let noted = || session.meta.as_ref()?.text(&["current", "sceneId"]);
    let named = row.and_then(|row| row.scene).or_else(|| noted().filter(|_| turn == session.turn));
    let Some(id) = named.filter(|id| scene_id_of(&state.scene).as_ref() != Some(id)) else {
        return Ok(());
    };
    let Ok(path) = SceneId::parse(&id).and_then(|id| scene_path(&session.dir, &id)) else {
        return Ok(());
    };
    let text =
        read_optional(&session.store, &path)?.and_then(|bytes| String::from_utf8(bytes).ok());
    let scene = text.and_then(|text| JsonTree::parse(text.trim_start_matches('\u{feff}')).ok());
    if let Some(scene) = scene.filter(|scene| scene_id_of(scene).as_ref() == Some(&id)) {
        state.scene = scene;
    }
    Ok(())
}

/// Returns the turn that state files show, if the changes leave no doubt about it: everything that the changes up to
/// that turn have written is in the states, and nothing that came later.
pub(crate) fn turn_of_states(
    session: &Session,
    stored: &GameState,
) -> Result<Option<u64>, GameError> {
    let rows = session.changes(0, session.turn)?;
    let changes: Vec<ChangeRecord> = rows.collect::<Result<_, _>>()?;
    let mut turns: Vec<u64> = changes.iter().map(|change| change.turn).collect();
    turns.dedup();
    let first = session.first_turn()?;
    // The metadata were written with the states, or after them.
    let noted = session.meta.as_ref().and_then(|meta| meta.turn()).unwrap_or(session.turn);
    let mut candidates: Vec<u64> =
        std::iter::once(first).chain(turns).filter(|turn| *turn <= noted).collect();
    candidates.drain(..candidates.len().saturating_sub(MOST_CANDIDATES));
    let fitting: Vec<u64> =
        candidates.into_iter().filter(|turn| fits(&changes, stored, *turn)).collect();
    Ok(match fitting.as_slice() {
        [turn] => Some(*turn),
        _ => None,
    })
}

/// Returns whether states may be those after a turn.
fn fits(changes: &[ChangeRecord], stored: &GameState, turn: u64) -> bool {
    let split = changes.partition_point(|change| change.turn <= turn);
    let (before, after) = changes.split_at(split.min(changes.len()));
    // Changes that are further away say no more.
    let before = before.get(before.len().saturating_sub(MOST_COMPARED)..).unwrap_or_default();
    let after = after.get(..after.len().min(MOST_COMPARED)).unwrap_or_default();
    let deltas = |changes: &[ChangeRecord]| -> Vec<(super::state::Scope, Delta)> {
        let each = |change: &ChangeRecord| {
            let scope = change.group.scope;
            change.group.deltas.iter().map(move |delta| (scope, delta.clone())).collect::<Vec<_>>()
        };
        changes.iter().flat_map(each).collect()
    };
    let value = |scope, delta: &Delta| {
        stored.get(scope).and_then(|tree: &JsonTree| tree.value_at(delta.path.segments()))
    };
    // The last write to each path must be visible, and the value before the first later one.
    let mut written: Vec<(super::state::Scope, Delta)> = Vec::new();
    for (scope, delta) in deltas(before).into_iter().rev() {
        let hidden =
            written.iter().any(|(of, later)| *of == scope && later.path.overlaps(&delta.path));
        if !hidden && !shows_result(&delta, value(scope, &delta)) {
            return false;
        }
        written.push((scope, delta));
    }
    let mut overwritten: Vec<(super::state::Scope, Delta)> = Vec::new();
    for (scope, delta) in deltas(after) {
        let hidden =
            overwritten.iter().any(|(of, first)| *of == scope && first.path.overlaps(&delta.path));
        if !hidden && !shows_previous(&delta, value(scope, &delta)) {
            return false;
        }
        overwritten.push((scope, delta));
    }
    true
}

/// Returns whether a value may be what a change has left.
fn shows_result(delta: &Delta, value: Option<JsonTree>) -> bool {
    let same = |value: &JsonTree| delta.value.as_ref().is_some_and(|own| own.is_same(value));
    match delta.op {
        DeltaOp::Set => value.is_some_and(|value| same(&value)),
        DeltaOp::Delete => true,
        DeltaOp::Push => value.is_some_and(|list| {
            let last = list.len_at::<&str>(&[]).and_then(|len| len.checked_sub(1));
            last.and_then(|last| list.value_at(&[last.to_string()])).is_some_and(|last| same(&last))
        }),
        DeltaOp::Pull => value.is_some_and(|list| {
            let others = || list.children().iter().any(|(_, one)| same(one));
            list.kind() == ValueKind::Array && (delta.first_only || !others())
        }),
        DeltaOp::Increment => match delta.total() {
            Some(total) => value.is_some_and(|value| value.to_line() == total),
            None => value.is_some(),
        },
    }
}

/// Returns whether a value may be what a change has found.
fn shows_previous(delta: &Delta, value: Option<JsonTree>) -> bool {
    match (delta.op, &delta.previous) {
        (DeltaOp::Set | DeltaOp::Increment | DeltaOp::Delete, Some(previous)) => {
            value.is_some_and(|value| value.is_same(previous))
        }
        (DeltaOp::Increment | DeltaOp::Delete, None) => value.is_some(),
        (DeltaOp::Set, None) => true,
        (DeltaOp::Push | DeltaOp::Pull, _) => {
            value.is_some_and(|value| value.kind() == ValueKind::Array)
        }
    }
}

/// Returns whether a finding makes a state doubtful.
pub(crate) fn is_doubtful(finding: &Finding) -> bool {
    matches!(finding.code, FindingCode::MissingFile | FindingCode::StateDiffers)
}
