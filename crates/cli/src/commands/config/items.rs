//! Single items of settings that are lists.

use everturn::config::{self, ConfigLayer};
use serde_json::Value;

use super::{layer, set};
use crate::agent_homes::{AgentHome, AgentKind};
use crate::error::Error;
use crate::exit::Exit;

/// Returns the list that a layer defines for a setting, or without a layer the one in effect; empty if there is none.
fn list_in(
    home: &AgentHome,
    key: &str,
    layer: Option<ConfigLayer>,
) -> Result<Vec<Value>, Error> {
    let config = home.config(&[])?;
    let found = match layer {
        None => config.get(key),
        Some(layer) => {
            let mut origins = config.explain(key).into_iter();
            origins.find(|origin| origin.layer == layer).map(|origin| origin.value)
        }
    };
    match found {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => {
            let what = format!("{key} is not a list");
            Err(Error::new(Exit::Request, what).hint("everturn config set changes it"))
        }
    }
}

fn scope_of(layer: Option<ConfigLayer>) -> Option<&'static str> {
    Some(if layer? == ConfigLayer::Project { "project" } else { "global" })
}

fn refused(key: &str, what: &str) -> Error {
    Error::new(Exit::Request, format!("{key} {what}"))
        .hint(format!("everturn config explain {key}"))
}

/// Adds an item to the list of one file; the other items stay as they are.
pub(super) fn add_item(
    home: &AgentHome,
    key: &str,
    item: &Value,
    scope: Option<&str>,
) -> Result<(ConfigLayer, String), Error> {
    let named = layer(scope);
    let layer = match home.agent {
        // All of its changes are in one file, which starts from the whole configuration.
        AgentKind::Linggen => None,
        AgentKind::Everturn | AgentKind::Codelia => Some(match named {
            Some(layer) => layer,
            None => config::layer_for(&home.config(&[])?, key),
        }),
    };
    let mut items = list_in(home, key, layer)?;
    if items.contains(item) {
        return Err(refused(key, "has this item already"));
    }
    items.push(item.clone());
    set(home, key, &Value::Array(items).to_string(), scope.or(scope_of(layer)))
}

/// Removes an item from the list of the file that has it; the other items stay as they are.
pub(super) fn remove_item(
    home: &AgentHome,
    key: &str,
    item: &Value,
    scope: Option<&str>,
) -> Result<(ConfigLayer, String), Error> {
    let layers = match (home.agent, layer(scope)) {
        (AgentKind::Linggen, _) => vec![None],
        (_, Some(layer)) => vec![Some(layer)],
        (_, None) => vec![Some(ConfigLayer::Project), Some(ConfigLayer::Global)],
    };
    for layer in layers {
        let mut items = list_in(home, key, layer)?;
        if items.contains(item) {
            items.retain(|other| other != item);
            return set(home, key, &Value::Array(items).to_string(), scope.or(scope_of(layer)));
        }
    }
    Err(refused(key, "has no such item"))
}
