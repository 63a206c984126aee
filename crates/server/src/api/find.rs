//! Search over all sessions.

use std::collections::HashMap;

use everturn::format::SessionReader;
use everturn_catalog::{
    Query, SearchHit, Snippet, SortOrder, SummaryDetail, hit_branch, hit_entry, open_session,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::library::KeyedListing;
use crate::problem::Problem;
use crate::route::{Answer, Call, Route};

/// The default and the largest number of hits.
const HITS: (u64, u64) = (20, 200);

/// The width of a snippet in characters.
const WIDTH: usize = 160;

/// The order of hits.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum HitOrder {
    /// Best match first.
    #[default]
    Relevance,
    /// Newest first.
    Date,
}

/// What to search for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchQuery {
    /// The query, as for `everturn search`: words, "phrases", prefix*, -word, speaker:, layout:, since: and others.
    q: String,
    /// The number of hits: 20, at most 200.
    #[schemars(range(min = 1, max = HITS.1))]
    limit: Option<u64>,
    /// The order.
    #[serde(default)]
    sort: HitOrder,
    /// Treat the last word as a prefix, for search as you type.
    #[serde(default)]
    prefix: bool,
    /// Show secrets instead of placeholders. Each use is recorded.
    #[expect(dead_code, reason = "read before the route is called")]
    reveal: Option<bool>,
}

/// A match in a snippet.
#[derive(Debug, Serialize, JsonSchema)]
struct Highlight {
    /// The first character.
    start: u64,
    /// The character after the last.
    end: u64,
}

/// An entry that matches.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HitView {
    /// The key of its session.
    pub(crate) key: String,
    /// The title of its session.
    title: String,
    /// Its format.
    format: String,
    /// The branch that contains it, unless it is in the main line.
    pub(crate) branch: Option<String>,
    /// Its turn.
    pub(crate) turn: u64,
    /// Its position in the session.
    pub(crate) seq: u64,
    /// Its ID.
    id: String,
    /// Its time.
    time: Option<String>,
    /// The speaker.
    pub(crate) speaker: String,
    /// Its kind.
    kind: String,
    /// The relevance.
    score: f32,
    /// The text around the matches.
    pub(crate) snippet: String,
    /// The matches in the snippet, counted in characters. Empty if the snippet has masked secrets.
    highlights: Vec<Highlight>,
}

/// The results of a search.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SearchAnswer {
    /// The entries.
    pub(crate) hits: Vec<HitView>,
    /// Whether there are more.
    more: bool,
    /// Whether nothing matched exactly, and similar words were searched for.
    similar: bool,
    /// What could not be searched.
    warnings: Vec<String>,
}

fn hit_view(
    listing: &KeyedListing,
    (reader, hit): (&dyn SessionReader, &SearchHit),
    query: &Query,
) -> Result<Option<HitView>, Problem> {
    let session = listing.listing.sessions.get(hit.session).zip(listing.keys.get(hit.session));
    let (Some((session, key)), Some(entry)) = (session, hit_entry(reader, hit)?) else {
        return Ok(None);
    };
    let snippet = Snippet::of(&entry.readable_text(), query, WIDTH);
    let characters =
        |byte: usize| snippet.text.get(..byte).unwrap_or_default().chars().count() as u64;
    let is_masked = !everturn::scan::SecretRules::standard().find(&snippet.text).is_empty();
    let ranges = snippet.highlights.iter().filter(|_| !is_masked);
    let highlights = ranges
        .map(|range| Highlight { start: characters(range.start), end: characters(range.end) })
        .collect();
    Ok(Some(HitView {
        key: key.clone(),
        title: session.summary.title.clone(),
        format: session.summary.layout.to_owned(),
        branch: hit_branch(reader, hit)?,
        turn: entry.turn,
        seq: entry.seq,
        id: entry.id,
        time: entry.time.map(|time| time.to_string()),
        speaker: entry.speaker,
        kind: entry.kind.as_str().to_owned(),
        score: hit.score,
        snippet: snippet.text,
        highlights,
    }))
}

/// Searches all sessions.
pub(crate) fn search(
    call: &Call<'_>,
    text: &str,
    (limit, sort): (usize, SortOrder),
) -> Result<SearchAnswer, Problem> {
    let library = call.library;
    let query = Query::parse(text, library.now()).map_err(|error| {
        Problem::bad_request(format!("invalid query: {error}"))
            .at("q")
            .hint("everturn search --help describes the query syntax")
    })?;
    let listing = library.list(SummaryDetail::All);
    let updating = library.update_index();
    let mut catalog = library.catalog();
    let updated =
        catalog.update(&listing.sources, &listing.listing, library.system_time(), &mut |_| {});
    let found = catalog.search(&listing.sources, &listing.listing, &query, (limit, sort));
    drop(updating);
    let mut warnings = catalog.take_notes();
    if updated.is_busy && !found.is_current {
        warnings.push(
            "another process is updating the index: the newest turns may be missing".to_owned(),
        );
    }
    for left in updated.left_out.iter().chain(&found.left_out) {
        let key = listing.keys.get(left.session).map(String::as_str).unwrap_or_default();
        warnings.push(format!("{key}: {}", left.reason.text));
    }
    let answered = found.similar.as_ref().unwrap_or(&query);
    let mut readers: HashMap<usize, Option<Box<dyn SessionReader>>> = HashMap::new();
    let mut hits = Vec::new();
    for hit in &found.hits {
        let Some(session) = listing.listing.sessions.get(hit.session) else { continue };
        let reader = readers.entry(hit.session).or_insert_with(|| {
            let opened = open_session(&listing.sources, session);
            opened.inspect_err(|error| warnings.push(error.to_string())).ok().flatten()
        });
        let Some(reader) = reader.as_deref() else { continue };
        match hit_view(&listing, (reader, hit), answered) {
            Ok(view) => hits.extend(view),
            Err(problem) => warnings.push(problem.to_string()),
        }
    }
    Ok(SearchAnswer { hits, more: found.more, similar: found.similar.is_some(), warnings })
}

fn search_entries(call: &Call<'_>, query: SearchQuery) -> Result<Answer<SearchAnswer>, Problem> {
    let limit = query.limit.unwrap_or(HITS.0);
    if limit == 0 || limit > HITS.1 {
        let what = format!("limit: a search has 1 to {} hits", HITS.1);
        return Err(Problem::bad_request(what).at("limit"));
    }
    let sort = match query.sort {
        HitOrder::Relevance => SortOrder::Relevance,
        HitOrder::Date => SortOrder::Date,
    };
    let ends_in_word = query.q.chars().last().is_some_and(char::is_alphanumeric);
    let text = if query.prefix && ends_in_word { format!("{}*", query.q) } else { query.q };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    Ok(Answer::ok(search(call, &text, (limit, sort))?))
}

pub(super) fn routes() -> Vec<Route> {
    let what = "Entries of all sessions that match a query.";
    vec![Route::get(("/api/v1/search", "search", what), search_entries)]
}
