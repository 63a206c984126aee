//! Sessions as lines of a list ([`SessionLines`]), and the short names of their IDs ([`ShortIds`]).

use std::collections::HashMap;

use everturn_catalog::{CatalogListing, CatalogSession};
use everturn_export::columns::{display_width, pad_width, shorten_width};
use jiff::Timestamp;

use crate::catalog::age;
use crate::output::{count_noun, escape_controls};
use crate::settings;

/// The least number of characters of a short ID.
const SHORT: usize = 8;

/// IDs up to this length are shown whole: they were chosen by people or are names already.
const WHOLE: usize = 16;

/// The greatest width of the column with the project.
const PROJECT: usize = 16;

/// The short names of IDs: the shortest beginnings that are unique among all sessions of a list.
pub(crate) struct ShortIds(HashMap<String, String>);

impl ShortIds {
    pub(crate) fn new(sessions: &CatalogListing) -> ShortIds {
        let ids = sessions.sessions.iter().map(|session| session.summary.session.id.as_str());
        ShortIds::of(ids.collect())
    }

    fn of(mut ids: Vec<&str>) -> ShortIds {
        ids.sort_unstable();
        ids.dedup();
        let shared = |one: &str, other: &str| {
            let pairs = one.chars().zip(other.chars());
            pairs.take_while(|(one, other)| one == other).count()
        };
        let neighbour = |at: Option<usize>, id: &str| {
            at.and_then(|at| ids.get(at)).map_or(0, |other| shared(id, other))
        };
        let short = |(at, id): (usize, &&str)| {
            let before = neighbour(at.checked_sub(1), id);
            let after = neighbour(at.checked_add(1), id);
            let length = SHORT.max(before.max(after) + 1);
            let count = id.chars().count();
            let is_whole = count <= WHOLE || length >= count;
            let short: String = id.chars().take(if is_whole { count } else { length }).collect();
            ((*id).to_owned(), short)
        };
        ShortIds(ids.iter().enumerate().map(short).collect())
    }

    /// Returns the short name of an ID of the list.
    pub(crate) fn short<'s>(&'s self, id: &'s str) -> &'s str {
        self.0.get(id).map_or(id, String::as_str)
    }
}

/// Returns the project of a session in one word: the last directory of its path, else the format of the session.
pub(crate) fn project_word(session: &CatalogSession) -> String {
    let path = session.project.as_deref().unwrap_or_default();
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    escape_controls(if last.is_empty() { session.summary.layout } else { last })
}

/// Returns the status, if it is not the usual one, and the title of a session.
pub(crate) fn titled(session: &CatalogSession) -> String {
    let (status, title) = (&session.summary.status, &session.summary.title);
    let text = match status.as_str() {
        "active" => title.clone(),
        _ => format!("[{status}] {title}"),
    };
    escape_controls(&text).replace(['\n', '\t'], " ")
}

/// The layout of the lines of a list of sessions.
pub(crate) struct SessionLines {
    /// The short IDs, the width and the time of a terminal.
    terminal: Option<(ShortIds, usize, Timestamp)>,
    /// The widths of the columns without a fixed width: the ID, and the format or the project.
    id: usize,
    second: usize,
}

impl SessionLines {
    /// Returns the layout for some of the sessions of a list.
    pub(crate) fn of<'s>(
        shown: impl Iterator<Item = &'s CatalogSession>,
        all: &CatalogListing,
        is_terminal: bool,
    ) -> SessionLines {
        let terminal =
            is_terminal.then(|| (ShortIds::new(all), settings::width(), settings::now()));
        let (mut id_width, mut second) = (0, 0);
        for session in shown {
            let id = session.summary.session.id.as_str();
            let (id, word) = match &terminal {
                Some((ids, ..)) => (ids.short(id), project_word(session)),
                None => (id, session.summary.layout.to_owned()),
            };
            id_width = id_width.max(display_width(&escape_controls(id)));
            second = second.max(display_width(&word));
        }
        if terminal.is_some() {
            second = second.min(PROJECT);
        }
        SessionLines { terminal, id: id_width, second }
    }

    /// Leaves room for spaces before each line.
    pub(crate) fn indented(mut self, columns: usize) -> SessionLines {
        if let Some((_, width, _)) = &mut self.terminal {
            *width = width.saturating_sub(columns);
        }
        self
    }

    /// Formats a session as a line of text, with another column, such as its size, in place of the turns.
    pub(crate) fn line(&self, session: &CatalogSession, column: Option<&str>) -> String {
        match &self.terminal {
            Some((ids, width, now)) => self.short_line(session, column, (ids, *width, *now)),
            None => self.whole_line(session, column),
        }
    }

    fn short_line(
        &self,
        session: &CatalogSession,
        column: Option<&str>,
        (ids, width, now): (&ShortIds, usize, Timestamp),
    ) -> String {
        let summary = &session.summary;
        let id = pad_width(&escape_controls(ids.short(&summary.session.id)), self.id);
        let age = age(summary.updated, now);
        let project = shorten_width(&project_word(session), self.second);
        let project = pad_width(&project, self.second);
        let turns = summary.turns.map_or_else(|| "?".to_owned(), |turns| turns.to_string());
        let count = column.map_or(turns, str::to_owned);
        let line = format!("{id}  {age:>5}  {project}  {count:>5}  {}", titled(session));
        shorten_width(line.trim_end(), width)
    }

    fn whole_line(&self, session: &CatalogSession, column: Option<&str>) -> String {
        let summary = &session.summary;
        let turns = match summary.turns {
            Some(turns) => count_noun(turns, "turn", "turns"),
            None => "? turns".to_owned(),
        };
        let count = column.map_or(turns, str::to_owned);
        let updated = summary.updated.map_or_else(|| "?".to_owned(), |time| time.to_string());
        let (status, title) = (&summary.status, &summary.title);
        let id = pad_width(&escape_controls(&summary.session.id), self.id);
        let layout = pad_width(summary.layout, self.second);
        let text = format!("{id}  {layout}  {status:9}  {count:>10}  {updated}  {title}");
        escape_controls(&text).replace(['\n', '\t'], " ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_short_and_unique() {
        let ids = ShortIds::of(vec![
            "019a2b3c-aaaa-7000-8000-000000000001",
            "019a2b3c-abbb-7000-8000-000000000002",
            "4fec7ea0-94b8-487b-a530-2aeb6098ae0e",
            "session-one",
            "a-name-of-more-than-sixteen",
        ]);
        for (id, expect) in [
            ("4fec7ea0-94b8-487b-a530-2aeb6098ae0e", "4fec7ea0"),
            ("019a2b3c-aaaa-7000-8000-000000000001", "019a2b3c-aa"),
            ("019a2b3c-abbb-7000-8000-000000000002", "019a2b3c-ab"),
            ("session-one", "session-one"),
            ("a-name-of-more-than-sixteen", "a-name-o"),
            ("unknown", "unknown"),
        ] {
            assert_eq!(ids.short(id), expect);
        }
    }
}
