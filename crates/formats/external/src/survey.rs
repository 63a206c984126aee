//! The first pass over a session: the positions of its records, and the findings. Their content is not kept.
//!
//! `Surveyor` builds a `Survey` from each `ScannedRecord`; `Defects` are what a repaired copy would fix.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::record::{Parent, RecordInfo, RecordNode, RecordRole, RecordSpan, TextHash, ToolCall};
use super::thread_tree::{ForkPolicy, LineKind, Placement, ThreadNode, ThreadTree, linearize};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::jsonl::{JsonlRecord, JsonlScan, ScanItem};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::model::{RecordCounts, SessionUsage};
use everturn_store::{Store, StoreError, StoreSource};
use everturn_value::tree::{JsonTree, ValueKind};

/// The names of the lines of repeated records and of records with a newer version.
pub(super) const DUPLICATES: &str = "duplicates";
pub(super) const SUPERSEDED: &str = "superseded";

/// The maximum length of a title, in characters.
const TITLE_LENGTH: usize = 72;

/// The result of the first pass over a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Survey {
    pub(super) files: Vec<FilePath>,
    pub(super) nodes: Vec<RecordNode>,
    pub(super) thread_tree: ThreadTree,
    pub(super) title: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) created: Option<Timestamp>,
    pub(super) updated: Option<Timestamp>,
    /// Records that were lost or had to be repaired.
    pub(super) findings: Vec<Finding>,
    /// Harmless oddities.
    pub(super) warnings: Vec<Finding>,
    pub(super) counts: RecordCounts,
    pub(super) usage: Option<SessionUsage>,
    /// Whether a helper of the program speaks here, on behalf of another session.
    pub(super) is_helper: bool,
    pub(super) defects: Defects,
}

/// The defects that a repaired copy of the session would fix.
#[derive(Debug, Clone, Default)]
pub(super) struct Defects {
    /// Records whose parent is missing or that are in a cycle, with the record they are read after.
    pub(super) relinked: Vec<(u32, Option<u32>)>,
    /// Records whose id is taken, with the record that has it.
    pub(super) duplicates: Vec<(u32, u32)>,
    /// Calls without a result, with the records that make them.
    pub(super) unanswered: Vec<(u32, TextHash)>,
}

impl Survey {
    /// The last turn of the main line.
    pub(super) fn turns(&self) -> u64 {
        self.thread_tree.lines.first().and_then(|line| line.own.last()).map_or(0, |(_, turn)| *turn)
    }
}

/// Builds a [`Survey`].
#[derive(Default)]
pub(super) struct Surveyor {
    pub(super) survey: Survey,
    ids: HashMap<TextHash, u32>,
    /// Calls without a result so far, and results of calls not seen yet.
    calls: HashMap<TextHash, Vec<u32>>,
    answers: HashMap<TextHash, Vec<u32>>,
    quarantined: u64,
    /// What names a session without a prompt that could: the first command, and the first prompt of a helper.
    command_title: Option<String>,
    side_title: Option<String>,
    /// The newer versions of records that are set apart.
    newer: HashMap<u32, u32>,
    /// Records that are shown with others and have no node of their own.
    extra: u64,
    /// Whether the current record had to be repaired before it could be read.
    was_glued: bool,
    /// Whether the next record shares its line with the previous one.
    is_glued: bool,
}

/// A record while it is being examined.
pub(super) struct ScannedRecord<'a> {
    pub(super) tree: &'a JsonTree,
    /// The same as text.
    pub(super) text: &'a str,
    pub(super) at: RecordSpan,
    pub(super) line: Option<u64>,
}

impl Surveyor {
    pub(super) fn of_file(file: &FilePath) -> Surveyor {
        let mut surveyor = Surveyor::default();
        surveyor.survey.files.push(file.clone());
        surveyor
    }

    /// Passes every object of a JSONL file to `each`; anything else becomes a finding.
    pub(super) fn lines(
        &mut self,
        store: &Arc<dyn Store>,
        file: u32,
        mut each: impl FnMut(&mut Surveyor, &ScannedRecord<'_>),
    ) -> Result<(), SessionError> {
        let Some(path) = self.survey.files.get(file as usize).cloned() else { return Ok(()) };
        let scan = JsonlScan::new(StoreSource::open(store, &path)?, path.clone()).forward();
        for item in scan.map_err(StoreError::io("read", &path))? {
            match item.map_err(StoreError::io("read", &path))? {
                ScanItem::Finding(finding) => self.count_finding(finding),
                ScanItem::Record(record) => self.record(&path, file, &record, &mut each),
            }
        }
        Ok(())
    }

    /// Counts a finding of the scan, which stands for a non-record unless it only marks where two records meet.
    fn count_finding(&mut self, finding: Finding) {
        match finding.code {
            FindingCode::GluedRecords => self.is_glued = true,
            _ => self.quarantined += 1,
        }
        self.survey.findings.push(finding);
    }

    fn record(
        &mut self,
        path: &FilePath,
        file: u32,
        record: &JsonlRecord,
        each: &mut impl FnMut(&mut Surveyor, &ScannedRecord<'_>),
    ) {
        let glued = std::mem::take(&mut self.is_glued);
        let (line, offset) = (record.line, record.offset);
        let refused =
            |code, message| Finding::new(path, code, message).at_line(line).at_offset(offset);
        let Some(text) = record.text() else {
            let message = format!("a record of {} bytes is too long to display", record.length);
            return self.quarantine(refused(FindingCode::TooLarge, message));
        };
        if !text.starts_with('{') {
            let message = "a record is not an object".to_owned();
            return self.quarantine(refused(FindingCode::BadRecord, message));
        }
        self.was_glued = glued;
        let tree = JsonTree::from_trusted_str(text).into_expanded();
        let at = RecordSpan { file, offset, length: record.length };
        each(self, &ScannedRecord { tree: &tree, text, at, line });
    }

    /// Reports something that cannot be shown.
    pub(super) fn quarantine(&mut self, finding: Finding) {
        self.quarantined += 1;
        self.survey.findings.push(finding);
    }

    /// Marks a record as repaired, and reports how.
    pub(super) fn repair(&mut self, node: u32, code: FindingCode, message: String) {
        let finding = self.finding(node, code, message);
        self.survey.findings.push(finding);
        if let Some(node) = self.node(node) {
            node.is_repaired = true;
        }
    }

    /// Adds a warning about a record.
    pub(super) fn warn(&mut self, node: u32, code: FindingCode, message: String) {
        let finding = self.finding(node, code, message);
        self.survey.warnings.push(finding);
    }

    fn finding(&self, node: u32, code: FindingCode, message: String) -> Finding {
        let node = self.survey.nodes.get(node as usize);
        let line = node.and_then(|node| node.line).map(u64::from);
        let file = node.and_then(|node| self.survey.files.get(node.at.file as usize));
        let file = file.or(self.survey.files.first()).cloned().unwrap_or_default();
        let offset = node.map(|node| node.at.offset).filter(|_| line.is_some());
        Finding::new(&file, code, message).at_line(line).at_offset(offset)
    }

    /// The number of the next record.
    pub(super) fn next_number(&self) -> u32 {
        u32::try_from(self.survey.nodes.len()).unwrap_or(u32::MAX)
    }

    /// The record with an id.
    pub(super) fn by_id(&self, id: &str) -> Option<u32> {
        self.ids.get(&TextHash::of(id)).copied()
    }

    pub(super) fn node(&mut self, number: u32) -> Option<&mut RecordNode> {
        self.survey.nodes.get_mut(number as usize)
    }

    /// Keeps a record, and returns its number.
    pub(super) fn add(
        &mut self,
        seen: &ScannedRecord<'_>,
        look: &RecordInfo,
        parent: Parent,
    ) -> u32 {
        let number = self.next_number();
        let is_repaired = std::mem::take(&mut self.was_glued);
        self.survey.nodes.push(RecordNode {
            at: seen.at,
            line: seen.line.and_then(|line| u32::try_from(line).ok()),
            order: number,
            parent,
            placement: Placement::Chained,
            role: look.role,
            is_side: look.is_side,
            time: look.time,
            entries: u32::try_from(look.drafts.len()).unwrap_or(u32::MAX),
            is_part: false,
            is_repaired,
        });
        let of_line = if look.is_side { &mut self.side_title } else { &mut self.survey.title };
        if look.role == RecordRole::Prompt && of_line.is_none() {
            let text = look.drafts.first().map(|draft| draft.text.as_str()).unwrap_or_default();
            *of_line = prompt_title(text);
            if !look.is_side && of_line.is_none() && self.command_title.is_none() {
                self.command_title = title(text);
            }
        }
        self.survey.created = earliest(self.survey.created, look.time);
        self.survey.updated = self.survey.updated.max(look.time);
        self.note_calls(number, look);
        number
    }

    /// Keeps a record under its id. A second record with the same id is set apart.
    pub(super) fn add_with_id(
        &mut self,
        seen: &ScannedRecord<'_>,
        look: &RecordInfo,
        parent: Parent,
        id: &str,
    ) -> u32 {
        let number = self.add(seen, look, parent);
        match self.ids.get(&TextHash::of(id)).copied() {
            Some(first) => {
                self.warn(number, FindingCode::DuplicateId, format!("duplicate id {id:?}"));
                self.set_apart(number, DUPLICATES);
                self.survey.defects.duplicates.push((number, first));
                self.drop_calls(number, look);
            }
            None => drop(self.ids.insert(TextHash::of(id), number)),
        }
        number
    }

    /// Removes a record from the lines.
    pub(super) fn set_apart(&mut self, number: u32, name: &'static str) {
        if let Some(node) = self.node(number) {
            node.placement = Placement::Apart(name);
        }
    }

    /// Replaces an older version of a record.
    pub(super) fn supersede(&mut self, old: u32, new: u32) {
        let Some(&before) = self.survey.nodes.get(old as usize) else { return };
        self.set_apart(old, SUPERSEDED);
        self.newer.insert(old, new);
        if let Some(node) = self.node(new) {
            node.parent = before.parent;
            node.order = before.order;
        }
    }

    /// Counts records that are shown with another one.
    pub(super) fn count_also(&mut self, records: u64) {
        self.extra += records;
    }

    /// Keeps a part of a record that is already counted.
    pub(super) fn add_part(
        &mut self,
        seen: &ScannedRecord<'_>,
        look: &RecordInfo,
        parent: Parent,
    ) -> u32 {
        let number = self.add(seen, look, parent);
        if let Some(node) = self.node(number) {
            node.is_part = true;
        }
        number
    }

    /// The record that represents this one in a line: itself, a newer version, or the one before it.
    fn effective_record(&self, number: u32) -> Option<u32> {
        let mut number = number;
        for _ in 0..=self.survey.nodes.len() {
            let node = self.survey.nodes.get(number as usize)?;
            if let Some(&newer) = self.newer.get(&number) {
                number = newer;
            } else if node.placement == Placement::Chained {
                return Some(number);
            } else {
                match node.parent {
                    Parent::Number(before) => number = before,
                    _ => return None,
                }
            }
        }
        None
    }

    /// Notes which calls are open. A result may be written before its call.
    fn note_calls(&mut self, number: u32, look: &RecordInfo) {
        for call in look.drafts.iter().filter_map(|draft| draft.call.as_ref()) {
            let (id, own, others) = match call {
                ToolCall::Made(id) => (id, &mut self.calls, &mut self.answers),
                ToolCall::Answered(id) => (id, &mut self.answers, &mut self.calls),
            };
            let key = TextHash::of(id);
            if others.get_mut(&key).and_then(Vec::pop).is_none() {
                own.entry(key).or_default().push(number);
            }
        }
    }

    /// Removes the calls and results of a second copy of a record.
    fn drop_calls(&mut self, number: u32, look: &RecordInfo) {
        for call in look.drafts.iter().filter_map(|draft| draft.call.as_ref()) {
            let (id, own) = match call {
                ToolCall::Made(id) => (id, &mut self.calls),
                ToolCall::Answered(id) => (id, &mut self.answers),
            };
            if let Some(open) = own.get_mut(&TextHash::of(id)) {
                open.retain(|known| *known != number);
            }
        }
    }

    /// Linearizes the records. The main line ends at `tip`, if that is known.
    pub(super) fn finish(mut self, forks: ForkPolicy, tip: Option<u32>) -> Survey {
        let parents = self.parents();
        let tip = tip.and_then(|tip| self.effective_record(tip));
        let node = |(node, parent): (&RecordNode, &Option<u32>)| ThreadNode {
            parent: *parent,
            order: node.order,
            placement: node.placement,
            is_prompt: node.role == RecordRole::Prompt,
            is_message: node.role != RecordRole::Link,
            is_side: node.is_side,
        };
        let nodes: Vec<ThreadNode> = self.survey.nodes.iter().zip(&parents).map(node).collect();
        self.survey.thread_tree = linearize(&nodes, forks, tip);
        for at in self.survey.thread_tree.cycles.clone() {
            let message = "its parents form a cycle, and it is read as a root";
            self.repair(at, FindingCode::DanglingParent, message.to_owned());
            self.survey.defects.relinked.push((at, None));
        }
        self.report_calls();
        self.survey.title = self.survey.title.take().or(self.command_title.take());
        self.survey.title = self.survey.title.take().or(self.side_title.take());
        let records = self.survey.nodes.iter().filter(|node| !node.is_part);
        let is_hidden = |node: &&RecordNode| matches!(node.placement, Placement::Apart(_));
        let repaired = records.clone().filter(|node| node.is_repaired).count() as u64;
        let (count, hidden) = (records.clone().count(), records.filter(is_hidden).count());
        self.survey.counts =
            RecordCounts::of(count as u64 + self.extra, repaired, self.quarantined, hidden as u64);
        self.survey
    }

    /// The parent of each record. A record whose parent is missing follows the one before it in the file.
    fn parents(&mut self) -> Vec<Option<u32>> {
        let mut parents = Vec::with_capacity(self.survey.nodes.len());
        // The last record of the main line, and of helpers.
        let mut last = [None, None];
        let mut dangling = Vec::new();
        for (number, node) in (0_u32..).zip(&self.survey.nodes) {
            let before = last.get_mut(usize::from(node.is_side));
            let parent = match node.parent {
                _ if node.placement != Placement::Chained => None,
                Parent::Root => None,
                Parent::Number(number) => self.effective_record(number),
                Parent::Of(key) => self.ids.get(&key).copied().or_else(|| {
                    dangling.push(number);
                    before.as_deref().copied().flatten()
                }),
            };
            parents.push(parent);
            if let Some(before) = before
                && node.placement == Placement::Chained
            {
                *before = Some(number);
            }
        }
        for number in dangling {
            let message = "its parent record is missing; it is attached to the previous record";
            self.repair(number, FindingCode::DanglingParent, message.to_owned());
            let before = parents.get(number as usize).copied().flatten();
            self.survey.defects.relinked.push((number, before));
        }
        parents
    }

    fn report_calls(&mut self) {
        let mut odd: Vec<(u32, &str)> = Vec::new();
        // A record with a newer version needs no result.
        let stands = |at: &u32| {
            let node = self.survey.nodes.get(*at as usize);
            node.is_some_and(|node| !matches!(node.placement, Placement::Apart(_)))
        };
        for (key, calls) in &self.calls {
            for &at in calls.iter().filter(|at| stands(at)) {
                odd.push((at, "a tool call has no result"));
                self.survey.defects.unanswered.push((at, *key));
            }
        }
        let answers = self.answers.values().flatten().copied().filter(stands);
        odd.extend(answers.map(|at| (at, "a tool result has no call")));
        odd.sort_unstable();
        self.survey.defects.unanswered.sort_unstable();
        for (number, message) in odd {
            self.warn(number, FindingCode::OrphanCall, message.to_owned());
        }
    }
}

/// The earlier of two times, if there are any.
pub(super) fn earliest(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

/// The text between two tags.
fn between<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0)
}

/// The start of a text, on one line. For a command, its name and its arguments.
pub(super) fn title(text: &str) -> Option<String> {
    let start: String = text.chars().take(TITLE_LENGTH * 8).collect();
    let start = match between(&start, "command-name") {
        Some(name) => format!("{name} {}", between(&start, "command-args").unwrap_or_default()),
        None => start,
    };
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    let title: String = line.chars().take(TITLE_LENGTH).collect();
    match (title.is_empty(), title.len() < line.len()) {
        (true, _) => None,
        (false, true) => Some(format!("{title}…")),
        (false, false) => Some(title),
    }
}

/// How prompts begin that only introduce a plan, and the words before its name.
const PLAN: &str = "implement the following plan:";
const PLAN_NAME: &str = "plan:";

/// The start of a prompt, if it says what the session is about: not a command without arguments, and nothing that the
/// program wrote. A plan is named by its heading.
pub(super) fn prompt_title(text: &str) -> Option<String> {
    let text = text.trim_start();
    let is_bare_command = match between(text, "command-name") {
        Some(_) => between(text, "command-args").is_none_or(|args| args.trim().is_empty()),
        None => text.starts_with('/') && !text.trim_end().contains(char::is_whitespace),
    };
    let is_program = ["<local-command-", "<system-reminder>", "Caveat: The messages below"];
    if is_bare_command || is_program.iter().any(|start| text.starts_with(start)) {
        return None;
    }
    let without = |text: &str, start: &str| {
        let head = text.get(..start.len())?;
        head.eq_ignore_ascii_case(start).then(|| text.get(start.len()..))?.map(str::to_owned)
    };
    let heading = |text: &str| {
        text.trim_start_matches(|one: char| one == '#' || one.is_whitespace()).to_owned()
    };
    let Some(plan) = without(text, PLAN) else { return title(text) };
    let plan = heading(&plan);
    let named = without(&plan, PLAN_NAME).map_or(plan, |name| heading(&name));
    // The heading is the first line.
    title(named.lines().next().unwrap_or_default()).or_else(|| title(text))
}

/// The name of a line, if it has one.
pub(super) fn line_name(what: LineKind) -> Option<&'static str> {
    match what {
        LineKind::Apart(name) => Some(name),
        LineKind::Main | LineKind::Branch | LineKind::Side => None,
    }
}

/// Whether a value is an object.
pub(super) fn is_object(tree: &JsonTree) -> bool {
    tree.kind() == ValueKind::Object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_says_what_the_session_is_about() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(prompt_title(text).as_deref(), expect, "{text:?}");
        };
        check("Write a parser.\nIn Rust.", Some("Write a parser. In Rust."));
        check("/clear", None);
        check("<command-name>/clear</command-name><command-args></command-args>", None);
        check(
            "<command-name>/review</command-name><command-args>the parser</command-args>",
            Some("/review the parser"),
        );
        check("/srv/app is slow", Some("/srv/app is slow"));
        check("<local-command-stdout>done</local-command-stdout>", None);
        check(
            "Implement the following plan:\n\n# Plan: A faster list\n\n1. Read",
            Some("A faster list"),
        );
        check("Implement the following plan: ## Search\nmore", Some("Search"));
        check("Implement the following plan:", Some("Implement the following plan:"));
        check("", None);
    }
}
