//! The errors of a lookup, with the names that the user may have meant.

use std::path::Path;

use everturn_export::columns::shorten_width;

use super::candidates::{Candidate, kind_and_id};
use crate::context::next_command;
use crate::error::Error;
use crate::exit::Exit;
use crate::open_root::OpenRoot;
use crate::sources::SourceLocation;

/// The maximum number of names in a hint.
const NAMES_IN_HINT: usize = 8;

/// The maximum width of a title in a hint.
const TITLE: usize = 40;

/// The minimum similarity of a suggested name.
const ALIKE: f64 = 0.8;

/// Returns the error for a name that no session has.
pub(super) fn unknown(
    name: &str,
    roots: &[(SourceLocation, OpenRoot)],
    others: &[Candidate],
) -> Error {
    let place: Vec<String> =
        roots.iter().map(|(_, root)| root.path.display().to_string()).collect();
    let place = place.join(", ");
    if let (true, Some(kind)) = (others.is_empty(), kind_and_id(name).0) {
        let what = format!("there are no {kind} sessions in {place}");
        return Error::new(Exit::Request, what)
            .hint(format!("list all sessions with: {}", next_command("ls")));
    }
    if others.is_empty() {
        let new = next_command("new game");
        return Error::new(Exit::Request, format!("there are no sessions in {place}")).hint(new);
    }
    let unknown = Error::new(Exit::Request, format!("there is no session {name:?} in {place}"));
    let list = next_command("ls");
    let (_, id) = kind_and_id(name);
    let similar = similar_sessions(others, id);
    if similar.is_empty() {
        let names = listed(names_of(others));
        return unknown.hint(format!("known sessions: {names}; list all with: {list}"));
    }
    let names = described(&similar, others).join(" or ");
    unknown.hint(format!("did you mean {names}? {list} lists all"))
}

/// Returns the error for a name that several sessions have.
pub(super) fn ambiguous(name: &str, places: &[Candidate]) -> Error {
    let mut some: Vec<&Candidate> = places.iter().collect();
    some.sort_by(|one, other| one.2.cmp(&other.2));
    let more = some.len().saturating_sub(NAMES_IN_HINT);
    some.truncate(NAMES_IN_HINT);
    let names = described(&some, places).join(", ");
    let names = if more == 0 { names } else { format!("{names} and {more} more") };
    Error::new(Exit::Request, format!("{name:?} matches {} sessions", places.len()))
        .hint(format!("name one of {names}"))
}

/// Returns a name for each session that finds this session and no other: its ID, or `FORMAT:ID`, or its path.
fn names_of<'c>(candidates: impl IntoIterator<Item = &'c Candidate>) -> Vec<String> {
    let candidates: Vec<&Candidate> = candidates.into_iter().collect();
    let by_format = |(_, layout, place): &Candidate| format!("{}:{}", layout.name(), place.id);
    let name = |candidate: &&Candidate| {
        let alike = || candidates.iter().filter(|other| other.2.id == candidate.2.id);
        let of_format = by_format(candidate);
        match alike().count() {
            1 => candidate.2.id.clone(),
            _ if alike().filter(|other| by_format(other) == of_format).count() == 1 => of_format,
            _ => candidate.0.shown(&candidate.2.path),
        }
    };
    candidates.iter().map(name).collect()
}

/// Returns the error for the prefix of an ID where the complete ID is required.
pub(super) fn incomplete(id: &str, candidates: &[&Candidate]) -> Error {
    let what =
        format!("{id:?} is not a full session ID, which a command that changes a session requires");
    let ids = listed(names_of(candidates.iter().copied()));
    Error::new(Exit::Request, what).hint(format!("sessions with this prefix: {ids}"))
}

/// Returns the error for a path that leads to no session.
pub(super) fn no_session(path: &Path) -> Error {
    Error::new(Exit::Request, format!("{} is not a session", path.display()))
        .hint("everturn ls --root DIR lists the sessions of a root")
}

/// Returns the names of some sessions, with their titles.
fn described(some: &[&Candidate], all: &[Candidate]) -> Vec<String> {
    let names = names_of(all);
    let describe = |candidate: &&Candidate| {
        let (root, layout, place) = candidate;
        let at = all.iter().position(|one| one.2 == *place && one.0.path == root.path);
        let name = at.and_then(|at| names.get(at)).unwrap_or(&place.id).clone();
        let title = layout.summary(&root.store(), place).map(|summary| summary.title);
        match title.ok().filter(|title| !title.is_empty() && *title != place.id) {
            Some(title) => format!("{name} ({})", shorten_width(&title, TITLE)),
            None => name,
        }
    };
    some.iter().map(describe).collect()
}

/// Returns the distance between a name and an ID: the number of edits to the ID, or to as much of its beginning as the
/// name has; `None` if they are not alike.
fn distance(id: &str, wanted: &str) -> Option<usize> {
    let length = wanted.chars().count();
    let begin: String = id.chars().take(length).collect();
    let edits = strsim::osa_distance(id, wanted).min(strsim::osa_distance(&begin, wanted));
    let most = match length {
        ..4 => 0,
        4..8 => 1,
        _ => 2,
    };
    (edits <= most || strsim::jaro_winkler(id, wanted) >= ALIKE).then_some(edits)
}

/// Returns the sessions whose IDs are similar to an unknown one, most similar first.
fn similar_sessions<'c>(others: &'c [Candidate], wanted: &str) -> Vec<&'c Candidate> {
    let near = |one: &'c Candidate| Some((distance(&one.2.id, wanted)?, one));
    let mut found: Vec<(usize, &Candidate)> = others.iter().filter_map(near).collect();
    found.sort_by(|one, other| one.0.cmp(&other.0).then_with(|| one.1.2.cmp(&other.1.2)));
    found.into_iter().take(3).map(|(_, one)| one).collect()
}

/// Returns the first few names, sorted.
pub(super) fn listed(names: impl IntoIterator<Item = String>) -> String {
    let mut names: Vec<String> = names.into_iter().collect();
    names.sort();
    let more = names.len().saturating_sub(NAMES_IN_HINT);
    names.truncate(NAMES_IN_HINT);
    let names = names.join(", ");
    if more == 0 { names } else { format!("{names} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_with_a_wrong_character_is_near_and_another_one_is_not() {
        let id = "755428a6-94b8-487b-a530-2aeb6098ae0e";
        assert_eq!(distance(id, "755428a5"), Some(1));
        assert_eq!(distance(id, "754528a6"), Some(1));
        assert_eq!(distance(id, "755428a6-94b8-487b-a530-2aeb6098ae0f"), Some(1));
        assert_eq!(distance(id, "9c1d0e77"), None);
        assert_eq!(distance("session-one", "sesion-one"), Some(1));
        assert_eq!(distance("abc", "xyz"), None);
    }
}
