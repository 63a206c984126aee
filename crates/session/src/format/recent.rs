//! The order of sessions by their last change: [`sort_newest_first`].

use std::cmp::Reverse;
use std::sync::Arc;

use super::{SessionFormat, TimePrecision};
use crate::model::{SessionRef, SessionSummary};
use everturn_store::Store;

/// Sorts sessions, most recently changed first.
///
/// A format may store whole seconds only. Of sessions that were changed in the same second, the one whose files were
/// modified last comes first in that case. `lookup` returns the format and the store of a session.
pub fn sort_newest_first<T>(
    sessions: &mut [T],
    summary: impl Fn(&T) -> &SessionSummary,
    lookup: impl Fn(&T) -> Option<(&'static dyn SessionFormat, Arc<dyn Store>)>,
) {
    sessions.sort_by(|one, other| {
        let (one, other) = (summary(one), summary(other));
        (Reverse(one.updated), &one.session).cmp(&(Reverse(other.updated), &other.session))
    });
    let second = |session: &T| summary(session).updated.map(|time| time.as_second());
    let is_rounded = |session: &T| {
        lookup(session)
            .is_some_and(|(format, _)| format.capabilities().times == TimePrecision::Seconds)
    };
    for group in sessions.chunk_by_mut(|one, other| second(one) == second(other)) {
        if group.len() > 1 && group.iter().any(is_rounded) {
            group.sort_by_cached_key(|session| {
                let found = lookup(session);
                Reverse(found.map_or(0, |(format, store)| {
                    last_modified(format, &store, &summary(session).session)
                }))
            });
        }
    }
}

/// The newest modification time of the files of a session, in the unit of the store. Zero if it is unknown.
fn last_modified(format: &dyn SessionFormat, store: &Arc<dyn Store>, session: &SessionRef) -> u64 {
    let files = format.dependencies(store, session).map(|files| files.summary).unwrap_or_default();
    let stats = files.iter().filter_map(|file| store.stat(file).ok().flatten());
    stats.map(|stat| stat.modified).max().unwrap_or(0)
}
