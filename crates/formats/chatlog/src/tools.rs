//! Support tools: their components and their states.
//!
//! A [`Tool`] has [`Component`]s, and a [`ToolState`] has their values.

mod component;
mod state;

use std::sync::Arc;

use super::error::ChatError;
use super::log::ChatLog;
use super::paths::tool_file;
use super::survey::ListKind;
use super::tags::{TagAction, ToolTag};
use everturn_json::finding::{Finding, FindingCode};
use everturn_store::{Store, StoreError};
use everturn_value::document::Document;
use everturn_value::tree::{JsonTree, ValueKind};

pub use component::{Component, ComponentKind, FiredTrigger};
pub use state::ToolState;
pub(crate) use state::{ComponentChange, SnapshotShape, changes_of};

/// A support tool of a chat log.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its components, as far as its definition is known.
    pub components: Vec<Component>,
}

impl Tool {
    /// The initial state.
    #[must_use]
    pub fn defaults(&self) -> ToolState {
        let values = self.components.iter();
        let values = values.map(|component| (component.id.clone(), component.default.clone()));
        ToolState { values: values.collect(), shape: SnapshotShape::Documented }
    }

    pub(crate) fn component(&self, id: &str) -> Option<&Component> {
        self.components.iter().find(|component| component.id == id)
    }
}

/// The result of changing a component.
pub(crate) struct ComponentOutcome {
    pub(crate) value: JsonTree,
    pub(crate) fired: Vec<FiredTrigger>,
    /// A problem that did not prevent the change.
    pub(crate) odd: Option<String>,
}

/// The outcome of applying a tag to a component.
pub(crate) fn carry_out(
    tool: &Tool,
    state: &ToolState,
    tag: &ToolTag,
) -> Result<ComponentOutcome, String> {
    let before = state.get(&tag.id).cloned().unwrap_or_else(JsonTree::null);
    let known = tool.component(&tag.id).cloned();
    let component = known.unwrap_or_else(|| Component::guessed(&tag.id, &before));
    let value = match tag.action {
        TagAction::Update => component.value_of(&tag.value, &before)?,
        TagAction::Add => component.with_element(&tag.value, &before)?,
    };
    let odd = component.outside(&value);
    let fired = component.fires(&tool.id, &before, &value);
    Ok(ComponentOutcome { value, fired, odd })
}

/// The tools that a chat log names, with their definitions: from the chat log itself, or from `tools/<id>.json`.
pub(crate) fn tools_of(log: &ChatLog, findings: &mut Vec<Finding>) -> Result<Vec<Tool>, ChatError> {
    let head = log.head();
    let listed = head.value_at(&["session", "support_tools"]);
    let listed = listed.filter(|list| list.kind() == ValueKind::Array);
    let listed = listed.map(|list| list.children()).unwrap_or_default();
    let mut tools: Vec<Tool> = Vec::new();
    for (_, entry) in listed {
        let Some(id) = entry.string_at(&["id"]) else { continue };
        let name = entry.string_at(&["name"]).unwrap_or_else(|| id.clone());
        let definition = match has_components(&entry) {
            true => Some(entry.clone()),
            false => definition(&log.store, &id, findings)?,
        };
        let components = definition.map(|definition| Component::all(&definition));
        tools.push(Tool { id, name, components: components.unwrap_or_default() });
    }
    // A tool that was used but is not listed exists, too.
    let mut used =
        log.by_index(|index| Ok(index.tools().map(str::to_owned).collect::<Vec<_>>()))?;
    used.extend(log.overlay.snapshots.values().map(|added| added.tool.clone()));
    for id in used {
        if !id.is_empty() && !tools.iter().any(|tool| tool.id == id) {
            tools.push(Tool { name: id.clone(), id, components: Vec::new() });
        }
    }
    Ok(tools)
}

fn has_components(entry: &JsonTree) -> bool {
    let list =
        |path: &[&str]| entry.value_at(path).is_some_and(|list| list.kind() == ValueKind::Array);
    list(&["components"]) || list(&["tool", "components"])
}

fn definition(
    store: &Arc<dyn Store>,
    id: &str,
    findings: &mut Vec<Finding>,
) -> Result<Option<JsonTree>, ChatError> {
    let Ok(file) = tool_file(id) else { return Ok(None) };
    let bytes = match store.read(&file, 0..u64::MAX) {
        Ok(bytes) => bytes,
        Err(StoreError::Missing { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match Document::parse(&bytes) {
        Ok(document) => {
            let text = document.get(&[]).unwrap_or_default().to_owned();
            let end = text.len();
            Ok(Some(JsonTree::from_trusted(text.into(), 0..end)))
        }
        Err(error) => {
            findings.push(Finding::new(&file, FindingCode::BadDocument, error.to_string()));
            Ok(None)
        }
    }
}

impl ChatLog {
    /// The support tools, with their definitions as far as they are known.
    pub fn tools(&self) -> Result<(Vec<Tool>, Vec<Finding>), ChatError> {
        let mut findings = Vec::new();
        let tools = tools_of(self, &mut findings)?;
        Ok((tools, findings))
    }

    /// The state of a tool after a message; the initial state if none was recorded before.
    pub fn tool_state(&self, tool: &Tool, number: u64) -> Result<ToolState, ChatError> {
        let place = if number == self.len() { self.last_place() } else { self.place_of(number)? };
        let noted = self.noted(&tool.id, place)?;
        Ok(noted.map_or_else(|| tool.defaults(), |tree| ToolState::of_snapshot(&tree, tool)))
    }

    /// The last snapshot of a tool at or before the message at a place.
    pub(crate) fn noted(&self, tool: &str, place: u64) -> Result<Option<JsonTree>, ChatError> {
        let overlay = &self.overlay;
        let stored = self.by_index(|index| {
            for known in index.snapshots(tool, place)? {
                let known = known?;
                if !overlay.moved.contains_key(&known.place) {
                    return Ok(Some((known, self.snapshot_at(&known)?)));
                }
            }
            Ok(None)
        })?;
        let mut best = stored.map(|(known, tree)| ((known.message, known.place), tree));
        let mut better = |at: (u64, u64), tree: JsonTree| {
            if best.as_ref().is_none_or(|(known, _)| *known < at) {
                best = Some((at, tree));
            }
        };
        for (at, message) in overlay.moved.range(..=self.stored_count(ListKind::Snapshots)) {
            if *message > place {
                continue;
            }
            let known = self.by_index(|index| {
                let all = index.snapshots_between(0..=u64::MAX)?;
                Ok(all.into_iter().find(|known| known.place == *at))
            })?;
            if let Some(known) = known {
                let tree = self.snapshot_at(&known)?;
                if tree.string_at(&["tool_id"]).as_deref() == Some(tool) {
                    better((*message, *at), tree);
                }
            }
        }
        for (at, added) in &overlay.snapshots {
            let message = overlay.moved.get(at).copied().unwrap_or(added.message);
            if added.tool == tool && message <= place {
                let tree = self.journal_value(&added.line)?.to_line();
                better((message, *at), self.with_edits(ListKind::Snapshots, *at, tree)?);
            }
        }
        Ok(best.map(|(_, tree)| tree))
    }

    /// The states of all tools after a message, by tool id.
    pub fn states(&self, number: u64) -> Result<(JsonTree, Vec<Finding>), ChatError> {
        let (tools, findings) = self.tools()?;
        let mut members = Vec::new();
        for tool in &tools {
            let state = self.tool_state(tool, number)?;
            members.push((tool.id.clone(), JsonTree::from_members(state.values)));
        }
        Ok((JsonTree::from_members(members), findings))
    }
}
