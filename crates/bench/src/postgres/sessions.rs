//! Sessions that are resumed, read at earlier turns, and listed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use everturn::format::{self, Operation};
use everturn::model::{NewSession, SessionRef};
use everturn::names::FilePath;
use everturn::store::{Durability, FileMode, Precondition, Step, Store};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::PostgresError;
use crate::corpus::Dice;
use crate::stats::percentile;

/// How often each operation is done.
const RESUMES: usize = 20;
const JUMPS: usize = 50;
const LISTS: usize = 3;

/// The number of sessions created by one commit.
const BATCH: u32 = 500;

/// The times of a store in milliseconds; all are the 50th percentile.
pub(crate) struct SessionTimes {
    /// A session opened, and the state after its last turn.
    pub(crate) resume: f64,
    /// The state at a random turn, with the session open.
    pub(crate) jump: f64,
    /// All sessions of another format with their summaries.
    pub(crate) list: f64,
}

impl SessionTimes {
    pub(crate) fn rows(&self) -> [(&'static str, f64); 3] {
        [("resume", self.resume), ("jump", self.jump), ("list", self.list)]
    }

    pub(crate) fn as_json(&self) -> Value {
        json!({"resume_ms": self.resume, "jump_ms": self.jump, "list_ms": self.list})
    }
}

/// The 50th percentile in milliseconds.
fn middle(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    percentile(&times, 50).as_secs_f64() * 1000.0
}

fn turn_text(turn: u64) -> String {
    let text = "words of the turn ".repeat(50);
    json!({
        "actor": "player", "events": [{"type": "move", "description": text}],
        "deltas": [{"scope": "world", "deltas": [{"op": "set", "path": format!("n{}", turn % 100), "value": turn}]}],
    })
    .to_string()
}

fn unknown(name: &str) -> PostgresError {
    PostgresError::Wrong(format!("there is no format {name}"))
}

/// Creates a game of so many turns, and sessions to list; measures what readers do.
pub(crate) fn measure(
    store: &Arc<dyn Store>,
    turns: u64,
    sessions: u32,
) -> Result<SessionTimes, PostgresError> {
    let game = format::find("game").ok_or_else(|| unknown("game"))?;
    let now = Timestamp::UNIX_EPOCH;
    let mut editor =
        game.editing(Operation::Write)?.create(store, &NewSession::with_id("long"), now)?;
    for turn in 1..=turns {
        editor.append(&turn_text(turn), now)?;
    }
    editor.close(now)?;
    let place =
        SessionRef { id: "long".to_owned(), path: FilePath::parse("sessions/active/long")? };
    let (mut resumes, mut jumps, mut lists) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RESUMES {
        let start = Instant::now();
        drop(game.open(store, &place)?.state(None)?);
        resumes.push(start.elapsed());
    }
    let (reader, mut dice) = (game.open(store, &place)?, Dice(0x1a2b));
    for _ in 0..JUMPS {
        let turn = dice.roll(usize::try_from(turns).unwrap_or(1)) as u64 + 1;
        let start = Instant::now();
        drop(reader.state(Some(turn))?);
        jumps.push(start.elapsed());
    }
    create_many(store, sessions)?;
    let linggen = format::find("linggen").ok_or_else(|| unknown("linggen"))?;
    for _ in 0..LISTS {
        let start = Instant::now();
        let (listed, _) = linggen.list(store)?;
        lists.push(start.elapsed());
        if listed.len() != usize::try_from(sessions).unwrap_or(0) {
            return Err(PostgresError::Wrong(format!("{} sessions were listed", listed.len())));
        }
    }
    Ok(SessionTimes { resume: middle(resumes), jump: middle(jumps), list: middle(lists) })
}

/// Creates small sessions of Linggen.
fn create_many(store: &Arc<dyn Store>, count: u32) -> Result<(), PostgresError> {
    let writer = store.lock(&[FilePath::parse("projects")?])?;
    let mut steps = Vec::new();
    for number in 0..count {
        let id = format!("sess-{}-{number:08x}", 1_700_000_000 + number);
        let dir = format!("projects/-srv-p{}/sessions/{id}", number % 20);
        let meta = format!("id: {id}\ntitle: Question {number}\ncreated_at: 1700000000\n");
        let message = json!({
            "agent_id": "ling", "from_id": "user", "to_id": "ling",
            "content": format!("question {number}"), "timestamp": 1_700_000_000, "is_observation": false,
        });
        for (name, text) in [("session.yaml", meta), ("messages.jsonl", format!("{message}\n"))] {
            let file = FilePath::parse(&format!("{dir}/{name}"))?;
            let (expect, mode) = (Precondition::Absent, FileMode::Default);
            steps.push(Step::Replace { file, expect, bytes: text.into_bytes(), mode });
        }
        if number % BATCH == BATCH - 1 || number + 1 == count {
            writer.commit(std::mem::take(&mut steps), Durability::Synced)?;
        }
    }
    Ok(writer.release()?)
}
