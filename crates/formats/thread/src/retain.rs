//! Removes records from a thread: the log is written again in one commit, without them.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use crate::paths::log_file;
use crate::record::{RecordType, ThreadRecord};
use crate::thread::Thread;
use crate::writer::{ThreadWriter, encode_record};
use everturn_session::format::SessionError;
use everturn_session::keys::with_text;
use everturn_session::marks;
use everturn_store::{Fingerprint, Precondition, Step};
use everturn_value::tree::JsonTree;

impl ThreadWriter {
    /// Removes the records for which `keep` is false, and appends `add`, in one commit. Returns how many were removed.
    ///
    /// The header stays. Values that only a removed checkpoint has stored are stored with the next one that needs them,
    /// and the children of a removed checkpoint become children of its nearest ancestor that stays. Fails if the log
    /// has findings, because what cannot be read would be lost: repair the thread first.
    pub fn retain(
        &mut self,
        mut keep: impl FnMut(&ThreadRecord) -> bool,
        add: &[&str],
        now: Timestamp,
    ) -> Result<usize, SessionError> {
        let old = self.thread();
        if !old.findings.is_empty() {
            return Err(SessionError::damaged("the log has records that cannot be read"));
        }
        let is_kept = |record: &ThreadRecord| record.kind == RecordType::Header || keep(record);
        let kept: Vec<bool> = old.records().iter().map(is_kept).collect();
        let removed = kept.iter().filter(|kept| !**kept).count();
        if removed == 0 {
            self.append_all(add, now)?;
            return Ok(0);
        }
        let parents = kept_parents(old, &kept);
        let mut new = Thread::default();
        let mut bytes = Vec::new();
        for (position, record) in old.records().iter().enumerate() {
            if kept.get(position) != Some(&true) {
                continue;
            }
            let mut tree = record.tree.clone();
            if record.kind == RecordType::Checkpoint {
                tree = with_parent(&tree, parents.get(&position).map(String::as_str));
                tree = with_values(&tree, JsonTree::from_members(old.channels(position)?));
            }
            add_record(&mut new, &mut bytes, tree, now)?;
        }
        for text in add {
            add_record(&mut new, &mut bytes, ThreadRecord::parse_input(text)?.tree, now)?;
        }
        let file = log_file(self.dir());
        let before = Fingerprint::of(&self.store().read(&file, 0..u64::MAX)?);
        let mut steps = vec![Step::replace_expecting(file, Precondition::Content(before), bytes)];
        let turns = new.main_line().len() as u64;
        if let Some(marks) = marks::truncated_marks(self.store(), self.dir(), turns)? {
            steps.push(Step::replace(marks::marks_file(self.dir()), marks));
        }
        self.commit_all(steps)?;
        self.replace_thread(new);
        Ok(removed)
    }
}

/// Adds a record with all its values to a new log.
fn add_record(
    new: &mut Thread,
    bytes: &mut Vec<u8>,
    tree: JsonTree,
    now: Timestamp,
) -> Result<(), SessionError> {
    let record = ThreadRecord::parse(tree).map_err(SessionError::request)?;
    let record = match record.kind {
        RecordType::Header => record,
        _ => encode_record(new, record, now)?,
    };
    let line = record.tree.to_line();
    let (offset, length) = (bytes.len() as u64, line.len() as u64);
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    new.push(ThreadRecord { offset, length, ..record });
    Ok(())
}

/// For each kept checkpoint, by position, the ID of its nearest ancestor that is kept.
fn kept_parents(thread: &Thread, kept: &[bool]) -> HashMap<usize, String> {
    let mut parents = HashMap::new();
    for (position, record) in thread.records().iter().enumerate() {
        if record.kind != RecordType::Checkpoint {
            continue;
        }
        let (namespace, mut next, mut seen) =
            (record.namespace(), record.text("parent"), HashSet::new());
        while let Some(id) = next {
            let Some(at) = thread.checkpoint(&namespace, &id) else { break };
            if kept.get(at) == Some(&true) {
                parents.insert(position, id);
                break;
            }
            // A checkpoint that is its own ancestor ends the search.
            next = if seen.insert(at) {
                thread.records().get(at).and_then(|parent| parent.text("parent"))
            } else {
                None
            };
        }
    }
    parents
}

fn with_parent(tree: &JsonTree, parent: Option<&str>) -> JsonTree {
    match parent {
        Some(parent) => with_text(tree, "parent", parent),
        None => {
            let members = tree.children().into_iter().filter(|(name, _)| name != "parent");
            JsonTree::from_members(members)
        }
    }
}

fn with_values(tree: &JsonTree, values: JsonTree) -> JsonTree {
    let others = tree.children().into_iter().filter(|(name, _)| name != "values");
    JsonTree::from_members(others.chain([("values".to_owned(), values)]))
}
