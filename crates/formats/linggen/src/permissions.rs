//! The tools allowed in a workspace without asking: `permissions.json` in its `.linggen` directory, which is the root
//! of the store here.

use std::sync::Arc;

use serde_json::Value;

use super::document::JsonDocument;
use super::error::LinggenError;
use everturn_json::names::FilePath;
use everturn_store::{Durability, FileMode, Store};
use everturn_value::document::PathSegment;

const ALLOWS: &str = "tool_allows";

fn file() -> FilePath {
    FilePath::root().join_static("permissions.json")
}

fn allows(stored: &JsonDocument) -> Result<Vec<String>, LinggenError> {
    match stored.get(ALLOWS) {
        None => Ok(Vec::new()),
        Some(Value::Array(tools)) if tools.iter().all(Value::is_string) => {
            Ok(tools.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        Some(_) => {
            Err(LinggenError::damaged(&stored.file, "tool_allows is not an array of strings"))
        }
    }
}

/// The allowed tools, in the order of the file.
pub fn allowed(store: &Arc<dyn Store>) -> Result<Vec<String>, LinggenError> {
    match JsonDocument::read(store, &file())? {
        Some(stored) => allows(&stored),
        None => Ok(Vec::new()),
    }
}

fn check(tool: &str) -> Result<(), LinggenError> {
    if tool.trim().is_empty() || tool.chars().any(char::is_control) {
        return Err(LinggenError::input(format!("{tool:?} is not a tool name")));
    }
    Ok(())
}

/// Allows a tool. Returns whether that is a change.
pub fn allow(store: &Arc<dyn Store>, tool: &str) -> Result<bool, LinggenError> {
    check(tool)?;
    let writer = store.lock(&[file()])?;
    let mut stored = JsonDocument::read_or_new(store, &file())?;
    let known = allows(&stored)?.iter().any(|known| known == tool);
    if !known {
        match stored.get(ALLOWS) {
            Some(_) => stored.edit().push(&[PathSegment::Key(ALLOWS)], tool)?,
            None => stored.set(ALLOWS, &[tool])?,
        }
        writer.commit(vec![stored.step(FileMode::Default)], Durability::Synced)?;
    }
    writer.release()?;
    Ok(!known)
}

/// Revokes the permission of a tool. Returns whether that is a change.
pub fn revoke(store: &Arc<dyn Store>, tool: &str) -> Result<bool, LinggenError> {
    let writer = store.lock(&[file()])?;
    let mut removed = false;
    if let Some(mut stored) = JsonDocument::read(store, &file())? {
        while let Some(at) = allows(&stored)?.iter().position(|known| known == tool) {
            removed |= stored.edit().remove(&[PathSegment::Key(ALLOWS), PathSegment::Index(at)])?;
        }
        if removed {
            writer.commit(vec![stored.step(FileMode::Default)], Durability::Synced)?;
        }
    }
    writer.release()?;
    Ok(removed)
}
