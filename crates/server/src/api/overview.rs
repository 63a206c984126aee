//! What a session is about, in one small answer.

use std::collections::BTreeMap;

use everturn::model::Entry;
use everturn_requests::MarkView;
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::Problem;
use crate::route::{Answer, Call, NoQuery, RevealQuery, Route};

/// The most characters of a text in an overview.
const SHORT: usize = 500;

/// The most speakers, kinds and marks.
const MOST: usize = 100;

/// A name with the number of entries that have it.
#[derive(Debug, Serialize, JsonSchema)]
struct NameCount {
    /// The name.
    name: String,
    /// The number of entries.
    count: u64,
}

/// An entry, shortened.
#[derive(Debug, Serialize, JsonSchema)]
struct ShortEntry {
    /// The turn.
    turn: u64,
    /// The speaker.
    speaker: String,
    /// The time.
    time: Option<String>,
    /// The beginning of the text.
    text: String,
}

impl From<&Entry> for ShortEntry {
    fn from(entry: &Entry) -> ShortEntry {
        ShortEntry {
            turn: entry.turn,
            speaker: entry.speaker.clone(),
            time: entry.time.map(|time| time.to_string()),
            text: entry.text.chars().take(SHORT).collect(),
        }
    }
}

/// The overview of a session.
#[derive(Debug, Serialize, JsonSchema)]
struct OverviewAnswer {
    /// The key of the session.
    session: String,
    /// Its title.
    title: String,
    /// Its format.
    format: String,
    /// Its status.
    status: String,
    /// Its project directory.
    project: Option<String>,
    /// Its last turn.
    turns: u64,
    /// The number of entries.
    entries: u64,
    /// The bytes of all texts.
    text_bytes: u64,
    /// Who speaks, most often first.
    speakers: Vec<NameCount>,
    /// The kinds of entries, most frequent first.
    kinds: Vec<NameCount>,
    /// The first entry with a text.
    first: Option<ShortEntry>,
    /// The last entry with a text.
    last: Option<ShortEntry>,
    /// The marks.
    marks: Vec<MarkView>,
    /// The names of the parts of the state.
    scopes: Vec<String>,
    /// The tokens of all answers, if they are recorded.
    tokens: Option<u64>,
    /// The cost in dollars, if it is recorded.
    cost: Option<f64>,
}

fn ranked(counts: BTreeMap<String, u64>) -> Vec<NameCount> {
    let mut names: Vec<NameCount> =
        counts.into_iter().map(|(name, count)| NameCount { name, count }).collect();
    names.sort_by_key(|one| std::cmp::Reverse(one.count));
    names.truncate(MOST);
    names
}

fn get_overview(call: &Call<'_>, _: RevealQuery) -> Result<Answer<OverviewAnswer>, Problem> {
    let found = call.session()?;
    let store = call.library.store(found.source)?;
    let summary = found.format.summary(&store, &found.place)?;
    let reader = call.library.reader(&found, None)?;
    let (mut speakers, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    let (mut count, mut text_bytes) = (0, 0);
    let (mut first, mut last) = (None, None);
    let mut entries = reader.entries(0..=u64::MAX)?;
    while let Some(entry) = entries.next().transpose()? {
        count += 1;
        text_bytes += entry.text.len() as u64;
        *speakers.entry(entry.speaker.clone()).or_insert(0) += 1;
        *kinds.entry(entry.kind.as_str().to_owned()).or_insert(0) += 1;
        if !entry.text.trim().is_empty() {
            first.get_or_insert_with(|| ShortEntry::from(&entry));
            last = Some(entry);
        }
    }
    drop(entries);
    let usage = reader.usage().map(|usage| usage.total());
    // A session without marks or states has none; that is no error here.
    let marks = reader.marks().unwrap_or_default().into_iter().take(MOST);
    let state = reader.state(None).map(|state| state.scopes).unwrap_or_default();
    Ok(Answer::ok(OverviewAnswer {
        session: found.key.clone(),
        title: summary.title,
        format: found.format.name().to_owned(),
        status: summary.status.to_string(),
        project: found.format.project(&store, &found.place).unwrap_or_default(),
        turns: *reader.turns()?.end(),
        entries: count,
        text_bytes,
        speakers: ranked(speakers),
        kinds: ranked(kinds),
        first,
        last: last.as_ref().map(ShortEntry::from),
        marks: marks.map(MarkView::from).collect(),
        scopes: state.into_iter().map(|(scope, _)| scope).collect(),
        tokens: usage.as_ref().map(|usage| usage.input + usage.output),
        cost: usage.and_then(|usage| usage.cost),
    }))
}

/// What a session offers beyond its entries.
#[derive(Debug, Serialize, JsonSchema)]
struct AbilitiesAnswer {
    /// Whether it has a state.
    state: bool,
    /// Whether it has the state at every turn.
    history: bool,
    /// Whether it can have marks.
    marks: bool,
    /// Whether its records form a tree.
    branches: bool,
}

fn get_abilities(call: &Call<'_>, _: NoQuery) -> Result<Answer<AbilitiesAnswer>, Problem> {
    let reader = call.library.reader(&call.session()?, None)?;
    let offered = reader.abilities();
    Ok(Answer::ok(AbilitiesAnswer {
        state: offered.state.is_some(),
        history: offered.history.is_some(),
        marks: offered.marks.is_some(),
        branches: offered.branches.is_some(),
    }))
}

pub(super) fn routes() -> Vec<Route> {
    let offered = "/api/v1/sessions/{session}/abilities";
    let path = "/api/v1/sessions/{session}/overview";
    vec![
        Route::get((path, "getOverview", "What a session is about."), get_overview),
        Route::get((offered, "getAbilities", "What a session offers."), get_abilities),
    ]
}
