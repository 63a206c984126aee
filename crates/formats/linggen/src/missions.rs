//! The missions of a project: at most one is active, and all former ones are kept.
//!
//! [`MissionListing`] has every [`Mission`] of a project, each with its [`MissionAgent`]s.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::document::JsonDocument;
use super::error::LinggenError;
use super::paths::{MissionName, ProjectPart};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, Name};
use everturn_store::{Durability, FileMode, Step, Store, StoreError};

/// A mission.
#[derive(Debug, Clone, PartialEq)]
pub struct Mission {
    /// The path of its file.
    pub file: FilePath,
    /// The task.
    pub text: String,
    /// When it was set.
    pub created: Option<Timestamp>,
    /// Whether it is the active mission.
    pub active: bool,
    /// The agents that work on it.
    pub agents: Vec<MissionAgent>,
}

/// An agent that works on a mission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissionAgent {
    /// The agent.
    pub id: String,
    /// The prompt it gets when it is idle.
    pub idle_prompt: Option<String>,
    /// The idle time before that prompt, in seconds.
    pub idle_interval_secs: Option<u64>,
}

impl MissionAgent {
    fn value(&self) -> Value {
        let MissionAgent { id, idle_prompt, idle_interval_secs } = self;
        json!({"id": id, "idle_prompt": idle_prompt, "idle_interval_secs": idle_interval_secs})
    }

    fn read(value: &Value) -> Option<MissionAgent> {
        Some(MissionAgent {
            id: value.get("id")?.as_str()?.to_owned(),
            idle_prompt: value.get("idle_prompt").and_then(Value::as_str).map(str::to_owned),
            idle_interval_secs: value.get("idle_interval_secs").and_then(Value::as_u64),
        })
    }
}

/// All missions of a project, newest first, and the findings.
#[derive(Debug, Clone, Default)]
pub struct MissionListing {
    /// The missions.
    pub missions: Vec<Mission>,
    /// Missions that are unreadable or invalid.
    pub findings: Vec<Finding>,
}

impl MissionListing {
    /// The active mission: the newest one marked as active.
    #[must_use]
    pub fn active(&self) -> Option<&Mission> {
        self.missions.iter().find(|mission| mission.active)
    }
}

/// The mission files, newest first: by number, not by text. The single file of old programs comes last.
fn files(store: &Arc<dyn Store>, project: &FilePath) -> Result<Vec<FilePath>, LinggenError> {
    let dir = ProjectPart::Missions.of(project);
    let mut names: Vec<MissionName> = match store.list(&dir) {
        Err(StoreError::Missing { .. }) => Vec::new(),
        listing => {
            let entries = listing?.entries;
            entries.iter().filter_map(|entry| MissionName::parse(entry.name.as_str())).collect()
        }
    };
    names.sort_by(|a, b| b.cmp(a));
    let mut files = Vec::new();
    for name in names {
        files.push(dir.join(&Name::parse(&name.to_string())?));
    }
    let legacy = ProjectPart::LegacyMission.of(project);
    if store.stat(&legacy)?.is_some() {
        files.push(legacy);
    }
    Ok(files)
}

fn mission(stored: &JsonDocument) -> Mission {
    let seconds = stored.get("created_at").and_then(|seconds| seconds.as_i64());
    let agents = stored.get("agents");
    let agents = agents.as_ref().and_then(Value::as_array).into_iter().flatten();
    Mission {
        file: stored.file.clone(),
        text: stored.string("text").unwrap_or_default(),
        created: seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()),
        active: stored.get("active").and_then(|active| active.as_bool()).unwrap_or(false),
        agents: agents.filter_map(MissionAgent::read).collect(),
    }
}

/// Reads the readable missions; the others become findings.
fn read_all(
    store: &Arc<dyn Store>,
    project: &FilePath,
    findings: &mut Vec<Finding>,
) -> Result<Vec<JsonDocument>, LinggenError> {
    let mut all = Vec::new();
    for file in files(store, project)? {
        match JsonDocument::read(store, &file) {
            Ok(stored) => all.extend(stored),
            Err(LinggenError::Damaged { file, reason }) => {
                findings.push(Finding::new(&file, FindingCode::BadDocument, reason));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// All missions of a project.
pub fn missions(
    store: &Arc<dyn Store>,
    project: &FilePath,
) -> Result<MissionListing, LinggenError> {
    let mut found = MissionListing::default();
    let all = read_all(store, project, &mut found.findings)?;
    found.missions = all.iter().map(mission).collect();
    for extra in found.missions.iter().filter(|mission| mission.active).skip(1) {
        let message = "a newer mission is also active; the newer one takes precedence";
        found.findings.push(Finding::new(&extra.file, FindingCode::WrongMetadata, message));
    }
    Ok(found)
}

/// The steps that end every active mission.
fn end_all(
    store: &Arc<dyn Store>,
    project: &FilePath,
) -> Result<(Vec<Step>, Option<Mission>), LinggenError> {
    let (mut steps, mut ended) = (Vec::new(), None);
    for mut stored in read_all(store, project, &mut Vec::new())? {
        let mission = mission(&stored);
        if mission.active {
            ended = ended.or(Some(mission));
            stored.set("active", &false)?;
            steps.push(stored.step(FileMode::Default));
        }
    }
    Ok((steps, ended))
}

/// The scopes to lock for changing the missions of a project.
fn scopes(project: &FilePath) -> [FilePath; 2] {
    [ProjectPart::Missions.of(project), ProjectPart::LegacyMission.of(project)]
}

/// Sets the mission of a project. The previous one is kept as inactive; both happen, or neither.
pub fn set_mission(
    store: &Arc<dyn Store>,
    project: &FilePath,
    text: &str,
    agents: &[MissionAgent],
    now: Timestamp,
) -> Result<Mission, LinggenError> {
    if text.trim().is_empty() {
        return Err(LinggenError::input("a mission needs a text"));
    }
    let writer = store.lock(&scopes(project))?;
    let (mut steps, _) = end_all(store, project)?;
    let second = u64::try_from(now.as_second())
        .map_err(|_| LinggenError::input("a mission cannot be set before 1970"))?;
    let dir = ProjectPart::Missions.of(project);
    let mut name = MissionName { second, number: 1 };
    let mut file = dir.join(&Name::parse(&name.to_string())?);
    while store.stat(&file)?.is_some() {
        name.number += 1;
        file = dir.join(&Name::parse(&name.to_string())?);
    }
    let agents: Vec<Value> = agents.iter().map(MissionAgent::value).collect();
    let value = json!({"text": text, "created_at": second, "active": true, "agents": agents});
    let stored = JsonDocument::new(&file, &value)?;
    let set = mission(&stored);
    steps.push(stored.step(FileMode::Default));
    writer.commit(steps, Durability::Synced)?;
    writer.release()?;
    Ok(set)
}

/// Ends the mission of a project; it is kept. Returns the mission that ended, if any.
pub fn clear_mission(
    store: &Arc<dyn Store>,
    project: &FilePath,
) -> Result<Option<Mission>, LinggenError> {
    let writer = store.lock(&scopes(project))?;
    let (steps, ended) = end_all(store, project)?;
    if !steps.is_empty() {
        writer.commit(steps, Durability::Synced)?;
    }
    writer.release()?;
    Ok(ended)
}
