//! From the common model to answers.

use everturn::finding::Finding;
use everturn::model::{AppendOutcome, SessionBranch};
use everturn::tree::JsonTree;
use everturn::{Entry, Mark, StateChange};
use serde_json::value::RawValue;

use crate::error::{ErrorCode, RequestError};
use crate::response::{BranchView, EntryView, MarkView, Warning};

/// The code of a warning about derived data that could not be written yet.
const DEFERRED: &str = "deferred";

/// A stored value with its own spelling.
pub(crate) fn raw(tree: &JsonTree) -> Result<Box<RawValue>, RequestError> {
    raw_text(tree.to_line())
}

pub(crate) fn raw_text(text: String) -> Result<Box<RawValue>, RequestError> {
    RawValue::from_string(text).map_err(|error| {
        RequestError::new(ErrorCode::Damaged, format!("a stored value is not JSON: {error}"))
    })
}

/// An object whose values keep their spelling.
pub(crate) fn raw_object<'m>(
    members: impl IntoIterator<Item = (&'m str, &'m JsonTree)>,
) -> Result<Box<RawValue>, RequestError> {
    let members = members.into_iter().map(|(key, tree)| (key.to_owned(), tree.clone()));
    raw(&JsonTree::from_members(members))
}

impl From<&Finding> for Warning {
    fn from(finding: &Finding) -> Warning {
        Warning {
            code: finding.code.as_str(),
            message: finding.message.clone(),
            file: Some(finding.file.to_string()),
            line: finding.line,
            offset: finding.offset,
        }
    }
}

pub(crate) fn warnings(findings: &[Finding]) -> Vec<Warning> {
    findings.iter().map(Warning::from).collect()
}

pub(crate) fn deferred(message: &str) -> Warning {
    let message = format!("stored, but derived data is not written yet: {message}");
    Warning { code: DEFERRED, message, file: None, line: None, offset: None }
}

/// The warnings of a write.
pub(crate) fn outcome_warnings(outcome: &AppendOutcome) -> Vec<Warning> {
    let mut list = warnings(&outcome.findings);
    list.extend(outcome.deferred_error.as_deref().map(deferred));
    list
}

impl From<Mark> for MarkView {
    fn from(mark: Mark) -> MarkView {
        MarkView {
            kind: mark.kind.as_str().to_owned(),
            time: mark.time.map(|time| time.to_string()),
            id: mark.id,
            name: mark.name,
            description: mark.description,
            turn: mark.turn,
            entry: mark.entry,
        }
    }
}

pub(crate) fn branch_view(branch: SessionBranch) -> BranchView {
    let SessionBranch { id, from, turns, updated, title } = branch;
    BranchView { id, from, turns, updated: updated.map(|time| time.to_string()), title }
}

/// An entry as answers have it, with the stored record if `with_raw`.
pub fn entry_view(entry: Entry, with_raw: bool) -> Result<EntryView, RequestError> {
    Ok(EntryView {
        raw: if with_raw { Some(raw(&entry.raw)?) } else { None },
        seq: entry.seq,
        turn: entry.turn,
        id: entry.id,
        time: entry.time.map(|time| time.to_string()),
        speaker: entry.speaker,
        kind: entry.kind.as_str().to_owned(),
        text: entry.text,
    })
}

/// A change with its scope first.
pub fn change_view(change: &StateChange) -> Result<Box<RawValue>, RequestError> {
    let line = change.delta.to_line();
    let scope = serde_json::to_string(&change.scope).unwrap_or_default();
    let rest = line.strip_prefix('{').unwrap_or(&line);
    raw_text(format!("{{\"scope\":{scope},{rest}"))
}
