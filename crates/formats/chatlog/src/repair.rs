//! Repairs of a chat log: a plan that can be read first, then one commit that keeps every original.
//!
//! A document that is no JSON is put together anew from what is whole in it, a journal with lines that say nothing is
//! put into the document without them, and values that are wrong or follow from others are set right. References to
//! what is not there stay, unless it is known to be lost: only somebody who knows what was meant can mend them.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::check::newer;
use super::content::Content;
use super::error::ChatError;
use super::journal::{adds, says_something};
use super::log::ChatLog;
use super::names::{Files, id_of};
use super::rescue::{Rescued, rescue, texts};
use super::reshape::{References, Reshaped, reshape};
use super::rewrite::{Plan, write};
use super::survey::{List, survey};
use everturn_json::finding::{Code, Finding, Severity};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::repairs::{
    Action, Keeper, Repair, new_place, own_records, places, take_back,
};
use everturn_store::{Durability, Expect, MemoryStore, Secrecy, Step, Store, read_if_there};

/// The name by which the trash knows the repairs of a chat log.
fn name(files: &Files) -> Result<SessionId, ChatError> {
    Ok(SessionId::parse(files.document.flat_name("").as_str())?)
}

/// What is to be done to a chat log.
#[derive(Default)]
struct Mending {
    actions: Vec<Action>,
    document: Option<Vec<u8>>,
    /// Files that go: the journal, because the document has it now, and the index of another document.
    moved: Vec<FilePath>,
    findings: Vec<Finding>,
}

fn action(file: &FilePath, what: impl Into<String>) -> Action {
    Action { file: file.clone(), what: what.into() }
}

/// Says what a repair of the chat log at `path` would do, and does nothing.
pub fn plan_repair(store: &Arc<dyn Store>, path: &FilePath) -> Result<Repair, ChatError> {
    // What is planned does not tell the time that messages without one would get.
    let mending = plan(store, &Files::of(path)?, Timestamp::UNIX_EPOCH)?;
    Ok(Repair { actions: mending.actions, findings: mending.findings, kept: None })
}

fn bad_document(files: &Files, message: String) -> Finding {
    let (file, code) = (files.document.clone(), Code::BadDocument);
    Finding { file, line: None, offset: None, code, message }
}

/// Whether a repair does something about a finding.
fn is_mended(finding: &Finding) -> bool {
    finding.code.severity() == Severity::Finding && finding.code != Code::UnknownReference
}

fn plan(store: &Arc<dyn Store>, files: &Files, now: Timestamp) -> Result<Mending, ChatError> {
    let looked = ChatLog::open(store, &files.document).and_then(|log| {
        let findings = log.check()?;
        let is_left = newer(&log.head()).is_some() || log.half_folded;
        Ok((is_left, findings, log.lost.is_some()))
    });
    let (is_newer, findings, damage) = match looked {
        // A fold that was begun is finished by the next writer.
        Ok(looked) => looked,
        Err(ChatError::Damaged { reason, .. }) => {
            let half = store.stat(&files.folded)?.is_some();
            (half, vec![bad_document(files, reason)], true)
        }
        Err(error) => return Err(error),
    };
    let mut mending = Mending { findings, ..Mending::default() };
    if is_newer {
        return Ok(mending);
    }
    if mending.findings.iter().any(is_mended) {
        mend(store, files, damage, &mut mending, now)?;
    }
    let is_stale = |finding: &Finding| finding.file == files.index;
    if mending.findings.iter().any(is_stale) {
        mending.actions.push(action(&files.index, "is about another document, and goes"));
        mending.moved.push(files.index.clone());
    } else if mending.document.is_some() && store.stat(&files.index)?.is_some() {
        mending.moved.push(files.index.clone());
    }
    Ok(mending)
}

/// Makes the document that has all that is left.
fn mend(
    store: &Arc<dyn Store>,
    files: &Files,
    damage: bool,
    mending: &mut Mending,
    now: Timestamp,
) -> Result<(), ChatError> {
    let before = read_if_there(store, &files.document)?.unwrap_or_default();
    let journal = read_if_there(store, &files.journal)?;
    let journal_is_there = journal.is_some();
    // Nothing else counts from the document that the journal was begun for.
    let is_lost = before.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace());
    let rescued = damage.then(|| rescue(&before));
    if let Some(rescued) = &rescued {
        mending.actions.push(put_together(files, rescued)?);
    }
    let lines = journal.as_ref().map(|bytes| {
        own_records(&files.journal, bytes, |tree| {
            says_something(tree)
                && (!damage || is_lost || adds(tree) || tree.at(&["journal"]).is_some())
        })
    });
    let lines = lines.transpose()?;
    if let Some(lines) = &lines
        && (damage || mending.findings.iter().any(|finding| finding.file == files.journal))
    {
        let what = format!("what it says is put into the document, and it goes{}", lines.places());
        mending.actions.push(action(&files.journal, what));
    }
    let document = rescued.map_or_else(|| before.clone(), |rescued| rescued.bytes);
    let folded = match folded(files, document, lines.map(|lines| lines.bytes)) {
        // A journal that cannot be put into the document gives its messages all the same.
        Err(ChatError::Damaged { .. }) => {
            rescue(&[before.as_slice(), b"\n", journal.unwrap_or_default().as_slice()].concat())
                .bytes
        }
        folded => folded?,
    };
    mending.document = Some(set_right(files, folded, damage, mending, now)?);
    if journal_is_there {
        mending.moved.push(files.journal.clone());
    }
    Ok(())
}

/// Sets the values of a document right that is JSON.
fn set_right(
    files: &Files,
    mut after: Vec<u8>,
    damage: bool,
    mending: &mut Mending,
    now: Timestamp,
) -> Result<Vec<u8>, ChatError> {
    let references = if damage { References::Known } else { References::Stay };
    let id = id_of(&files.document).unwrap_or_default();
    let mut reshaped = reshape(&after, &id, references, now);
    // Messages that stand where none belong are found when they are looked for.
    if !damage && reshaped.as_ref().is_some_and(|now| is_lacking(&after, &now.bytes)) {
        let rescued = rescue(&after);
        mending.actions.push(put_together(files, &rescued)?);
        reshaped = reshape(&rescued.bytes, &id, References::Known, now);
    }
    // What needs no change in its parts keeps its bytes.
    let is_due = |reshaped: &Reshaped| {
        let duration = |found: &Finding| found.message.contains("duration_seconds");
        damage || !reshaped.what.is_empty() || mending.findings.iter().any(duration)
    };
    if let Some(reshaped) = reshaped.filter(is_due) {
        after = reshaped.bytes;
        let what = reshaped.what.into_iter().map(|what| action(&files.document, what));
        mending.actions.extend(what);
    }
    let wrong = mending.findings.iter().filter(|finding| finding.code == Code::WrongMetadata);
    let wrong = wrong.map(|found| format!("is made true: {}", found.message));
    mending.actions.extend(wrong.map(|what| action(&files.document, what)));
    if mending.actions.is_empty() {
        let found = mending.findings.iter().filter(|finding| is_mended(finding));
        let what =
            found.map(|found| action(&files.document, format!("is set right: {}", found.message)));
        mending.actions = what.collect();
    }
    Ok(after)
}

/// What is said of a document that was put together anew.
fn put_together(files: &Files, rescued: &Rescued) -> Result<Action, ChatError> {
    let index = survey(&Content::held(&files.document, rescued.bytes.clone()))?;
    let what = format!(
        "is put together anew from what is whole in it; messages: {}{}",
        index.count(List::Messages),
        places(&rescued.left_out)
    );
    Ok(action(&files.document, what))
}

/// Whether a document has texts of messages that another lacks.
fn is_lacking(document: &[u8], other: &[u8]) -> bool {
    let texts = |bytes: &[u8]| -> BTreeSet<String> { texts(bytes).into_iter().collect() };
    !texts(document).is_subset(&texts(other))
}

/// The document with what a journal says, put together where nobody sees it.
fn folded(
    files: &Files,
    document: Vec<u8>,
    journal: Option<Vec<u8>>,
) -> Result<Vec<u8>, ChatError> {
    let scratch: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let writer = scratch.lock(&files.scopes())?;
    let create = |file: &FilePath, bytes: Vec<u8>| {
        let (expect, secrecy) = (Expect::Absent, Secrecy::Usual);
        Step::Replace { file: file.clone(), expect, bytes, secrecy }
    };
    let mut steps = vec![create(&files.document, document)];
    steps.extend(journal.map(|journal| create(&files.journal, journal)));
    writer.commit(steps, Durability::Synced)?;
    writer.release()?;
    let log = ChatLog::open(&scratch, &files.document)?;
    let plan = Plan::fold(&log)?;
    let mut bytes = Vec::new();
    write(&log, &plan, &mut bytes)?;
    Ok(bytes)
}

/// Repairs the chat log at `path`. What is changed or goes is kept in the trash.
pub fn repair(
    store: &Arc<dyn Store>,
    path: &FilePath,
    now: Timestamp,
) -> Result<Repair, ChatError> {
    let files = Files::of(path)?;
    let id = name(&files)?;
    let trash = new_place(store, &id, now)?;
    let mut scopes = files.scopes();
    scopes.push(trash.clone());
    let writer = store.lock(&scopes)?;
    let mending = plan(store, &files, now)?;
    if mending.actions.is_empty() {
        writer.release()?;
        return Ok(Repair { actions: Vec::new(), findings: mending.findings, kept: None });
    }
    let mut keeper = Keeper::new(store, &*writer, &trash, &id, &mending.actions, now);
    if let Some(bytes) = mending.document {
        keeper.write(&files.document, bytes)?;
    }
    mending.moved.iter().for_each(|file| keeper.discard(file));
    keeper.flush()?;
    writer.release()?;
    let findings = ChatLog::open(store, path)?.check()?;
    Ok(Repair { actions: mending.actions, findings, kept: Some(trash) })
}

/// Takes back the newest repair of the chat log at `path` that was not taken back yet.
pub fn undo_repair(
    store: &Arc<dyn Store>,
    path: &FilePath,
    now: Timestamp,
) -> Result<Repair, ChatError> {
    let files = Files::of(path)?;
    Ok(take_back(store, &name(&files)?, &files.scopes(), now)?)
}
