//! Single items of settings that are lists.

use everturn::config::{self, ConfigLayer};
use serde_json::Value;

use super::layer;
use crate::agent_homes::{self, AgentHome, AgentKind, trust};
use crate::error::Error;
use crate::exit::Exit;
use crate::linggen;

fn refused(key: &str, what: &str) -> Error {
    Error::new(Exit::Request, format!("{key} {what}"))
        .hint(format!("everturn config explain {key}"))
}

/// Returns the list in effect in Linggen's configuration; empty if there is none. Tables are left to `config set`, which
/// changes one field of one of them.
fn linggen_items(home: &AgentHome, key: &str) -> Result<Vec<Value>, Error> {
    match home.config(&[])?.get(key) {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) if !items.iter().any(Value::is_object) => Ok(items),
        Some(Value::Array(_)) => Err(refused(key, "is a list of tables")),
        Some(_) => Err(refused(key, "is not a list")),
    }
}

fn set_linggen_items(
    home: &AgentHome,
    key: &str,
    items: Vec<Value>,
) -> Result<(ConfigLayer, String), Error> {
    let changed = linggen::config::change(home, key, Some(&Value::Array(items)))?;
    changed.ok_or_else(|| refused(key, "is not set"))
}

/// Adds an item to the list of one file; the other items stay as they are.
pub(super) fn add_item(
    home: &AgentHome,
    key: &str,
    item: &Value,
    scope: Option<&str>,
) -> Result<(ConfigLayer, String), Error> {
    const KNOWN: &str = "has this item already";
    if home.agent == AgentKind::Linggen {
        super::refuse_scope(scope)?;
        let mut items = linggen_items(home, key)?;
        if items.contains(item) {
            return Err(refused(key, KNOWN));
        }
        items.push(item.clone());
        return set_linggen_items(home, key, items);
    }
    let layer = match layer(scope) {
        Some(layer) => layer,
        None => config::layer_for(&home.config(&[])?, key),
    };
    let file = home.config_file(layer);
    let (before, place) = (agent_homes::read(file)?, file.to_string_lossy().into_owned());
    let added = config::add_item(home.agent.schema(), &place, before.as_deref(), key, item)?;
    let Some(bytes) = added else { return Err(refused(key, KNOWN)) };
    trust::write_settings(home, file, before.as_deref(), bytes)?;
    Ok((layer, place))
}

/// Removes an item from the list of the file that has it; the other items stay as they are.
pub(super) fn remove_item(
    home: &AgentHome,
    key: &str,
    item: &Value,
    scope: Option<&str>,
) -> Result<(ConfigLayer, String), Error> {
    const UNKNOWN: &str = "has no such item";
    if home.agent == AgentKind::Linggen {
        super::refuse_scope(scope)?;
        let mut items = linggen_items(home, key)?;
        if !items.contains(item) {
            return Err(refused(key, UNKNOWN));
        }
        items.retain(|other| other != item);
        return set_linggen_items(home, key, items);
    }
    let layers = match layer(scope) {
        Some(layer) => vec![layer],
        None => vec![ConfigLayer::Project, ConfigLayer::Global],
    };
    for layer in layers {
        let file = home.config_file(layer);
        let place = file.to_string_lossy().into_owned();
        let Some(before) = agent_homes::read(file)? else { continue };
        let removed = config::remove_item(home.agent.schema(), &place, &before, key, item)?;
        if let Some(bytes) = removed {
            trust::write_settings(home, file, Some(&before), bytes)?;
            return Ok((layer, place));
        }
    }
    Err(refused(key, UNKNOWN))
}
