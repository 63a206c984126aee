//! Repairs of a chat log: a plan that can be read first, then one commit that keeps every original.
//!
//! A document that is no JSON is put together anew from what is whole in it, a journal with lines that say nothing is
//! put into the document without them, and values that are wrong or follow from others are set right. References to
//! what is not there stay, unless it is known to be lost: only somebody who knows what was meant can mend them.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::check::newer;
use super::content::DocumentBytes;
use super::error::ChatError;
use super::journal::{is_addition, says_something};
use super::log::ChatLog;
use super::normalize::{NormalizedDocument, ReferencePolicy, normalize_document};
use super::paths::{ChatPaths, id_of};
use super::rebuild::{RebuiltDocument, rebuild_document, texts};
use super::rewrite::{RewritePlan, write};
use super::survey::{ListKind, survey};
use everturn_json::finding::{Finding, FindingCode, Severity};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::repair::{
    OriginalsBackup, RepairAction, RepairReport, allocate_originals, clean_log, describe_ranges,
    revert,
};
use everturn_store::{Durability, FileMode, MemoryStore, Precondition, Step, Store, read_optional};

/// The name by which the trash knows the repairs of a chat log.
fn name(files: &ChatPaths) -> Result<SessionId, ChatError> {
    Ok(SessionId::parse(files.document.flat_name("").as_str())?)
}

/// What is to be done to a chat log.
#[derive(Default)]
struct ChatRepairPlan {
    actions: Vec<RepairAction>,
    document: Option<Vec<u8>>,
    /// Files that go: the journal, because the document has it now, and the index of another document.
    moved: Vec<FilePath>,
    findings: Vec<Finding>,
}

fn action(file: &FilePath, what: impl Into<String>) -> RepairAction {
    RepairAction { file: file.clone(), what: what.into() }
}

/// Says what a repair of the chat log at `path` would do, and does nothing.
pub fn plan_repair(store: &Arc<dyn Store>, path: &FilePath) -> Result<RepairReport, ChatError> {
    // What is planned does not tell the time that messages without one would get.
    let fix = plan(store, &ChatPaths::of(path)?, Timestamp::UNIX_EPOCH)?;
    Ok(RepairReport { actions: fix.actions, findings: fix.findings, originals: None })
}

fn bad_document(files: &ChatPaths, message: String) -> Finding {
    let (file, code) = (files.document.clone(), FindingCode::BadDocument);
    Finding { file, line: None, offset: None, code, message }
}

/// Whether a repair does something about a finding.
fn is_repairable(finding: &Finding) -> bool {
    finding.code.severity() == Severity::Finding && finding.code != FindingCode::UnknownReference
}

fn plan(
    store: &Arc<dyn Store>,
    files: &ChatPaths,
    now: Timestamp,
) -> Result<ChatRepairPlan, ChatError> {
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
    let mut fix = ChatRepairPlan { findings, ..ChatRepairPlan::default() };
    if is_newer {
        return Ok(fix);
    }
    if fix.findings.iter().any(is_repairable) {
        repair_document(store, files, damage, &mut fix, now)?;
    }
    let is_stale = |finding: &Finding| finding.file == files.index;
    if fix.findings.iter().any(is_stale) {
        fix.actions.push(action(&files.index, "is about another document, and goes"));
        fix.moved.push(files.index.clone());
    } else if fix.document.is_some() && store.stat(&files.index)?.is_some() {
        fix.moved.push(files.index.clone());
    }
    Ok(fix)
}

/// Makes the document that has all that is left.
fn repair_document(
    store: &Arc<dyn Store>,
    files: &ChatPaths,
    damage: bool,
    fix: &mut ChatRepairPlan,
    now: Timestamp,
) -> Result<(), ChatError> {
    let before = read_optional(store, &files.document)?.unwrap_or_default();
    let journal = read_optional(store, &files.journal)?;
    let journal_is_there = journal.is_some();
    // Nothing else counts from the document that the journal was begun for.
    let is_lost = before.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace());
    let rescued = damage.then(|| rebuild_document(&before));
    if let Some(rescued) = &rescued {
        fix.actions.push(rebuild_action(files, rescued)?);
    }
    let lines = journal.as_ref().map(|bytes| {
        clean_log(&files.journal, bytes, |tree| {
            says_something(tree)
                && (!damage
                    || is_lost
                    || is_addition(tree)
                    || tree.value_at(&["journal"]).is_some())
        })
    });
    let lines = lines.transpose()?;
    if let Some(lines) = &lines
        && (damage || fix.findings.iter().any(|finding| finding.file == files.journal))
    {
        let what = format!(
            "what it says is put into the document, and it goes{}",
            lines.describe_left_out()
        );
        fix.actions.push(action(&files.journal, what));
    }
    let document = rescued.map_or_else(|| before.clone(), |rescued| rescued.bytes);
    let folded = match folded(files, document, lines.map(|lines| lines.bytes)) {
        // A journal that cannot be put into the document gives its messages all the same.
        Err(ChatError::Damaged { .. }) => {
            rebuild_document(
                &[before.as_slice(), b"\n", journal.unwrap_or_default().as_slice()].concat(),
            )
            .bytes
        }
        folded => folded?,
    };
    fix.document = Some(normalize_values(files, folded, damage, fix, now)?);
    if journal_is_there {
        fix.moved.push(files.journal.clone());
    }
    Ok(())
}

/// Sets the values of a document right that is JSON.
fn normalize_values(
    files: &ChatPaths,
    mut after: Vec<u8>,
    damage: bool,
    fix: &mut ChatRepairPlan,
    now: Timestamp,
) -> Result<Vec<u8>, ChatError> {
    let references = if damage { ReferencePolicy::Known } else { ReferencePolicy::Stay };
    let id = id_of(&files.document).unwrap_or_default();
    let mut reshaped = normalize_document(&after, &id, references, now);
    // Messages that stand where none belong are found when they are looked for.
    if !damage && reshaped.as_ref().is_some_and(|now| is_lacking(&after, &now.bytes)) {
        let rescued = rebuild_document(&after);
        fix.actions.push(rebuild_action(files, &rescued)?);
        reshaped = normalize_document(&rescued.bytes, &id, ReferencePolicy::Known, now);
    }
    // What needs no change in its parts keeps its bytes.
    let is_due = |reshaped: &NormalizedDocument| {
        let duration = |found: &Finding| found.message.contains("duration_seconds");
        damage || !reshaped.what.is_empty() || fix.findings.iter().any(duration)
    };
    if let Some(reshaped) = reshaped.filter(is_due) {
        after = reshaped.bytes;
        let what = reshaped.what.into_iter().map(|what| action(&files.document, what));
        fix.actions.extend(what);
    }
    let wrong = fix.findings.iter().filter(|finding| finding.code == FindingCode::WrongMetadata);
    let wrong = wrong.map(|found| format!("is made true: {}", found.message));
    fix.actions.extend(wrong.map(|what| action(&files.document, what)));
    if fix.actions.is_empty() {
        let found = fix.findings.iter().filter(|finding| is_repairable(finding));
        let what =
            found.map(|found| action(&files.document, format!("is set right: {}", found.message)));
        fix.actions = what.collect();
    }
    Ok(after)
}

/// What is said of a document that was put together anew.
fn rebuild_action(files: &ChatPaths, rescued: &RebuiltDocument) -> Result<RepairAction, ChatError> {
    let index = survey(&DocumentBytes::held(&files.document, rescued.bytes.clone()))?;
    let what = format!(
        "is put together anew from what is whole in it; messages: {}{}",
        index.count(ListKind::Messages),
        describe_ranges(&rescued.left_out)
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
    files: &ChatPaths,
    document: Vec<u8>,
    journal: Option<Vec<u8>>,
) -> Result<Vec<u8>, ChatError> {
    let scratch: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let writer = scratch.lock(&files.scopes())?;
    let create = |file: &FilePath, bytes: Vec<u8>| {
        let (expect, mode) = (Precondition::Absent, FileMode::Default);
        Step::Replace { file: file.clone(), expect, bytes, mode }
    };
    let mut steps = vec![create(&files.document, document)];
    steps.extend(journal.map(|journal| create(&files.journal, journal)));
    writer.commit(steps, Durability::Synced)?;
    writer.release()?;
    let log = ChatLog::open(&scratch, &files.document)?;
    let plan = RewritePlan::fold(&log)?;
    let mut bytes = Vec::new();
    write(&log, &plan, &mut bytes)?;
    Ok(bytes)
}

/// Repairs the chat log at `path`. What is changed or goes is kept in the trash.
pub fn repair(
    store: &Arc<dyn Store>,
    path: &FilePath,
    now: Timestamp,
) -> Result<RepairReport, ChatError> {
    let files = ChatPaths::of(path)?;
    let id = name(&files)?;
    let trash = allocate_originals(store, &id, now)?;
    let mut scopes = files.scopes();
    scopes.push(trash.clone());
    let writer = store.lock(&scopes)?;
    let fix = plan(store, &files, now)?;
    if fix.actions.is_empty() {
        writer.release()?;
        return Ok(RepairReport { actions: Vec::new(), findings: fix.findings, originals: None });
    }
    let mut keeper = OriginalsBackup::new(store, &*writer, &trash, &id, &fix.actions, now);
    if let Some(bytes) = fix.document {
        keeper.write(&files.document, bytes)?;
    }
    fix.moved.iter().for_each(|file| keeper.move_away(file));
    keeper.flush()?;
    writer.release()?;
    let findings = ChatLog::open(store, path)?.check()?;
    Ok(RepairReport { actions: fix.actions, findings, originals: Some(trash) })
}

/// Takes back the newest repair of the chat log at `path` that was not taken back yet.
pub fn undo_repair(
    store: &Arc<dyn Store>,
    path: &FilePath,
    now: Timestamp,
) -> Result<RepairReport, ChatError> {
    let files = ChatPaths::of(path)?;
    Ok(revert(store, &name(&files)?, &files.scopes(), now)?)
}
