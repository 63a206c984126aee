//! What of a session fits into a number of tokens, with citations by session and turn.

use everturn::model::Entry;
use everturn::tokens::count_tokens;
use everturn_catalog::SortOrder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::find::{HitView, search};
use crate::problem::Problem;
use crate::route::{Answer, Call, Route};

/// The default and the largest number of tokens.
const BUDGETS: (u64, u64) = (8000, 200_000);

/// How many hits of a search are considered.
const MOST_HITS: usize = 200;

/// How many entries at the end of a session are considered.
const CONSIDERED: usize = 20_000;

/// How much to return.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ContextQuery {
    /// The number of tokens: 8000, at most 200000.
    #[schemars(range(min = 1, max = BUDGETS.1))]
    tokens: Option<u64>,
    /// The last turn to consider.
    until: Option<u64>,
    /// The first turn to consider.
    since: Option<u64>,
}

/// The newest part of a session that fits.
#[derive(Debug, Serialize, JsonSchema)]
struct ContextAnswer {
    /// The key of the session.
    session: String,
    /// Its title.
    title: String,
    /// The first turn of the text.
    from: Option<u64>,
    /// The last turn of the text.
    to: Option<u64>,
    /// The number of tokens of the text.
    tokens: u64,
    /// The number of considered entries that do not fit.
    left_out: u64,
    /// The entries, oldest first, each headed by its citation `[SESSION#TURN SPEAKER]`.
    text: String,
}

fn paragraph(key: &str, entry: &Entry) -> String {
    format!("[{key}#{} {}]\n{}\n\n", entry.turn, entry.speaker, entry.readable_text())
}

fn get_context(call: &Call<'_>, query: ContextQuery) -> Result<Answer<ContextAnswer>, Problem> {
    let budget = query.tokens.unwrap_or(BUDGETS.0);
    if budget == 0 || budget > BUDGETS.1 {
        let what = format!("tokens: 1 to {}", BUDGETS.1);
        return Err(Problem::bad_request(what).at("tokens"));
    }
    let found = call.session()?;
    let reader = call.library.reader(&found, None)?;
    let summary = found.format.summary(&call.library.store(found.source)?, &found.place)?;
    let mut recent: std::collections::VecDeque<Entry> = std::collections::VecDeque::new();
    let mut left_out = 0;
    let range = query.since.unwrap_or(0)..=query.until.unwrap_or(u64::MAX);
    let mut entries = reader.entries(range)?;
    while let Some(entry) = entries.next().transpose()? {
        recent.push_back(entry);
        if recent.len() > CONSIDERED {
            recent.pop_front();
            left_out += 1;
        }
    }
    drop(entries);
    let (mut parts, mut tokens) = (Vec::new(), 0);
    let (mut from, mut to) = (None, None);
    while let Some(entry) = recent.pop_back() {
        let part = paragraph(&found.key, &entry);
        let cost = count_tokens(&part) as u64;
        if tokens + cost > budget {
            left_out += 1 + recent.len() as u64;
            break;
        }
        tokens += cost;
        to = to.or(Some(entry.turn));
        from = Some(entry.turn);
        parts.push(part);
    }
    let text = parts.into_iter().rev().collect();
    let (session, title) = (found.key, summary.title);
    Ok(Answer::ok(ContextAnswer { session, title, from, to, tokens, left_out, text }))
}

/// What to search for, and how much to return.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchContextQuery {
    /// The query, as for `everturn search`.
    q: String,
    /// The number of tokens: 8000, at most 200000.
    #[schemars(range(min = 1, max = BUDGETS.1))]
    tokens: Option<u64>,
}

/// The entries that match best, as far as they fit.
#[derive(Debug, Serialize, JsonSchema)]
struct SearchContextAnswer {
    /// The keys of the sessions in the text.
    sessions: Vec<String>,
    /// The number of tokens of the text.
    tokens: u64,
    /// The number of entries that match but do not fit.
    left_out: u64,
    /// The entries, best match first, each headed by its citation `[SESSION#TURN SPEAKER]`.
    text: String,
}

/// The whole entry of a hit.
fn entry_of(call: &Call<'_>, hit: &HitView) -> Result<Option<Entry>, Problem> {
    let reader = call.library.reader(&call.library.find(&hit.key)?, hit.branch.as_deref())?;
    let mut entries = reader.entries(hit.turn..=hit.turn)?;
    while let Some(entry) = entries.next().transpose()? {
        if entry.seq == hit.seq {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

#[expect(clippy::needless_pass_by_value, reason = "all handlers have this type")]
fn search_context(
    call: &Call<'_>,
    query: SearchContextQuery,
) -> Result<Answer<SearchContextAnswer>, Problem> {
    let budget = query.tokens.unwrap_or(BUDGETS.0);
    if budget == 0 || budget > BUDGETS.1 {
        let what = format!("tokens: 1 to {}", BUDGETS.1);
        return Err(Problem::bad_request(what).at("tokens"));
    }
    let found = search(call, &query.q, (MOST_HITS, SortOrder::Relevance))?;
    let mut answer =
        SearchContextAnswer { sessions: Vec::new(), tokens: 0, left_out: 0, text: String::new() };
    for hit in &found.hits {
        // A session that was changed since it was searched may lack the entry.
        let Some(entry) = entry_of(call, hit).ok().flatten() else { continue };
        let part = paragraph(&hit.key, &entry);
        let cost = count_tokens(&part) as u64;
        if answer.tokens + cost > budget {
            answer.left_out += 1;
            continue;
        }
        answer.tokens += cost;
        answer.text.push_str(&part);
        if !answer.sessions.contains(&hit.key) {
            answer.sessions.push(hit.key.clone());
        }
    }
    Ok(Answer::ok(answer))
}

pub(super) fn routes() -> Vec<Route> {
    let path = "/api/v1/sessions/{session}/context";
    let what = "The newest part of a session that fits into a number of tokens, with citations.";
    let search = "The entries of all sessions that match a query best, as far as they fit into a number of tokens.";
    vec![
        Route::get((path, "getContext", what), get_context),
        Route::get(("/api/v1/context", "searchContext", search), search_context),
    ]
}
