//! Determines whether a journal was folded into a document, as far as the two show it.
//!
//! `JournalLines` reads the journal, `StoredList` the document, and `FoldEvidence` compares them.

use std::collections::{HashMap, HashSet};

use super::ElementRef;
use crate::content::{ArrayElements, DocumentBytes, DocumentDigest};
use crate::error::ChatError;
use crate::index::ListFacts;
use crate::journal::{JournalBase, JournalOp, JournalOverlay};
use crate::log::ChatLog;
use crate::schema::time;
use crate::survey::ListKind;
use everturn_json::checksum::checksum;
use everturn_value::tree::{JsonTree, canonical_text};

/// Identifies an element, regardless of its formatting.
struct ElementIdentity {
    id: Option<String>,
    /// The checksum of its canonical text.
    sum: u64,
    /// Its time in milliseconds, the highest precision that some programs keep.
    time: Option<i64>,
}

impl ElementIdentity {
    fn of(tree: &JsonTree) -> ElementIdentity {
        let id = tree.string_at(&["id"]).filter(|id| !id.is_empty());
        let sum = checksum(&[canonical_text(tree).as_bytes()]);
        let time = tree.string_at(&["timestamp"]).and_then(|text| time(&text));
        ElementIdentity { id, sum, time: time.map(|time| time.as_millisecond()) }
    }

    /// Whether two elements with the same id are the same one, perhaps edited. Two programs that number their messages
    /// may both have used the same id for different messages; these differ in their times.
    fn is_same(&self, other: &ElementIdentity) -> bool {
        self.sum == other.sum || (self.time.is_some() && self.time == other.time)
    }
}

/// The elements of one list of the document.
#[derive(Default)]
pub(super) struct StoredList {
    elements: Vec<ElementIdentity>,
    places: HashMap<String, Vec<u64>>,
    sums: HashMap<u64, Vec<u64>>,
}

impl StoredList {
    fn read(content: &DocumentBytes, facts: Option<ListFacts>) -> Result<StoredList, ChatError> {
        let mut list = StoredList::default();
        let Some(facts) = facts else { return Ok(list) };
        let mut elements = ArrayElements::new(content, facts.open + 1, facts.close);
        while let Some(element) = elements.next()? {
            let text = element.into_text(content.file())?;
            let end = text.len();
            let identity = ElementIdentity::of(&JsonTree::from_trusted(text.into(), 0..end));
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

    /// The place of the element with an id; of several, the one at its former place.
    pub(super) fn place_of(&self, id: &str, was: u64) -> Option<u64> {
        let places = self.places.get(id)?;
        places.iter().find(|place| **place == was).or(places.first()).copied()
    }

    /// The place of an element that the journal adds. Without an id it is identified by its content, and only among
    /// those after `old`, the elements that the document had before.
    fn find(&self, added: &ElementIdentity, old: u64, taken: &HashSet<u64>) -> Option<u64> {
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
struct JournalAddition {
    list: ListKind,
    place: u64,
    offset: u64,
    identity: ElementIdentity,
}

/// The lines of a journal that show whether it was folded.
#[derive(Default)]
struct JournalLines {
    additions: Vec<JournalAddition>,
    /// The removed messages, by place and id.
    removed: Vec<(u64, Option<String>)>,
    /// The documents into which the lines above were folded.
    folds: Vec<(u64, DocumentDigest)>,
    /// The offset of the last line.
    last: u64,
}

impl JournalLines {
    /// Reads a journal; also returns the document that it was started for.
    fn read(log: &ChatLog, now: JournalBase) -> Result<(JournalLines, JournalBase), ChatError> {
        let mut lines = JournalLines::default();
        let read = JournalOverlay::read_with(&log.store, &log.files.journal, |op, record| {
            let offset = record.offset;
            let JournalLines { additions, removed, folds, last } = &mut lines;
            *last = offset;
            let mut add = |list, place, value: &JsonTree| {
                additions.push(JournalAddition {
                    list,
                    place,
                    offset,
                    identity: ElementIdentity::of(value),
                });
            };
            match &op {
                JournalOp::Message { place, value } => add(ListKind::Messages, *place, value),
                JournalOp::Snapshot { place, value, .. } => add(ListKind::Snapshots, *place, value),
                JournalOp::Remove { place, id } => removed.push((*place, id.clone())),
                JournalOp::Folded { document } => folds.push((offset, *document)),
                JournalOp::Edit { .. } | JournalOp::Head { .. } => {}
            }
            None
        })?;
        // A journal that does not record its document is assumed to add where its additions start.
        let before = |list: ListKind| {
            let places = lines.additions.iter().filter(|added| added.list == list);
            places.map(|added| added.place - 1).min()
        };
        let was = read.base.unwrap_or_else(|| JournalBase {
            mark: now.mark,
            messages: before(ListKind::Messages).unwrap_or(now.messages),
            snapshots: before(ListKind::Snapshots).unwrap_or(now.snapshots),
        });
        Ok((lines, was))
    }

    /// Whether it has an addition that is not removed again.
    fn adds(&self) -> bool {
        let removed: HashSet<u64> = self.removed.iter().map(|(place, _)| *place).collect();
        let stays = |added: &JournalAddition| {
            added.list == ListKind::Snapshots || !removed.contains(&added.place)
        };
        self.additions.iter().any(stays)
    }
}

/// The evidence of a fold: what a journal and a document have in common.
pub(super) struct FoldEvidence {
    pub(super) messages: StoredList,
    pub(super) snapshots: StoredList,
    /// The document that the journal was started for.
    pub(super) was: JournalBase,
    /// Additions that the document has, with their places.
    pub(super) present: HashMap<ElementRef, u64>,
    /// Whether a line of the journal names exactly this document as folded.
    pub(super) is_exact: bool,
    /// The offset before which all lines were folded into the document, or into its former version before another
    /// program changed it.
    pub(super) folded_to: u64,
    /// Whether the last line names a fold, and nothing shows whether it has happened.
    pub(super) may_be_folded: bool,
}

impl FoldEvidence {
    pub(super) fn collect(log: &ChatLog, now: JournalBase) -> Result<FoldEvidence, ChatError> {
        let (lines, was) = JournalLines::read(log, now)?;
        let exact = lines.folds.iter().rev().find(|(_, document)| *document == now.mark);
        let mut dependencies = FoldEvidence {
            messages: StoredList::read(&log.content, log.facts(ListKind::Messages))?,
            snapshots: StoredList::read(&log.content, log.facts(ListKind::Snapshots))?,
            was,
            present: HashMap::new(),
            is_exact: exact.is_some(),
            folded_to: 0,
            may_be_folded: false,
        };
        let last = dependencies.compare(&lines);
        dependencies.folded_to = match (exact, last) {
            (Some((offset, _)), _) => *offset,
            // Only a fold can have added it, and a fold adds all lines above its own.
            (None, Some(last)) => {
                let next = lines.folds.iter().find(|(offset, _)| *offset > last);
                next.map_or(u64::MAX, |(offset, _)| *offset)
            }
            (None, None) => 0,
        };
        let is_last = lines.folds.last().is_some_and(|(offset, _)| *offset == lines.last);
        let is_open =
            dependencies.folded_to == 0 && !lines.adds() && !dependencies.has_removed(&lines);
        dependencies.may_be_folded = is_last && is_open;
        Ok(dependencies)
    }

    /// Searches the additions in the document; returns the offset of the last one found.
    fn compare(&mut self, lines: &JournalLines) -> Option<u64> {
        let of_document = |(place, _): &&(u64, _)| *place <= self.was.messages;
        let removed = lines.removed.iter().filter(of_document).count() as u64;
        let (mut messages, mut snapshots) = (HashSet::new(), HashSet::new());
        let mut last = None;
        for JournalAddition { list, place, offset, identity } in &lines.additions {
            let (stored, old, taken) = match list {
                ListKind::Messages => {
                    (&self.messages, self.was.messages.saturating_sub(removed), &mut messages)
                }
                ListKind::Snapshots => (&self.snapshots, self.was.snapshots, &mut snapshots),
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
    fn has_removed(&self, lines: &JournalLines) -> bool {
        lines.removed.iter().any(|(place, id)| {
            let is_there = |id: &String| self.messages.places.contains_key(id);
            *place <= self.was.messages && id.as_ref().is_some_and(is_there)
        })
    }
}
