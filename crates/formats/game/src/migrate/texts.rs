//! The files of a migrated session.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::checkpoints::Checkpoint;
use super::frames::Frames;
use crate::error::GameError;
use crate::form::Form;
use crate::meta::Meta;
use crate::names::{Log, LogFile, SnapshotFile};
use crate::snapshot::{Header, Reason, write};
use crate::state::State;
use crate::state_files::state_files;
use crate::turn::TurnLine;
use crate::writer::{BYTES_PER_FILE, TURNS_PER_FILE};
use everturn_json::names::SessionId;

type Texts = BTreeMap<String, Vec<u8>>;

/// The state files, and what the metadata say about them.
pub(super) fn states(
    state: &State,
    turn: u64,
    meta: &mut Meta,
    files: &mut Texts,
    now: Timestamp,
) -> Result<(), GameError> {
    files.extend(state_files(state, &state.texts(), turn, meta, now)?);
    meta.note_place(state);
    meta.note_characters(state);
    Ok(())
}

/// A log that is cut into files as it grows.
struct Tape {
    log: Log,
    first: Option<u64>,
    text: String,
}

impl Tape {
    fn new(log: Log) -> Tape {
        Tape { log, first: None, text: String::new() }
    }

    fn add(&mut self, turn: u64, lines: &str, files: &mut Texts) {
        if lines.is_empty() {
            return;
        }
        let first = *self.first.get_or_insert(turn);
        self.text.push_str(lines);
        if turn + 1 - first >= TURNS_PER_FILE || self.text.len() as u64 >= BYTES_PER_FILE {
            self.close(LogFile::closed(first, turn), files);
        }
    }

    fn close(&mut self, file: LogFile, files: &mut Texts) {
        let name = format!("{}/{}", self.log.as_str(), file.render(self.log));
        files.insert(name, std::mem::take(&mut self.text).into_bytes());
        self.first = None;
    }
}

pub(super) fn logs(frames: &Frames, files: &mut Texts) {
    let (mut turns, mut deltas) = (Tape::new(Log::Turns), Tape::new(Log::Deltas));
    for turn in &frames.turns {
        let line = TurnLine {
            turn: turn.number,
            scene: turn.input.scene.as_deref(),
            time: turn.time,
            game_time: turn.input.game_time.as_ref(),
            events: &turn.events,
        };
        turns.add(turn.number, &line.write(&turn.input, Form::Documented), files);
        let mut lines = String::new();
        for change in &turn.changes {
            change.write(Form::Documented, "", &mut lines);
        }
        deltas.add(turn.number, &lines, files);
    }
    for mut tape in [turns, deltas] {
        if let Some(first) = tape.first {
            tape.close(LogFile::current(tape.log, first), files);
        }
    }
}

/// Each snapshot is a beginning of its own: nothing says that the changes are complete.
pub(super) fn snapshots(
    id: &SessionId,
    checkpoints: &Checkpoint,
    end: &State,
    last: u64,
    files: &mut Texts,
    now: Timestamp,
) {
    let mut all = checkpoints.by_turn.clone();
    all.entry(last).or_insert_with(|| end.clone());
    for (turn, state) in all {
        let file = SnapshotFile { turn, program: false };
        let reason = match checkpoints.reasons.get(&turn) {
            Some(reason) => Reason::parse(reason),
            None => Reason::Other("migration".to_owned()),
        };
        let header =
            Header { file, session: id.as_str(), now, reason: &reason, from: None, deltas: 0 };
        let (text, _) = write(&header, &state);
        files.insert(format!("snapshots/{}", file.render()), text.into_bytes());
    }
}
