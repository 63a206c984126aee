//! Repaired copies of JSONL files that other programs wrote. The copy holds the records that the reader gets from a
//! damaged file, in the form of its program; the file itself stays as it is.
//!
//! Every record that the reader returns is in the copy, on a line of its own, byte for byte unless it must be changed.
//! Everything else is set aside. Before the copy is returned, the reader reads it and must find no damage.

mod answers;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::ProgramFormat;
use super::record::{Parent, RecordNode, TextHash, ToolCall};
use super::survey::{Defects, Survey};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::json;
use everturn_json::jsonl::{JsonlScan, ScanItem};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::model::SessionRef;
use everturn_session::repair::{CopyRepair, RepairedCopy, line_end};
use everturn_store::overlay::{FileChanges, OverlayStore};
use everturn_store::{Store, StoreError};
use everturn_value::outline::text_at;
use everturn_value::tree::JsonTree;

use answers::{AnswerPlacement, MemberEdit, RecordMembers};
pub(super) use answers::{CLAUDE, CODEX, GEMINI, GOOSE, PI, RepairRules, SILLYTAVERN};

/// The largest file that is repaired; the old and the new content are held in memory.
const LARGEST: u64 = 256 << 20;

/// The UTF-8 byte order mark.
const ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The number of ids tried before one is made longer.
const TRIES: u32 = 1000;

/// Makes a repaired copy of the file of a session.
pub(super) fn repair_copy<F: ProgramFormat>(
    format: &F,
    store: &Arc<dyn Store>,
    place: &SessionRef,
) -> Result<RepairedCopy, SessionError> {
    let fix = format.repair_rules(&place.path).map_err(|why| {
        let what = format!("{} cannot be repaired in a copy: {why}", place.path);
        SessionError::request(format!("{what}; convert it first with: everturn convert"))
    })?;
    let Some(name) = place.path.name() else {
        return Err(SessionError::request("the root is not a session"));
    };
    if store.stat(&place.path)?.is_some_and(|stat| stat.len > LARGEST) {
        let what = format!("{} is too long to repair (maximum {LARGEST} bytes)", place.path);
        return Err(SessionError::request(what));
    }
    let bytes = store.read(&place.path, 0..u64::MAX)?;
    // The program may be writing: from here on only these bytes count.
    let survey = format.survey(&frozen(store, &place.path, bytes.clone()), place)?;
    let mut mender = CopyRepairer::new(fix, &place.path, &bytes, &survey);
    mender.look_at_findings();
    mender.restore();
    mender.separate_duplicates();
    mender.answer(format);
    mender.relink();
    let (copy, aside) = mender.write_out()?;
    let mut repairs = mender.repairs;
    repairs.sort_by_key(|repair| repair.offset);
    let after = format.survey(&frozen(store, &place.path, copy.clone()), place)?;
    let expected = records(&survey) + mender.added - mender.dropped.len();
    let is_known = |finding: &Finding| finding.code == FindingCode::TooLarge;
    if let Some(bad) = after.findings.iter().find(|finding| !is_known(finding)) {
        return Err(SessionError::damaged(format!(
            "the repaired copy would still be damaged: {bad}"
        )));
    }
    if records(&after) != expected {
        let what =
            format!("expected {expected} records in the repaired copy, found {}", records(&after));
        return Err(SessionError::damaged(what));
    }
    let findings = after.findings.into_iter().chain(after.warnings).collect();
    Ok(RepairedCopy { name, repairs, findings, copy, quarantined: aside })
}

/// The number of records in a survey.
fn records(survey: &Survey) -> usize {
    survey.nodes.iter().filter(|node| !node.is_part).count()
}

fn frozen(store: &Arc<dyn Store>, file: &FilePath, bytes: Vec<u8>) -> Arc<dyn Store> {
    Arc::new(OverlayStore::new(store, FileChanges::from([(file.clone(), Some(bytes))])))
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A record with a new value for one of its members.
fn with_member(text: &str, key: &str, value: &str) -> Option<String> {
    let list = json::entries(text.as_bytes(), 0).ok()??.list;
    let is = |raw: &Range<usize>| {
        text.as_bytes().get(raw.clone()).is_some_and(|raw| json::key_matches(raw, key))
    };
    let member = list.iter().rfind(|entry| entry.key.as_ref().is_some_and(is))?;
    let (before, after) = (text.get(..member.value.start)?, text.get(member.value.end..)?);
    Some(format!("{before}{value}{after}"))
}

struct CopyRepairer<'a> {
    rules: &'a RepairRules,
    path: &'a FilePath,
    bytes: &'a [u8],
    nodes: &'a [RecordNode],
    defects: &'a Defects,
    findings: &'a [Finding],
    repairs: Vec<CopyRepair>,
    /// New values of members, by record.
    edits: HashMap<u32, Vec<MemberEdit>>,
    /// New records, by the record that they follow.
    behind: HashMap<u32, Vec<String>>,
    added: usize,
    dropped: HashSet<u32>,
    /// The new parent ids of a record's children, by the id of the record.
    instead: HashMap<TextHash, String>,
    taken: HashSet<TextHash>,
}

impl<'a> CopyRepairer<'a> {
    fn new(fix: &'a RepairRules, path: &'a FilePath, bytes: &'a [u8], survey: &'a Survey) -> Self {
        CopyRepairer {
            rules: fix,
            path,
            bytes,
            nodes: &survey.nodes,
            defects: &survey.defects,
            findings: &survey.findings,
            repairs: Vec::new(),
            edits: HashMap::new(),
            behind: HashMap::new(),
            added: 0,
            dropped: HashSet::new(),
            instead: HashMap::new(),
            taken: HashSet::new(),
        }
    }

    fn slice(&self, start: u64, length: u64) -> &'a [u8] {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let end = start.saturating_add(length).min(self.bytes.len());
        self.bytes.get(start..end).unwrap_or_default()
    }

    fn text(&self, number: u32) -> &'a str {
        let at = self.nodes.get(number as usize).map(|node| node.at);
        let bytes = at.map(|at| self.slice(at.offset, at.length)).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    fn tree(&self, number: u32) -> JsonTree {
        JsonTree::parse(self.text(number)).unwrap_or_else(|_| JsonTree::null()).into_expanded()
    }

    fn id(&self, number: u32) -> Option<String> {
        text_at(&self.tree(number), &[self.rules.id?])
    }

    fn is_whole(&self, number: u32) -> bool {
        self.nodes.get(number as usize).is_some_and(|node| !node.is_part)
    }

    fn note(&mut self, number: u32, code: FindingCode, what: impl Into<String>) {
        let node = self.nodes.get(number as usize);
        let line = node.and_then(|node| node.line).map(u64::from);
        let offset = node.map(|node| node.at.offset);
        self.repairs.push(CopyRepair { line, offset, code: Some(code), what: what.into() });
    }

    fn edit(&mut self, number: u32, key: &'static str, value: String) {
        let edits = self.edits.entry(number).or_default();
        edits.retain(|(known, _)| *known != key);
        edits.push((key, value));
    }

    /// Reports the findings of the line scan, which are repaired by writing the lines out again.
    fn look_at_findings(&mut self) {
        if self.bytes.starts_with(ORDER_MARK) {
            let what = "the byte order mark is removed".to_owned();
            self.repairs.push(CopyRepair { line: Some(1), offset: Some(0), code: None, what });
        }
        let starts: HashSet<u64> = self.nodes.iter().map(|node| node.at.offset).collect();
        for Finding { line, offset, code, .. } in self.findings {
            let is_record = offset.is_some_and(|offset| starts.contains(&offset));
            let what = match code {
                FindingCode::TornTail => "the incomplete last record is moved out",
                FindingCode::NulTail => "the NUL bytes at the end are removed",
                FindingCode::GluedRecords => "the record is moved to its own line",
                FindingCode::BadLine | FindingCode::NotUtf8 => {
                    "bytes that are not a record are moved out"
                }
                FindingCode::BadRecord if !is_record => "bytes that are not a record are moved out",
                _ => continue,
            };
            let (line, offset, what) = (*line, *offset, what.to_owned());
            self.repairs.push(CopyRepair { line, offset, code: Some(*code), what });
        }
    }

    /// Restores members that the program has corrupted.
    fn restore(&mut self) {
        let numbers = 0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let is_ill = |node: &RecordNode| node.is_repaired && !node.is_part;
        for number in numbers {
            if !self.nodes.get(number as usize).is_some_and(is_ill) {
                continue;
            }
            if let Some((key, value)) = (self.rules.restored)(&self.tree(number)) {
                self.edit(number, key, value);
                self.note(number, FindingCode::BadRecord, "the message is restored");
            }
        }
    }

    /// Sets aside a second copy of a record. Another record with the same id gets an id of its own.
    fn separate_duplicates(&mut self) {
        for &(number, first) in &self.defects.duplicates {
            let (tree, is_copy) = (self.tree(number), self.text(number) == self.text(first));
            let works = ["tool_use", "tool_result", "toolCall", "toolResult"];
            // Two calls with the same id would be as bad as two records.
            let is_work =
                works.iter().any(|kind| self.text(number).contains(&format!("\"{kind}\"")));
            let id = self.rules.id.and_then(|key| Some((key, text_at(&tree, &[key])?)));
            match id.filter(|_| !is_copy && !is_work) {
                Some((key, id)) => {
                    let fresh = self.fresh(&format!("twin {number}"), &id);
                    self.note(
                        number,
                        FindingCode::DuplicateId,
                        format!("the id is changed to {fresh:?}"),
                    );
                    self.edit(number, key, quoted(&fresh));
                }
                None => {
                    self.dropped.insert(number);
                    let what = "the second record with this id is moved out";
                    self.note(number, FindingCode::DuplicateId, what);
                }
            }
        }
    }

    /// A new id, unused by any record, in the form of another id.
    fn fresh(&mut self, seed: &str, like: &str) -> String {
        if self.taken.is_empty() {
            let numbers = 0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
            self.taken =
                numbers.filter_map(|number| Some(TextHash::of(&self.id(number)?))).collect();
        }
        for turn in 0.. {
            let digest = Sha256::digest(format!("{seed} {like} {turn}").as_bytes());
            let mut digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
            let mut digit = || digits.next().and_then(|it| char::from_digit(it.into(), 16));
            let other = |c: char| if c.is_ascii_hexdigit() { digit().unwrap_or(c) } else { c };
            let mut id: String = like.chars().map(other).collect();
            if turn > TRIES {
                id = format!("{id}-{turn}");
            }
            if self.taken.insert(TextHash::of(&id)) {
                return id;
            }
        }
        like.to_owned()
    }

    /// Adds results for tool calls that have none.
    fn answer<F: ProgramFormat>(&mut self, format: &F) {
        // By the record after which the results are inserted.
        let mut open: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for &(number, key) in &self.defects.unanswered {
            if !self.is_whole(number) || matches!(self.rules.answer, AnswerPlacement::Never) {
                continue;
            }
            let calls = format.drafts(&self.tree(number)).into_iter().filter_map(|it| it.call);
            let ids = calls.filter_map(|call| match call {
                ToolCall::Made(id) if TextHash::of(&id) == key => Some(id),
                _ => None,
            });
            open.entry(self.end_of_message(number)).or_default().extend(ids.take(1));
            self.note(
                number,
                FindingCode::OrphanCall,
                "an `interrupted` result is added for the call",
            );
        }
        for (number, calls) in open {
            let tree = self.tree(number);
            match self.rules.answer {
                AnswerPlacement::Never => {}
                AnswerPlacement::Behind(answer) => self.put_behind(number, answer(&tree, &calls)),
                AnswerPlacement::Within(answer) => {
                    if let Some((key, value)) = answer(&tree, &calls) {
                        self.edit(number, key, value);
                    }
                }
            }
        }
    }

    /// The last of the following records that are parts of the same message.
    fn end_of_message(&self, number: u32) -> u32 {
        let Some(message) = (self.rules.message)(&self.tree(number)) else { return number };
        let mut last = number;
        for next in number.saturating_add(1).. {
            let is_same = self.is_whole(next)
                && (self.rules.message)(&self.tree(next)).as_ref() == Some(&message);
            if !is_same {
                break;
            }
            last = next;
        }
        last
    }

    /// Inserts records after another; its former children follow the last of them.
    fn put_behind(&mut self, number: u32, records: Vec<RecordMembers>) {
        let first = self.id(number);
        let mut last = first.clone();
        for mut record in records {
            if let (Some(key), Some(parent), Some(before)) =
                (self.rules.id, self.rules.parents.first(), last)
            {
                let fresh = self.fresh(&format!("answer {number}"), &before);
                record.insert(key.to_owned(), fresh.as_str().into());
                record.insert((*parent).to_owned(), before.into());
                last = Some(fresh);
            } else {
                last = None;
            }
            self.added += 1;
            self.behind.entry(number).or_default().push(Value::Object(record).to_string());
        }
        if let (Some(first), Some(last)) = (first, last) {
            self.instead.insert(TextHash::of(&first), last);
        }
    }

    /// Changes the parents of records to the ones they are read after.
    fn relink(&mut self) {
        let mut relinked: HashSet<u32> = HashSet::new();
        for &(number, to) in &self.defects.relinked {
            relinked.insert(number);
            let to = to.and_then(|to| self.id(to));
            let to = to.map(|to| self.instead.get(&TextHash::of(&to)).cloned().unwrap_or(to));
            let what = match &to {
                Some(to) => format!("the record is attached to {to:?}"),
                None => "the record becomes a root".to_owned(),
            };
            self.set_parent(number, to.as_deref());
            self.note(number, FindingCode::DanglingParent, what);
        }
        for (number, node) in (0_u32..).zip(self.nodes) {
            let Parent::Of(parent) = node.parent else { continue };
            if let Some(to) = self.instead.get(&parent).cloned()
                && !relinked.contains(&number)
            {
                self.set_parent(number, Some(&to));
            }
        }
    }

    fn set_parent(&mut self, number: u32, to: Option<&str>) {
        let tree = self.tree(number);
        let named = self.rules.parents.iter().find(|key| text_at(&tree, &[key]).is_some());
        if let Some(key) = named {
            self.edit(number, key, to.map_or_else(|| "null".to_owned(), quoted));
        }
    }

    /// The copy, and the bytes set aside.
    fn write_out(&self) -> Result<(Vec<u8>, Vec<u8>), SessionError> {
        let numbers: HashMap<u64, u32> = (0_u32..)
            .zip(self.nodes)
            .filter(|(_, node)| !node.is_part)
            .map(|(number, node)| (node.at.offset, number))
            .collect();
        let end = line_end(self.bytes).as_bytes();
        let (mut copy, mut aside) = (Vec::with_capacity(self.bytes.len()), Vec::new());
        let mut done = if self.bytes.starts_with(ORDER_MARK) { ORDER_MARK.len() as u64 } else { 0 };
        let failed = |error| StoreError::io("read", self.path)(error);
        for item in JsonlScan::new(self.bytes, self.path.clone()).forward().map_err(failed)? {
            let ScanItem::Record(record) = item.map_err(failed)? else { continue };
            set_aside(&mut aside, self.slice(done, record.offset.saturating_sub(done)));
            done = record.offset + record.length;
            let bytes = self.slice(record.offset, record.length);
            match numbers.get(&record.offset) {
                Some(number) if !self.dropped.contains(number) => {
                    copy.extend_from_slice(self.edited(*number)?.as_bytes());
                    copy.extend_from_slice(end);
                    for behind in self.behind.get(number).into_iter().flatten() {
                        copy.extend_from_slice(behind.as_bytes());
                        copy.extend_from_slice(end);
                    }
                }
                // It is too long to be examined, and no finding says that it is bad.
                None if record.text().is_none() => {
                    copy.extend_from_slice(bytes);
                    copy.extend_from_slice(end);
                }
                Some(_) | None => set_aside(&mut aside, bytes),
            }
        }
        set_aside(&mut aside, self.slice(done, u64::MAX));
        if self.rules.ends_open && copy.ends_with(end) {
            copy.truncate(copy.len() - end.len());
        }
        Ok((copy, aside))
    }

    /// A record as it appears in the copy.
    fn edited(&self, number: u32) -> Result<String, SessionError> {
        let mut text = self.text(number).to_owned();
        for (key, value) in self.edits.get(&number).into_iter().flatten() {
            text = with_member(&text, key, value).ok_or_else(|| {
                SessionError::damaged(format!("record {number} has no {key:?} to change"))
            })?;
        }
        Ok(text)
    }
}

/// Keeps bytes, on lines of their own, unless they are only white space and padding.
fn set_aside(aside: &mut Vec<u8>, bytes: &[u8]) {
    let is_nothing = |byte: &u8| matches!(byte, 0 | b' ' | b'\t' | b'\r' | b'\n');
    if bytes.iter().all(is_nothing) {
        return;
    }
    let is_between = |byte: &u8| matches!(byte, 0 | b'\r' | b'\n');
    let start = bytes.iter().position(|byte| !is_between(byte)).unwrap_or(0);
    let end = bytes.iter().rposition(|byte| !is_between(byte)).map_or(start, |last| last + 1);
    aside.extend_from_slice(bytes.get(start..end).unwrap_or_default());
    aside.push(b'\n');
}
