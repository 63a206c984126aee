//! Rebases a journal onto a document that it was not started for.
//!
//! After a crash, a restored copy, or a save by another program, a journal can be beside the document into which it was
//! folded, or beside a changed one. [`rebase_journal`] compares the elements of the document with the additions of the
//! journal (`FoldEvidence`), decides which lines the document already contains, and translates the places of the others
//! (`JournalRebase`). `docs/chatlog.md` explains these decisions.

mod fold_evidence;
mod outstanding;

use std::collections::{BTreeMap, HashMap};

use super::ChatLog;
use crate::content::ArrayElements;
use crate::edit::edited;
use crate::error::ChatError;
use crate::journal::{JournalBase, JournalOp, JournalOverlay};
use crate::survey::ListKind;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::jsonl::JsonlRecord;
use everturn_value::delta::Delta;
use everturn_value::tree::JsonTree;
use fold_evidence::{FoldEvidence, StoredList};
use outstanding::outstanding;

/// An element of a list, by its place as the journal counts.
type ElementRef = (ListKind, u64);

/// A journal translated to a document that it was not started for.
pub(super) struct RebasedJournal {
    pub(super) overlay: JournalOverlay,
    /// The number of lines that could not be applied.
    pub(super) unplaced: u64,
}

/// Finds the lines of the journal that the document already contains, and translates the others to it.
pub(super) fn rebase_journal(log: &ChatLog, now: JournalBase) -> Result<RebasedJournal, ChatError> {
    let dependencies = FoldEvidence::collect(log, now)?;
    let mut fit = JournalRebase::new(dependencies, now);
    let file = &log.files.journal;
    let mut overlay = JournalOverlay::read_with(&log.store, file, |op, record| fit.op(op, record))?;
    overlay.base = Some(now);
    fit.prune(log, &mut overlay)?;
    let RebaseCounts { already, applied, unplaced } = fit.tally;
    overlay.findings.extend(fit.findings.into_iter().map(|(line, offset, message)| {
        Finding::new(file, FindingCode::BadChange, message).at_line(line).at_offset(offset)
    }));
    let message = match (applied, unplaced) {
        (0, 0) => "all changes in this journal are already in the document; the next change of the document removes \
                   the journal"
            .to_owned(),
        _ => format!(
            "the document has changed since this journal was started; of the changes in the journal, {already} are \
             already in the document, {applied} are applied to it, and {unplaced} cannot be applied"
        ),
    };
    overlay.findings.insert(0, Finding::new(file, FindingCode::ChangedByOthers, message));
    Ok(RebasedJournal { overlay, unplaced })
}

/// The number of lines by outcome.
#[derive(Default)]
struct RebaseCounts {
    already: u64,
    applied: u64,
    unplaced: u64,
}

/// The element that a line refers to.
enum LineTarget {
    /// An element of the document.
    Stored(u64),
    /// An element that the document lacks, and that is added after all others.
    Added(u64),
    Missing,
}

/// Translates the lines of a journal, in order.
struct JournalRebase {
    dependencies: FoldEvidence,
    now: JournalBase,
    /// Lines before this offset were folded into the document.
    folded_to: u64,
    /// The new places of additions that the document lacks.
    added: HashMap<ElementRef, u64>,
    next_message: u64,
    next_snapshot: u64,
    /// The number of lines that edit each element of the document, and the number that edit the head.
    edits: HashMap<ElementRef, u64>,
    head_lines: u64,
    tally: RebaseCounts,
    /// Lines that could not be applied: their number, their offset, and the reason.
    findings: Vec<(Option<u64>, Option<u64>, String)>,
}

impl JournalRebase {
    fn new(dependencies: FoldEvidence, now: JournalBase) -> JournalRebase {
        JournalRebase {
            folded_to: dependencies.folded_to,
            dependencies,
            now,
            added: HashMap::new(),
            next_message: now.messages + 1,
            next_snapshot: now.snapshots + 1,
            edits: HashMap::new(),
            head_lines: 0,
            tally: RebaseCounts::default(),
            findings: Vec::new(),
        }
    }

    /// The change translated to the document, if it applies.
    fn op(&mut self, op: JournalOp, record: &JsonlRecord) -> Option<JournalOp> {
        let folded = record.offset < self.folded_to;
        match op {
            JournalOp::Message { place, value } => {
                let place = self.add(ListKind::Messages, place, folded)?;
                Some(JournalOp::Message { place, value })
            }
            JournalOp::Snapshot { place, message, value } => {
                let place = self.add(ListKind::Snapshots, place, folded)?;
                let message = self.message(message, value.string_at(&["message_id"]).as_deref());
                Some(JournalOp::Snapshot { place, message, value })
            }
            JournalOp::Edit { list, place, id, message, edits } => {
                let place = match self.target(list, place, id.as_deref()) {
                    LineTarget::Added(place) => place,
                    LineTarget::Stored(place) if !folded => {
                        *self.edits.entry((list, place)).or_default() += 1;
                        place
                    }
                    LineTarget::Missing if !folded => {
                        let named = id.unwrap_or_else(|| format!("number {place}"));
                        self.tally.unplaced += 1;
                        let what = format!("a line changes {named}, which does not exist");
                        self.findings.push((record.line, Some(record.offset), what));
                        return None;
                    }
                    LineTarget::Stored(_) | LineTarget::Missing => return self.is_there(),
                };
                self.tally.applied += 1;
                let message =
                    message.map(|message| self.message(message, owner(&edits).as_deref()));
                Some(JournalOp::Edit { list, place, id, message, edits })
            }
            JournalOp::Remove { place, id } => {
                let place = match self.target(ListKind::Messages, place, id.as_deref()) {
                    LineTarget::Added(place) => place,
                    LineTarget::Stored(place) if !folded => place,
                    // Removing a missing element needs no change.
                    LineTarget::Stored(_) | LineTarget::Missing => return self.is_there(),
                };
                self.tally.applied += 1;
                Some(JournalOp::Remove { place, id })
            }
            JournalOp::Head { .. } if folded => self.is_there(),
            JournalOp::Head { edits } => {
                self.tally.applied += 1;
                self.head_lines += 1;
                Some(JournalOp::Head { edits })
            }
            JournalOp::Folded { .. } => None,
        }
    }

    fn is_there(&mut self) -> Option<JournalOp> {
        self.tally.already += 1;
        None
    }

    /// The place of an addition that the document lacks.
    fn add(&mut self, list: ListKind, place: u64, folded: bool) -> Option<u64> {
        let there = self.dependencies.present.contains_key(&(list, place));
        if there || (folded && self.dependencies.is_exact) {
            self.tally.already += 1;
            return None;
        }
        let next = match list {
            ListKind::Messages => &mut self.next_message,
            ListKind::Snapshots => &mut self.next_snapshot,
        };
        let new = *next;
        *next += 1;
        self.added.insert((list, place), new);
        self.tally.applied += 1;
        Some(new)
    }

    fn target(&self, list: ListKind, place: u64, id: Option<&str>) -> LineTarget {
        if place > self.dependencies.was(list) {
            let stored =
                self.dependencies.present.get(&(list, place)).copied().map(LineTarget::Stored);
            let added = || self.added.get(&(list, place)).copied().map(LineTarget::Added);
            return stored.or_else(added).unwrap_or(LineTarget::Missing);
        }
        let known = self.dependencies.list(list);
        let stored = match id {
            Some(id) => known.place_of(id, place),
            // Lines of earlier versions, and elements without ids, are identified by their places only.
            None => Some(place).filter(|place| *place <= known.len()),
        };
        stored.map_or(LineTarget::Missing, LineTarget::Stored)
    }

    /// The place of the message that a snapshot belongs to.
    fn message(&self, place: u64, id: Option<&str>) -> u64 {
        if place == 0 {
            return 0;
        }
        match self.target(ListKind::Messages, place, id) {
            LineTarget::Stored(place) | LineTarget::Added(place) => place,
            LineTarget::Missing => place.min(self.now.messages),
        }
    }

    /// Removes edits that already have their effect, and those that cannot be applied.
    fn prune(&mut self, log: &ChatLog, overlay: &mut JournalOverlay) -> Result<(), ChatError> {
        let mut groups = Vec::new();
        for list in ListKind::ALL {
            let edits = match list {
                ListKind::Messages => &overlay.message_edits,
                ListKind::Snapshots => &overlay.snapshot_edits,
            };
            self.compare(log, list, edits, &mut groups)?;
        }
        let head = outstanding(&log.head(), &overlay.head);
        // No element shows whether the fold named in the last line has happened, but edits already in effect do.
        let in_effect = (head.is_empty() && !overlay.head.is_empty())
            || groups.iter().any(|group| group.left.is_empty());
        let folded = self.dependencies.may_be_folded && in_effect;
        for ElementEdits { list, place, left, failed } in groups {
            let edits = match list {
                ListKind::Messages => &mut overlay.message_edits,
                ListKind::Snapshots => &mut overlay.snapshot_edits,
            };
            if !folded && !left.is_empty() && failed.is_none() {
                edits.insert(place, left);
                continue;
            }
            edits.remove(&place);
            if list == ListKind::Snapshots {
                overlay.moved.remove(&place);
            }
            let lines = self.edits.get(&(list, place)).copied().unwrap_or_default();
            self.tally.applied = self.tally.applied.saturating_sub(lines);
            match failed.filter(|_| !folded) {
                None => self.tally.already += lines,
                Some(why) => {
                    self.tally.unplaced += lines;
                    let what =
                        format!("changes to {} {place} cannot be applied: {why}", list.key());
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

    /// Computes the outstanding edits of each edited element of the document.
    fn compare(
        &self,
        log: &ChatLog,
        list: ListKind,
        edits: &BTreeMap<u64, Vec<Delta>>,
        groups: &mut Vec<ElementEdits>,
    ) -> Result<(), ChatError> {
        let count = self.dependencies.list(list).len();
        let Some(facts) = log.facts(list) else { return Ok(()) };
        let mut elements = ArrayElements::new(&log.content, facts.open + 1, facts.close);
        let last = edits.range(..=count).next_back().map_or(0, |(place, _)| *place);
        for place in 1..=last {
            let Some(element) = elements.next()? else { break };
            let Some(wanted) = edits.get(&place) else { continue };
            let text = element.into_text(log.content.file())?;
            let end = text.len();
            let left = outstanding(&JsonTree::from_trusted(text.clone().into(), 0..end), wanted);
            let failed = edited(&text, "", &left).err();
            groups.push(ElementEdits { list, place, left, failed });
        }
        Ok(())
    }
}

/// The outstanding edits of an element of the document.
struct ElementEdits {
    list: ListKind,
    place: u64,
    left: Vec<Delta>,
    /// Why they cannot be applied.
    failed: Option<String>,
}

/// The message that edits of a snapshot move it to.
fn owner(edits: &[Delta]) -> Option<String> {
    let is_owner = |edit: &&Delta| edit.path.segments().iter().map(|key| &**key).eq(["message_id"]);
    edits.iter().rev().find(is_owner)?.value.as_ref()?.string_at::<&str>(&[])
}

impl FoldEvidence {
    fn list(&self, list: ListKind) -> &StoredList {
        match list {
            ListKind::Messages => &self.messages,
            ListKind::Snapshots => &self.snapshots,
        }
    }

    /// The number of elements that a list had when the journal was started.
    fn was(&self, list: ListKind) -> u64 {
        match list {
            ListKind::Messages => self.was.messages,
            ListKind::Snapshots => self.was.snapshots,
        }
    }
}
