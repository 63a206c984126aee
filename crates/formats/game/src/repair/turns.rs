//! Repairs the turn log: each turn under its number, with filler lines for lost turns.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::json;

use super::changes::NotedChange;
use super::logs::{PlannedLine, SurvivingRecord};
use crate::changes::ChangeRecord;
use crate::session::Session;
use crate::survey::{SurveyResult, id_parts};
use crate::turn::{OWN, TurnRecord};
use everturn_json::names::FilePath;
use everturn_session::repair::numbering::{self, MOST_LOST, NumberClaim};
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::tree::{JsonTree, TextSlice};

/// A surviving turn, or a filler.
pub(super) struct RecoveredTurn {
    tree: JsonTree,
    /// Its current text, if that is kept.
    text: Option<String>,
    file: Option<usize>,
}

impl RecoveredTurn {
    /// Sets a field.
    fn set(&mut self, path: &[&str], value: &serde_json::Value) {
        let Ok(value) = JsonTree::from_value(value) else { return };
        let mut tree = self.tree.clone();
        let done =
            Delta::set(DeltaPath::array(path.iter().copied()), value).apply_in_place(&mut tree);
        if done.is_ok() {
            (self.tree, self.text) = (tree, None);
        }
    }

    pub(super) fn line(&self, turn: u64) -> PlannedLine {
        let text = self.text.clone().unwrap_or_else(|| self.tree.to_line());
        PlannedLine { turn, text, file: self.file }
    }

    /// Returns whether it is a filler for a lost turn.
    pub(super) fn is_new_filler(&self) -> bool {
        self.file.is_none()
    }

    /// Parses the turn.
    fn turn(&self) -> Option<TurnRecord> {
        TurnRecord::parse(&TextSlice::from_text(self.tree.to_line())).ok()
    }

    /// Returns the IDs of its events.
    pub(super) fn events(&self) -> HashSet<String> {
        let turn = self.turn();
        turn.map(|turn| turn.events().iter().map(|event| event.id.clone()).collect())
            .unwrap_or_default()
    }
}

/// Returns the turn number in the IDs of a turn's events, if they agree.
fn number_by_events(turn: &TurnRecord) -> Option<u64> {
    let events = turn.events();
    let mut turns = events.iter().filter_map(|event| id_parts(&event.id)).map(|(turn, _)| turn);
    let first = turns.next()?;
    turns.all(|turn| turn == first).then_some(first)
}

/// Assigns each turn its number. Duplicates are left out; another record of the same turn is merged into the first.
pub(super) fn assign_turn_numbers(
    session: &Session,
    mut found: Vec<SurvivingRecord<TurnRecord>>,
    noted: &[NotedChange],
) -> BTreeMap<u64, RecoveredTurn> {
    let mut seen: HashSet<String> = HashSet::new();
    found.retain(|found| seen.insert(found.text.clone()));
    let changed: BTreeSet<u64> = noted.iter().map(|noted| noted.turn).collect();
    let said: Vec<NumberClaim> = found
        .iter()
        .map(|SurvivingRecord { record, .. }| NumberClaim {
            number: record.turn,
            hint: number_by_events(record),
        })
        .collect();
    let numbers = numbering::assign_numbers(&said, floor(session, &said), &|turn| {
        changed.contains(&turn) || session.meta.is_some() && turn <= session.turn
    });
    let mut all: BTreeMap<u64, RecoveredTurn> = BTreeMap::new();
    for (SurvivingRecord { record, text, file }, number) in found.into_iter().zip(numbers) {
        let mut told =
            RecoveredTurn { tree: record.raw.clone(), text: Some(text), file: Some(file) };
        if number != record.turn {
            told.set(&["turnId"], &json!(number));
            told.set(&[OWN, "mended"], &json!(true));
        }
        name_events(session, &mut told, number);
        match all.get_mut(&number) {
            Some(first) => {
                let count = first.tree.len_at(&[OWN, "also"]);
                if count.is_none() {
                    first.set(&[OWN, "also"], &json!([]));
                }
                if let Ok(twin) = told.tree.to_value() {
                    first.set(&[OWN, "also", &count.unwrap_or(0).to_string()], &twin);
                }
            }
            None => drop(all.insert(number, told)),
        }
    }
    adopt_event_ids(session, &mut all, noted);
    all
}

/// Returns the number before the first turn.
fn floor(session: &Session, said: &[NumberClaim]) -> u64 {
    let snapshots = session.files().ok();
    let lowest = snapshots.and_then(|files| files.snapshots.first().map(|(file, _)| file.turn));
    let sure = said.iter().filter(|one| one.hint.is_none_or(|hint| hint == one.number));
    let first = sure.map(|one| one.number.saturating_sub(1)).min();
    lowest.unwrap_or(0).min(first.unwrap_or(0))
}

/// Gives events new IDs where theirs belong to another turn or are duplicates.
fn name_events(session: &Session, told: &mut RecoveredTurn, turn: u64) {
    let Some(read) = told.turn() else { return };
    let events = read.events();
    let mut used: HashSet<String> = HashSet::new();
    let ids: HashSet<&str> = events.iter().map(|event| event.id.as_str()).collect();
    for (place, event) in events.iter().enumerate() {
        let is_wrong = id_parts(&event.id).is_some_and(|(of, _)| of != turn);
        if !is_wrong && (event.id.is_empty() || used.insert(event.id.clone())) {
            continue;
        }
        let free = (place + 1..).map(|number| event_id(session, turn, number as u64));
        let mut free = free.filter(|id| !used.contains(id) && !ids.contains(id.as_str()));
        if let Some(id) = free.next() {
            told.set(&["events", &place.to_string(), "eventId"], &json!(id));
            told.set(&[OWN, "mended"], &json!(true));
            used.insert(id);
        }
    }
}

/// Gives events the IDs that changes refer to, if those have the usual form and the turn has others.
fn adopt_event_ids(
    session: &Session,
    all: &mut BTreeMap<u64, RecoveredTurn>,
    noted: &[NotedChange],
) {
    let mut named: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
    for one in noted {
        named.entry(one.turn).or_default().extend(one.change.event.as_deref());
    }
    for (turn, named) in named {
        let Some(told) = all.get_mut(&turn) else { continue };
        let Some(read) = told.turn() else { continue };
        let ids: Vec<String> = read.events().iter().map(|event| event.id.clone()).collect();
        let is_made = |id: &str| {
            id_parts(id)
                .is_some_and(|(of, number)| event_id(session, of, number) == id && of == turn)
        };
        let mut nameless: Vec<usize> = (0..ids.len()).collect();
        nameless.retain(|place| ids.get(*place).is_some_and(|id| !is_made(id)));
        let mut nameless = nameless.into_iter();
        let mut added = ids.len();
        for id in named.into_iter().filter(|id| is_made(id) && !ids.iter().any(|own| own == id)) {
            match nameless.next() {
                Some(place) => told.set(&["events", &place.to_string(), "eventId"], &json!(id)),
                None => {
                    let lost = json!({"eventId": id, "type": "lost"});
                    told.set(&["events", &added.to_string()], &lost);
                    added += 1;
                }
            }
            told.set(&[OWN, "mended"], &json!(true));
        }
    }
}

fn event_id(session: &Session, turn: u64, number: u64) -> String {
    session.rules().event_id(&session.id, turn, number)
}

/// Adds lines for lost turns, with the events that the changes refer to.
pub(super) fn fill(
    session: &Session,
    facts: &SurveyResult,
    mut all: BTreeMap<u64, RecoveredTurn>,
    noted: &[NotedChange],
    kept: &FilePath,
) -> BTreeMap<u64, RecoveredTurn> {
    let snapshots = facts.good_snapshots.iter().map(|(file, _)| file.turn);
    let states = facts.stored.turn.filter(|_| facts.stored.verified);
    let changes = noted.iter().map(|noted| noted.turn);
    let logged = all.keys().next_back().copied();
    let last = snapshots.chain(states).chain(changes).chain(logged).max().unwrap_or(0);
    let lowest = session.files().ok();
    let lowest = lowest.and_then(|files| files.snapshots.first().map(|(file, _)| file.turn));
    let changed = noted.iter().map(|noted| noted.turn).min().unwrap_or(u64::MAX);
    let first = all.keys().next().copied().unwrap_or(1).min(lowest.unwrap_or(0) + 1);
    let first = first.min(changed).max(1);
    if (last + 1).saturating_sub(first).saturating_sub(all.len() as u64) > MOST_LOST {
        return all;
    }
    let mut named: BTreeMap<u64, Vec<&NotedChange>> = BTreeMap::new();
    for one in noted {
        named.entry(one.turn).or_default().push(one);
    }
    for turn in first..=last {
        if !all.contains_key(&turn) {
            let near = all.range(..turn).next_back().or_else(|| all.range(turn..).next());
            let near = near.map(|(_, told)| told.tree.clone());
            let changes = named.remove(&turn).unwrap_or_default();
            all.insert(turn, filler(session, turn, &changes, near.as_ref(), kept));
        }
    }
    all
}

/// Returns a filler for a lost turn.
fn filler(
    session: &Session,
    turn: u64,
    changes: &[&NotedChange],
    near: Option<&JsonTree>,
    kept: &FilePath,
) -> RecoveredTurn {
    let changes: Vec<&ChangeRecord> = changes.iter().map(|noted| &noted.change).collect();
    RecoveredTurn { tree: lost_line(session, turn, &changes, near, kept), text: None, file: None }
}

/// Returns a line for a lost turn. `near` is a turn with a similar time, `kept` the directory of the originals.
pub(crate) fn lost_line(
    session: &Session,
    turn: u64,
    changes: &[&ChangeRecord],
    near: Option<&JsonTree>,
    kept: &FilePath,
) -> JsonTree {
    let mut ids = vec![event_id(session, turn, 1)];
    for id in changes.iter().filter_map(|change| change.event.clone()) {
        let is_other = id_parts(&id).is_some_and(|(of, _)| of != turn);
        if !id.is_empty() && !is_other && !ids.contains(&id) {
            ids.push(id);
        }
    }
    let text = format!(
        "Turn {turn} was damaged and could not be recovered. What was left of it is kept in {kept}."
    );
    let event = |(place, id): (usize, &String)| match place {
        0 => json!({"eventId": id, "type": "lost", "description": text}),
        _ => json!({"eventId": id, "type": "lost"}),
    };
    let part = |key: &str| near.and_then(|near| near.value_at(&[key])?.to_value().ok());
    let time = changes.iter().find_map(|change| change.time).map(|time| json!(time));
    let line = json!({
        "turnId": turn, "sceneId": part("sceneId"), "actor": "system",
        "timestamp": time.or_else(|| part("timestamp")), "gameTime": part("gameTime"),
        "actions": [], "events": ids.iter().enumerate().map(event).collect::<Vec<_>>(),
        "stateChanges": [], OWN: {"lost": true},
    });
    JsonTree::from_value(&line).unwrap_or_else(|_| JsonTree::object())
}
