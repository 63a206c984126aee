//! The errors of a lookup, with the names that the user may have meant.

use std::path::Path;

use super::candidates::{Candidate, kind_and_id};
use crate::context::Context;
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
    context: &Context,
    name: &str,
    roots: &[(SourceLocation, OpenRoot)],
    others: &[Candidate],
) -> Error {
    let place: Vec<String> =
        roots.iter().map(|(_, root)| root.path.display().to_string()).collect();
    let place = place.join(", ");
    if others.is_empty() {
        let new = context.next_command("new game");
        return Error::new(Exit::Request, format!("there are no sessions in {place}")).hint(new);
    }
    let unknown = Error::new(Exit::Request, format!("there is no session {name:?} in {place}"));
    let (list, (_, id)) = (context.next_command("ls"), kind_and_id(name));
    match similar_names(others.iter().map(|(_, _, place)| place.id.as_str()), id) {
        Some(names) => unknown.hint(format!("did you mean {names}? {list} lists all")),
        None => {
            let names = listed(others.iter().map(|(_, _, place)| place.id.clone()));
            unknown.hint(format!("known sessions: {names}; list all with: {list}"))
        }
    }
}

/// Returns the error for a name that several sessions have.
pub(super) fn ambiguous(name: &str, places: &[Candidate]) -> Error {
    let mut ids = places.iter().map(|(_, _, place)| &place.id);
    let first = ids.next();
    let same = ids.all(|id| Some(id) == first);
    let layouts: std::collections::BTreeSet<_> =
        places.iter().map(|(_, layout, _)| layout.name()).collect();
    let by_layout = layouts.len() == places.len();
    let one_root = places.windows(2).all(|pair| match pair {
        [(one, ..), (other, ..)] => one.path == other.path,
        _ => true,
    });
    let names = places.iter().map(|(root, layout, place)| match same {
        true if by_layout && !one_root => format!("{}:{}", layout.name(), place.id),
        true if one_root => place.path.to_string(),
        true => root.shown(&place.path),
        false => place.id.clone(),
    });
    Error::new(Exit::Request, format!("{name:?} matches {} sessions", places.len()))
        .hint(format!("name one of {}", listed(names)))
}

/// Returns the error for the prefix of an ID where the complete ID is required.
pub(super) fn incomplete(id: &str, candidates: &[&Candidate]) -> Error {
    let what = format!("no session {id:?}: a command that changes a session requires the full ID");
    let ids = listed(candidates.iter().map(|(_, _, place)| place.id.clone()));
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
pub(super) fn listed(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = names.collect();
    names.sort();
    let more = names.len().saturating_sub(NAMES_IN_HINT);
    names.truncate(NAMES_IN_HINT);
    let names = names.join(", ");
    if more == 0 { names } else { format!("{names} and {more} more") }
}
