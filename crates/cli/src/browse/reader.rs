//! [`BrowseReader`]: reads what the browser shows of sessions: previews, pages and search hits.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

use everturn::format::{SessionError, SessionReader};
use everturn::model::Entry;
use everturn_catalog::{CatalogListing, Query, SearchHit, SessionSource, Snippet, open_session};

use super::view::{EntryPosition, ListRow, PageLine, ScrollPosition, ScrollTarget, SessionPage};
use crate::output::escape_controls;
use crate::session_line::ShortIds;

/// The number of entries in a preview, and the number of characters of each.
const PREVIEWED: usize = 12;
const EXCERPT: usize = 400;

/// The number of turns read at once in an open session.
const PAGE: u64 = 200;

/// The number of characters shown around a match.
const SNIPPET: usize = 100;

/// Reads sessions; the one that was read last stays open.
pub(super) struct BrowseReader {
    sources: Vec<SessionSource>,
    sessions: Arc<CatalogListing>,
    ids: Arc<ShortIds>,
    readers: HashMap<usize, Box<dyn SessionReader>>,
}

impl BrowseReader {
    pub(super) fn new(
        sources: Vec<SessionSource>,
        sessions: Arc<CatalogListing>,
        ids: Arc<ShortIds>,
    ) -> BrowseReader {
        BrowseReader { sources, sessions, ids, readers: HashMap::new() }
    }

    pub(super) fn reader(&mut self, at: usize) -> Result<&dyn SessionReader, String> {
        if !self.readers.contains_key(&at) {
            let session = self.sessions.sessions.get(at).ok_or("the session no longer exists")?;
            let reader = open_session(&self.sources, session).map_err(|error| error.to_string())?;
            // Only a few sessions stay open; a session is reopened when needed.
            self.readers.clear();
            self.readers.insert(at, reader.ok_or("the session no longer exists")?);
        }
        self.readers
            .get(&at)
            .map(|reader| &**reader)
            .ok_or_else(|| "the session no longer exists".to_owned())
    }

    /// Reads the end of a session, or an entry and those after it.
    pub(super) fn preview(
        &mut self,
        session: usize,
        at: Option<EntryPosition>,
    ) -> Result<Vec<PageLine>, String> {
        let reader = self.reader(session)?;
        let last = *reader.turns().map_err(|error| words(&error))?.end();
        let from = match at {
            Some(at) => at.turn,
            None => last.saturating_sub(PREVIEWED as u64 - 1).max(1),
        };
        let mut shown: VecDeque<Entry> = VecDeque::new();
        let mut entries = reader.entries(from..=last.max(from)).map_err(|error| words(&error))?;
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|error| words(&error))?;
            if at.is_some_and(|at| entry.seq < at.seq) || !is_shown(&entry, at) {
                continue;
            }
            shown.push_back(entry);
            if shown.len() > PREVIEWED {
                shown.pop_front();
            }
            // A preview of a hit shows how it continues; other previews show the end.
            if at.is_some() && shown.len() == PREVIEWED {
                break;
            }
        }
        let mut lines: Vec<PageLine> =
            shown.iter().flat_map(|entry| lines(entry, Some(EXCERPT))).collect();
        if lines.is_empty() {
            lines.push(PageLine::Note("no messages yet".to_owned()));
        }
        Ok(lines)
    }

    /// Reads the part of a session around a target, and returns the scroll position.
    pub(super) fn page(
        &mut self,
        session: usize,
        to: ScrollTarget,
    ) -> Result<(SessionPage, ScrollPosition), String> {
        let reader = self.reader(session)?;
        let last = (*reader.turns().map_err(|error| words(&error))?.end()).max(1);
        let (turns, found) = match to {
            ScrollTarget::Start => (1..=PAGE.min(last), None),
            ScrollTarget::End => (last.saturating_sub(PAGE - 1).max(1)..=last, None),
            ScrollTarget::Entry { at, .. } => (around(at.turn, last), Some(at)),
        };
        let mut all = Vec::new();
        let mut entries = reader.entries(turns.clone()).map_err(|error| words(&error))?;
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|error| words(&error))?;
            if is_shown(&entry, found) {
                all.extend(lines(&entry, None));
            }
        }
        let scroll = match to {
            ScrollTarget::Start => ScrollPosition::By(0),
            ScrollTarget::End => ScrollPosition::By(usize::MAX),
            ScrollTarget::Entry { at, rows } => {
                let is_there = |line: &PageLine| matches!(line, PageLine::Heading { at: other, .. } if *other >= at);
                ScrollPosition::To {
                    line: all.iter().position(is_there).unwrap_or(all.len()),
                    rows,
                }
            }
        };
        Ok((SessionPage { lines: all, turns, all: 1..=last }, scroll))
    }

    /// Returns hits as rows, as long as they are wanted. Each session is read once: some formats find an entry only by
    /// reading from the start.
    pub(super) fn hits(
        &mut self,
        hits: &[SearchHit],
        query: &Query,
        is_wanted: &dyn Fn() -> bool,
    ) -> Vec<ListRow> {
        let mut places: BTreeMap<usize, HashMap<u64, usize>> = BTreeMap::new();
        // Sessions are opened along their main line, so hits in branches are left to `search`.
        for (place, hit) in hits.iter().enumerate().filter(|(_, hit)| hit.branch == 0) {
            places.entry(hit.session).or_default().insert(hit.seq, place);
        }
        let mut rows: BTreeMap<usize, ListRow> = BTreeMap::new();
        for (session, mut wanted) in places {
            if !is_wanted() {
                break;
            }
            let turns = || hits.iter().filter(|hit| hit.session == session).map(|hit| hit.turn);
            let (Some(first), Some(last)) = (turns().min(), turns().max()) else { continue };
            let id = self.sessions.sessions.get(session);
            let id = id.map(|one| self.ids.short(&one.summary.session.id).to_owned());
            let id = id.unwrap_or_default();
            // A session that was removed since is skipped.
            let Ok(reader) = self.reader(session) else { continue };
            let Ok(mut entries) = reader.entries(first..=last) else { continue };
            while let Some(Ok(entry)) = entries.next() {
                if !is_wanted() {
                    break;
                }
                let Some(place) = wanted.remove(&entry.seq) else { continue };
                let snippet = Snippet::of(&entry.readable_text(), query, SNIPPET);
                let row = ListRow {
                    session,
                    at: Some(EntryPosition { turn: entry.turn, seq: entry.seq }),
                    title: one_line(&snippet.text),
                    about: one_line(&format!("{id}#{}", entry.turn)),
                    folded: String::new(),
                };
                rows.insert(place, row);
                if wanted.is_empty() {
                    break;
                }
            }
        }
        rows.into_values().collect()
    }
}

/// Returns the turns to read around a turn.
fn around(turn: u64, last: u64) -> RangeInclusive<u64> {
    let from = turn.saturating_sub(PAGE / 2).max(1);
    from..=from.saturating_add(PAGE - 1).min(last.max(from))
}

/// Returns whether an entry is shown: bookkeeping of programs is not, unless it is a hit.
fn is_shown(entry: &Entry, found: Option<EntryPosition>) -> bool {
    !entry.kind.is_bookkeeping() || found.is_some_and(|at| at.seq == entry.seq)
}

/// Returns an entry as lines, with a limited number of characters of its text.
fn lines(entry: &Entry, excerpt: Option<usize>) -> [PageLine; 2] {
    let time = entry.time.map_or_else(String::new, |time| format!("  {time}"));
    let heading = one_line(&format!("[{}] {}{time}", entry.turn, entry.speaker));
    let text = escape_controls(entry.readable_text().trim_end());
    let cut: String = text.chars().take(excerpt.unwrap_or(usize::MAX)).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    let at = EntryPosition { turn: entry.turn, seq: entry.seq };
    [PageLine::Heading { at, words: heading }, PageLine::Text(format!("{cut}{more}"))]
}

/// Returns the message of a session error.
fn words(error: &SessionError) -> String {
    error.to_string()
}

/// Returns untrusted text on one line.
pub(super) fn one_line(text: &str) -> String {
    escape_controls(text).replace(['\n', '\t'], " ")
}
