//! The algorithm of the format's specification, in plain Rust: append-only files, and indexes, states and snapshots
//! that are rewritten as indented JSON.
//!
//! Nothing is flushed, a crash can occur between any two files, and resuming reads the state files as they are, up to
//! 24 turns old.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::files;
use crate::game::peer::{
    DueWrite, GameKeeper, GamePeer, GameReader, LoadedState, ReplayCounts, ReplayDepth, Schedule,
};
use crate::game::values::{ChangeGroup, StateValues};
use crate::game::workload::{self, NewTurn, SESSION};
use crate::peer::{Durability, PeerError};

/// This peer.
pub(super) const PEER: GamePeer = GamePeer {
    name: "document",
    about: "the documented algorithm: appends, indexes rewritten on each turn, no flushes",
    durability: Durability::NotAtPowerCut,
    create,
    play,
    read,
    lazy: false,
    resumes_all: false,
    kinds,
};

/// The files of a session by kind.
pub(super) const FILES: &[(&str, &str)] = &[
    ("metadata", "session.meta.json"),
    ("world", "world.state.json"),
    ("player", "player.state.json"),
    ("scenes", "scenes"),
    ("turns", "turns"),
    ("deltas", "deltas"),
    ("snapshots", "snapshots"),
    ("indexes", "indexes"),
];

const META: &str = "session.meta.json";
const SCENE: &str = "scenes/scene-001.json";
const TURN_INDEX: &str = "indexes/turn-index.json";
const DELTA_INDEX: &str = "indexes/delta-index.json";
const CURRENT_DELTAS: &str = "deltas-current.jsonl";

/// The number of turns in a file.
const TURNS_PER_FILE: u64 = 100;

/// The interval of turns that the index points to.
const INDEXED: u64 = 50;

/// An index of a log; that of turns points to some of them, that of changes to the snapshots.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogIndex {
    session_id: String,
    total: u64,
    files: Vec<IndexedFile>,
    turn_offsets: Map<String, Value>,
    snapshots: Vec<IndexedSnapshot>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct IndexedFile {
    file: String,
    turn_range: [u64; 2],
    count: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct IndexedSnapshot {
    turn_id: u64,
    file: String,
}

impl LogIndex {
    fn new() -> LogIndex {
        LogIndex {
            session_id: SESSION.to_owned(),
            total: 0,
            files: Vec::new(),
            turn_offsets: Map::new(),
            snapshots: Vec::new(),
        }
    }

    /// Records that the current file has grown.
    fn note(&mut self, file: &str, turn_range: [u64; 2], more: u64) {
        self.total += more;
        match self.files.last_mut() {
            Some(last) if last.file == file => {
                last.turn_range = turn_range;
                last.count += more;
            }
            _ => self.files.push(IndexedFile { file: file.to_owned(), turn_range, count: more }),
        }
    }
}

/// The metadata, as far as needed.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionMeta {
    session_id: String,
    turn_id: u64,
    last_snapshot_turn: u64,
}

/// Returns the number of a turn that was read.
fn turn_of(turn: &Value) -> u64 {
    turn.get("turnId").and_then(Value::as_u64).unwrap_or_default()
}

fn kinds(dir: &Path) -> Vec<(&'static str, PathBuf)> {
    FILES.iter().map(|(kind, name)| (*kind, dir.join(name))).collect()
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, PeerError> {
    Ok(serde_json::from_str(&files::read_text(path)?)?)
}

fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), PeerError> {
    files::write(path, serde_json::to_string_pretty(value)?.as_bytes())
}

fn create(dir: &Path) -> Result<Box<dyn GameKeeper>, PeerError> {
    for part in ["scenes", "turns", "deltas", "snapshots", "indexes"] {
        files::create_dir(&dir.join(part))?;
    }
    let mut keeper = DocumentKeeper {
        dir: dir.to_owned(),
        state: workload::start(),
        schedule: Schedule::default(),
        turns: LogIndex::new(),
        deltas: LogIndex::new(),
        first: 1,
        building: true,
    };
    keeper.snapshot()?;
    Ok(Box::new(keeper))
}

fn play(dir: &Path) -> Result<Box<dyn GameKeeper>, PeerError> {
    let mut reader = DocumentReader { dir: dir.to_owned() };
    let turns: LogIndex = read_json(&dir.join(TURN_INDEX))?;
    let last = turns.total;
    let meta: SessionMeta = read_json(&dir.join(META))?;
    let (snapshot_turn, states_turn) = (meta.last_snapshot_turn, meta.turn_id);
    let state = reader.jump(last)?.into_values()?;
    let changes = (last - snapshot_turn) * workload::CHANGES_PER_TURN as u64;
    let schedule = Schedule { turn: last, snapshot_turn, changes, states_turn };
    let deltas = read_json(&dir.join(DELTA_INDEX))?;
    let first = last / TURNS_PER_FILE * TURNS_PER_FILE + 1;
    let (dir, building) = (dir.to_owned(), false);
    Ok(Box::new(DocumentKeeper { dir, state, schedule, turns, deltas, first, building }))
}

fn read(dir: &Path) -> Result<Box<dyn GameReader>, PeerError> {
    Ok(Box::new(DocumentReader { dir: dir.to_owned() }))
}

struct DocumentKeeper {
    dir: PathBuf,
    state: StateValues,
    schedule: Schedule,
    turns: LogIndex,
    deltas: LogIndex,
    /// The first turn of the current files.
    first: u64,
    /// While the session is built, indexes are written only with snapshots: writing them after every turn would give
    /// the same result.
    building: bool,
}

impl DocumentKeeper {
    fn current_turns(&self) -> String {
        format!("turns-{:04}-current.jsonl", self.first)
    }

    /// Updates both indexes for a turn.
    fn note(&mut self, turn: &NewTurn, changes: usize) {
        let (first, last) = (self.first, turn.number);
        let name = self.current_turns();
        self.turns.note(&name, [first, last], 1);
        let before = last - 1;
        if before != 1 && !before.is_multiple_of(INDEXED) {
            self.turns.turn_offsets.remove(&before.to_string());
        }
        let place = json!({"file": name, "line": last - first});
        self.turns.turn_offsets.insert(last.to_string(), place);
        self.deltas.note(CURRENT_DELTAS, [first, last], changes as u64);
    }

    fn write_indexes(&self) -> Result<(), PeerError> {
        write_json(&self.dir.join(TURN_INDEX), &self.turns)?;
        write_json(&self.dir.join(DELTA_INDEX), &self.deltas)
    }

    /// Renames both full files after their turns.
    fn rotate(&mut self) -> Result<(), PeerError> {
        let (first, last) = (self.first, self.schedule.turn);
        let logs = [("turns", self.current_turns()), ("deltas", CURRENT_DELTAS.to_owned())];
        for (log, old) in logs {
            let new = format!("{log}-{first:04}-{last:04}.jsonl");
            let place = self.dir.join(log);
            files::rename(&place.join(old), &place.join(&new))?;
            let index = if log == "turns" { &mut self.turns } else { &mut self.deltas };
            if let Some(entry) = index.files.last_mut() {
                entry.file = new;
            }
        }
        self.first = last + 1;
        Ok(())
    }

    fn write_states(&mut self) -> Result<(), PeerError> {
        write_json(&self.dir.join("world.state.json"), &self.state.world)?;
        write_json(&self.dir.join("player.state.json"), &self.state.player)?;
        write_json(&self.dir.join(SCENE), &self.state.scene)?;
        self.schedule.states_written();
        let Schedule { turn, snapshot_turn, .. } = self.schedule;
        let session_id = SESSION.to_owned();
        let meta = SessionMeta { session_id, turn_id: turn, last_snapshot_turn: snapshot_turn };
        write_json(&self.dir.join(META), &meta)
    }
}

impl GameKeeper for DocumentKeeper {
    fn save(&mut self, turn: &NewTurn) -> Result<(), PeerError> {
        let turns = self.dir.join("turns").join(self.current_turns());
        files::append(&turns, format!("{}\n", turn.line).as_bytes())?;
        let deltas = self.dir.join("deltas").join(CURRENT_DELTAS);
        let mut changes = 0;
        for group in &turn.groups {
            let mut group = group.clone();
            changes += group.deltas.len();
            self.state.apply_noting(&mut group)?;
            files::append(&deltas, format!("{}\n", serde_json::to_string(&group)?).as_bytes())?;
        }
        let due = self.schedule.count(turn);
        self.note(turn, changes);
        if turn.number + 1 - self.first >= TURNS_PER_FILE {
            self.rotate()?;
        }
        if !self.building {
            self.write_indexes()?;
        }
        match due {
            DueWrite::Nothing => Ok(()),
            DueWrite::States => self.write_states(),
            DueWrite::Snapshot => self.snapshot().map(drop),
        }
    }

    fn snapshot(&mut self) -> Result<Vec<PathBuf>, PeerError> {
        let turn = self.schedule.turn;
        let name = format!("snapshots/snapshot-{turn:04}.json");
        let snapshot = json!({
            "snapshotId": format!("snapshot-{turn:04}"), "turnId": turn, "reason": "delta_threshold",
            "worldState": self.state.world, "playerState": self.state.player,
            "activeScene": self.state.scene,
        });
        write_json(&self.dir.join(&name), &snapshot)?;
        self.schedule.snapshot_taken();
        self.deltas.snapshots.push(IndexedSnapshot { turn_id: turn, file: name });
        self.write_indexes()?;
        self.write_states()?;
        Ok(Vec::new())
    }

    fn close(self: Box<Self>) -> Result<(), PeerError> {
        self.write_indexes()
    }
}

struct DocumentReader {
    dir: PathBuf,
}

impl DocumentReader {
    /// Returns all lines of a log for these turns: the files named by the index, each read as a whole.
    fn lines<T: DeserializeOwned>(
        &self,
        index: &LogIndex,
        log: &str,
        turns: &RangeInclusive<u64>,
        turn_of: fn(&T) -> u64,
    ) -> Result<Vec<T>, PeerError> {
        let mut found = Vec::new();
        for IndexedFile { file, turn_range: [first, last], .. } in &index.files {
            if last < turns.start() || first > turns.end() {
                continue;
            }
            for line in files::read_text(&self.dir.join(log).join(file))?.lines() {
                let row: T = serde_json::from_str(line)?;
                if turns.contains(&turn_of(&row)) {
                    found.push(row);
                }
            }
        }
        found.sort_by_key(turn_of);
        Ok(found)
    }

    fn part<T: DeserializeOwned>(&self, name: &str) -> Result<T, PeerError> {
        read_json(&self.dir.join(name))
    }
}

impl GameReader for DocumentReader {
    fn resume(&mut self) -> Result<LoadedState, PeerError> {
        let _meta: SessionMeta = self.part(META)?;
        Ok(LoadedState::Values(Box::new(StateValues {
            world: self.part("world.state.json")?,
            player: self.part("player.state.json")?,
            scene: self.part(SCENE)?,
        })))
    }

    fn jump(&mut self, turn: u64) -> Result<LoadedState, PeerError> {
        let index: LogIndex = self.part(DELTA_INDEX)?;
        let nearest = index
            .snapshots
            .iter()
            .filter(|snapshot| snapshot.turn_id <= turn)
            .max_by_key(|snapshot| snapshot.turn_id)
            .ok_or_else(|| PeerError::Session("no snapshot".to_owned()))?;
        let mut snapshot: Value = self.part(&nearest.file)?;
        let mut take = |key: &str| snapshot.get_mut(key).map(Value::take).unwrap_or_default();
        let mut state = StateValues {
            world: take("worldState"),
            player: take("playerState"),
            scene: take("activeScene"),
        };
        let range = nearest.turn_id + 1..=turn;
        let groups: Vec<ChangeGroup> =
            self.lines(&index, "deltas", &range, |group: &ChangeGroup| group.turn_id)?;
        for mut group in groups {
            state.apply(&mut group)?;
        }
        Ok(LoadedState::Values(Box::new(state)))
    }

    fn replay(
        &mut self,
        turns: RangeInclusive<u64>,
        _: ReplayDepth,
    ) -> Result<(ReplayCounts, LoadedState), PeerError> {
        /// How many turns are read at once; all their lines are kept in memory.
        const AT_ONCE: u64 = 1000;
        let mut seen = ReplayCounts::default();
        let mut state = self.jump(turns.start().saturating_sub(1))?.into_values()?;
        let mut first = *turns.start();
        while first <= *turns.end() {
            let range = first..=turns.end().min(&(first + AT_ONCE - 1)).to_owned();
            let lines: Vec<Value> =
                self.lines(&self.part(TURN_INDEX)?, "turns", &range, turn_of)?;
            let groups: Vec<ChangeGroup> =
                self.lines(&self.part(DELTA_INDEX)?, "deltas", &range, |group: &ChangeGroup| {
                    group.turn_id
                })?;
            let mut groups = groups.into_iter().peekable();
            for line in &lines {
                seen.turn(line);
                let turn = turn_of(line);
                while let Some(mut group) = groups.next_if(|group| group.turn_id <= turn) {
                    seen.changes += group.deltas.len() as u64;
                    state.apply(&mut group)?;
                }
            }
            first += AT_ONCE;
        }
        Ok((seen, LoadedState::Values(Box::new(state))))
    }
}
