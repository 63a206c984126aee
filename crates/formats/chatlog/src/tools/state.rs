//! The state of a tool, from snapshots in either form.

use super::Tool;
use everturn_value::tree::{JsonTree, ValueKind};

/// The form of snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SnapshotShape {
    /// `{"components": [{"id", "current_value"}]}`, and changes as an array.
    Documented,
    /// `{"<component>": value}`, and changes as an object, as in the program's database.
    Database,
}

/// The values of a tool's components, in order.
#[derive(Debug, Clone)]
pub struct ToolState {
    /// The values by component id.
    pub values: Vec<(String, JsonTree)>,
    pub(crate) shape: SnapshotShape,
}

fn quoted(text: &str) -> String {
    JsonTree::from_value(text).map_or_else(|_| "\"\"".to_owned(), |tree| tree.to_line())
}

impl ToolState {
    /// The state in a snapshot; missing components have their initial values.
    pub(crate) fn of_snapshot(snapshot: &JsonTree, tool: &Tool) -> ToolState {
        let state = snapshot.value_at(&["state"]).unwrap_or_else(JsonTree::null);
        let mut noted = ToolState::parse(&state);
        for component in &tool.components {
            if noted.get(&component.id).is_none() {
                noted.values.push((component.id.clone(), component.default.clone()));
            }
        }
        noted
    }

    /// Parses a state in either form.
    pub(crate) fn parse(state: &JsonTree) -> ToolState {
        let list = state.value_at(&["components"]).filter(|list| list.kind() == ValueKind::Array);
        if let Some(list) = list {
            let value = |(_, entry): (String, JsonTree)| {
                let id = entry.string_at(&["id"])?;
                Some((id, entry.value_at(&["current_value"]).unwrap_or_else(JsonTree::null)))
            };
            let values = list.children().into_iter().filter_map(value).collect();
            return ToolState { values, shape: SnapshotShape::Documented };
        }
        let values = match state.kind() {
            ValueKind::Object => state.children(),
            _ => Vec::new(),
        };
        let shape =
            if values.is_empty() { SnapshotShape::Documented } else { SnapshotShape::Database };
        ToolState { values, shape }
    }

    /// The value of a component.
    #[must_use]
    pub fn get(&self, component: &str) -> Option<&JsonTree> {
        self.values.iter().find(|(id, _)| id == component).map(|(_, value)| value)
    }

    pub(crate) fn set(&mut self, component: &str, value: JsonTree) {
        match self.values.iter_mut().find(|(id, _)| id == component) {
            Some((_, known)) => *known = value,
            None => self.values.push((component.to_owned(), value)),
        }
    }

    /// The state in the form of a snapshot.
    pub(crate) fn to_text(&self) -> String {
        let values = self.values.iter();
        match self.shape {
            SnapshotShape::Documented => {
                let values: Vec<String> = values
                    .map(|(id, value)| {
                        format!("{{\"id\":{},\"current_value\":{}}}", quoted(id), value.to_line())
                    })
                    .collect();
                format!("{{\"components\":[{}]}}", values.join(","))
            }
            SnapshotShape::Database => {
                let values: Vec<String> = values
                    .map(|(id, value)| format!("{}:{}", quoted(id), value.to_line()))
                    .collect();
                format!("{{{}}}", values.join(","))
            }
        }
    }
}

/// One change of a component.
#[derive(Debug, Clone)]
pub(crate) struct ComponentChange {
    pub(crate) component: String,
    pub(crate) before: JsonTree,
    pub(crate) after: JsonTree,
    pub(crate) cause: Option<String>,
}

impl ComponentChange {
    pub(crate) fn to_text(&self, shape: SnapshotShape) -> String {
        let ComponentChange { component, before, after, cause } = self;
        let (before, after) = (before.to_line(), after.to_line());
        let (component, cause) = (quoted(component), quoted(cause.as_deref().unwrap_or_default()));
        match shape {
            SnapshotShape::Documented => format!(
                "{{\"component_id\":{component},\"previous_value\":{before},\"new_value\":{after},\"cause\":{cause}}}"
            ),
            SnapshotShape::Database => {
                format!("{component}:{{\"from\":{before},\"to\":{after},\"reason\":{cause}}}")
            }
        }
    }

    /// Several changes in the form of a snapshot.
    pub(crate) fn all_to_text(changes: &[ComponentChange], shape: SnapshotShape) -> String {
        let texts: Vec<String> = changes.iter().map(|change| change.to_text(shape)).collect();
        let texts = texts.join(",");
        match shape {
            SnapshotShape::Documented => format!("[{texts}]"),
            SnapshotShape::Database => format!("{{{texts}}}"),
        }
    }
}

/// The changes in a snapshot, in either form.
pub(crate) fn changes_of(snapshot: &JsonTree) -> Vec<ComponentChange> {
    let Some(changes) = snapshot.value_at(&["changes"]) else { return Vec::new() };
    let value = |entry: &JsonTree, key: &str| entry.value_at(&[key]).unwrap_or_else(JsonTree::null);
    let list = changes.children().into_iter();
    match changes.kind() {
        ValueKind::Array => list
            .filter_map(|(_, entry)| {
                let component = entry.string_at(&["component_id"])?;
                let (before, after) = (value(&entry, "previous_value"), value(&entry, "new_value"));
                Some(ComponentChange {
                    component,
                    before,
                    after,
                    cause: entry.string_at(&["cause"]),
                })
            })
            .collect(),
        ValueKind::Object => list
            .map(|(component, entry)| {
                // An addition to a list is recorded without the list; the state has it.
                let state = snapshot.value_at(&["state"]).unwrap_or_else(JsonTree::null);
                let now = ToolState::parse(&state).get(&component).cloned();
                let after = entry.value_at(&["to"]).or(now).unwrap_or_else(JsonTree::null);
                let cause = entry.string_at(&["reason"]);
                ComponentChange { component, before: value(&entry, "from"), after, cause }
            })
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> JsonTree {
        JsonTree::parse(text).unwrap()
    }

    #[test]
    fn both_shapes_are_read_and_written_as_they_were() {
        for text in [
            r#"{"components":[{"id":"a","current_value":"0"},{"id":"b","current_value":["x"]}]}"#,
            r#"{"a":"0","b":["x"]}"#,
        ] {
            let state = ToolState::parse(&tree(text));
            assert_eq!(state.get("b").unwrap().to_line(), r#"["x"]"#);
            assert_eq!(state.to_text(), text);
        }
        assert_eq!(ToolState::parse(&tree("7")).values.len(), 0);
    }

    #[test]
    fn changes_are_read_in_both_shapes() {
        let list =
            r#"{"changes":[{"component_id":"a","previous_value":1,"new_value":2,"cause":"c"}]}"#;
        let map = r#"{"state":{"a":2,"l":["x","y"]},
            "changes":{"a":{"from":1,"to":2,"reason":"c"},"l":{"action":"add","value":"y"}}}"#;
        let told = |text: &str| {
            let changes = changes_of(&tree(text)).into_iter();
            changes
                .map(|change| (change.component, change.before.to_line(), change.after.to_line()))
                .collect::<Vec<_>>()
        };
        let text = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(told(list), [text("a", "1", "2")]);
        assert_eq!(told(map), [text("a", "1", "2"), text("l", "null", r#"["x","y"]"#)]);
        assert!(told(r#"{"changes":7}"#).is_empty());
    }
}
