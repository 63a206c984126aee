//! Per-project overrides of an agent's idle behavior.

use std::sync::Arc;

use serde_json::json;

use super::document::JsonDocument;
use super::error::LinggenError;
use super::paths::{ProjectPart, file_name};
use everturn_json::names::FilePath;
use everturn_store::{Durability, FileMode, Step, Store};

/// The override of an agent in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentOverride {
    /// The agent.
    pub agent_id: String,
    /// The prompt it gets when it is idle.
    pub idle_prompt: Option<String>,
    /// The idle time before that prompt, in seconds.
    pub idle_interval_secs: Option<u64>,
}

fn file(project: &FilePath, agent: &str) -> Result<FilePath, LinggenError> {
    Ok(ProjectPart::Overrides.of(project).join(&file_name(agent, "json")?))
}

/// The override of an agent in a project, if any.
pub fn read_override(
    store: &Arc<dyn Store>,
    project: &FilePath,
    agent: &str,
) -> Result<Option<AgentOverride>, LinggenError> {
    let Some(stored) = JsonDocument::read(store, &file(project, agent)?)? else { return Ok(None) };
    Ok(Some(AgentOverride {
        agent_id: stored.string("agent_id").unwrap_or_else(|| agent.to_owned()),
        idle_prompt: stored.string("idle_prompt"),
        idle_interval_secs: stored.get("idle_interval_secs").and_then(|secs| secs.as_u64()),
    }))
}

/// Sets the override of an agent. Other fields of the document stay.
pub fn set_override(
    store: &Arc<dyn Store>,
    project: &FilePath,
    change: &AgentOverride,
) -> Result<(), LinggenError> {
    let file = file(project, &change.agent_id)?;
    let writer = store.lock(std::slice::from_ref(&file))?;
    let AgentOverride { agent_id, idle_prompt, idle_interval_secs } = change;
    let stored = match JsonDocument::read(store, &file)? {
        Some(mut stored) => {
            stored.set("agent_id", agent_id)?;
            stored.set("idle_prompt", idle_prompt)?;
            stored.set("idle_interval_secs", idle_interval_secs)?;
            stored
        }
        None => {
            let value = json!({
                "agent_id": agent_id, "idle_prompt": idle_prompt, "idle_interval_secs": idle_interval_secs,
            });
            JsonDocument::new(&file, &value)?
        }
    };
    writer.commit(vec![stored.step(FileMode::Default)], Durability::Synced)?;
    Ok(writer.release()?)
}

/// Removes the override of an agent. Returns whether there was one.
pub fn remove_override(
    store: &Arc<dyn Store>,
    project: &FilePath,
    agent: &str,
) -> Result<bool, LinggenError> {
    let file = file(project, agent)?;
    let writer = store.lock(std::slice::from_ref(&file))?;
    let there = store.stat(&file)?.is_some();
    if there {
        writer.commit(vec![Step::Remove { path: file }], Durability::Synced)?;
    }
    writer.release()?;
    Ok(there)
}
