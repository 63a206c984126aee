//! Runs queries on the index ([`SearchEngine`]), or, without one, on the sessions themselves ([`scan_sessions`]).

mod index_query;
mod scan;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use everturn::format::{ListedSession, SessionError, SessionReader, open_listed};
use everturn::model::Entry;
use jiff::Timestamp;
use tantivy::collector::{Collector, CustomScorer, CustomSegmentScorer, FilterCollector, TopDocs};
use tantivy::columnar::Column;
use tantivy::query::Query as IndexQuery;
use tantivy::{DocAddress, DocId, ReloadPolicy, Searcher, SegmentReader, Term};

use self::index_query::to_index_query;
pub(crate) use self::scan::scan_sessions;
use crate::error::CatalogError;
use crate::index::{IndexFields, OpenIndex, UNKNOWN_TIME};
use crate::query::Query;
use crate::source::{CatalogSession, SessionSource};
use crate::update::{LeftOut, key_of};

/// How many extra hits are fetched: some are pieces of one entry, or have equal scores.
const SPARE: usize = 64;

/// The order of hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortOrder {
    /// Best match first; of equal matches, the newer first.
    #[default]
    Relevance,
    /// Newest first.
    Date,
}

/// An entry that matches a query.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The index of its session in the listing.
    pub session: usize,
    /// The branch of the session, counted from 1; 0 is the main line.
    pub branch: u64,
    /// Its turn.
    pub turn: u64,
    /// Its position in the session.
    pub seq: u64,
    /// Its time, if known.
    pub time: Option<Timestamp>,
    /// The relevance score.
    pub score: f32,
}

/// The results of a search.
#[derive(Debug, Clone, Default)]
pub struct SearchResults {
    /// The entries, best or newest first.
    pub hits: Vec<SearchHit>,
    /// Whether there are more hits than were requested.
    pub more: bool,
    /// The query with similar words that was run instead, if nothing matched exactly.
    pub similar: Option<Query>,
    /// Whether the sessions themselves were read, so that the age of the index does not matter.
    pub is_current: bool,
    /// Sessions that could not be read, if sessions were read instead of the index.
    pub left_out: Vec<LeftOut>,
}

/// An index that is ready for queries.
pub(crate) struct SearchEngine {
    searcher: Searcher,
    fields: IndexFields,
    /// Maps session numbers to positions in the listing; unlisted sessions are absent.
    sessions: HashMap<u64, usize>,
    /// Whether the index contains unlisted sessions.
    has_others: bool,
    /// The roots of the sources.
    roots: Vec<PathBuf>,
}

impl SearchEngine {
    pub(crate) fn new(
        opened: &OpenIndex,
        sources: &[SessionSource],
        sessions: &[CatalogSession],
    ) -> Result<SearchEngine, CatalogError> {
        let reader =
            opened.index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let mut numbers = HashMap::with_capacity(sessions.len());
        for (at, session) in sessions.iter().enumerate() {
            let source = sources.get(session.source);
            let row = source.and_then(|source| opened.ledger.rows.get(&key_of(source, session)));
            numbers.extend(row.map(|row| (row.number, at)));
        }
        let has_others = numbers.len() < opened.ledger.rows.len();
        let fields = opened.fields;
        let roots = sources.iter().map(|source| source.root.clone()).collect();
        Ok(SearchEngine {
            searcher: reader.searcher(),
            fields,
            sessions: numbers,
            has_others,
            roots,
        })
    }

    pub(crate) fn search(
        &self,
        query: &Query,
        sessions: &[CatalogSession],
        (limit, sort): (usize, SortOrder),
    ) -> Result<SearchResults, CatalogError> {
        let mut found = self.find(query, sessions, (limit, sort))?;
        if found.hits.is_empty()
            && let Some(forgiving) = query.with_typos(|word| self.is_known(word))?
        {
            found = self.find(&forgiving, sessions, (limit, sort))?;
            found.similar = Some(forgiving).filter(|_| !found.hits.is_empty());
        }
        Ok(found)
    }

    fn is_known(&self, word: &str) -> Result<bool, CatalogError> {
        for field in [self.fields.text, self.fields.parts] {
            if self.searcher.doc_freq(&Term::from_field_text(field, word))? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn find(
        &self,
        query: &Query,
        sessions: &[CatalogSession],
        (limit, sort): (usize, SortOrder),
    ) -> Result<SearchResults, CatalogError> {
        let asked = to_index_query(&self.fields, query);
        let filtered = self.has_others || !query.sessions.is_empty();
        let allowed: Arc<HashSet<u64>> = Arc::new(if filtered {
            let meant = |at: &usize| {
                let session = sessions.get(*at);
                let root = session.and_then(|session| self.roots.get(session.source));
                session.zip(root).is_some_and(|(session, root)| session.matches_query(query, root))
            };
            self.sessions.iter().filter(|(_, at)| meant(at)).map(|(number, _)| *number).collect()
        } else {
            HashSet::new()
        });
        if filtered && allowed.is_empty() {
            return Ok(SearchResults::default());
        }
        let has_words = query.clauses.iter().any(|clause| !clause.absent);
        let by_date = sort == SortOrder::Date || !has_words;
        // Memory is reserved for every requested hit, so the request is limited to the number of documents.
        let there = usize::try_from(self.searcher.num_docs()).unwrap_or(usize::MAX).max(1);
        let top = || TopDocs::with_limit(limit.saturating_add(SPARE).min(there));
        let allowed = filtered.then_some(allowed);
        let docs: Vec<(f32, DocAddress)> = if by_date {
            let newest = top().custom_score(NewestScorer);
            let docs = self.collect(&*asked, newest, allowed)?;
            docs.into_iter().map(|(_, doc)| (0.0, doc)).collect()
        } else {
            self.collect(&*asked, top(), allowed)?
        };
        let is_full = docs.len() >= limit.saturating_add(SPARE);
        let mut hits = self.hits(&docs)?;
        hits.sort_by(|a, b| {
            let score = if by_date { Ordering::Equal } else { b.score.total_cmp(&a.score) };
            score.then_with(|| newest_first(a, b))
        });
        let mut seen = HashSet::new();
        hits.retain(|hit| seen.insert((hit.session, hit.branch, hit.seq)));
        let more = hits.len() > limit || is_full;
        hits.truncate(limit);
        Ok(SearchResults { hits, more, ..SearchResults::default() })
    }

    fn collect<C: Collector + Sync + Send>(
        &self,
        query: &dyn IndexQuery,
        collector: C,
        allowed: Option<Arc<HashSet<u64>>>,
    ) -> Result<C::Fruit, CatalogError> {
        Ok(match allowed {
            None => self.searcher.search(query, &collector)?,
            Some(allowed) => {
                let is_allowed = move |number: u64| allowed.contains(&number);
                let collector = FilterCollector::new("session".to_owned(), is_allowed, collector);
                self.searcher.search(query, &collector)?
            }
        })
    }

    /// Returns the hits for the documents that the index found.
    fn hits(&self, docs: &[(f32, DocAddress)]) -> Result<Vec<SearchHit>, CatalogError> {
        struct HitColumns {
            numbers: [Column<u64>; 4],
            time: Column<i64>,
        }
        let mut columns: HashMap<u32, HitColumns> = HashMap::new();
        let mut hits = Vec::with_capacity(docs.len());
        for (score, doc) in docs {
            let of_segment = match columns.entry(doc.segment_ord) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    let fast = self.searcher.segment_reader(doc.segment_ord).fast_fields();
                    let numbers = [
                        fast.u64("session")?,
                        fast.u64("branch")?,
                        fast.u64("turn")?,
                        fast.u64("seq")?,
                    ];
                    entry.insert(HitColumns { numbers, time: fast.i64("time")? })
                }
            };
            let [session, branch, turn, seq] =
                of_segment.numbers.each_ref().map(|column| column.first(doc.doc_id));
            let Some(session) = session.and_then(|number| self.sessions.get(&number)) else {
                continue;
            };
            let time = of_segment.time.first(doc.doc_id).filter(|time| *time != UNKNOWN_TIME);
            hits.push(SearchHit {
                session: *session,
                branch: branch.unwrap_or_default(),
                turn: turn.unwrap_or_default(),
                seq: seq.unwrap_or_default(),
                time: time.and_then(|time| Timestamp::from_microsecond(time).ok()),
                score: *score,
            });
        }
        Ok(hits)
    }
}

/// Orders by time, newest first; entries of one time by position, last first.
fn newest_first(a: &SearchHit, b: &SearchHit) -> Ordering {
    let by_place = || (a.session, a.branch).cmp(&(b.session, b.branch));
    (b.time, b.seq).cmp(&(a.time, a.seq)).then_with(by_place)
}

/// Applies the same order to documents of the index.
struct NewestScorer;

/// The columns of a segment that the order depends on.
struct NewestSegmentScorer {
    time: Column<i64>,
    seq: Column<u64>,
}

type EntryTime = (Option<i64>, Option<u64>);

impl CustomScorer<EntryTime> for NewestScorer {
    type Child = NewestSegmentScorer;

    fn segment_scorer(&self, segment: &SegmentReader) -> tantivy::Result<NewestSegmentScorer> {
        let fast = segment.fast_fields();
        Ok(NewestSegmentScorer { time: fast.i64("time")?, seq: fast.u64("seq")? })
    }
}

impl CustomSegmentScorer<EntryTime> for NewestSegmentScorer {
    fn score(&mut self, doc: DocId) -> EntryTime {
        (self.time.first(doc), self.seq.first(doc))
    }
}

/// Opens a session for reading. A session whose source is not among these is gone.
pub(crate) fn open_session(
    sources: &[SessionSource],
    session: &CatalogSession,
) -> Result<ListedSession, SessionError> {
    let Some(source) = sources.get(session.source) else { return Ok(ListedSession::Gone) };
    let Some(layout) = source.layout(session.summary.layout) else {
        return Ok(ListedSession::Gone);
    };
    open_listed(layout, &source.store, &session.summary.session)
}

/// Returns the branch of a hit, if it is in one.
pub(crate) fn hit_branch(
    reader: &dyn SessionReader,
    hit: &SearchHit,
) -> Result<Option<String>, SessionError> {
    let Some(number) = hit.branch.checked_sub(1) else { return Ok(None) };
    let branch = reader.branches()?.into_iter().nth(usize::try_from(number).unwrap_or(usize::MAX));
    Ok(branch.map(|branch| branch.id))
}

/// Returns the entry of a hit, if it still exists.
pub(crate) fn hit_entry(
    reader: &dyn SessionReader,
    hit: &SearchHit,
) -> Result<Option<Entry>, SessionError> {
    if hit.branch == 0 {
        return entry_of(reader, hit);
    }
    let Some(branch) = hit_branch(reader, hit)? else { return Ok(None) };
    entry_of(&*reader.open_branch(&branch)?, hit)
}

fn entry_of(reader: &dyn SessionReader, hit: &SearchHit) -> Result<Option<Entry>, SessionError> {
    let all = reader.turns()?;
    if hit.turn > *all.end() {
        return Ok(None);
    }
    let mut entries = reader.entries(hit.turn..=hit.turn)?;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if entry.seq == hit.seq {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}
