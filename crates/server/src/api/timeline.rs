//! The timeline of a session: what happened at each turn, for scrubbers.

use std::collections::BTreeMap;

use everturn::format::SessionReader;
use everturn_requests::MarkView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::route::{Answer, Call, Route};

/// The default and the largest number of turns of a page.
const PAGES: (u64, u64) = (1000, 10_000);

/// Which turns to return.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TimelineQuery {
    /// The first turn.
    from: Option<u64>,
    /// The last turn.
    to: Option<u64>,
    /// The number of turns of a page: 1000, at most 10000.
    #[schemars(range(min = 1, max = PAGES.1))]
    limit: Option<u64>,
    /// A branch of the session; by default its main line.
    branch: Option<String>,
}

/// A turn on the timeline.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct TimelineTurn {
    /// Its number.
    turn: u64,
    /// When it happened.
    time: Option<String>,
    /// Who speaks first.
    speaker: Option<String>,
    /// The kind of its first entry.
    kind: Option<String>,
    /// The number of its entries.
    entries: u64,
    /// The length of its texts in bytes.
    text_bytes: u64,
    /// The number of changes of the state.
    changes: u64,
    /// The size of these changes in bytes.
    change_bytes: u64,
    /// The scopes that change.
    scopes: Vec<String>,
    /// Whether a scene starts or ends.
    scene: bool,
    /// Whether a snapshot of the state was taken.
    snapshot: bool,
}

/// A part of the timeline.
#[derive(Debug, Serialize, JsonSchema)]
struct TimelineAnswer {
    /// The first turn of the session.
    first: u64,
    /// The last turn of the session.
    last: u64,
    /// The turns, in order.
    turns: Vec<TimelineTurn>,
    /// The marks of these turns.
    marks: Vec<MarkView>,
    /// The first turn of the next page; null after the last one.
    next: Option<u64>,
}

/// The scope whose whole value changes when a scene starts.
const SCENE: &str = "scene";

type Turns = BTreeMap<u64, TimelineTurn>;

fn turn_of(turns: &mut Turns, turn: u64) -> &mut TimelineTurn {
    turns.entry(turn).or_insert_with(|| TimelineTurn { turn, ..TimelineTurn::default() })
}

fn add_entries(
    reader: &dyn SessionReader,
    (from, to): (u64, u64),
    turns: &mut Turns,
) -> Result<(), Problem> {
    let mut entries = reader.entries(from..=to)?;
    while let Some(entry) = entries.next().transpose()? {
        let at = turn_of(turns, entry.turn);
        at.entries += 1;
        at.text_bytes += entry.text.len() as u64;
        at.time = at.time.take().or(entry.time.map(|time| time.to_string()));
        at.speaker.get_or_insert(entry.speaker);
        at.kind.get_or_insert(entry.kind.as_str().to_owned());
    }
    Ok(())
}

fn add_changes(
    reader: &dyn SessionReader,
    (from, to): (u64, u64),
    turns: &mut Turns,
) -> Result<(), Problem> {
    let mut changes = reader.changes(from..=to)?;
    while let Some(change) = changes.next().transpose()? {
        let at = turn_of(turns, change.turn);
        at.changes += 1;
        at.change_bytes += change.delta.to_line().len() as u64;
        at.scene |= change.scope == SCENE;
        if !at.scopes.contains(&change.scope) {
            at.scopes.push(change.scope);
        }
    }
    drop(changes);
    if let Some(mut snapshots) = reader.snapshots(from..=to)? {
        while let Some((turn, _)) = snapshots.next().transpose()? {
            turn_of(turns, turn).snapshot = true;
        }
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "all handlers have this type")]
fn get_timeline(call: &Call<'_>, query: TimelineQuery) -> Result<Answer<TimelineAnswer>, Problem> {
    let limit = query.limit.unwrap_or(PAGES.0);
    if limit == 0 || limit > PAGES.1 {
        let what = format!("limit: a page has 1 to {} turns", PAGES.1);
        return Err(Problem::bad_request(what).at("limit"));
    }
    let reader = call.library.reader(&call.session()?, query.branch.as_deref())?;
    let all = reader.turns()?;
    let (first, last) = (*all.start(), *all.end());
    let from = query.from.unwrap_or(first).max(first);
    let end = query.to.unwrap_or(last).min(last);
    let to = end.min(from.saturating_add(limit - 1));
    let mut turns = Turns::new();
    if from <= to {
        add_entries(&*reader, (from, to), &mut turns)?;
        add_changes(&*reader, (from, to), &mut turns)?;
    }
    let marks = reader.marks()?.into_iter().filter(|mark| (from..=to).contains(&mark.turn));
    Ok(Answer::ok(TimelineAnswer {
        first,
        last,
        turns: turns.into_values().collect(),
        marks: marks.map(MarkView::from).collect(),
        next: (to < end).then(|| to + 1),
    }))
}

pub(super) fn routes() -> Vec<Route> {
    let path = "/api/v1/sessions/{session}/timeline";
    vec![Route::get((path, "getTimeline", "What happened at each turn."), get_timeline)]
}
