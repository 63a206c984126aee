//! Parses queries: words, phrases, prefixes, words with typos, and filters.
//!
//! All terms must match; `OR` between two words requires one of them, and a leading `-` excludes a term.

use std::fmt;
use std::ops::Range;

use everturn::format;
use jiff::Timestamp;
use thiserror::Error;

use crate::dates::parse_period;
use crate::text_match::edit_distance;
use crate::word_parts::camel_case_words;
use crate::words::{WordTokens, folded, is_unspaced};

/// A syntax error in a query.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}, at character {at}")]
pub struct QueryError {
    /// The position of the error, in characters from 1.
    pub at: usize,
    /// The reason.
    pub reason: String,
}

/// A parsed query.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// The clauses, all of which must match.
    pub(crate) clauses: Vec<QueryClause>,
    /// The filters on sessions.
    pub(crate) sessions: Vec<SessionFilter>,
    /// The inclusive start of the period.
    pub(crate) since: Option<Timestamp>,
    /// The exclusive end of the period.
    pub(crate) until: Option<Timestamp>,
    /// Words before a colon that are not field names, so they were read as text.
    pub(crate) not_fields: Vec<String>,
}

/// A clause: any of several atoms must match, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryClause {
    pub(crate) absent: bool,
    pub(crate) any: Vec<QueryAtom>,
}

/// A condition on an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QueryAtom {
    /// Words at these distances from the first one.
    Phrase(Vec<(usize, String)>),
    /// A CamelCase word: the whole word, or all its parts within one word.
    CamelCase { whole: String, parts: Vec<String> },
    /// Words followed by a word with this prefix.
    Beginning { before: Vec<(usize, String)>, at: usize, start: String },
    /// A word within an edit distance.
    Similar { word: String, distance: u8 },
    /// The speaker, by all these words of the name.
    Speaker(Vec<String>),
    /// The kind of the entry.
    Kind(String),
}

/// A condition on a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionFilter {
    pub(crate) absent: bool,
    pub(crate) field: SessionField,
    pub(crate) value: String,
}

/// The session fields that can be filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionField {
    Layout,
    Project,
    Session,
    Status,
    Title,
}

/// The field names that may precede a colon.
const FIELDS: &str = "speaker, kind, layout, project, session, status, title, since, until";

impl Query {
    /// Parses a query. Relative dates such as `3d` count back from `now`.
    ///
    /// ```
    /// use everturn_catalog::Query;
    ///
    /// let now = "2026-03-10T12:00:00Z".parse()?;
    /// assert!(Query::parse(r#"dragon "old tower" speaker:narrator since:2w -kind:tool_result"#, now).is_ok());
    /// let error = Query::parse(r#"dragon "old"#, now).unwrap_err();
    /// assert_eq!(error.to_string(), "the quote is never closed, at character 8");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(text: &str, now: Timestamp) -> Result<Query, QueryError> {
        let mut query = Query::default();
        let mut or_before: Option<usize> = None;
        let mut can_or = false;
        for chunk in chunks(text)? {
            if chunk.is_or() {
                if !can_or {
                    return Err(query_error(text, chunk.start, "OR needs a word before it"));
                }
                or_before = Some(chunk.start);
                continue;
            }
            let atoms = query.add_filter(text, &chunk, now)?;
            can_or = false;
            match (atoms, or_before.take()) {
                (Some(mut atoms), Some(_)) if !chunk.absent && chunk.field.is_none() => {
                    if let (Some(last), Some(atom)) = (query.clauses.last_mut(), atoms.pop()) {
                        last.any.push(atom);
                        query.clauses.extend(atoms.into_iter().map(QueryClause::of));
                        can_or = true;
                    }
                }
                (_, Some(or)) => {
                    return Err(query_error(text, or, "OR can only join two words"));
                }
                (Some(atoms), None) => {
                    can_or = !chunk.absent && chunk.field.is_none() && atoms.len() == 1;
                    let clause = |atom| QueryClause { absent: chunk.absent, any: vec![atom] };
                    query.clauses.extend(atoms.into_iter().map(clause));
                }
                (None, None) => {}
            }
        }
        if let Some(or) = or_before {
            return Err(query_error(text, or, "OR needs a word after it"));
        }
        query.require_content(text)
    }

    /// Rejects a query without conditions.
    fn require_content(self, text: &str) -> Result<Query, QueryError> {
        let filtered = !self.sessions.is_empty() || self.since.is_some() || self.until.is_some();
        if self.clauses.is_empty() && !filtered {
            return Err(query_error(text, 0, "no search words"));
        }
        let is_word =
            |atom: &QueryAtom| !matches!(atom, QueryAtom::Speaker(_) | QueryAtom::Kind(_));
        let only_absent = |clause: &QueryClause| clause.absent && clause.any.iter().all(is_word);
        if !filtered && self.clauses.iter().all(only_absent) {
            return Err(query_error(text, 0, "the query only has excluded words"));
        }
        Ok(self)
    }

    /// Adds a filter to the query, or returns the atoms to find in entries.
    fn add_filter(
        &mut self,
        text: &str,
        chunk: &QueryChunk<'_>,
        now: Timestamp,
    ) -> Result<Option<Vec<QueryAtom>>, QueryError> {
        let Some(field) = chunk.field else {
            return Ok(self.words(text, chunk)?.filter(|atoms| !atoms.is_empty()));
        };
        let value = chunk.text.trim();
        if value.is_empty() {
            return Err(query_error(text, chunk.start, &format!("{field}: needs a value")));
        }
        let session_field = match field {
            "speaker" => {
                let names: Vec<String> = WordTokens::of(value).map(|word| word.text).collect();
                return Ok(Some(vec![QueryAtom::Speaker(names)]));
            }
            "kind" => return Ok(Some(vec![QueryAtom::Kind(value.to_lowercase())])),
            "since" | "until" => {
                let Some(period) = parse_period(value, now) else {
                    let reason = format!(
                        "{value:?} is not a date; use a form such as 2026-01-03, yesterday or 3d"
                    );
                    return Err(query_error(text, chunk.start, &reason));
                };
                if chunk.absent {
                    return Err(query_error(text, chunk.start, "a date cannot be excluded"));
                }
                if field == "since" {
                    self.since = self.since.max(Some(period.start));
                } else {
                    self.until = Some(self.until.map_or(period.end, |old| old.min(period.end)));
                }
                return Ok(None);
            }
            "layout" => SessionField::Layout,
            "project" => SessionField::Project,
            "session" => SessionField::Session,
            "status" => SessionField::Status,
            _ => SessionField::Title,
        };
        let value = match session_field {
            SessionField::Project | SessionField::Title => folded(value),
            SessionField::Layout => {
                format_named(value).map_err(|reason| query_error(text, chunk.start, &reason))?
            }
            SessionField::Session | SessionField::Status => value.to_owned(),
        };
        self.sessions.push(SessionFilter { absent: chunk.absent, field: session_field, value });
        Ok(None)
    }

    /// Returns the atoms for the words of a chunk.
    fn words(
        &mut self,
        text: &str,
        chunk: &QueryChunk<'_>,
    ) -> Result<Option<Vec<QueryAtom>>, QueryError> {
        if let Some((name, _)) = chunk.text.split_once(':').filter(|_| !chunk.quoted)
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_lowercase())
        {
            self.not_fields.push(name.to_owned());
        }
        let words: Vec<_> = WordTokens::of(chunk.text).collect();
        let Some(first) = words.first() else { return Ok(None) };
        let mut units: Vec<(usize, String)> = Vec::new();
        let mut alone = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|before| words.get(before));
            let offset = word.position - first.position;
            let is_pair = word.text.chars().nth(1).is_some();
            match before {
                // The last character of a run is already in the pair before it.
                Some(before) if before.range.end == word.range.end => {}
                _ if !is_pair && word.text.starts_with(is_unspaced) => {
                    alone.push(word.text.clone());
                }
                _ => units.push((offset, word.text.clone())),
            }
        }
        let mut atoms: Vec<QueryAtom> = alone
            .into_iter()
            .map(|start| QueryAtom::Beginning { before: Vec::new(), at: 0, start })
            .collect();
        match (chunk.ending, units.as_slice()) {
            (WordSuffix::None | WordSuffix::Star, []) => {}
            (WordSuffix::Star, _) => {
                if let Some((at, start)) = units.pop() {
                    atoms.push(QueryAtom::Beginning { before: units, at, start });
                }
            }
            (WordSuffix::Tilde(Some(wanted)), _) if !(1..=2).contains(&wanted) => {
                let reason =
                    "~ can only be followed by 1 or 2; quote the word to search for a literal ~";
                return Err(query_error(text, chunk.start, reason));
            }
            (WordSuffix::Tilde(wanted), [(_, word)]) if atoms.is_empty() => {
                atoms.push(similar(word, wanted));
            }
            (WordSuffix::Tilde(_), _) => {
                return Err(query_error(text, chunk.start, "~ only applies to a single word"));
            }
            (WordSuffix::None, [(_, whole)]) => atoms.push(word_or_camel_case(whole, chunk.text)),
            (WordSuffix::None, _) => atoms.push(QueryAtom::Phrase(units)),
        }
        Ok(Some(atoms))
    }

    /// Returns the query with typos allowed in every word that does not occur anywhere, for a query without hits.
    /// `None` if all words occur: a word that occurs is considered correct.
    pub(crate) fn with_typos<E>(
        &self,
        mut is_known: impl FnMut(&str) -> Result<bool, E>,
    ) -> Result<Option<Query>, E> {
        let mut query = self.clone();
        let mut changed = false;
        for clause in query.clauses.iter_mut().filter(|clause| !clause.absent) {
            for atom in &mut clause.any {
                let word = match &*atom {
                    QueryAtom::Phrase(words) if words.len() == 1 => {
                        words.first().map(|(_, word)| word)
                    }
                    QueryAtom::CamelCase { whole, .. } => Some(whole),
                    _ => None,
                };
                let Some(word) = word.filter(|word| distance(word) > 0) else { continue };
                if !is_known(word)? {
                    *atom = similar(word, None);
                    changed = true;
                }
            }
        }
        Ok(changed.then_some(query))
    }

    /// Returns a query for one word.
    pub(crate) fn word(word: &str) -> Query {
        let clauses = vec![QueryClause::of(QueryAtom::Phrase(vec![(0, word.to_owned())]))];
        Query { clauses, ..Query::default() }
    }

    /// Adds a period that was given beside the query.
    #[must_use]
    pub fn within(mut self, since: Option<Timestamp>, until: Option<Timestamp>) -> Query {
        self.since = self.since.max(since);
        self.until = match (self.until, until) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self
    }

    /// Returns the words before a colon that are not field names, to explain an empty result.
    #[must_use]
    pub fn not_fields(&self) -> Option<String> {
        let names = self.not_fields.join(":, ");
        (!names.is_empty()).then(|| format!("{names}: is searched as text; known fields: {FIELDS}"))
    }
}

impl QueryClause {
    fn of(atom: QueryAtom) -> QueryClause {
        QueryClause { absent: false, any: vec![atom] }
    }
}

/// Returns the atom for a single word.
fn word_or_camel_case(whole: &str, text: &str) -> QueryAtom {
    let parts = camel_case_words(text).next().unwrap_or_default();
    let part = |range: Range<usize>| text.get(range).map(folded);
    match parts.len() {
        0 | 1 => QueryAtom::Phrase(vec![(0, whole.to_owned())]),
        _ => QueryAtom::CamelCase {
            whole: whole.to_owned(),
            parts: parts.into_iter().filter_map(part).collect(),
        },
    }
}

/// Returns the canonical name of a format, ignoring case.
fn format_named(name: &str) -> Result<String, String> {
    let name = name.to_lowercase();
    if format::find(&name).is_some() {
        return Ok(name);
    }
    let all = || format::ALL.iter().chain(format::EXTERNAL).map(|layout| layout.name());
    let near = all().min_by_key(|other| edit_distance(&name, other));
    let near = near.filter(|near| edit_distance(&name, near) <= usize::from(distance(near)));
    Err(match near {
        Some(near) => format!("unknown format {name:?}; did you mean {near}?"),
        None => {
            let all: Vec<&str> = all().collect();
            format!("unknown format {name:?}; known formats: {}", all.join(", "))
        }
    })
}

/// Returns how many letters of a word may be wrong.
fn distance(word: &str) -> u8 {
    match word.chars().count() {
        0..3 => 0,
        3..6 => 1,
        _ => 2,
    }
}

fn similar(word: &str, wanted: Option<u8>) -> QueryAtom {
    QueryAtom::Similar { word: word.to_owned(), distance: wanted.unwrap_or_else(|| distance(word)) }
}

fn query_error(text: &str, byte: usize, reason: &str) -> QueryError {
    let at = text.get(..byte).unwrap_or(text).chars().count() + 1;
    QueryError { at, reason: reason.to_owned() }
}

/// A chunk of a query.
#[derive(Debug)]
struct QueryChunk<'a> {
    /// The byte offset of its start.
    start: usize,
    absent: bool,
    field: Option<&'a str>,
    text: &'a str,
    quoted: bool,
    ending: WordSuffix,
}

#[derive(Debug, Clone, Copy)]
enum WordSuffix {
    None,
    Star,
    Tilde(Option<u8>),
}

impl QueryChunk<'_> {
    fn is_or(&self) -> bool {
        self.text == "OR" && !self.quoted && !self.absent && self.field.is_none()
    }
}

/// Splits a query at spaces and quotes.
fn chunks(text: &str) -> Result<Vec<QueryChunk<'_>>, QueryError> {
    let mut chunks = Vec::new();
    let mut at = 0;
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    loop {
        at += part(at..text.len()).find(|c: char| !c.is_whitespace()).unwrap_or(text.len() - at);
        if at >= text.len() {
            return Ok(chunks);
        }
        let start = at;
        let absent = part(at..text.len()).starts_with('-');
        at += usize::from(absent);
        let field = field_at(part(at..text.len()));
        at += field.map_or(0, |field| field.len() + 1);
        let quoted = part(at..text.len()).starts_with('"');
        let value = if quoted {
            let from = at + 1;
            let Some(length) = part(from..text.len()).find('"') else {
                return Err(query_error(text, at, "the quote is never closed"));
            };
            at = from + length + 1;
            from..from + length
        } else {
            let ends = |c: char| c.is_whitespace() || c == '"';
            let length = part(at..text.len()).find(ends).unwrap_or(text.len() - at);
            at += length;
            at - length..at
        };
        let (mut value, mut ending) = (part(value), WordSuffix::None);
        if field.is_none() && !quoted {
            (value, ending) = ending_of(value);
        } else if field.is_none() && part(at..text.len()).starts_with('*') {
            (ending, at) = (WordSuffix::Star, at + 1);
        }
        chunks.push(QueryChunk { start, absent, field, text: value, quoted, ending });
    }
}

/// Returns the field name at the start of a text.
fn field_at(text: &str) -> Option<&str> {
    let (name, _) = text.split_once(':')?;
    FIELDS.split(", ").find(|field| *field == name)
}

/// Splits `*`, `~` or `~1` off the end of a word.
fn ending_of(word: &str) -> (&str, WordSuffix) {
    if let Some(word) = word.strip_suffix('*') {
        return (word, WordSuffix::Star);
    }
    match word.rsplit_once('~') {
        Some((word, "")) => (word, WordSuffix::Tilde(None)),
        Some((before, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            // A number that overflows is out of range anyway.
            (before, WordSuffix::Tilde(Some(number.parse().unwrap_or(u8::MAX))))
        }
        _ => (word, WordSuffix::None),
    }
}

impl fmt::Display for SessionField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", format!("{self:?}").to_lowercase())
    }
}

#[cfg(test)]
mod tests;
