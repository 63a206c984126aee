//! Searches the sessions themselves, if there is no index.

use std::collections::HashSet;
use std::convert::Infallible;

use everturn::format::{ListedSession, SessionError, SessionReader};
use jiff::Timestamp;

use super::index_query::ceil_micros;
use super::{SearchHit, SearchResults, newest_first, open_session};
use crate::query::Query;
use crate::source::{CatalogListing, CatalogSession, SessionSource};
use crate::text_match::matches_query;
use crate::update::{BRANCHES, LeftOut, ReadProblem, lost_file};

/// Searches the sessions themselves, newest first.
pub(crate) fn scan_sessions(
    sources: &[SessionSource],
    sessions: &CatalogListing,
    query: &Query,
    limit: usize,
) -> SearchResults {
    let mut left_out = Vec::new();
    let mut all = |query: &Query| {
        left_out.clear();
        let mut hits = Vec::new();
        let is_meant = |session: &CatalogSession| {
            let source = sources.get(session.source);
            source.is_some_and(|source| session.matches_query(query, &source.root))
        };
        let meant = sessions.sessions.iter().enumerate().filter(|(_, one)| is_meant(one));
        for (at, session) in meant {
            // An unreadable session does not hide the others.
            let read = scan_session(sources, (at, session), query, &mut hits);
            let problem = match read {
                Ok(ScanOutcome::Whole) => None,
                Ok(ScanOutcome::Partial(problem)) => Some(problem.into()),
                Err(error) => Some(ReadProblem::from(&error)),
            };
            left_out.extend(problem.map(|reason| LeftOut { session: at, reason }));
        }
        hits
    };
    let mut found =
        SearchResults { hits: all(query), is_current: true, ..SearchResults::default() };
    if found.hits.is_empty() {
        let is_known = |word: &str| Ok::<bool, Infallible>(!all(&Query::word(word)).is_empty());
        let Ok(forgiving) = query.with_typos(is_known);
        found.hits = forgiving.as_ref().map(&mut all).unwrap_or_default();
        found.similar = forgiving.filter(|_| !found.hits.is_empty());
    }
    found.left_out = left_out;
    found.hits.sort_by(newest_first);
    found.more = found.hits.len() > limit;
    found.hits.truncate(limit);
    found
}

/// How far a session was searched.
enum ScanOutcome {
    /// All of it, or it no longer exists.
    Whole,
    /// A part of it is unreadable, for this reason.
    Partial(String),
}

/// Searches a session.
fn scan_session(
    sources: &[SessionSource],
    (at, session): (usize, &CatalogSession),
    query: &Query,
    hits: &mut Vec<SearchHit>,
) -> Result<ScanOutcome, SessionError> {
    let reader = match open_session(sources, session)? {
        ListedSession::Open(_, reader) => reader,
        ListedSession::Gone => return Ok(ScanOutcome::Whole),
    };
    let begun = session.summary.created.or(session.summary.updated);
    let mut seen = HashSet::new();
    scan_branch(&*reader, (at, 0), 0, (query, begun), &mut seen, hits)?;
    for (branch_number, branch) in (1..).zip(reader.branches()?).take(BRANCHES) {
        let along = reader.open_branch(&branch.id)?;
        let from = branch.from.unwrap_or(0);
        scan_branch(&*along, (at, branch_number), from, (query, begun), &mut seen, hits)?;
    }
    Ok(lost_file(&reader.findings()).map_or(ScanOutcome::Whole, ScanOutcome::Partial))
}

/// Searches the main line of a session, or a branch from a turn on, skipping entries of lines before it.
fn scan_branch(
    reader: &dyn SessionReader,
    (session, branch): (usize, u64),
    from: u64,
    (query, begun): (&Query, Option<Timestamp>),
    seen: &mut HashSet<String>,
    hits: &mut Vec<SearchHit>,
) -> Result<(), SessionError> {
    let mut time = begun;
    let mut entries = reader.entries(from..=u64::MAX)?;
    while let Some(entry) = entries.next() {
        drop(entries.take_findings());
        let entry = entry?;
        time = entry.time.or(time);
        if !seen.insert(entry.id.clone()) && branch > 0 {
            continue;
        }
        let at_time = time.map(Timestamp::as_microsecond);
        let since =
            query.since.is_none_or(|since| at_time.is_some_and(|time| time >= ceil_micros(since)));
        let until =
            query.until.is_none_or(|until| at_time.is_some_and(|time| time < ceil_micros(until)));
        if since && until && matches_query(query, &entry) {
            let (turn, seq) = (entry.turn, entry.seq);
            let time = at_time.and_then(|time| Timestamp::from_microsecond(time).ok());
            hits.push(SearchHit { session, branch, turn, seq, time, score: 0.0 });
        }
    }
    Ok(())
}
