//! Whether a journal was folded into a document, as far as the two tell.

use std::collections::{HashMap, HashSet};

use super::super::content::{Content, Elements, Mark};
use super::super::error::ChatError;
use super::super::index::ListFacts;
use super::super::journal::{Base, Op, Overlay};
use super::super::log::ChatLog;
use super::super::shape::time;
use super::super::survey::List;
use super::Place;
use everturn_json::checksum::checksum;
use everturn_value::tree::{Tree, canonical};

/// What tells an element from others, whatever its spelling.
struct Identity {
    id: Option<String>,
    /// The checksum of its canonical text.
    sum: u64,
    /// Its time in milliseconds, the most that some programs keep.
    time: Option<i64>,
}

impl Identity {
    fn of(tree: &Tree) -> Identity {
        let id = tree.string_at(&["id"]).filter(|id| !id.is_empty());
        let sum = checksum(&[canonical(tree).as_bytes()]);
        let time = tree.string_at(&["timestamp"]).and_then(|text| time(&text));
        Identity { id, sum, time: time.map(|time| time.as_millisecond()) }
    }

    /// Whether two elements that have the same id are the same one, perhaps edited. Two programs that number their
    /// messages may both have given the same id to a message of their own; these differ in their times.
    fn is_same(&self, other: &Identity) -> bool {
        self.sum == other.sum || (self.time.is_some() && self.time == other.time)
    }
}

/// The elements of one list of the document.
#[derive(Default)]
pub(super) struct StoredList {
    elements: Vec<Identity>,
    places: HashMap<String, Vec<u64>>,
    sums: HashMap<u64, Vec<u64>>,
}

impl StoredList {
    fn read(content: &Content, facts: Option<ListFacts>) -> Result<StoredList, ChatError> {
        let mut list = StoredList::default();
        let Some(facts) = facts else { return Ok(list) };
        let mut elements = Elements::new(content, facts.open + 1, facts.close);
        while let Some(element) = elements.next()? {
            let text = element.into_text(content.file())?;
            let end = text.len();
            let identity = Identity::of(&Tree::trusted(text.into(), 0..end));
            let place = list.len() + 1;
            match &identity.id {
                Some(id) => list.places.entry(id.clone()).or_default().push(place),
                None => list.sums.entry(identity.sum).or_default().push(place),
            }
            list.elements.push(identity);
        }
        Ok(list)
    }

    pub(super) fn len(&self) -> u64 {
        self.elements.len() as u64
    }

    /// The place of the element with an id; of several, the one that is where it was.
    pub(super) fn place_of(&self, id: &str, was: u64) -> Option<u64> {
        let places = self.places.get(id)?;
        places.iter().find(|place| **place == was).or(places.first()).copied()
    }

    /// The place of an element that the journal adds. One without an id is known by its content, and only among those
    /// after `old`, the elements that the document had before.
    fn find(&self, added: &Identity, old: u64, taken: &HashSet<u64>) -> Option<u64> {
        let is_same = |place: &u64| {
            let index = usize::try_from(place.saturating_sub(1)).ok();
            let stored = index.and_then(|index| self.elements.get(index));
            !taken.contains(place) && stored.is_some_and(|stored| stored.is_same(added))
        };
        match &added.id {
            Some(id) => self.places.get(id)?.iter().copied().find(is_same),
            None => self.sums.get(&added.sum)?.iter().copied().find(|at| *at > old && is_same(at)),
        }
    }
}

/// An addition of the journal.
struct Addition {
    list: List,
    place: u64,
    offset: u64,
    identity: Identity,
}

/// What the lines of a journal tell about whether it was folded.
#[derive(Default)]
struct Lines {
    additions: Vec<Addition>,
    /// The messages that were removed, by their places and ids.
    removed: Vec<(u64, Option<String>)>,
    /// Documents into which the lines above were folded.
    folds: Vec<(u64, Mark)>,
    /// The offset of the last line.
    last: u64,
}

impl Lines {
    /// Reads a journal; returns also the document that it was begun for.
    fn read(log: &ChatLog, now: Base) -> Result<(Lines, Base), ChatError> {
        let mut lines = Lines::default();
        let read = Overlay::read_with(&log.store, &log.files.journal, |op, record| {
            let offset = record.offset;
            let Lines { additions, removed, folds, last } = &mut lines;
            *last = offset;
            let mut add = |list, place, value: &Tree| {
                additions.push(Addition { list, place, offset, identity: Identity::of(value) });
            };
            match &op {
                Op::Message { place, value } => add(List::Messages, *place, value),
                Op::Snapshot { place, value, .. } => add(List::Snapshots, *place, value),
                Op::Remove { place, id } => removed.push((*place, id.clone())),
                Op::Folded { document } => folds.push((offset, *document)),
                Op::Edit { .. } | Op::Head { .. } => {}
            }
            None
        })?;
        // A journal that does not say what it was begun for is taken to add where its additions begin.
        let before = |list: List| {
            let places = lines.additions.iter().filter(|added| added.list == list);
            places.map(|added| added.place - 1).min()
        };
        let was = read.base.unwrap_or_else(|| Base {
            mark: now.mark,
            messages: before(List::Messages).unwrap_or(now.messages),
            snapshots: before(List::Snapshots).unwrap_or(now.snapshots),
        });
        Ok((lines, was))
    }

    /// Whether something is added that is not removed again.
    fn adds(&self) -> bool {
        let removed: HashSet<u64> = self.removed.iter().map(|(place, _)| *place).collect();
        let stays =
            |added: &Addition| added.list == List::Snapshots || !removed.contains(&added.place);
        self.additions.iter().any(stays)
    }
}

/// What a journal and a document have in common.
pub(super) struct Evidence {
    pub(super) messages: StoredList,
    pub(super) snapshots: StoredList,
    /// The document that the journal was begun for.
    pub(super) was: Base,
    /// Additions that the document has, and where.
    pub(super) present: HashMap<Place, u64>,
    /// Whether a line of the journal says that it was folded into just this document.
    pub(super) is_exact: bool,
    /// The offset before which all lines were folded into the document, or into what it was before another program
    /// changed it.
    pub(super) folded_to: u64,
    /// Whether the last line speaks of a fold, and nothing says that it has happened, or that it has not.
    pub(super) may_be_folded: bool,
}

impl Evidence {
    pub(super) fn collect(log: &ChatLog, now: Base) -> Result<Evidence, ChatError> {
        let (lines, was) = Lines::read(log, now)?;
        let exact = lines.folds.iter().rev().find(|(_, document)| *document == now.mark);
        let mut evidence = Evidence {
            messages: StoredList::read(&log.content, log.facts(List::Messages))?,
            snapshots: StoredList::read(&log.content, log.facts(List::Snapshots))?,
            was,
            present: HashMap::new(),
            is_exact: exact.is_some(),
            folded_to: 0,
            may_be_folded: false,
        };
        let last = evidence.compare(&lines);
        evidence.folded_to = match (exact, last) {
            (Some((offset, _)), _) => *offset,
            // Only a fold can have put it there, and a fold puts all lines above its own there.
            (None, Some(last)) => {
                let next = lines.folds.iter().find(|(offset, _)| *offset > last);
                next.map_or(u64::MAX, |(offset, _)| *offset)
            }
            (None, None) => 0,
        };
        let is_last = lines.folds.last().is_some_and(|(offset, _)| *offset == lines.last);
        let is_open = evidence.folded_to == 0 && !lines.adds() && !evidence.has_removed(&lines);
        evidence.may_be_folded = is_last && is_open;
        Ok(evidence)
    }

    /// Looks for the additions in the document; returns the offset of the last one that is there.
    fn compare(&mut self, lines: &Lines) -> Option<u64> {
        let of_document = |(place, _): &&(u64, _)| *place <= self.was.messages;
        let removed = lines.removed.iter().filter(of_document).count() as u64;
        let (mut messages, mut snapshots) = (HashSet::new(), HashSet::new());
        let mut last = None;
        for Addition { list, place, offset, identity } in &lines.additions {
            let (stored, old, taken) = match list {
                List::Messages => {
                    (&self.messages, self.was.messages.saturating_sub(removed), &mut messages)
                }
                List::Snapshots => (&self.snapshots, self.was.snapshots, &mut snapshots),
            };
            if let Some(at) = stored.find(identity, old, taken) {
                taken.insert(at);
                self.present.insert((*list, *place), at);
                last = last.max(Some(*offset));
            }
        }
        last
    }

    /// Whether the document has a message that the journal removes.
    fn has_removed(&self, lines: &Lines) -> bool {
        lines.removed.iter().any(|(place, id)| {
            let is_there = |id: &String| self.messages.places.contains_key(id);
            *place <= self.was.messages && id.as_ref().is_some_and(is_there)
        })
    }
}
