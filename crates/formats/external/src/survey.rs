//! The first pass over a session: where its records are, and what was noticed. What they say is not kept.

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

/// The records that say again what others say, and those of which there is a newer version.
pub(super) const DUPLICATES: &str = "duplicates";
pub(super) const SUPERSEDED: &str = "superseded";

/// The longest title, in characters.
const TITLE_LENGTH: usize = 72;

/// What is known of a session before anything of it is shown.
#[derive(Debug, Clone, Default)]
pub(super) struct Survey {
    pub(super) files: Vec<FilePath>,
    pub(super) nodes: Vec<RecordNode>,
    pub(super) thread_tree: ThreadTree,
    pub(super) title: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) created: Option<Timestamp>,
    pub(super) updated: Option<Timestamp>,
    /// What was lost or had to be put right.
    pub(super) findings: Vec<Finding>,
    /// What is odd and does no harm.
    pub(super) warnings: Vec<Finding>,
    pub(super) counts: RecordCounts,
    pub(super) usage: Option<SessionUsage>,
    /// Whether a helper of the program talks here, on behalf of another session.
    pub(super) is_helper: bool,
    pub(super) defects: Defects,
}

/// What would be otherwise in a mended copy of the session.
#[derive(Debug, Clone, Default)]
pub(super) struct Defects {
    /// Records whose parent is not there, or that are in a circle, and whom they are read after.
    pub(super) relinked: Vec<(u32, Option<u32>)>,
    /// Records whose id another has, and that other one.
    pub(super) duplicates: Vec<(u32, u32)>,
    /// Calls that nobody answered, by the records that make them.
    pub(super) unanswered: Vec<(u32, TextHash)>,
}

impl Survey {
    /// The last turn of the main line.
    pub(super) fn turns(&self) -> u64 {
        self.thread_tree.lines.first().and_then(|line| line.own.last()).map_or(0, |(_, turn)| *turn)
    }
}

/// A survey in the making.
#[derive(Default)]
pub(super) struct Surveyor {
    pub(super) survey: Survey,
    ids: HashMap<TextHash, u32>,
    /// Calls that nobody has answered yet, and answers to calls that were not seen yet.
    calls: HashMap<TextHash, Vec<u32>>,
    answers: HashMap<TextHash, Vec<u32>>,
    quarantined: u64,
    /// What a helper was asked first, which names a session in which nobody else asks for anything.
    side_title: Option<String>,
    /// The newer versions of records that stand apart.
    newer: HashMap<u32, u32>,
    /// Records that are told with others and have no node of their own.
    extra: u64,
    /// Whether the record at hand had to be put right before it could be read.
    was_glued: bool,
    /// Whether the next record shares its line with the one before.
    is_glued: bool,
}

/// A record while it is looked at.
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

    /// Gives every object of a file of lines to `each`; what is none becomes a finding.
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

    /// A finding of the scan: it stands for something that is no record, unless it only says where two met.
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
        let refused = |code, message| {
            let (file, offset) = (path.clone(), Some(offset));
            Finding { file, line, offset, code, message }
        };
        let Some(text) = record.text() else {
            let message = format!("a record of {} bytes is too long to be shown", record.length);
            return self.quarantine(refused(FindingCode::TooLarge, message));
        };
        if !text.starts_with('{') {
            let message = "a record that is no object".to_owned();
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

    /// Counts a record that was put right, and says how.
    pub(super) fn repair(&mut self, node: u32, code: FindingCode, message: String) {
        let finding = self.finding(node, code, message);
        self.survey.findings.push(finding);
        if let Some(node) = self.node(node) {
            node.is_repaired = true;
        }
    }

    /// Notes something odd about a record.
    pub(super) fn warn(&mut self, node: u32, code: FindingCode, message: String) {
        let finding = self.finding(node, code, message);
        self.survey.warnings.push(finding);
    }

    fn finding(&self, node: u32, code: FindingCode, message: String) -> Finding {
        let node = self.survey.nodes.get(node as usize);
        let file = node.and_then(|node| self.survey.files.get(node.at.file as usize));
        let file = file.or(self.survey.files.first()).cloned().unwrap_or_default();
        let line = node.and_then(|node| node.line).map(u64::from);
        let offset = node.map(|node| node.at.offset).filter(|_| line.is_some());
        Finding { file, line, offset, code, message }
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

    /// Keeps a record, and returns its number. One whose id is taken stands apart.
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
            *of_line = look.drafts.first().and_then(|draft| title(&draft.text));
        }
        self.survey.created = earliest(self.survey.created, look.time);
        self.survey.updated = self.survey.updated.max(look.time);
        self.note_calls(number, look);
        number
    }

    /// Keeps a record under its id. A second record of the same id stands apart from the lines.
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
                self.warn(
                    number,
                    FindingCode::DuplicateId,
                    format!("the id {id:?} is there already"),
                );
                self.set_apart(number, DUPLICATES);
                self.survey.defects.duplicates.push((number, first));
                self.drop_calls(number, look);
            }
            None => drop(self.ids.insert(TextHash::of(id), number)),
        }
        number
    }

    /// Takes a record out of the lines.
    pub(super) fn set_apart(&mut self, number: u32, name: &'static str) {
        if let Some(node) = self.node(number) {
            node.placement = Placement::Apart(name);
        }
    }

    /// A record takes the place of an older version of itself.
    pub(super) fn supersede(&mut self, old: u32, new: u32) {
        let Some(&before) = self.survey.nodes.get(old as usize) else { return };
        self.set_apart(old, SUPERSEDED);
        self.newer.insert(old, new);
        if let Some(node) = self.node(new) {
            node.parent = before.parent;
            node.order = before.order;
        }
    }

    /// Counts records that are told with another one.
    pub(super) fn count_also(&mut self, records: u64) {
        self.extra += records;
    }

    /// Keeps something that is part of a record which is counted already.
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

    /// The record that stands in a line where this one would: itself, a newer version, or the one before it.
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

    /// Notes which calls are open. Whoever answers may be written before whoever asks.
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

    /// Forgets what a second copy of a record calls or answers.
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

    /// Puts the records into lines. The main line ends at `tip`, if that is known.
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
            let message = "its parents go round in a circle, and it is read as a beginning";
            self.repair(at, FindingCode::DanglingParent, message.to_owned());
            self.survey.defects.relinked.push((at, None));
        }
        self.report_calls();
        self.survey.title = self.survey.title.take().or(self.side_title.take());
        let records = self.survey.nodes.iter().filter(|node| !node.is_part);
        let is_hidden = |node: &&RecordNode| matches!(node.placement, Placement::Apart(_));
        let repaired = records.clone().filter(|node| node.is_repaired).count() as u64;
        let (count, hidden) = (records.clone().count(), records.filter(is_hidden).count());
        self.survey.counts =
            RecordCounts::of(count as u64 + self.extra, repaired, self.quarantined, hidden as u64);
        self.survey
    }

    /// Whom each record follows. One whose parent is not there follows the one before it in the file.
    fn parents(&mut self) -> Vec<Option<u32>> {
        let mut parents = Vec::with_capacity(self.survey.nodes.len());
        // The last record of the main line's kind, and of helpers.
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
            let message =
                "the record that it follows is not there; it is read after the one before";
            self.repair(number, FindingCode::DanglingParent, message.to_owned());
            let before = parents.get(number as usize).copied().flatten();
            self.survey.defects.relinked.push((number, before));
        }
        parents
    }

    fn report_calls(&mut self) {
        let mut odd: Vec<(u32, &str)> = Vec::new();
        // A record of which there is a newer version need not have an answer.
        let stands = |at: &u32| {
            let node = self.survey.nodes.get(*at as usize);
            node.is_some_and(|node| !matches!(node.placement, Placement::Apart(_)))
        };
        for (key, calls) in &self.calls {
            for &at in calls.iter().filter(|at| stands(at)) {
                odd.push((at, "a tool was called and never answered"));
                self.survey.defects.unanswered.push((at, *key));
            }
        }
        let answers = self.answers.values().flatten().copied().filter(stands);
        odd.extend(answers.map(|at| (at, "a tool answered that nobody called")));
        odd.sort_unstable();
        self.survey.defects.unanswered.sort_unstable();
        for (number, message) in odd {
            self.warn(number, FindingCode::OrphanCall, message.to_owned());
        }
    }
}

/// The earlier of two times, where there are any.
pub(super) fn earliest(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

/// What stands between two tags in a text.
fn between<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0)
}

/// The beginning of a text, on one line. Of a command, its name and what follows it.
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

/// What a line is called, if it is called anything.
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
