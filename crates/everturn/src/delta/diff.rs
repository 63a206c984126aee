//! What has changed between two states.

use super::{Delta, MAX_SEGMENTS, Path};
use crate::tree::{Kind, Tree};

/// Deltas that turn `from` into `to`, in the order of `from`.
///
/// ```
/// use everturn::delta::{apply_group, diff};
/// use everturn::tree::Tree;
///
/// let mut state = Tree::parse(r#"{"hp": 10, "bag": ["rope"], "lost": true}"#)?;
/// let after = Tree::parse(r#"{"hp": 7, "bag": ["rope", "lamp"]}"#)?;
/// let mut deltas = diff(&state, &after);
/// assert_eq!(deltas.len(), 3);
/// apply_group(&mut deltas, &mut state).unwrap();
/// assert!(state.is_same(&after));
/// # Ok::<(), everturn::json::Bad>(())
/// ```
#[must_use]
pub fn diff(from: &Tree, to: &Tree) -> Vec<Delta> {
    let mut deltas = Vec::new();
    compare(&Path::array::<&str>([]), from, to, &mut deltas);
    deltas
}

/// Goes no deeper than paths can.
fn compare(path: &Path, from: &Tree, to: &Tree, deltas: &mut Vec<Delta>) {
    if from.is_same(to) {
        return;
    }
    let deep = path.segments().len() >= MAX_SEGMENTS;
    match (from.kind(), to.kind()) {
        (Kind::Object, Kind::Object) if !deep => compare_objects(path, from, to, deltas),
        (Kind::Array, Kind::Array) if !deep => compare_arrays(path, from, to, deltas),
        _ => deltas.push(Delta::set(readable(path), to.clone())),
    }
}

fn compare_objects(path: &Path, from: &Tree, to: &Tree, deltas: &mut Vec<Delta>) {
    let after: std::collections::HashMap<String, Tree> = to.children().into_iter().collect();
    let before = from.children();
    for (key, value) in &before {
        match after.get(key) {
            Some(new) => compare(&path.join(key), value, new, deltas),
            None => deltas.push(Delta::delete(readable(&path.join(key)))),
        }
    }
    let known: std::collections::HashSet<&str> =
        before.iter().map(|(key, _)| key.as_str()).collect();
    for (key, value) in to.children() {
        if !known.contains(key.as_str()) {
            deltas.push(Delta::set(readable(&path.join(&key)), value));
        }
    }
}

fn compare_arrays(path: &Path, from: &Tree, to: &Tree, deltas: &mut Vec<Delta>) {
    let (before, after) = (from.children(), to.children());
    for ((at, value), (_, new)) in before.iter().zip(&after) {
        compare(&path.join(at), value, new, deltas);
    }
    for (at, _) in before.iter().skip(after.len()).rev() {
        deltas.push(Delta::delete(readable(&path.join(at))));
    }
    for (_, value) in after.into_iter().skip(before.len()) {
        deltas.push(Delta::push(readable(path), value));
    }
}

/// With dots, where that can be.
fn readable(path: &Path) -> Path {
    path.clone().spelled(super::Spelling::Dotted)
}
