//! The peers that play turns: [`EverturnCampaign`], and [`LineCountingPeer`], the method of the upstream program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn::campaign::{
    CampaignWriter, NarratorOutput, NewCampaign, RecordedNarrator, Submission, create,
};
use everturn::disk::RealDisk;
use everturn::store::{FileStore, LockOwner, Options, Store};
use everturn::tree::JsonTree;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::files;
use crate::peer::PeerError;

/// The text of every turn.
const TEXT: &str = "You go on. The way bends twice, and the light changes with every step.";

/// A store for a campaign.
pub(super) trait CampaignPeer {
    fn name(&self) -> &'static str;

    /// Adds turns, as fast as possible, until there are `turns`.
    fn grow(&mut self, turns: u32) -> Result<(), PeerError>;

    /// Plays a turn in which a character moves.
    fn turn(&mut self) -> Result<(), PeerError>;

    /// Verifies that every turn is present.
    fn verify(&self) -> Result<(), PeerError>;
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "called by `map_err`, which passes the error by value"
)]
fn wrong(what: impl ToString) -> PeerError {
    PeerError::Batch(what.to_string())
}

/// Everturn: the turn is played by the rules, and durable when it returns.
pub(super) struct EverturnCampaign {
    store: Arc<FileStore>,
    campaign: CampaignWriter,
    here: &'static str,
}

impl EverturnCampaign {
    pub(super) fn create(dir: &Path) -> Result<EverturnCampaign, PeerError> {
        let disk = RealDisk::create(dir).map_err(files::at(dir))?;
        let owner = LockOwner { pid: std::process::id(), started: String::new() };
        let store = FileStore::open(Arc::new(disk), Options::new(owner)).map_err(wrong)?;
        let store = Arc::new(store);
        let shared: Arc<dyn Store> = Arc::clone(&store) as Arc<dyn Store>;
        let id = create(&shared, &NewCampaign::default(), Timestamp::UNIX_EPOCH).map_err(wrong)?;
        let campaign = CampaignWriter::open(shared, &id).map_err(wrong)?;
        Ok(EverturnCampaign { store, campaign, here: "area_001" })
    }
}

/// Returns the other of the two areas.
fn other(area: &str) -> &'static str {
    if area == "area_001" { "area_002" } else { "area_001" }
}

fn step(from: &str, to: &str) -> Value {
    let args = json!({"actor_id": "pc_001", "from_area_id": from, "to_area_id": to});
    json!({"id": "call_001", "tool": "move", "args": args, "reason": null})
}

impl CampaignPeer for EverturnCampaign {
    fn name(&self) -> &'static str {
        "everturn"
    }

    fn grow(&mut self, turns: u32) -> Result<(), PeerError> {
        while self.campaign.turn() < u64::from(turns) {
            self.turn()?;
        }
        Ok(())
    }

    fn turn(&mut self) -> Result<(), PeerError> {
        let there = other(self.here);
        let call = JsonTree::from_value(&step(self.here, there)).map_err(wrong)?;
        let output = NarratorOutput { tool_calls: vec![call], ..NarratorOutput::text(TEXT) };
        let submission = Submission::new("I go on.");
        let mut narrator = RecordedNarrator::new([output]);
        self.campaign.submit(&submission, &mut narrator, Timestamp::UNIX_EPOCH).map_err(wrong)?;
        self.here = there;
        Ok(())
    }

    fn verify(&self) -> Result<(), PeerError> {
        self.store.checkpoint().map_err(wrong)?;
        let rows = self.campaign.campaign().rows().map_err(wrong)?.count();
        let last = self.campaign.turn();
        if rows as u64 == last { Ok(()) } else { Err(wrong(format!("{rows} rows, turn {last}"))) }
    }
}

/// The method of the upstream program: a turn's number is the number of lines in the log plus one.
pub(super) struct LineCountingPeer {
    document: PathBuf,
    log: PathBuf,
    state: Value,
    made: u64,
}

impl LineCountingPeer {
    pub(super) fn create(dir: &Path) -> Result<LineCountingPeer, PeerError> {
        files::create_dir(dir)?;
        let area = |id: &str| json!({"id": id, "name": id, "parent_area_id": null});
        let state = json!({
            "id": "camp_0001",
            "map": {"areas": {"area_001": area("area_001"), "area_002": area("area_002")},
                "connections": [{"from_area_id": "area_001", "to_area_id": "area_002"}]},
            "positions": {"pc_001": "area_001", "pc_002": "area_001"},
            "hp": {"pc_001": 10, "pc_002": 10},
            "character_states": {"pc_001": "alive", "pc_002": "alive"},
        });
        let (document, log) = (dir.join("campaign.json"), dir.join("turn_log.jsonl"));
        let counting = LineCountingPeer { document, log, state, made: 0 };
        counting.save()?;
        Ok(counting)
    }

    fn save(&self) -> Result<(), PeerError> {
        files::write(&self.document, format!("{:#}", self.state).as_bytes())
    }

    /// Moves a character, and returns the row of the turn.
    fn play(&mut self, turn: u64) -> String {
        let part = |name: &str| self.state.get(name).cloned().unwrap_or_default();
        let (hp, states, mut positions) = (part("hp"), part("character_states"), part("positions"));
        let here = positions.get("pc_001").and_then(Value::as_str).unwrap_or_default().to_owned();
        let there = other(&here);
        if let Some(place) = positions.get_mut("pc_001") {
            *place = there.into();
        }
        if let Some(all) = self.state.get_mut("positions") {
            all.clone_from(&positions);
        }
        let call = step(&here, there);
        let row = json!({
            "turn_id": format!("turn_{turn:04}"), "timestamp": "1970-01-01T00:00:00+00:00",
            "user_input": "I go on.", "dialog_type": "scene_description",
            "dialog_type_source": "fallback", "settings_revision": 0, "assistant_text": TEXT,
            "assistant_structured": {"tool_calls": [call]},
            "applied_actions": [{"tool": "move", "args": call.get("args"),
                "result": {"to_area_id": there}, "timestamp": "1970-01-01T00:00:00+00:00"}],
            "tool_feedback": null, "conflict_report": null,
            "state_summary": {"active_actor_id": "pc_001", "positions": positions,
                "hp": hp, "character_states": states},
        });
        self.made += 1;
        format!("{row}\n")
    }

    fn count(&self) -> Result<u64, PeerError> {
        if !files::is_there(&self.log) {
            return Ok(0);
        }
        let text = files::read_text(&self.log)?;
        Ok(text.lines().filter(|line| !line.trim().is_empty()).count() as u64)
    }
}

impl CampaignPeer for LineCountingPeer {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn grow(&mut self, turns: u32) -> Result<(), PeerError> {
        let mut rows = String::new();
        while self.made < u64::from(turns) {
            let next = self.made + 1;
            rows.push_str(&self.play(next));
        }
        files::append(&self.log, rows.as_bytes())?;
        self.save()
    }

    fn turn(&mut self) -> Result<(), PeerError> {
        // The program reads its document before every turn.
        let text = files::read_text(&self.document)?;
        self.state = serde_json::from_str(&text).map_err(wrong)?;
        let turn = self.count()? + 1;
        let row = self.play(turn);
        self.save()?;
        files::append(&self.log, row.as_bytes())
    }

    fn verify(&self) -> Result<(), PeerError> {
        let (rows, made) = (self.count()?, self.made);
        if rows == made { Ok(()) } else { Err(wrong(format!("{rows} rows, {made} turns"))) }
    }
}
