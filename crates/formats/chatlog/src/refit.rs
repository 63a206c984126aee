//! A journal beside a document that it was not begun for.
//!
//! After a crash, a restored copy, or a save by another program, a journal can stand beside the document into which it
//! was folded, or beside a changed one. [`refit`] compares the elements of the document with the additions of the
//! journal (`Evidence`), decides which lines are in the document already, and translates the places of the others
//! (`Fit`). `docs/chatlog.md` says why it decides as it does.

mod evidence;
mod outstanding;

use std::collections::{BTreeMap, HashMap};

use super::content::Elements;
use super::edit::edited;
use super::error::ChatError;
use super::journal::{Base, Op, Overlay};
use super::log::ChatLog;
use super::survey::List;
use everturn_json::finding::{Code, Finding};
use everturn_json::lines::Record;
use everturn_value::delta::Delta;
use everturn_value::tree::Tree;
use evidence::{Evidence, StoredList};
use outstanding::outstanding;

/// An element of a list, by its place in the journal's own counting.
type Place = (List, u64);

/// What a journal says about a document that it was not begun for.
pub(super) struct Refitted {
    pub(super) overlay: Overlay,
    /// How many lines of the journal fit nowhere.
    pub(super) unplaced: u64,
}

/// Finds out which lines of the journal are in the document already, and fits the others to it.
pub(super) fn refit(log: &ChatLog, now: Base) -> Result<Refitted, ChatError> {
    let evidence = Evidence::collect(log, now)?;
    let mut fit = Fit::new(evidence, now);
    let file = &log.files.journal;
    let mut overlay = Overlay::read_with(&log.store, file, |op, record| fit.op(op, record))?;
    overlay.base = Some(now);
    fit.prune(log, &mut overlay)?;
    let Tally { already, applied, unplaced } = fit.tally;
    overlay.findings.extend(fit.findings.into_iter().map(|(line, offset, message)| Finding {
        file: file.clone(),
        line,
        offset,
        code: Code::BadChange,
        message,
    }));
    let message = match (applied, unplaced) {
        (0, 0) => "all that this journal says is in the document already; the next change of the \
                   document removes the journal"
            .to_owned(),
        _ => format!(
            "the document is not the one that this journal was begun for; of the changes in the \
             journal, {already} are in the document already, {applied} are applied to it, and \
             {unplaced} fit nowhere"
        ),
    };
    let (file, code) = (file.clone(), Code::ChangedByOthers);
    overlay.findings.insert(0, Finding { file, line: None, offset: None, code, message });
    Ok(Refitted { overlay, unplaced })
}

/// What becomes of the lines.
#[derive(Default)]
struct Tally {
    already: u64,
    applied: u64,
    unplaced: u64,
}

/// What a line speaks of.
enum Target {
    /// An element of the document.
    Stored(u64),
    /// An element that the document lacks, and that comes after all others.
    Added(u64),
    Missing,
}

/// Translates the lines of a journal, one after the other.
struct Fit {
    evidence: Evidence,
    now: Base,
    /// Lines before this offset were folded into the document.
    folded_to: u64,
    /// Where additions that the document lacks get their places.
    added: HashMap<Place, u64>,
    next_message: u64,
    next_snapshot: u64,
    /// How many lines edit an element of the document, and how many the head.
    edits: HashMap<Place, u64>,
    head_lines: u64,
    tally: Tally,
    /// Lines that fit nowhere: their number, their offset, and why.
    findings: Vec<(Option<u64>, Option<u64>, String)>,
}

impl Fit {
    fn new(evidence: Evidence, now: Base) -> Fit {
        Fit {
            folded_to: evidence.folded_to,
            evidence,
            now,
            added: HashMap::new(),
            next_message: now.messages + 1,
            next_snapshot: now.snapshots + 1,
            edits: HashMap::new(),
            head_lines: 0,
            tally: Tally::default(),
            findings: Vec::new(),
        }
    }

    /// The change as it applies to the document, if it does.
    fn op(&mut self, op: Op, record: &Record) -> Option<Op> {
        let folded = record.offset < self.folded_to;
        match op {
            Op::Message { place, value } => {
                let place = self.add(List::Messages, place, folded)?;
                Some(Op::Message { place, value })
            }
            Op::Snapshot { place, message, value } => {
                let place = self.add(List::Snapshots, place, folded)?;
                let message = self.message(message, value.string_at(&["message_id"]).as_deref());
                Some(Op::Snapshot { place, message, value })
            }
            Op::Edit { list, place, id, message, edits } => {
                let place = match self.target(list, place, id.as_deref()) {
                    Target::Added(place) => place,
                    Target::Stored(place) if !folded => {
                        *self.edits.entry((list, place)).or_default() += 1;
                        place
                    }
                    Target::Missing if !folded => {
                        let named = id.unwrap_or_else(|| format!("number {place}"));
                        self.tally.unplaced += 1;
                        let what = format!("a line that changes {named}, which is not there");
                        self.findings.push((record.line, Some(record.offset), what));
                        return None;
                    }
                    Target::Stored(_) | Target::Missing => return self.is_there(),
                };
                self.tally.applied += 1;
                let message =
                    message.map(|message| self.message(message, owner(&edits).as_deref()));
                Some(Op::Edit { list, place, id, message, edits })
            }
            Op::Remove { place, id } => {
                let place = match self.target(List::Messages, place, id.as_deref()) {
                    Target::Added(place) => place,
                    Target::Stored(place) if !folded => place,
                    // What is to be removed and is not there needs nothing.
                    Target::Stored(_) | Target::Missing => return self.is_there(),
                };
                self.tally.applied += 1;
                Some(Op::Remove { place, id })
            }
            Op::Head { .. } if folded => self.is_there(),
            Op::Head { edits } => {
                self.tally.applied += 1;
                self.head_lines += 1;
                Some(Op::Head { edits })
            }
            Op::Folded { .. } => None,
        }
    }

    fn is_there(&mut self) -> Option<Op> {
        self.tally.already += 1;
        None
    }

    /// The place of an addition that the document lacks.
    fn add(&mut self, list: List, place: u64, folded: bool) -> Option<u64> {
        let there = self.evidence.present.contains_key(&(list, place));
        if there || (folded && self.evidence.is_exact) {
            self.tally.already += 1;
            return None;
        }
        let next = match list {
            List::Messages => &mut self.next_message,
            List::Snapshots => &mut self.next_snapshot,
        };
        let new = *next;
        *next += 1;
        self.added.insert((list, place), new);
        self.tally.applied += 1;
        Some(new)
    }

    fn target(&self, list: List, place: u64, id: Option<&str>) -> Target {
        if place > self.evidence.was(list) {
            let stored = self.evidence.present.get(&(list, place)).copied().map(Target::Stored);
            let added = || self.added.get(&(list, place)).copied().map(Target::Added);
            return stored.or_else(added).unwrap_or(Target::Missing);
        }
        let known = self.evidence.list(list);
        let stored = match id {
            Some(id) => known.place_of(id, place),
            // Lines of earlier versions, and elements without ids, are known by their places alone.
            None => Some(place).filter(|place| *place <= known.len()),
        };
        stored.map_or(Target::Missing, Target::Stored)
    }

    /// The place of the message that a snapshot belongs to.
    fn message(&self, place: u64, id: Option<&str>) -> u64 {
        if place == 0 {
            return 0;
        }
        match self.target(List::Messages, place, id) {
            Target::Stored(place) | Target::Added(place) => place,
            Target::Missing => place.min(self.now.messages),
        }
    }

    /// Leaves out edits whose effect is there already, and those that cannot be made.
    fn prune(&mut self, log: &ChatLog, overlay: &mut Overlay) -> Result<(), ChatError> {
        let mut groups = Vec::new();
        for list in List::ALL {
            let edits = match list {
                List::Messages => &overlay.message_edits,
                List::Snapshots => &overlay.snapshot_edits,
            };
            self.compare(log, list, edits, &mut groups)?;
        }
        let head = outstanding(&log.head(), &overlay.head);
        // No element tells whether the fold has happened that the last line speaks of, but edits in their place do.
        let in_effect = (head.is_empty() && !overlay.head.is_empty())
            || groups.iter().any(|group| group.left.is_empty());
        let folded = self.evidence.may_be_folded && in_effect;
        for Group { list, place, left, failed } in groups {
            let edits = match list {
                List::Messages => &mut overlay.message_edits,
                List::Snapshots => &mut overlay.snapshot_edits,
            };
            if !folded && !left.is_empty() && failed.is_none() {
                edits.insert(place, left);
                continue;
            }
            edits.remove(&place);
            if list == List::Snapshots {
                overlay.moved.remove(&place);
            }
            let lines = self.edits.get(&(list, place)).copied().unwrap_or_default();
            self.tally.applied = self.tally.applied.saturating_sub(lines);
            match failed.filter(|_| !folded) {
                None => self.tally.already += lines,
                Some(why) => {
                    self.tally.unplaced += lines;
                    let what = format!("changes to {} {place} cannot be made: {why}", list.key());
                    self.findings.push((None, None, what));
                }
            }
        }
        overlay.head = if folded { Vec::new() } else { head };
        if overlay.head.is_empty() {
            self.tally.applied = self.tally.applied.saturating_sub(self.head_lines);
            self.tally.already += self.head_lines;
        }
        Ok(())
    }

    /// Finds out what is left to be done to each element of the document that is edited.
    fn compare(
        &self,
        log: &ChatLog,
        list: List,
        edits: &BTreeMap<u64, Vec<Delta>>,
        groups: &mut Vec<Group>,
    ) -> Result<(), ChatError> {
        let count = self.evidence.list(list).len();
        let Some(facts) = log.facts(list) else { return Ok(()) };
        let mut elements = Elements::new(&log.content, facts.open + 1, facts.close);
        let last = edits.range(..=count).next_back().map_or(0, |(place, _)| *place);
        for place in 1..=last {
            let Some(element) = elements.next()? else { break };
            let Some(wanted) = edits.get(&place) else { continue };
            let text = element.into_text(log.content.file())?;
            let end = text.len();
            let left = outstanding(&Tree::trusted(text.clone().into(), 0..end), wanted);
            let failed = edited(&text, "", &left).err();
            groups.push(Group { list, place, left, failed });
        }
        Ok(())
    }
}

/// What is left of the edits of an element of the document.
struct Group {
    list: List,
    place: u64,
    left: Vec<Delta>,
    /// Why that cannot be applied.
    failed: Option<String>,
}

/// The message to which edits of a snapshot give it.
fn owner(edits: &[Delta]) -> Option<String> {
    let is_owner = |edit: &&Delta| edit.path.segments().iter().map(|key| &**key).eq(["message_id"]);
    edits.iter().rev().find(is_owner)?.value.as_ref()?.string_at::<&str>(&[])
}

impl Evidence {
    fn list(&self, list: List) -> &StoredList {
        match list {
            List::Messages => &self.messages,
            List::Snapshots => &self.snapshots,
        }
    }

    /// How many elements a list had when the journal was begun.
    fn was(&self, list: List) -> u64 {
        match list {
            List::Messages => self.was.messages,
            List::Snapshots => self.was.snapshots,
        }
    }
}
