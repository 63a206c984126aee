//! Formats state changes as text and as JSON.

use everturn::delta::{Delta, DeltaOp};
use everturn::model::StateChange;
use everturn::tree::JsonTree;

use crate::json::JsonObject;
use crate::output::escape_controls;

/// How many characters of a value are shown.
const SHOWN: usize = 100;

/// Returns a value, truncated if it is long.
fn short(tree: &JsonTree) -> String {
    let text = tree.to_line();
    match text.char_indices().nth(SHOWN) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// Formats a change as one line of text.
pub(crate) fn line(change: &StateChange) -> String {
    let Delta { op, path, value, previous, .. } = &change.delta;
    let new = value.as_ref().map_or_else(String::new, short);
    let old = previous.as_ref().map(short);
    let what = match (op, old) {
        (DeltaOp::Set, Some(old)) => format!("{old} -> {new}"),
        (DeltaOp::Set, None) => format!("new {new}"),
        (DeltaOp::Delete, Some(old)) => format!("{old} removed"),
        (DeltaOp::Delete, None) => "removed".to_owned(),
        (DeltaOp::Push, _) => format!("added {new}"),
        (DeltaOp::Pull, _) => format!("removed {new}"),
        (DeltaOp::Increment, Some(old)) => format!("{old} + {new}"),
        (DeltaOp::Increment, None) => format!("+ {new}"),
    };
    let place = match path.segments() {
        [] => change.scope.clone(),
        _ => format!("{} {path}", change.scope),
    };
    escape_controls(&format!("{place}: {what}")).replace(['\n', '\t'], " ")
}

/// Formats a change as one JSON object with `op`, `path` and values as stored.
pub(crate) fn json(change: &StateChange) -> String {
    let delta = JsonTree::parse(change.delta.to_line());
    let members = delta.map(|delta| delta.children()).unwrap_or_default();
    let start = JsonObject::new().text("scope", &change.scope);
    members.iter().fold(start, |object, (key, value)| object.tree(key, value)).close()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(delta: &str, text: &str) {
        let delta = Delta::parse(delta).unwrap();
        let change = StateChange { turn: 1, scope: "world".to_owned(), delta, time: None };
        assert_eq!(line(&change), text);
    }

    #[test]
    fn a_change_is_one_line_that_names_the_place() {
        check(r#"{"op":"set","path":"a.b","value":5,"previousValue":4}"#, "world a.b: 4 -> 5");
        check(r#"{"op":"set","path":"a.b","value":"結"}"#, "world a.b: new \"結\"");
        check(r#"{"op":"set","path":[],"value":null,"previousValue":1}"#, "world: 1 -> null");
        check(r#"{"op":"delete","path":["a.b"],"previousValue":4}"#, r#"world ["a.b"]: 4 removed"#);
        check(r#"{"op":"push","path":"bag","value":"lamp"}"#, "world bag: added \"lamp\"");
        check(r#"{"op":"pull","path":"bag","value":"lamp"}"#, "world bag: removed \"lamp\"");
        check(r#"{"op":"increment","path":"n","value":-2,"previousValue":5}"#, "world n: 5 + -2");
    }

    #[test]
    fn a_long_value_is_cut_where_a_character_ends() {
        let text = "語".repeat(200);
        let delta = format!(r#"{{"op":"set","path":"a","value":"{text}"}}"#);
        check(&delta, &format!("world a: new \"{}…", "語".repeat(99)));
    }
}
