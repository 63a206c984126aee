//! The errors of a lookup, with the names that the user may have meant.

use std::path::Path;

use super::candidates::{Candidate, kind_and_id};
use crate::context::next_command;
use crate::error::Error;
use crate::exit::Exit;
use crate::open_root::OpenRoot;
use crate::sources::SourceLocation;

/// The maximum number of names in a hint.
const NAMES_IN_HINT: usize = 8;

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
    match similar_names(others.iter().map(|(_, _, place)| place.id.as_str()), id) {
        Some(names) => unknown.hint(format!("did you mean {names}? {list} lists all")),
        None => {
            let names = listed(names_of(others));
            unknown.hint(format!("known sessions: {names}; list all with: {list}"))
        }
    }
}

/// Returns the error for a name that several sessions have.
pub(super) fn ambiguous(name: &str, places: &[Candidate]) -> Error {
    Error::new(Exit::Request, format!("{name:?} matches {} sessions", places.len()))
        .hint(format!("name one of {}", listed(names_of(places))))
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

/// Returns known names similar to an unknown one, most similar first.
fn similar_names<'n>(names: impl Iterator<Item = &'n str>, wanted: &str) -> Option<String> {
    let likeness = |name: &'n str| (strsim::jaro_winkler(name, wanted), name);
    let mut found: Vec<(f64, &str)> =
        names.map(likeness).filter(|(like, _)| *like >= ALIKE).collect();
    found.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    found.dedup_by_key(|(_, name)| *name);
    let names: Vec<&str> = found.iter().take(3).map(|(_, name)| *name).collect();
    (!names.is_empty()).then(|| names.join(" or "))
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
