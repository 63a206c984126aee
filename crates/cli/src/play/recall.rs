//! [`Recall`]: finds earlier turns of a campaign that may matter for an input, through the search index.

use everturn::campaign;
use everturn::names::SessionId;
use everturn_catalog::{
    Catalog, CatalogListing, Query, SessionSource, SortOrder, SummaryDetail, hit_entry,
    open_session,
};

use crate::catalog::own_catalog;
use crate::open_root::OpenRoot;
use crate::settings;

/// How many turns are recalled.
const MOST: usize = 3;

/// The last turns are in the prompt, as far as there is room.
const RECENT: u64 = 30;

/// After how many turns the index is updated.
const EVERY: u64 = 20;

/// The shortest word that is searched for, and how many are.
const SHORTEST: usize = 4;
const MOST_WORDS: usize = 8;

/// How much of a turn is recalled, in characters.
const LENGTH: usize = 400;

/// The search index of a campaign's root.
pub(crate) struct Recall {
    catalog: Catalog,
    sources: Vec<SessionSource>,
    listing: CatalogListing,
    id: SessionId,
    /// The turn at which the index was updated.
    updated: Option<u64>,
}

impl Recall {
    /// Creates a recall for a campaign. The index is read when it is first needed.
    pub(crate) fn new(root: &OpenRoot, id: &SessionId) -> Recall {
        let source = SessionSource::new(&root.path, root.store(), vec![campaign::FORMAT]);
        Recall {
            catalog: own_catalog(),
            sources: vec![source],
            listing: CatalogListing::default(),
            id: id.clone(),
            updated: None,
        }
    }

    /// Returns texts of earlier turns, best first. Without an index there are none: the game goes on.
    pub(super) fn find(&mut self, input: &str, turn: u64) -> Vec<String> {
        let Some(query) = query(&self.id, input).filter(|_| turn > RECENT) else {
            return Vec::new();
        };
        if self.updated.is_none_or(|updated| turn >= updated.saturating_add(EVERY)) {
            let now = settings::clock();
            self.listing = self.catalog.sessions(&self.sources, SummaryDetail::All, now);
            self.catalog.update(&self.sources, &self.listing, now, &mut |_| {});
            self.updated = Some(turn);
        }
        let Some(search) = self.catalog.searcher(&self.sources, &self.listing) else {
            return Vec::new();
        };
        let found = search.find(&self.listing, &query, (4 * MOST, SortOrder::Relevance));
        let hits = found.map(|found| found.hits).unwrap_or_default();
        let is_old = |at: u64| at.saturating_add(RECENT) < turn;
        let mut texts: Vec<String> = Vec::new();
        let mut seen: Vec<u64> = Vec::new();
        for hit in hits.iter().filter(|hit| hit.branch == 0 && is_old(hit.turn)) {
            if seen.contains(&hit.turn) || texts.len() >= MOST {
                continue;
            }
            let session = self.listing.sessions.get(hit.session);
            let reader = session.and_then(|it| open_session(&self.sources, it).ok().flatten());
            let entry = reader.and_then(|reader| hit_entry(&*reader, hit).ok().flatten());
            if let Some(entry) = entry {
                let text: String = entry.text.chars().take(LENGTH).collect();
                texts.push(format!("Turn {}: {text}", hit.turn));
                seen.push(hit.turn);
            }
        }
        texts
    }
}

/// Returns a query for the longer words of an input.
fn query(id: &SessionId, input: &str) -> Option<Query> {
    let mut words: Vec<&str> = Vec::new();
    for word in input.split(|c: char| !c.is_alphanumeric()) {
        if word.chars().count() >= SHORTEST && !words.contains(&word) && words.len() < MOST_WORDS {
            words.push(word);
        }
    }
    let any = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ");
    if any.is_empty() {
        return None;
    }
    Query::parse(&format!("session:{id} {any}"), settings::now()).ok()
}
