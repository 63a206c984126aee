//! Repairs of a chat log: a plan that can be read first, then one commit that keeps every original.
//!
//! What is left of a document that breaks off is closed, a journal with lines that say nothing is put into the
//! document without them, and values that follow from others are made true. References to what is not there stay:
//! only somebody who knows what was meant can mend them.

use std::sync::Arc;

use jiff::Timestamp;

use super::check::says_so;
use super::content::Content;
use super::error::ChatError;
use super::log::ChatLog;
use super::names::Files;
use super::rewrite::{Plan, write};
use super::salvage::salvage;
use super::survey::{List, survey};
use crate::finding::{Code, Finding};
use crate::names::{FilePath, SessionId};
use crate::repairs::{Action, Keeper, Repair, new_place, take_back};
use crate::store::Store;

/// The name by which the trash knows the repairs of a chat log.
fn name(files: &Files) -> Result<SessionId, ChatError> {
    Ok(SessionId::parse(files.document.flat_name("").as_str())?)
}

/// What is to be done to a chat log.
struct Mending {
    actions: Vec<Action>,
    document: Option<Vec<u8>>,
    /// Whether the journal goes, because the document has it now.
    journal: bool,
    findings: Vec<Finding>,
}

fn action(file: &FilePath, what: impl Into<String>) -> Action {
    Action { file: file.clone(), what: what.into() }
}

/// Says what a repair of the chat log at `path` would do, and does nothing.
pub fn plan_repair(store: &Arc<dyn Store>, path: &FilePath) -> Result<Repair, ChatError> {
    let mending = plan(store, &Files::of(path)?)?;
    Ok(Repair { actions: mending.actions, findings: mending.findings, kept: None })
}

fn plan(store: &Arc<dyn Store>, files: &Files) -> Result<Mending, ChatError> {
    match ChatLog::open(store, &files.document) {
        Ok(log) => mend_values(&log),
        Err(ChatError::Damaged { reason, .. }) => rescue(store, files, &reason),
        Err(error) => Err(error),
    }
}

/// What is left of a document that cannot be read.
fn rescue(store: &Arc<dyn Store>, files: &Files, reason: &str) -> Result<Mending, ChatError> {
    let bytes = store.read(&files.document, 0..u64::MAX)?;
    let finding = Finding {
        file: files.document.clone(),
        line: None,
        offset: None,
        code: Code::BadDocument,
        message: reason.to_owned(),
    };
    let mut mending =
        Mending { actions: Vec::new(), document: None, journal: false, findings: vec![finding] };
    let left = salvage(&bytes).filter(|left| says_so(left));
    let Some(left) = left else { return Ok(mending) };
    let held = Content::held(&files.document, left.clone());
    let count = survey(&held)?.count(List::Messages);
    let what = format!("is closed after its last whole part; messages that are left: {count}");
    mending.actions.push(action(&files.document, what));
    mending.document = Some(left);
    Ok(mending)
}

fn mend_values(log: &ChatLog) -> Result<Mending, ChatError> {
    let findings = log.check()?;
    let files = &log.files;
    let (mut actions, mut journal) = (Vec::new(), false);
    if log.findings().iter().any(|finding| finding.file == files.journal) {
        journal = true;
        actions.push(action(&files.journal, "what it says is put into the document, and it goes"));
    }
    let wrong = findings.iter().filter(|finding| finding.code == Code::WrongMetadata);
    for finding in wrong {
        actions.push(action(&files.document, format!("is made true: {}", finding.message)));
    }
    if actions.is_empty() {
        return Ok(Mending { actions, document: None, journal, findings });
    }
    let mut plan = Plan::fold(log)?;
    plan.derive(log, log.overlay.time.as_deref())?;
    let mut bytes = Vec::new();
    write(log, &plan, &mut bytes)?;
    let has_journal = log.overlay.bytes > 0;
    Ok(Mending { actions, document: Some(bytes), journal: journal || has_journal, findings })
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
    let mending = plan(store, &files)?;
    if mending.actions.is_empty() {
        writer.release()?;
        return Ok(Repair { actions: Vec::new(), findings: mending.findings, kept: None });
    }
    let mut keeper = Keeper::new(store, &*writer, &trash, &id, &mending.actions, now);
    if let Some(bytes) = mending.document {
        keeper.write(&files.document, bytes)?;
    }
    if mending.journal {
        keeper.discard(&files.journal);
    }
    keeper.flush()?;
    writer.release()?;
    let findings = match ChatLog::open(store, path) {
        Ok(log) => log.check()?,
        Err(error) => return Err(error),
    };
    // A document that broke off may say more about itself than is left; that is mended next.
    let more = plan_repair(store, path)?.actions;
    let mut actions = mending.actions;
    if !more.is_empty() && actions.len() == 1 && more.iter().all(|more| !actions.contains(more)) {
        let again = repair(store, path, now)?;
        actions.extend(again.actions);
        return Ok(Repair { actions, findings: again.findings, kept: Some(trash) });
    }
    Ok(Repair { actions, findings, kept: Some(trash) })
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
