//! The files of a migrated session.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::DIALECT;
use super::checkpoints::LegacyCheckpoints;
use super::frames::LegacyFrames;
use crate::error::GameError;
use crate::meta::GameMeta;
use crate::paths::{LogFile, LogKind};
use crate::snapshot::{SnapshotHeader, SnapshotReason, write};
use crate::state::GameState;
use crate::state_files::state_files;
use crate::turn::TurnLineParts;
use crate::writer::{BYTES_PER_FILE, TURNS_PER_FILE};
use everturn_json::names::SessionId;

type FileContents = BTreeMap<String, Vec<u8>>;

/// Adds the state files, and records them in the metadata.
pub(super) fn states(
    state: &GameState,
    turn: u64,
    meta: &mut GameMeta,
    files: &mut FileContents,
    now: Timestamp,
) -> Result<(), GameError> {
    files.extend(state_files(state, &state.texts(), turn, meta, now)?);
    meta.note_place(state);
    meta.note_characters(state);
    Ok(())
}

/// A log that is split into files as it grows.
struct SegmentWriter {
    log: LogKind,
    first: Option<u64>,
    text: String,
}

impl SegmentWriter {
    fn new(log: LogKind) -> SegmentWriter {
        SegmentWriter { log, first: None, text: String::new() }
    }

    fn add(&mut self, turn: u64, lines: &str, files: &mut FileContents) {
        if lines.is_empty() {
            return;
        }
        let first = *self.first.get_or_insert(turn);
        self.text.push_str(lines);
        if turn + 1 - first >= TURNS_PER_FILE || self.text.len() as u64 >= BYTES_PER_FILE {
            self.close(LogFile::closed(first, turn), files);
        }
    }

    fn close(&mut self, file: LogFile, files: &mut FileContents) {
        let name = format!("{}/{}", self.log.as_str(), file.render(self.log));
        files.insert(name, std::mem::take(&mut self.text).into_bytes());
        self.first = None;
    }
}

pub(super) fn logs(frames: &LegacyFrames, files: &mut FileContents) {
    let (mut turns, mut deltas) =
        (SegmentWriter::new(LogKind::Turns), SegmentWriter::new(LogKind::Deltas));
    let rules = DIALECT.rules();
    for turn in &frames.turns {
        let line = TurnLineParts {
            turn: turn.number,
            scene: turn.input.scene.as_deref(),
            time: turn.time,
            game_time: turn.input.game_time.as_ref(),
            events: &turn.events,
        };
        turns.add(turn.number, &rules.turn_line(&line, &turn.input), files);
        let mut lines = String::new();
        for change in &turn.changes {
            rules.write_change(change, "", &mut lines);
        }
        deltas.add(turn.number, &lines, files);
    }
    for mut tape in [turns, deltas] {
        if let Some(first) = tape.first {
            tape.close(LogFile::current(tape.log, first), files);
        }
    }
}

/// Adds the snapshots. None follows from another: the recorded changes may be incomplete.
pub(super) fn snapshots(
    id: &SessionId,
    checkpoints: &LegacyCheckpoints,
    end: &GameState,
    last: u64,
    files: &mut FileContents,
    now: Timestamp,
) {
    let mut all = checkpoints.by_turn.clone();
    all.entry(last).or_insert_with(|| end.clone());
    for (turn, state) in all {
        let file = DIALECT.rules().snapshot_file(turn);
        let reason = match checkpoints.reasons.get(&turn) {
            Some(reason) => SnapshotReason::parse(reason),
            None => SnapshotReason::Other("migration".to_owned()),
        };
        let header = SnapshotHeader {
            file,
            session: id.as_str(),
            now,
            reason: &reason,
            from: None,
            deltas: 0,
        };
        let (text, _) = write(&header, &state);
        files.insert(format!("snapshots/{}", file.render()), text.into_bytes());
    }
}
