//! The peer for Everturn itself.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn::disk::{Disk, RealDisk};
use everturn::game::{GameError, GameWriter, NewGame, Session, TurnRecord};
use everturn::names::SessionId;
use everturn::store::{FileStore, LockOwner, Options, Store};
use everturn::tree::JsonTree;
use jiff::Timestamp;

use super::unflushed::UnflushedDisk;
use crate::files;
use crate::game::peer::{GameKeeper, GamePeer, GameReader, LoadedState, ReplayCounts, ReplayDepth};
use crate::game::workload::{self, NewTurn, SESSION};
use crate::peer::{Durability, PeerError};

/// This peer.
pub(super) const PEER: GamePeer = GamePeer {
    name: "everturn",
    about: "Everturn: plain files, each turn one durable commit",
    durability: Durability::AtReturn,
    create,
    play,
    read,
    lazy: true,
    resumes_all: true,
    kinds,
};

impl From<GameError> for PeerError {
    fn from(error: GameError) -> PeerError {
        PeerError::Game(Box::new(error))
    }
}

fn disk(dir: &Path) -> Result<Arc<dyn Disk>, PeerError> {
    Ok(Arc::new(RealDisk::create(dir).map_err(files::at(dir))?))
}

fn options() -> Options {
    Options::new(LockOwner { pid: std::process::id(), started: String::new() })
}

fn store(dir: &Path) -> Result<Arc<dyn Store>, PeerError> {
    Ok(Arc::new(FileStore::open(disk(dir)?, options())?))
}

fn session_id() -> Result<SessionId, PeerError> {
    SessionId::parse(SESSION).map_err(|error| PeerError::Session(error.to_string()))
}

fn session_dir(dir: &Path) -> PathBuf {
    dir.join("sessions/active").join(SESSION)
}

fn create(dir: &Path) -> Result<Box<dyn GameKeeper>, PeerError> {
    let state = workload::start();
    let mut new = NewGame::new(session_id()?);
    new.world = Some(JsonTree::from_value(&state.world)?);
    new.player = Some(JsonTree::from_value(&state.player)?);
    let store: Arc<dyn Store> =
        Arc::new(FileStore::create(Arc::new(UnflushedDisk(disk(dir)?)), options())?);
    let writer = GameWriter::create(store, &new, now())?;
    Ok(Box::new(EverturnKeeper { writer, dir: session_dir(dir) }))
}

fn play(dir: &Path) -> Result<Box<dyn GameKeeper>, PeerError> {
    let writer = GameWriter::open(store(dir)?, &session_id()?)?;
    Ok(Box::new(EverturnKeeper { writer, dir: session_dir(dir) }))
}

fn read(dir: &Path) -> Result<Box<dyn GameReader>, PeerError> {
    Ok(Box::new(EverturnReader(Session::open(store(dir)?, &session_id()?)?)))
}

fn kinds(dir: &Path) -> Vec<(&'static str, PathBuf)> {
    let session = session_dir(dir);
    let mut kinds: Vec<(&'static str, PathBuf)> =
        super::document::FILES.iter().map(|(kind, name)| (*kind, session.join(name))).collect();
    kinds.push(("log and locks", dir.join(".everturn")));
    kinds
}

/// Returns a fixed time for everything but the turns, which have their own times.
fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

struct EverturnKeeper {
    writer: GameWriter,
    dir: PathBuf,
}

impl GameKeeper for EverturnKeeper {
    fn save(&mut self, turn: &NewTurn) -> Result<(), PeerError> {
        let appended = self.writer.append(&turn.input, now())?;
        if appended.turn != turn.number {
            let (given, got) = (turn.number, appended.turn);
            return Err(PeerError::Session(format!("turn {given} became turn {got}")));
        }
        appended.deferred_error.map_or(Ok(()), |error| Err(error.into()))
    }

    fn snapshot(&mut self) -> Result<Vec<PathBuf>, PeerError> {
        let id = self.writer.snapshot(now())?;
        let mut files = vec![self.dir.join(format!("snapshots/{id}.json"))];
        let names = ["session.meta.json", "world.state.json", "player.state.json"];
        files.extend(names.iter().map(|name| self.dir.join(name)));
        files.extend(files::entries(&self.dir.join("scenes"))?);
        Ok(files)
    }

    fn close(self: Box<Self>) -> Result<(), PeerError> {
        Ok(self.writer.release()?)
    }
}

struct EverturnReader(Session);

impl GameReader for EverturnReader {
    fn resume(&mut self) -> Result<LoadedState, PeerError> {
        Ok(LoadedState::Lazy(Box::new(self.0.resume()?.state)))
    }

    fn jump(&mut self, turn: u64) -> Result<LoadedState, PeerError> {
        Ok(LoadedState::Lazy(Box::new(self.0.state_at(turn)?.state)))
    }

    fn replay(
        &mut self,
        turns: RangeInclusive<u64>,
        reading: ReplayDepth,
    ) -> Result<(ReplayCounts, LoadedState), PeerError> {
        let mut seen = ReplayCounts::default();
        let mut replay = self.0.replay(*turns.start())?;
        for frame in replay.by_ref() {
            let frame = frame?;
            seen.changes += frame.deltas as u64;
            match reading {
                ReplayDepth::Values => seen.turn(&frame.turn.raw.to_value()?),
                ReplayDepth::AsFound => look(&frame.turn, &mut seen),
            }
            if frame.turn.turn >= *turns.end() {
                break;
            }
        }
        match replay.take_findings().first() {
            None => Ok((seen, LoadedState::Lazy(Box::new(replay.into_state())))),
            Some(finding) => Err(PeerError::Session(finding.message.clone())),
        }
    }
}

/// Same as [`ReplayCounts::turn`], for a parsed turn.
fn look(turn: &TurnRecord, seen: &mut ReplayCounts) {
    seen.turns += 1;
    let words = turn.events().iter().map(|event| event.description.len() as u64).sum::<u64>();
    seen.words += words;
}
