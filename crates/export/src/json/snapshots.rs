//! Tool snapshots, made from the changes of a state.
//!
//! Each member of a state scope counts as a tool, and the members of that as its components: a snapshot holds the
//! complete state of a tool that changes, and unchanged tools are not repeated.

use everturn::delta::{Delta, DeltaOp};
use everturn::format::SessionError;
use everturn::tree::{JsonTree, ValueKind};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::piece::{ExportPiece, TurnChanges};
use crate::source::{ExportSource, PieceStream, SessionOutline};

/// The scope whose members are tools by name.
const TOOLS: &str = "tools";

/// The component name of a value without members.
const ITSELF: &str = "value";

fn tool_id(scope: &str, member: &str) -> String {
    if scope == TOOLS { member.to_owned() } else { format!("{scope}.{member}") }
}

/// Returns the tools of the last state.
pub(super) fn list_tools(source: &ExportSource<'_>) -> Vec<Value> {
    let Ok(state) = source.reader.state(Some(*source.turns.end())) else { return Vec::new() };
    let mut tools = Vec::new();
    for (scope, tree) in &state.scopes {
        for (member, _) in tree.children().into_iter().filter(|_| tree.kind() == ValueKind::Object)
        {
            let id = tool_id(scope, &member);
            tools.push(json!({"id": id, "name": id}));
        }
    }
    tools
}

/// Converts a value to JSON; a value that cannot be represented becomes its text.
fn json_value(tree: &JsonTree) -> Value {
    tree.to_value().unwrap_or_else(|_| Value::from(tree.to_line()))
}

/// Tracks the states of a session while its changes are read.
pub(super) struct StateSnapshots<'s> {
    pieces: PieceStream<'s>,
    scopes: Vec<(String, JsonTree)>,
    /// The last message and its time.
    message: String,
    time: Timestamp,
    count: u64,
}

impl<'s> StateSnapshots<'s> {
    pub(super) fn new(
        source: &'s ExportSource<'s>,
        created: Option<Timestamp>,
    ) -> Result<StateSnapshots<'s>, SessionError> {
        // If the state before the first turn is unknown, tracking starts with an empty one.
        let before = source.reader.state(Some(source.turns.start().saturating_sub(1)));
        Ok(StateSnapshots {
            pieces: source.pieces(&SessionOutline::default())?,
            scopes: before.map(|state| state.scopes).unwrap_or_default(),
            message: String::new(),
            time: created.unwrap_or_default(),
            count: 0,
        })
    }

    /// Returns the snapshots of the next turn that changes anything.
    pub(super) fn next(&mut self) -> Option<Result<Vec<Value>, SessionError>> {
        loop {
            match self.pieces.next()? {
                Ok(ExportPiece::Message(said)) => {
                    self.message = said.id.clone();
                    self.time = said.time.unwrap_or(self.time);
                }
                Ok(ExportPiece::Changes(changes)) => return Some(Ok(self.snapshots(changes))),
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn scope(&mut self, name: &str) -> Option<&mut JsonTree> {
        if !self.scopes.iter().any(|(known, _)| known == name) {
            self.scopes.push((name.to_owned(), JsonTree::object()));
        }
        self.scopes.iter_mut().find(|(known, _)| known == name).map(|(_, tree)| tree)
    }

    fn snapshots(&mut self, changes: TurnChanges) -> Vec<Value> {
        // The changed tools, in the order of their changes, with the changes of each.
        let mut changed: Vec<(String, String, Vec<Value>)> = Vec::new();
        let cause = format!("turn {}", changes.turn);
        for change in changes.raw {
            let mut delta = change.delta;
            let Some(tree) = self.scope(&change.scope) else { continue };
            // A change that does not apply to a partly known state is still reported.
            drop(delta.apply_in_place(tree));
            let members = match delta.path.segments() {
                [] => tree.children().into_iter().map(|(member, _)| member).collect(),
                [member, ..] => vec![member.to_string()],
            };
            let told = change_json(&delta, tree, &cause);
            for member in members {
                let at = |(scope, known, _): &&mut (String, String, Vec<Value>)| {
                    *scope == change.scope && *known == member
                };
                match changed.iter_mut().find(at) {
                    Some((_, _, list)) => list.push(told.clone()),
                    None => changed.push((change.scope.clone(), member, vec![told.clone()])),
                }
            }
        }
        changed
            .into_iter()
            .map(|(scope, member, list)| self.snapshot(&scope, &member, &list))
            .collect()
    }

    fn snapshot(&mut self, scope: &str, member: &str, changes: &[Value]) -> Value {
        self.count += 1;
        let tree = self.scopes.iter().find(|(name, _)| name == scope);
        let tree =
            tree.and_then(|(_, tree)| tree.value_at(&[member])).unwrap_or_else(JsonTree::null);
        let components: Vec<Value> = match tree.kind() {
            ValueKind::Object => tree
                .children()
                .iter()
                .map(|(id, tree)| json!({"id": id, "current_value": json_value(tree)}))
                .collect(),
            _ => vec![json!({"id": ITSELF, "current_value": json_value(&tree)})],
        };
        json!({
            "id": format!("ts-{:04}", self.count),
            "timestamp": self.time.to_string(),
            "message_id": self.message,
            "tool_id": tool_id(scope, member),
            "state": {"components": components},
            "changes": changes,
        })
    }
}

/// Returns a change in the form that snapshots use.
fn change_json(delta: &Delta, after: &JsonTree, cause: &str) -> Value {
    let component = delta.path.segments().get(1..).unwrap_or_default().join(".");
    let component = if component.is_empty() { ITSELF.to_owned() } else { component };
    // A change of a whole scope is contained in the snapshots themselves.
    let whole = delta.path.segments().is_empty();
    let new = match delta.op {
        _ if whole => None,
        DeltaOp::Delete => None,
        DeltaOp::Set => delta.value.clone(),
        DeltaOp::Push | DeltaOp::Pull | DeltaOp::Increment => after.value_at(delta.path.segments()),
    };
    let told = |tree: Option<&JsonTree>| tree.map(json_value).unwrap_or(Value::Null);
    json!({
        "component_id": component,
        "previous_value": told(delta.previous.as_ref().filter(|_| !whole)),
        "new_value": told(new.as_ref()),
        "cause": cause,
    })
}
