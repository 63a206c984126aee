//! Snapshots of tools, made from the changes of a state.
//!
//! Each member of a part of the state counts as a tool, and the members of that as its components: so the complete
//! state of a tool stands where it changes, and those that stay as they are are not repeated.

use everturn::delta::{Delta, DeltaOp};
use everturn::format::SessionError;
use everturn::tree::{JsonTree, ValueKind};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::piece::{ExportPiece, TurnChanges};
use crate::source::{ExportSource, PieceStream, SessionOutline};

/// The part of the state whose members are tools by name.
const TOOLS: &str = "tools";

/// What a value is called that has no members.
const ITSELF: &str = "value";

fn tool_id(scope: &str, member: &str) -> String {
    if scope == TOOLS { member.to_owned() } else { format!("{scope}.{member}") }
}

/// The tools there are at the end.
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

/// A value as it can be put into a document; one that cannot be spelled there becomes its text.
fn json_value(tree: &JsonTree) -> Value {
    tree.to_value().unwrap_or_else(|_| Value::from(tree.to_line()))
}

/// The states of a session while its changes are read.
pub(super) struct StateSnapshots<'s> {
    pieces: PieceStream<'s>,
    scopes: Vec<(String, JsonTree)>,
    /// The last message, and when it was.
    message: String,
    time: Timestamp,
    count: u64,
}

impl<'s> StateSnapshots<'s> {
    pub(super) fn new(
        source: &'s ExportSource<'s>,
        created: Option<Timestamp>,
    ) -> Result<StateSnapshots<'s>, SessionError> {
        // Where nobody knows the state before the first turn, it begins with what changes.
        let before = source.reader.state(Some(source.turns.start().saturating_sub(1)));
        Ok(StateSnapshots {
            pieces: source.pieces(&SessionOutline::default())?,
            scopes: before.map(|state| state.scopes).unwrap_or_default(),
            message: String::new(),
            time: created.unwrap_or_default(),
            count: 0,
        })
    }

    /// The snapshots of the next turn that changes anything.
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
        // The tools that change, in the order in which they do, with what changes in each.
        let mut changed: Vec<(String, String, Vec<Value>)> = Vec::new();
        let cause = format!("turn {}", changes.turn);
        for change in changes.raw {
            let mut delta = change.delta;
            let Some(tree) = self.scope(&change.scope) else { continue };
            // What does not fit a state that is only partly known still says what it says.
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

/// A change as a snapshot tells it.
fn change_json(delta: &Delta, after: &JsonTree, cause: &str) -> Value {
    let component = delta.path.segments().get(1..).unwrap_or_default().join(".");
    let component = if component.is_empty() { ITSELF.to_owned() } else { component };
    // A whole part of the state is in the snapshots themselves.
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
