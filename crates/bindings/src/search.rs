//! Full-text search over the sessions of a root.

use std::time::SystemTime;

use everturn::{Root, format};
use everturn_catalog::{
    Catalog, Query, SessionSource, Snippet, SortOrder, SummaryDetail, hit_entry, open_session,
};
use everturn_requests::{ErrorCode, RequestError};
use serde_json::{Value, json};

/// The width of the text that is shown of a hit.
const WIDTH: usize = 120;

/// Searches all sessions, without an index. Returns a list of hits, best match first.
pub(crate) fn search(root: &Root, words: &str, limit: usize) -> Result<String, RequestError> {
    let bad = |error: String| RequestError::new(ErrorCode::BadRequest, error).at("query");
    let query = Query::parse(words, root.now()).map_err(|error| bad(error.to_string()))?;
    let formats = format::ALL.to_vec();
    let sources = [SessionSource::new(root.path(), root.store().clone(), formats)];
    let mut catalog = Catalog::new(None);
    let mut found = catalog.sessions(&sources, SummaryDetail::All, SystemTime::from(root.now()));
    if let Some((_, error)) = found.failed.pop() {
        return Err(everturn::Error::from(error).into());
    }
    let results = catalog.search(&sources, &found, &query, (limit, SortOrder::Relevance));
    if let Some(left_out) = results.left_out.first() {
        let what = format!("a session cannot be read: {}", left_out.reason.text);
        return Err(RequestError::new(ErrorCode::Damaged, what));
    }
    let mut hits = Vec::new();
    for hit in results.hits {
        let Some(session) = found.sessions.get(hit.session) else { continue };
        let failed = |error| RequestError::from(everturn::Error::from(error));
        let Some(reader) = open_session(&sources, session).map_err(failed)? else { continue };
        let entry = hit_entry(&*reader, &hit).map_err(failed)?;
        let text = entry.as_ref().map(|entry| Snippet::of(&entry.text, &query, WIDTH).text);
        hits.push(json!({
            "session": session.summary.session.id,
            "format": session.summary.layout,
            "turn": hit.turn,
            "time": hit.time.map(|time| time.to_string()),
            "speaker": entry.map(|entry| entry.speaker),
            "text": text,
        }));
    }
    Ok(Value::Array(hits).to_string())
}
