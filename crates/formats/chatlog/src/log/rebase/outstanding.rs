//! Finds the deltas that have not had their effect yet.

use everturn_value::delta::{Delta, DeltaOp, DeltaPath};
use everturn_value::tree::JsonTree;

/// Whether two elements of a list are the same.
fn is_same(one: &JsonTree, other: &JsonTree) -> bool {
    let id = one.string_at(&["id"]);
    one.is_same(other) || (id.is_some() && id == other.string_at(&["id"]))
}

/// The position of an element in the array at a path.
fn position<S: AsRef<str>>(tree: &JsonTree, array: &[S], element: &JsonTree) -> Option<usize> {
    let children = tree.value_at(array)?.children();
    children.iter().position(|(_, child)| is_same(child, element))
}

/// The array and the element that a delta removes from it, if recorded.
fn removal(delta: &Delta) -> Option<(&[Box<str>], &JsonTree)> {
    let (array, last) = delta.path.split_last()?;
    let is_index = last.parse::<usize>().is_ok();
    delta
        .previous
        .as_ref()
        .filter(|_| delta.op == DeltaOp::Delete && is_index)
        .map(|was| (array, was))
}

/// Whether a tree looks as if the delta had been applied to it.
fn holds(tree: &JsonTree, delta: &Delta) -> bool {
    let path = delta.path.segments();
    match (delta.op, &delta.value) {
        (DeltaOp::Set, Some(value)) => {
            tree.value_at(path).is_some_and(|found| found.is_same(value))
        }
        (DeltaOp::Push, Some(value)) => position(tree, path, value).is_some(),
        (DeltaOp::Delete, _) => match removal(delta) {
            Some((array, element)) => position(tree, array, element).is_none(),
            None => tree.value_at(path).is_none(),
        },
        _ => false,
    }
}

/// Whether a later delta leaves no effect of an earlier one.
fn is_undone(delta: &Delta, later: &Delta) -> bool {
    let (path, over) = (delta.path.segments(), later.path.segments());
    match (later.op, removal(later)) {
        (DeltaOp::Delete, Some((array, element))) => {
            delta.op == DeltaOp::Push
                && path == array
                && delta.value.as_ref().is_some_and(|value| is_same(value, element))
        }
        (DeltaOp::Set | DeltaOp::Delete, _) => path.starts_with(over),
        _ => false,
    }
}

/// The deltas still to be applied to a tree to which all of them may have been applied, and which another program may
/// have changed since. Elements are not added to an array that has them, and are removed at their current position.
pub(super) fn outstanding(tree: &JsonTree, deltas: &[Delta]) -> Vec<Delta> {
    let lasting = deltas
        .iter()
        .enumerate()
        .filter(|(at, delta)| !deltas.iter().skip(at + 1).any(|later| is_undone(delta, later)));
    if lasting.map(|(_, delta)| delta).all(|delta| holds(tree, delta)) {
        return Vec::new();
    }
    let mut state = tree.clone();
    let mut left = Vec::new();
    for delta in deltas {
        let mut delta = delta.clone();
        if delta.op == DeltaOp::Push && holds(tree, &delta) {
            continue;
        }
        if let Some((array, element)) = removal(&delta) {
            let Some(at) = position(&state, array, element) else { continue };
            let index = at.to_string().into_boxed_str();
            delta.path = DeltaPath::array(array.iter().cloned().chain([index]));
        }
        // A delta that cannot be applied is reported when it is applied to the text.
        if delta.apply(&mut state).is_ok() || delta.op != DeltaOp::Delete {
            left.push(delta);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> JsonTree {
        JsonTree::parse(text).unwrap()
    }

    fn delta(line: &str) -> Delta {
        Delta::parse(line).unwrap()
    }

    fn check(state: &str, deltas: &[&str], expect: &str) {
        let deltas: Vec<Delta> = deltas.iter().map(|line| delta(line)).collect();
        let mut after = tree(state);
        for delta in outstanding(&after, &deltas) {
            delta.apply(&mut after).unwrap();
        }
        assert!(after.is_same(&tree(expect)), "{state}: {}", after.to_line());
    }

    #[test]
    fn what_was_applied_is_not_applied_again() {
        let (first, second) = (
            r#"{"op":"set","path":["t"],"value":"a"}"#,
            r#"{"op":"set","path":["t"],"value":"b"}"#,
        );
        check(r#"{"t":"x"}"#, &[first, second], r#"{"t":"b"}"#);
        check(r#"{"t":"b"}"#, &[first, second], r#"{"t":"b"}"#);
        let push = r#"{"op":"push","path":["l"],"value":{"id":"m"}}"#;
        check(r#"{"l":[]}"#, &[push], r#"{"l":[{"id":"m"}]}"#);
        check(r#"{"l":[{"id":"m","n":1}]}"#, &[push], r#"{"l":[{"id":"m","n":1}]}"#);
        check(r#"{"l":[{"id":"m"}],"t":"x"}"#, &[push, first], r#"{"l":[{"id":"m"}],"t":"a"}"#);
    }

    #[test]
    fn an_element_is_removed_from_where_it_stands_now() {
        let delete = r#"{"op":"delete","path":["l","0"],"previousValue":{"id":"m"}}"#;
        check(r#"{"l":[{"id":"m"},{"id":"n"}]}"#, &[delete], r#"{"l":[{"id":"n"}]}"#);
        check(r#"{"l":[{"id":"n"},{"id":"m"}]}"#, &[delete], r#"{"l":[{"id":"n"}]}"#);
        check(r#"{"l":[{"id":"n"}]}"#, &[delete], r#"{"l":[{"id":"n"}]}"#);
        let push = r#"{"op":"push","path":["l"],"value":{"id":"m"}}"#;
        check(r#"{"l":[{"id":"n"}]}"#, &[push, delete], r#"{"l":[{"id":"n"}]}"#);
    }
}
