//! Repairs a chat log: a plan that can be read first, then one commit that keeps every original.
//!
//! A document that is not JSON is rebuilt from its intact parts, a journal with invalid lines is folded without them,
//! and wrong or derived values are corrected. References to missing messages stay, unless these are known to be lost:
//! such references cannot be repaired automatically.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::check::{check_everything, newer};
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

/// The name of a chat log's repairs in the trash.
fn name(files: &ChatPaths) -> Result<SessionId, ChatError> {
    Ok(SessionId::parse(files.document.flat_name("").as_str())?)
}

/// The planned repair of a chat log.
#[derive(Default)]
struct ChatRepairPlan {
    actions: Vec<RepairAction>,
    document: Option<Vec<u8>>,
    /// Files to move away: the journal, because it is now in the document, and the index of the old document.
    moved: Vec<FilePath>,
    findings: Vec<Finding>,
}

fn action(file: &FilePath, what: impl Into<String>) -> RepairAction {
    RepairAction { file: file.clone(), what: what.into() }
}

/// Plans a repair of the chat log at `path`; changes nothing.
pub fn plan_repair(store: &Arc<dyn Store>, path: &FilePath) -> Result<RepairReport, ChatError> {
    // The plan does not show the time that messages without one would get.
    let fix = plan(store, &ChatPaths::of(path)?, Timestamp::UNIX_EPOCH)?;
    Ok(RepairReport { actions: fix.actions, findings: fix.findings, originals: None })
}

fn bad_document(files: &ChatPaths, message: String) -> Finding {
    Finding::new(&files.document, FindingCode::BadDocument, message)
}

/// Whether a repair fixes a finding.
fn is_repairable(finding: &Finding) -> bool {
    finding.code.severity() == Severity::Finding && finding.code != FindingCode::UnknownReference
}

fn plan(
    store: &Arc<dyn Store>,
    files: &ChatPaths,
    now: Timestamp,
) -> Result<ChatRepairPlan, ChatError> {
    let looked = ChatLog::open(store, &files.document).and_then(|log| {
        let findings = check_everything(&log)?;
        let is_left = newer(&log.head()).is_some() || log.half_folded;
        Ok((is_left, findings, log.lost.is_some()))
    });
    let (is_newer, findings, damage) = match looked {
        // An unfinished fold is finished by the next writer.
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
        fix.actions.push(action(&files.index, "removed, because it belongs to another document"));
        fix.moved.push(files.index.clone());
    } else if fix.document.is_some() && store.stat(&files.index)?.is_some() {
        fix.moved.push(files.index.clone());
    }
    Ok(fix)
}

/// Builds the repaired document.
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
    // If it is lost, nothing but the journal itself counts from the document that the journal was started for.
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
        let what = format!("folded into the document and removed{}", lines.describe_left_out());
        fix.actions.push(action(&files.journal, what));
    }
    let document = rescued.map_or_else(|| before.clone(), |rescued| rescued.bytes);
    let folded = match folded(files, document, lines.map(|lines| lines.bytes)) {
        // If the journal cannot be folded, its messages are still recovered.
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

/// Normalizes the values of a document that is JSON.
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
    // Messages in unexpected positions are found by a rebuild.
    let is_rebuilt = !damage && reshaped.as_ref().is_some_and(|now| is_lacking(&after, &now.bytes));
    if is_rebuilt {
        let rescued = rebuild_document(&after);
        fix.actions.push(rebuild_action(files, &rescued)?);
        reshaped = normalize_document(&rescued.bytes, &id, ReferencePolicy::Known, now);
    }
    // A document whose parts need no change keeps its bytes.
    let is_due = |reshaped: &NormalizedDocument| {
        let is_time = |found: &Finding| {
            found.code == FindingCode::WrongMetadata && !found.message.contains("message_count")
        };
        damage || is_rebuilt || !reshaped.what.is_empty() || fix.findings.iter().any(is_time)
    };
    if let Some(reshaped) = reshaped.filter(is_due) {
        after = reshaped.bytes;
        let what = reshaped.what.into_iter().map(|what| action(&files.document, what));
        fix.actions.extend(what);
    }
    let wrong = fix.findings.iter().filter(|finding| finding.code == FindingCode::WrongMetadata);
    let wrong = wrong.map(|found| format!("corrected: {}", found.message));
    fix.actions.extend(wrong.map(|what| action(&files.document, what)));
    if fix.actions.is_empty() {
        let found = fix.findings.iter().filter(|finding| is_repairable(finding));
        let what = found.map(|found| action(&files.document, format!("fixed: {}", found.message)));
        fix.actions = what.collect();
    }
    Ok(after)
}

/// The repair action for a rebuilt document.
fn rebuild_action(files: &ChatPaths, rescued: &RebuiltDocument) -> Result<RepairAction, ChatError> {
    let index = survey(&DocumentBytes::held(&files.document, rescued.bytes.clone()))?;
    let what = format!(
        "rebuilt from its intact parts; messages: {}{}",
        index.count(ListKind::Messages),
        describe_ranges(&rescued.left_out)
    );
    Ok(action(&files.document, what))
}

/// Whether a document has message texts that another lacks.
fn is_lacking(document: &[u8], other: &[u8]) -> bool {
    let texts = |bytes: &[u8]| -> BTreeSet<String> { texts(bytes).into_iter().collect() };
    !texts(document).is_subset(&texts(other))
}

/// The document with a journal folded into it, computed in memory.
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

/// Repairs the chat log at `path`. Changed and removed files are kept in the trash.
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
    let findings = check_everything(&ChatLog::open(store, path)?)?;
    Ok(RepairReport { actions: fix.actions, findings, originals: Some(trash) })
}

/// Undoes the newest repair of the chat log at `path` that is not undone yet.
pub fn undo_repair(
    store: &Arc<dyn Store>,
    path: &FilePath,
    now: Timestamp,
) -> Result<RepairReport, ChatError> {
    let files = ChatPaths::of(path)?;
    Ok(revert(store, &name(&files)?, &files.scopes(), now)?)
}
