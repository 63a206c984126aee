//! Runs of agents: one document each, whose name tells whose it is and when it began.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::document::JsonDocument;
use super::error::LinggenError;
use super::paths::{ProjectPart, RunId, file_name};
use super::project::about;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_store::{Durability, FileMode, Store, StoreError};

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunStatus {
    /// It goes on, or its program died.
    Running,
    /// It came to its end.
    Completed,
    /// It went wrong.
    Failed,
    /// Somebody stopped it.
    Cancelled,
    /// Something else.
    Other(String),
}

impl RunStatus {
    /// The status of that name; names that are not known are kept.
    #[must_use]
    pub fn parse(name: &str) -> RunStatus {
        match name {
            "running" => RunStatus::Running,
            "completed" => RunStatus::Completed,
            "failed" => RunStatus::Failed,
            "cancelled" => RunStatus::Cancelled,
            other => RunStatus::Other(other.to_owned()),
        }
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Completed => "completed",
            RunStatus::Failed => "failed",
            RunStatus::Cancelled => "cancelled",
            RunStatus::Other(other) => other,
        }
    }
}

/// A run, as its document tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Where it is.
    pub file: FilePath,
    /// Its id.
    pub id: String,
    /// The session it belongs to.
    pub session: Option<String>,
    /// Whose run it is.
    pub agent: Option<String>,
    /// The run that began it.
    pub parent: Option<String>,
    /// How it stands.
    pub status: RunStatus,
    /// What it is about.
    pub detail: Option<String>,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// The whole document.
    pub value: Value,
}

/// What is known of the program that runs agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DaemonState {
    /// Nothing.
    Unknown,
    /// It is alive.
    Alive,
    /// It is not there.
    Gone,
}

/// A run that has not ended is not believed to go on after so many seconds: a day.
pub const LONGEST_RUN: i64 = 24 * 60 * 60;

impl Run {
    /// Why a run that says it is running is not, if so: its program is gone, or it began too long ago.
    #[must_use]
    pub fn stale(&self, daemon: DaemonState, now: Timestamp) -> Option<String> {
        if self.status != RunStatus::Running {
            return None;
        }
        if daemon == DaemonState::Gone {
            return Some("the program that ran it is gone".to_owned());
        }
        let seconds = self.started.map(|started| now.as_second() - started.as_second());
        match seconds {
            Some(seconds) if seconds > LONGEST_RUN => {
                Some(format!("it began {} hours ago and has not ended", seconds / 3600))
            }
            _ => None,
        }
    }
}

/// The runs of a project by their names, newest first; those whose names tell nothing come last. No file is opened.
pub fn run_ids(
    store: &Arc<dyn Store>,
    project: &FilePath,
) -> Result<Vec<(String, Option<RunId>)>, LinggenError> {
    let listing = match store.list(&ProjectPart::Runs.of(project)) {
        Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
        listing => listing?,
    };
    let ids = listing.entries.iter().filter_map(|entry| entry.name.as_str().strip_suffix(".json"));
    let mut ids: Vec<(String, Option<RunId>)> =
        ids.map(|id| (id.to_owned(), RunId::parse(id))).collect();
    ids.sort_by(|a, b| (&b.1, &a.0).cmp(&(&a.1, &b.0)));
    Ok(ids)
}

fn run_file(project: &FilePath, id: &str) -> Result<FilePath, LinggenError> {
    Ok(ProjectPart::Runs.of(project).join(&file_name(id, "json")?))
}

/// Reads a run, if there is one of this id.
pub fn read_run(
    store: &Arc<dyn Store>,
    project: &FilePath,
    id: &str,
) -> Result<Option<Run>, LinggenError> {
    let file = run_file(project, id)?;
    let Some(stored) = JsonDocument::read(store, &file)? else { return Ok(None) };
    let time = |key: &str| {
        let seconds = stored.get(key)?.as_i64()?;
        Timestamp::from_second(seconds).ok()
    };
    let named = RunId::parse(id).and_then(|id| Timestamp::from_second(id.started.0).ok());
    Ok(Some(Run {
        id: stored.string("run_id").unwrap_or_else(|| id.to_owned()),
        session: stored.string("session_id"),
        agent: stored.string("agent_id"),
        parent: stored.string("parent_run_id"),
        status: RunStatus::parse(&stored.string("status").unwrap_or_default()),
        detail: stored.string("detail"),
        started: time("started_at").or(named),
        ended: time("ended_at"),
        value: stored.value()?,
        file,
    }))
}

/// Every run of a project, newest first. One that cannot be read does not hide the others.
pub fn runs(
    store: &Arc<dyn Store>,
    project: &FilePath,
) -> Result<(Vec<Run>, Vec<Finding>), LinggenError> {
    let (mut runs, mut findings) = (Vec::new(), Vec::new());
    for (id, _) in run_ids(store, project)? {
        match read_run(store, project, &id) {
            Ok(run) => runs.extend(run),
            Err(LinggenError::Damaged { file, reason }) => {
                findings.push(about(&file, FindingCode::BadDocument, reason));
            }
            Err(error) => return Err(error),
        }
    }
    runs.sort_by(|a, b| (b.started, &a.id).cmp(&(a.started, &b.id)));
    Ok((runs, findings))
}

/// The runs that a run began, oldest first. Runs that began before it are not opened.
pub fn child_runs(
    store: &Arc<dyn Store>,
    project: &FilePath,
    parent: &str,
) -> Result<Vec<Run>, LinggenError> {
    let since = RunId::parse(parent).map(|id| id.started.0);
    let mut children = Vec::new();
    for (id, parsed) in run_ids(store, project)? {
        let earlier = since.zip(parsed).is_some_and(|(since, id)| id.started.0 < since);
        if earlier || id == parent {
            continue;
        }
        let run = match read_run(store, project, &id) {
            Err(LinggenError::Damaged { .. }) => continue,
            run => run?,
        };
        children.extend(run.filter(|run| run.parent.as_deref() == Some(parent)));
    }
    children.sort_by(|a, b| (a.started, &a.id).cmp(&(b.started, &b.id)));
    Ok(children)
}

/// What a new run is about.
#[derive(Debug, Clone, Default)]
pub struct NewRun {
    /// The path of the project.
    pub repo_path: String,
    /// The session it belongs to; without one, `default`.
    pub session: Option<String>,
    /// Whose run it is.
    pub agent: String,
    /// What kind of agent that is.
    pub agent_kind: Option<String>,
    /// The run that begins it.
    pub parent: Option<String>,
    /// What it is about, such as `chat:plan`.
    pub detail: Option<String>,
}

/// Notes that a run begins, and tells its id. No run that is there is ever written over.
pub fn begin_run(
    store: &Arc<dyn Store>,
    project: &FilePath,
    new: &NewRun,
    now: Timestamp,
) -> Result<String, LinggenError> {
    let mut id = RunId::new(&new.agent, now);
    loop {
        let (file, name) = (run_file(project, &id.to_string())?, id.to_string());
        let value = json!({
            "run_id": name,
            "repo_path": new.repo_path,
            "session_id": new.session.as_deref().unwrap_or("default"),
            "agent_id": new.agent,
            "agent_kind": new.agent_kind,
            "parent_run_id": new.parent,
            "status": RunStatus::Running.as_str(),
            "detail": new.detail,
            "started_at": now.as_second(),
            "ended_at": null,
        });
        let step = JsonDocument::new(&file, &value)?.step(FileMode::Default);
        let writer = store.lock(&[file])?;
        match writer.commit(vec![step], Durability::Synced) {
            // Another run of the same agent began in the same instant.
            Err(StoreError::Taken { .. }) => id.started.1 += 1,
            done => {
                done?;
                writer.release()?;
                return Ok(name);
            }
        }
    }
}

/// Notes how a run ended. Everything else in its document stays.
pub fn end_run(
    store: &Arc<dyn Store>,
    project: &FilePath,
    id: &str,
    status: &RunStatus,
    now: Timestamp,
) -> Result<(), LinggenError> {
    let file = run_file(project, id)?;
    let writer = store.lock(std::slice::from_ref(&file))?;
    let Some(mut stored) = JsonDocument::read(store, &file)? else {
        return Err(LinggenError::input(format!("there is no run {id}")));
    };
    stored.set("status", status.as_str())?;
    stored.set("ended_at", &now.as_second())?;
    writer.commit(vec![stored.step(FileMode::Default)], Durability::Synced)?;
    Ok(writer.release()?)
}
