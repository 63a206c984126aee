//! The files of the documented dialect that are written together with the logs: the renamed logs, the metadata with the
//! position and the counts, and the scenes and states when the scene changes.

use jiff::Timestamp;

use crate::branch::{Truncation, TurnTotals};
use crate::changes::touches;
use crate::error::GameError;
use crate::last_turn::LOG_BYTES;
use crate::meta::{GameMeta, stamp};
use crate::paths::{DocumentFile, LogFile, LogKind, scene_path};
use crate::scenes::{is_start, scene_id_of, started_scene};
use crate::session::Session;
use crate::snapshot::{self, SnapshotHeader, SnapshotReason};
use crate::state::{GameState, Scope};
use crate::turn::{Event, TurnInput};
use crate::writer::maintenance::write_states;
use crate::writer::turns::{TurnDraft, replace};
use crate::writer::{BYTES_PER_FILE, GameWriter, LONGEST_PAUSE, LogSegment, TURNS_PER_FILE};
use everturn_json::names::{FilePath, SceneId};
use everturn_store::Step;
use everturn_value::document::JsonStyle;
use everturn_value::tree::{JsonTree, ValueKind};

/// Returns the steps that belong to the commit of a turn besides its lines.
pub(super) fn turn_files(
    game: &mut GameWriter,
    input: &TurnInput,
    draft: &TurnDraft,
    scene: Option<&str>,
    now: Timestamp,
) -> Result<Vec<Step>, GameError> {
    let mut steps = Vec::new();
    rotate(game, draft.turn, &mut steps);
    note_turn(game, input, draft, scene, now);
    if let Some(base) = &game.foreign_base {
        let steps_of_base = adopt(&game.session, base, draft.turn - 1, &mut game.meta, now)?;
        if !steps_of_base.is_empty() {
            let own = draft.changes.iter().map(|change| change.group.deltas.len()).sum::<usize>();
            game.meta.put(&["deltaStats", "deltasSinceSnapshot"], &own);
        }
        steps.extend(steps_of_base);
    }
    if draft.writes_states || game.foreign_base.is_some() {
        steps.extend(scene_steps(game, draft, now)?);
    }
    steps.push(replace(DocumentFile::Meta.in_dir(&game.session.dir), game.meta.to_bytes()));
    Ok(steps)
}

/// Returns the steps that adopt the state of a session of another program as the start of its further turns: its own
/// snapshots have no checksums, and its changes need not start its scenes.
fn adopt(
    session: &Session,
    base: &GameState,
    turn: u64,
    meta: &mut GameMeta,
    now: Timestamp,
) -> Result<Vec<Step>, GameError> {
    let file = session.rules().snapshot_file(turn);
    let path = file.path(&session.dir);
    meta.put(&["stateFiles", "adoptedAt"], &turn);
    let known = match session.store.stat(&path)? {
        Some(_) => session.load_snapshot(&path)?.ok(),
        None => None,
    };
    if known.is_some_and(|known| known.state.is_same(base)) {
        return Ok(Vec::new());
    }
    let (id, reason) = (session.id.as_str(), &SnapshotReason::Other("adopted".to_owned()));
    let header = SnapshotHeader { file, session: id, now, reason, from: None, deltas: 0 };
    meta.put(&["files", "latestSnapshot"], &format!("snapshots/{}", file.render()));
    meta.put(&["deltaStats", "lastSnapshotTurn"], &turn);
    Ok(vec![replace(path, snapshot::write(&header, base).0.into_bytes())])
}

/// Returns the steps for the scenes that a turn leaves, and for the states. They belong to the commit of the turn:
/// later it would not be visible that the file of an ended scene is outdated.
fn scene_steps(
    game: &mut GameWriter,
    draft: &TurnDraft,
    now: Timestamp,
) -> Result<Vec<Step>, GameError> {
    let dir = game.session.dir.clone();
    let texts = game.state.texts();
    let mut files = Vec::new();
    for scene in draft.left.iter().rev() {
        let Some(id) =
            scene_id_of(scene).filter(|id| Some(id) != scene_id_of(&game.state.scene).as_ref())
        else {
            continue;
        };
        let path = scene_path(&dir, &SceneId::parse(&id)?)?;
        if !files.iter().any(|(file, _)| *file == path) {
            files.push((path, scene.to_text(&JsonStyle::PRETTY_RAW).into_bytes()));
        }
    }
    let left = files.into_iter().map(|(file, bytes)| replace(file, bytes));
    let mut steps: Vec<Step> = left.collect();
    steps.extend(write_states(&dir, &game.state, &texts, draft.turn, &mut game.meta, now)?);
    Ok(steps)
}

/// Renames files that this turn fills, so that their names contain all their turns.
fn rotate(game: &mut GameWriter, turn: u64, steps: &mut Vec<Step>) {
    let dir = &game.session.dir;
    let next = |tape: &mut LogSegment, log: LogKind, has_lines: bool, steps: &mut Vec<Step>| {
        let full = turn + 1 - tape.first >= TURNS_PER_FILE || tape.bytes >= BYTES_PER_FILE;
        if !full {
            return;
        }
        if has_lines {
            let from = LogFile::current(log, tape.first).path(log, dir);
            let to = LogFile::closed(tape.first, turn).path(log, dir);
            steps.push(Step::Rename { from, to });
        }
        *tape = LogSegment { first: turn + 1, bytes: 0 };
    };
    next(&mut game.turns, LogKind::Turns, true, steps);
    let has_deltas = game.deltas.bytes > 0;
    next(&mut game.deltas, LogKind::Deltas, has_deltas, steps);
}

/// Updates the metadata for the turn.
fn note_turn(
    game: &mut GameWriter,
    input: &TurnInput,
    draft: &TurnDraft,
    scene: Option<&str>,
    now: Timestamp,
) {
    let TurnDraft { turn, time, changes, .. } = draft;
    let meta = &mut game.meta;
    meta.put(&["lastModified"], &stamp(now));
    meta.put(&["current", "turnId"], turn);
    meta.put(&["current", "sceneId"], &scene);
    if let Some(game_time) = &input.game_time {
        let part = |key: &str| game_time.value_at(&[key]).unwrap_or_else(JsonTree::null);
        meta.put_tree(&["current", "gameDay"], part("day"));
        meta.put_tree(&["current", "gameTimeOfDay"], part("timeOfDay"));
    }
    let file = |log: LogKind, tape: &LogSegment| {
        format!("{}/{}", log.as_str(), LogFile::current(log, tape.first).render(log))
    };
    meta.put(&["files", "currentTurns"], &file(LogKind::Turns, &game.turns));
    meta.put(&LOG_BYTES, &game.turns.bytes);
    meta.put(&["files", "currentDeltas"], &file(LogKind::Deltas, &game.deltas));
    let deltas: usize = changes.iter().map(|change| change.group.deltas.len()).sum();
    meta.add(&["deltaStats", "totalDeltas"], deltas as u64);
    meta.add(&["deltaStats", "deltasSinceSnapshot"], deltas as u64);
    meta.add(&["stats", "totalTurns"], 1);
    meta.add(&["stats", "totalEvents"], input.events.len() as u64);
    let events: Vec<Event> = input.events.iter().map(Event::of).collect();
    let begins =
        events.iter().any(is_start) || changes.iter().any(|it| started_scene(it).is_some());
    let conflicts = events.iter().filter(|event| event.kind == "conflict_end").count();
    meta.add(&["stats", "totalScenes"], u64::from(begins));
    meta.add(&["stats", "conflictsResolved"], conflicts as u64);
    let gap = game.last_time.map_or(0, |last| time.saturating_sub(last));
    if (1..=LONGEST_PAUSE).contains(&gap) {
        meta.add(&["stats", "playTimeMs"], u64::try_from(gap).unwrap_or(0));
    }
    let played = meta.number(&["stats", "playTimeMs"]).unwrap_or(0) / 60_000;
    meta.put(&["stats", "playTimeMinutes"], &played);
    meta.put(&["stats", "lastTurnTime"], time);
    if touches(changes, Scope::World, "npcs", 2) {
        game.meta.note_characters(&game.state);
    }
    if touches(changes, Scope::Player, "location", 2) {
        game.meta.note_place(&game.state);
    }
}

/// Recounts the metadata of a session that another program has written, or has appended to.
pub(super) fn recount(
    session: &Session,
    meta: &mut GameMeta,
    state: &GameState,
) -> Result<(), GameError> {
    for group in ["current", "files", "deltaStats", "stats"] {
        if meta.tree.value_at(&[group]).is_none_or(|it| it.kind() != ValueKind::Object) {
            meta.put_tree(&[group], JsonTree::object());
        }
    }
    let played = meta.number(&["stats", "playTimeMinutes"]);
    let has_millis = meta.number(&["stats", "playTimeMs"]).is_some();
    let last = session.files()?.snapshots_until(session.turn).next().map(|(file, _)| *file);
    let snapshot = last.map_or(0, |file| file.turn);
    TurnTotals::count(session, session.turn, snapshot)?.note(meta, session.turn, state);
    if let Some(minutes) = played.filter(|_| !has_millis) {
        // It may count more than the times of the turns show.
        meta.put(&["stats", "playTimeMinutes"], &minutes);
        meta.put(&["stats", "playTimeMs"], &minutes.saturating_mul(60_000));
    }
    let name = last.map(|file| format!("snapshots/{}", file.render()));
    meta.put(&["files", "latestSnapshot"], &name);
    meta.put(&["deltaStats", "lastSnapshotTurn"], &snapshot);
    Ok(())
}

/// Recounts the metadata of a session that is truncated to a turn, and returns the steps for its state files.
pub(super) fn truncated_files(
    session: &Session,
    cut: &Truncation,
    dir: &FilePath,
    state: &GameState,
    meta: &mut GameMeta,
    now: Timestamp,
) -> Result<Vec<Step>, GameError> {
    let snapshot = cut.snapshot.map(|file| format!("snapshots/{}", file.render()));
    let snapshot_turn = cut.snapshot.map_or(0, |file| file.turn);
    let tally = TurnTotals::count(session, cut.turn, snapshot_turn)?;
    tally.note(meta, cut.turn, state);
    let turns = LogFile::current(LogKind::Turns, cut.current_turns()).render(LogKind::Turns);
    meta.put(&["files", "currentTurns"], &format!("turns/{turns}"));
    meta.put(&LOG_BYTES, &cut.current_bytes(session)?);
    meta.put(&["files", "currentDeltas"], "deltas/deltas-current.jsonl");
    meta.put(&["files", "latestSnapshot"], &snapshot);
    meta.put(&["deltaStats", "lastSnapshotTurn"], &snapshot_turn);
    write_states(dir, state, &state.texts(), cut.turn, meta, now)
}
