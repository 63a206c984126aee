//! Pages of entries: by range, around a turn, at the end, or along a branch.

use everturn_requests::{EntriesAnswer, EntriesRequest, MAX_PAGE, PAGE, read_page};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Problem;
use crate::route::{Answer, Call, Route};

/// Which entries to return.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EntriesQuery {
    /// The first turn.
    from: Option<u64>,
    /// The last turn.
    to: Option<u64>,
    /// A turn in the middle of the page, instead of `from` and `to`.
    around: Option<u64>,
    /// The number of turns at the end, instead of `from` and `to`.
    last: Option<u64>,
    /// The number of entries after which a page ends: 100, at most 1000. A turn is not split.
    #[schemars(range(min = 1, max = MAX_PAGE))]
    limit: Option<u64>,
    /// Where to continue: `next` of the previous page.
    cursor: Option<String>,
    /// A branch of the session; by default its main line.
    branch: Option<String>,
    /// Include the stored records.
    raw: Option<bool>,
    /// Show secrets instead of placeholders. Each use is recorded.
    #[expect(dead_code, reason = "read before the route is called")]
    reveal: Option<bool>,
}

fn list_entries(call: &Call<'_>, query: EntriesQuery) -> Result<Answer<EntriesAnswer>, Problem> {
    let named = [query.from.or(query.to).is_some(), query.around.is_some(), query.last.is_some()];
    if named.iter().filter(|is_named| **is_named).count() > 1 {
        let what = "use either from and to, or around, or last";
        return Err(Problem::bad_request(what).at("query"));
    }
    let found = call.session()?;
    let reader = call.library.reader(&found, query.branch.as_deref())?;
    let limit = query.limit;
    let (mut from, mut to) = (query.from, query.to);
    if let Some(turn) = query.around {
        let half = limit.unwrap_or(PAGE) / 2;
        from = Some(turn.saturating_sub(half));
        to = Some(turn.saturating_add(half));
    }
    if let Some(last) = query.last {
        let end = *reader.turns()?.end();
        from = Some(end.saturating_add(1).saturating_sub(last));
    }
    let (cursor, raw) = (query.cursor, query.raw.unwrap_or_default());
    let request = EntriesRequest { from, to, limit, cursor, raw };
    Ok(Answer::ok(read_page(&*reader, &request)?))
}

pub(super) fn routes() -> Vec<Route> {
    let path = "/api/v1/sessions/{session}/entries";
    vec![Route::get((path, "listEntries", "A page of entries."), list_entries)]
}
