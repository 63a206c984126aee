//! Runs of agents: one document each, named after the agent and the start time.
//!
//! [`Run`] is a stored run, [`NewRun`] the parameters of a new one, and [`RunStatus`] its status.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::document::JsonDocument;
use super::error::LinggenError;
use super::paths::{ProjectPart, RunId, file_name};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_store::{Durability, FileMode, Store, StoreError};

/// The status of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunStatus {
    /// It is running, or its program died.
    Running,
    /// It finished.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// An unknown status.
    Other(String),
}

impl RunStatus {
    /// The status with that name; unknown names are kept.
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

/// A run, as recorded in its document.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The path of its document.
    pub file: FilePath,
    /// Its id.
    pub id: String,
    /// The session it belongs to.
    pub session: Option<String>,
    /// The agent of the run.
    pub agent: Option<String>,
    /// The run that started it.
    pub parent: Option<String>,
    /// Its status.
    pub status: RunStatus,
    /// A short description.
    pub detail: Option<String>,
    /// The start time.
    pub started: Option<Timestamp>,
    /// The end time.
    pub ended: Option<Timestamp>,
    /// The whole document.
    pub value: Value,
}

/// What is known of the daemon that runs agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DaemonState {
    /// Nothing.
    Unknown,
    /// It is alive.
    Alive,
    /// It is not running.
    Gone,
}

/// A run without an end is considered dead after so many seconds: a day.
pub const LONGEST_RUN: i64 = 24 * 60 * 60;

impl Run {
    /// Why a run marked as running is not, if so: its program is gone, or it started too long ago.
    #[must_use]
    pub fn stale(&self, daemon: DaemonState, now: Timestamp) -> Option<String> {
        if self.status != RunStatus::Running {
            return None;
        }
        if daemon == DaemonState::Gone {
            return Some("its process has ended".to_owned());
        }
        let seconds = self.started.map(|started| now.as_second() - started.as_second());
        match seconds {
            Some(seconds) if seconds > LONGEST_RUN => {
                Some(format!("it started {} hours ago and has not ended", seconds / 3600))
            }
            _ => None,
        }
    }
}

/// The runs of a project by name, newest first; names without a time come last. No file is opened.
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

/// Reads the run with this id, if it exists.
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

/// All runs of a project, newest first. An unreadable one does not hide the others.
pub fn runs(
    store: &Arc<dyn Store>,
    project: &FilePath,
) -> Result<(Vec<Run>, Vec<Finding>), LinggenError> {
    let (mut runs, mut findings) = (Vec::new(), Vec::new());
    for (id, _) in run_ids(store, project)? {
        match read_run(store, project, &id) {
            Ok(run) => runs.extend(run),
            Err(LinggenError::Damaged { file, reason }) => {
                findings.push(Finding::new(&file, FindingCode::BadDocument, reason));
            }
            Err(error) => return Err(error),
        }
    }
    runs.sort_by(|a, b| (b.started, &a.id).cmp(&(a.started, &b.id)));
    Ok((runs, findings))
}

/// The runs that a run started, oldest first. Runs that started before it are not opened.
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

/// The parameters of a new run.
#[derive(Debug, Clone, Default)]
pub struct NewRun {
    /// The path of the project.
    pub repo_path: String,
    /// The session it belongs to; `default` if `None`.
    pub session: Option<String>,
    /// The agent of the run.
    pub agent: String,
    /// The kind of the agent.
    pub agent_kind: Option<String>,
    /// The run that starts it.
    pub parent: Option<String>,
    /// A short description, such as `chat:plan`.
    pub detail: Option<String>,
}

/// Records the start of a run, and returns its id. No existing run is ever overwritten.
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
            // Another run of the same agent started at the same instant.
            Err(StoreError::Taken { .. }) => id.started.1 += 1,
            done => {
                done?;
                writer.release()?;
                return Ok(name);
            }
        }
    }
}

/// Records the end of a run. Everything else in its document stays.
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
