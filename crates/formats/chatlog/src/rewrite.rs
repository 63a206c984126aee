//! Writes a document with the journal applied, in bounded memory: everything unchanged is copied byte for byte.
//!
//! `RewritePlan` describes the changes, `ListRewriter` writes the long lists, and a `DocumentSink` receives the bytes.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::content::{ArrayElements, CHUNK};
use super::edit::{edited, laid_out};
use super::error::ChatError;
use super::index::ListFacts;
use super::log::ChatLog;
use super::schema::time;
use super::survey::ListKind;
use everturn_json::json;
use everturn_value::document::{Document, JsonLayout, JsonStyle, PathSegment};
use everturn_value::tree::JsonTree;

/// The destination of a document that is being written.
pub(crate) trait DocumentSink {
    /// Writes the next bytes.
    fn put(&mut self, bytes: &[u8]) -> Result<(), ChatError>;

    /// Marks a position where a newline is allowed, for a sink that needs one from time to time.
    fn allow_newline(&mut self) -> Result<(), ChatError>;

    /// Whether it needs newlines.
    fn wants_lines(&self) -> bool;
}

impl DocumentSink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), ChatError> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn allow_newline(&mut self) -> Result<(), ChatError> {
        Ok(())
    }

    fn wants_lines(&self) -> bool {
        false
    }
}

/// The changes to apply when a chat log is rewritten.
pub(crate) struct RewritePlan {
    /// Everything but the long lists.
    pub(crate) head: Document,
    /// The place of the last message to keep.
    pub(crate) last: u64,
    /// Messages to insert before the one at a place.
    pub(crate) inserts: BTreeMap<u64, JsonTree>,
}

impl RewritePlan {
    /// The chat log as it is, with the whole journal applied.
    pub(crate) fn fold(log: &ChatLog) -> Result<RewritePlan, ChatError> {
        let mut plan = RewritePlan {
            head: log.head.clone(),
            last: log.last_place(),
            inserts: BTreeMap::new(),
        };
        plan.derive(log, log.overlay.time.clone().as_deref())?;
        Ok(plan)
    }

    /// The chat log with one more message.
    pub(crate) fn append(
        log: &ChatLog,
        place: u64,
        message: &JsonTree,
        modified: &str,
    ) -> Result<RewritePlan, ChatError> {
        let mut plan = RewritePlan {
            head: log.head.clone(),
            last: log.last_place(),
            inserts: BTreeMap::from([(place, message.clone())]),
        };
        plan.derive(log, Some(modified))?;
        Ok(plan)
    }

    /// Recomputes the values derived from the messages. Only new messages move the end of the session, and only
    /// forward; if messages are cut off, it ends with the last one that is left.
    pub(crate) fn derive(
        &mut self,
        log: &ChatLog,
        modified: Option<&str>,
    ) -> Result<(), ChatError> {
        let number = log.number_of(self.last);
        derive(&mut self.head, number + self.inserts.len() as u64, modified);
        if self.cuts(log) {
            let end = match number {
                0 => session_time(&self.head, "start_time"),
                number => log.message(number)?.tree.string_at(&["timestamp"]),
            };
            if let Some(end) = end {
                set_end(&mut self.head, &end);
            }
            return Ok(());
        }
        for (place, line) in &log.overlay.messages {
            if log.is_kept(*place) {
                let time = log.journal_value(line)?.string_at(&["timestamp"]);
                time.iter().for_each(|time| move_end(&mut self.head, time));
            }
        }
        let inserted =
            self.inserts.values().filter_map(|message| message.string_at(&["timestamp"]));
        for time in inserted.collect::<Vec<_>>() {
            move_end(&mut self.head, &time);
        }
        Ok(())
    }

    fn cuts(&self, log: &ChatLog) -> bool {
        self.last < log.last_place()
    }
}

/// Sets a value where possible; a non-object on the path stays as it is.
fn set<T: Serialize + ?Sized>(head: &mut Document, path: &[&str], value: &T) {
    let path: Vec<PathSegment<'_>> = path.iter().map(|key| PathSegment::Key(key)).collect();
    // A value of the wrong type is a finding of the check, and stays.
    drop(head.set(&path, value));
}

/// Recomputes `modified` and `message_count`.
fn derive(head: &mut Document, count: u64, modified: Option<&str>) {
    if let Some(modified) = modified {
        set(head, &["metadata", "modified"], modified);
    }
    set(head, &["session", "message_count"], &count);
}

/// A time in the `session` object, as text.
fn session_time(head: &Document, key: &str) -> Option<String> {
    head.read(&[PathSegment::Key("session"), PathSegment::Key(key)]).ok().flatten()
}

/// Sets the end of the session, and with it its duration.
fn set_end(head: &mut Document, end: &str) {
    set(head, &["session", "end_time"], end);
    if let Some(seconds) = duration(session_time(head, "start_time").as_deref(), end) {
        set(head, &["session", "duration_seconds"], &seconds);
    }
}

/// Moves the end of the session forward to a time; an end that is not before it stays.
fn move_end(head: &mut Document, to: &str) {
    let stored = session_time(head, "end_time").and_then(|end| time(&end));
    if let Some(to_time) = time(to)
        && stored.is_none_or(|stored| stored < to_time)
    {
        set_end(head, to);
    }
}

/// Corrects the derived values of a whole document. An end of the session that can be right stays.
pub(crate) fn correct(head: &mut Document, count: u64, newest: Option<&str>) {
    derive(head, count, None);
    let start = session_time(head, "start_time");
    if let Some(start) = start.as_deref().filter(|_| session_time(head, "end_time").is_some()) {
        move_end(head, start);
    }
    if let Some(newest) = newest {
        move_end(head, newest);
    }
    let end = session_time(head, "end_time");
    let seconds = end.and_then(|end| duration(start.as_deref(), &end));
    let path = [PathSegment::Key("session"), PathSegment::Key("duration_seconds")];
    let said: Option<f64> = head.read(&path).ok().flatten();
    if let Some(seconds) = seconds
        && said.is_none_or(|said| is_other_duration(said, seconds))
    {
        set(head, &["session", "duration_seconds"], &seconds);
    }
}

/// Whether a recorded duration is another one, and not just more precise.
pub(crate) fn is_other_duration(said: f64, seconds: i64) -> bool {
    (said - seconds as f64).abs() >= 1.0
}

/// The whole seconds between two times, if both can be read; 0 if the end is before the start.
pub(crate) fn duration(start: Option<&str>, end: &str) -> Option<i64> {
    let (start, end) = (time(start?)?, time(end)?);
    Some((end.as_second() - start.as_second()).max(0))
}

/// The positions of the opening brackets of the lists in a text without their contents.
fn brackets(head: &Document) -> Vec<(ListKind, usize)> {
    let text = head.text().as_bytes();
    let start = text.len() - head.text().trim_start_matches('\u{feff}').len();
    let Ok(Some(entries)) = json::entries(text, start) else { return Vec::new() };
    let mut found: BTreeMap<ListKind, usize> = BTreeMap::new();
    for entry in entries.list {
        let key = entry.key.and_then(|key| text.get(key)).map(json::unescape);
        if let Some(list) = key.and_then(|key| ListKind::named(&key)) {
            match text.get(entry.value.start) {
                Some(b'[') => drop(found.insert(list, entry.value.start)),
                _ => drop(found.remove(&list)),
            }
        }
    }
    let mut found: Vec<(ListKind, usize)> = found.into_iter().collect();
    found.sort_by_key(|(_, at)| *at);
    found
}

/// Writes a chat log to a sink.
pub(crate) fn write(
    log: &ChatLog,
    plan: &RewritePlan,
    sink: &mut dyn DocumentSink,
) -> Result<(), ChatError> {
    let mut head = plan.head.clone();
    for list in ListKind::ALL {
        let added = match list {
            ListKind::Messages => !log.overlay.messages.is_empty() || !plan.inserts.is_empty(),
            ListKind::Snapshots => !log.overlay.snapshots.is_empty(),
        };
        if added && head.get(&[PathSegment::Key(list.key())]).is_none() {
            set(&mut head, &[list.key()], &[0_u8; 0]);
        }
    }
    let text = head.text().as_bytes();
    let mut at = 0;
    for (list, open) in brackets(&head) {
        sink.put(text.get(at..=open).unwrap_or_default())?;
        ListRewriter { log, plan, style: head.style(), list, sink }.list()?;
        at = open + 1;
        // In the head, the list contains white space at most.
        at += text.get(at..).unwrap_or_default().iter().take_while(|byte| **byte != b']').count();
    }
    sink.put(text.get(at..).unwrap_or_default())
}

/// The bytes around the elements of an array.
struct ElementGaps {
    lead: Vec<u8>,
    between: Vec<u8>,
    tail: Vec<u8>,
}

struct ListRewriter<'a> {
    log: &'a ChatLog,
    plan: &'a RewritePlan,
    style: &'a JsonStyle,
    list: ListKind,
    sink: &'a mut dyn DocumentSink,
}

/// The indentation of an element.
fn indent(gap: &[u8]) -> String {
    match gap.iter().rposition(|byte| *byte == b'\n') {
        Some(at) => {
            let blanks = gap.get(at + 1..).unwrap_or_default();
            String::from_utf8_lossy(blanks).chars().filter(|c| matches!(c, ' ' | '\t')).collect()
        }
        None => String::new(),
    }
}

impl<'a> ListRewriter<'a> {
    fn gaps(&self, facts: Option<&ListFacts>) -> Result<ElementGaps, ChatError> {
        let flat = |layout: JsonLayout| if layout == JsonLayout::Compact { "," } else { ", " };
        let line = |levels: usize| {
            format!("{}{}", self.style.line_end.as_str(), self.style.layout.indent(levels))
        };
        let Some(facts) = facts.filter(|facts| facts.count > 0) else {
            return Ok(match self.style.layout {
                JsonLayout::Pretty(_) => ElementGaps {
                    lead: line(2).into_bytes(),
                    between: format!(",{}", line(2)).into_bytes(),
                    tail: line(1).into_bytes(),
                },
                layout => {
                    let between = flat(layout).as_bytes().to_vec();
                    ElementGaps { lead: Vec::new(), between, tail: Vec::new() }
                }
            });
        };
        let content = &self.log.content;
        let lead = content.read(facts.open + 1..facts.first)?;
        let tail = content.read(facts.end..facts.close)?;
        let between = if facts.count > 1 {
            content.read(facts.before..facts.last)?
        } else if lead.contains(&b'\n') {
            [b",", lead.as_slice()].concat()
        } else {
            flat(self.style.layout).as_bytes().to_vec()
        };
        Ok(ElementGaps { lead, between, tail })
    }

    /// Whether the elements of the document stay as they are.
    fn is_plain(&self, gaps: &ElementGaps) -> bool {
        let overlay = &self.log.overlay;
        let count = self.log.stored_count(self.list);
        let edits = match self.list {
            ListKind::Messages => &overlay.message_edits,
            ListKind::Snapshots => &overlay.snapshot_edits,
        };
        let removes =
            self.list == ListKind::Messages && overlay.removed.iter().any(|at| *at <= count);
        let lines = !self.sink.wants_lines() || gaps.between.contains(&b'\n');
        let changed = edits.keys().any(|place| *place <= count)
            || removes
            || self.plan.cuts(self.log)
            || (self.list == ListKind::Messages && self.plan.inserts.range(..=count).count() > 0);
        lines && !changed
    }

    fn list(&mut self) -> Result<(), ChatError> {
        let facts = self.log.facts(self.list);
        let gaps = self.gaps(facts.as_ref())?;
        let mut empty = match &facts {
            Some(facts) if facts.count > 0 && self.is_plain(&gaps) => {
                self.copy(facts.open + 1, facts.end)?;
                false
            }
            Some(facts) => self.stored(facts, &gaps)?,
            None => true,
        };
        self.added(&gaps, &mut empty)?;
        if empty {
            // An array without elements keeps its white space.
            return match &facts {
                Some(facts) if facts.count == 0 => self.copy(facts.open + 1, facts.close),
                _ => Ok(()),
            };
        }
        self.sink.put(&gaps.tail)
    }

    fn copy(&mut self, start: u64, end: u64) -> Result<(), ChatError> {
        let mut at = start;
        while at < end {
            let next = end.min(at + CHUNK);
            self.sink.put(&self.log.content.read(at..next)?)?;
            at = next;
        }
        Ok(())
    }

    /// Writes the remaining elements of the document; returns whether there were none.
    fn stored(&mut self, facts: &ListFacts, gaps: &ElementGaps) -> Result<bool, ChatError> {
        let log = self.log;
        let keeps = self.kept()?;
        let mut elements = ArrayElements::new(&log.content, facts.open + 1, facts.close);
        let (mut empty, mut place) = (true, 0);
        while let Some(element) = elements.next()? {
            place += 1;
            if let Some(tree) =
                self.plan.inserts.get(&place).filter(|_| self.list == ListKind::Messages)
            {
                self.element(&gaps.between, tree, gaps, &mut empty)?;
            }
            if !keeps(place) {
                continue;
            }
            let own = if element.gap.contains(&b',') { &element.gap } else { &gaps.between };
            let gap = if empty { gaps.lead.clone() } else { own.clone() };
            let edits = match self.list {
                ListKind::Messages => log.overlay.message_edits.get(&place),
                ListKind::Snapshots => log.overlay.snapshot_edits.get(&place),
            };
            let bytes = match edits {
                Some(edits) => {
                    let text = element.into_text(log.content.file())?;
                    let damaged = |error| ChatError::damaged(&log.files.journal, error);
                    edited(&text, &indent(&gap), edits).map_err(damaged)?.into_bytes()
                }
                None => element.bytes,
            };
            self.raw(&gap, &bytes, &mut empty)?;
        }
        Ok(empty)
    }

    /// Writes the additions of the journal.
    fn added(&mut self, gaps: &ElementGaps, empty: &mut bool) -> Result<(), ChatError> {
        let log = self.log;
        let added: Vec<(u64, std::ops::Range<u64>)> = match self.list {
            ListKind::Messages => {
                let kept = log.overlay.messages.iter();
                let kept = kept.filter(|(at, _)| **at <= self.plan.last && log.is_kept(**at));
                kept.map(|(place, line)| (*place, line.clone())).collect()
            }
            ListKind::Snapshots => {
                let kept = log.overlay.snapshots.iter();
                let kept = kept.filter(|(at, added)| {
                    let message = log.overlay.moved.get(at).copied().unwrap_or(added.message);
                    message <= self.plan.last
                });
                kept.map(|(place, added)| (*place, added.line.clone())).collect()
            }
        };
        for (place, line) in added {
            if let Some(tree) =
                self.plan.inserts.get(&place).filter(|_| self.list == ListKind::Messages)
            {
                self.element(&gaps.between, tree, gaps, empty)?;
            }
            let value = log.journal_value(&line)?;
            let tree = log.with_edits(self.list, place, value.to_line())?;
            self.element(&gaps.between, &tree, gaps, empty)?;
        }
        if self.list == ListKind::Messages {
            let plan = self.plan;
            for tree in plan.inserts.range(log.last_place() + 1..).map(|(_, tree)| tree) {
                self.element(&gaps.between, tree, gaps, empty)?;
            }
        }
        Ok(())
    }

    /// Writes a new element in the style of the others.
    fn element(
        &mut self,
        between: &[u8],
        tree: &JsonTree,
        gaps: &ElementGaps,
        empty: &mut bool,
    ) -> Result<(), ChatError> {
        let gap = if *empty { gaps.lead.clone() } else { between.to_vec() };
        let on_lines = gaps.between.contains(&b'\n');
        let text = if on_lines {
            laid_out(tree, self.style, &indent(&gaps.between))
        } else {
            let layout = match self.style.layout {
                JsonLayout::Compact => JsonLayout::Compact,
                JsonLayout::Spaced | JsonLayout::Pretty(_) => JsonLayout::Spaced,
            };
            laid_out(tree, &JsonStyle { layout, ..*self.style }, "")
        };
        self.raw(&gap, text.as_bytes(), empty)
    }

    fn raw(&mut self, gap: &[u8], bytes: &[u8], empty: &mut bool) -> Result<(), ChatError> {
        if !*empty {
            self.sink.allow_newline()?;
        }
        *empty = false;
        self.sink.put(gap)?;
        self.sink.put(bytes)
    }

    /// Which elements of the document are kept.
    fn kept(&self) -> Result<Box<dyn Fn(u64) -> bool + 'a>, ChatError> {
        let (log, last) = (self.log, self.plan.last);
        if self.list == ListKind::Messages {
            return Ok(Box::new(move |place| place <= last && log.is_kept(place)));
        }
        if !self.plan.cuts(log) {
            return Ok(Box::new(|_| true));
        }
        let known = log.by_index(|index| index.snapshots_between(0..=u64::MAX))?;
        let mut messages: HashMap<u64, u64> =
            known.iter().map(|known| (known.place, known.message)).collect();
        messages.extend(&log.overlay.moved);
        Ok(Box::new(move |place| messages.get(&place).is_none_or(|message| *message <= last)))
    }
}
