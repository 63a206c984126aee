//! Repairs a session: a plan that can be read first, then one commit that keeps every original.
//!
//! Every object in the log is a message and stays, whatever its fields; each gets its own line, and other bytes leave. A session of the old form gets its
//! log; if its document is damaged, from the intact parts of it. Unanswered calls at the end of a session get a result
//! that says so, because no model accepts a history without one. Missing index data is added; a damaged index is set
//! aside and rebuilt.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::json;

use super::check::check_session;
use super::error::{CodeliaError, IndexError};
use super::history::SessionHistory;
use super::home::CodeliaHome;
use super::index::IndexRow;
use super::legacy::LegacySession;
use super::log::{MessageCount, MessageReader};
use super::message::{MessageRole, ToolCall, calls, is_message, role};
use super::paths::UNKNOWN_TIME;
use super::sessions::Session;
use super::writer::last_user_message_in;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::jsonl::{JsonlScan, ScanItem};
use everturn_json::names::{FilePath, SessionId};
use everturn_secrets::scan::SecretRules;
use everturn_session::repair::{
    INTERRUPTED, OriginalsBackup, RepairAction, RepairReport, allocate_originals,
    clean_log_of_objects, describe_ranges, find_objects, parse_tree, revert, trim_whitespace,
};
use everturn_store::{StoreError, read_optional};
use everturn_value::tree::JsonTree;

struct CodeliaRepairPlan {
    actions: Vec<RepairAction>,
    findings: Vec<Finding>,
    /// The repaired log, if it changes.
    log: Option<Vec<u8>>,
    /// Documents that are moved away.
    moved: Vec<FilePath>,
    /// Whether the index must be rebuilt.
    bad_index: bool,
    stale: bool,
}

impl CodeliaRepairPlan {
    fn act(&mut self, file: &FilePath, what: String) {
        self.actions.push(RepairAction { file: file.clone(), what });
    }
}

fn examine_session(
    home: &CodeliaHome,
    id: &SessionId,
) -> Result<(Session, CodeliaRepairPlan), CodeliaError> {
    let mut found = Vec::new();
    let session = home.find(id, &mut found)?;
    let all = home.sessions();
    let others: BTreeSet<&SessionId> = all.sessions.iter().map(|session| &session.id).collect();
    let findings = match check_session(home, &session, &others) {
        Ok((_, findings)) => findings,
        Err(CodeliaError::Damaged { file, reason }) => vec![damaged(&file, reason)],
        Err(error) => return Err(error),
    };
    let bad_index = matches!(home.index(), Err(IndexError::Damaged { .. }));
    let stale = findings.iter().any(|finding| finding.code == FindingCode::StaleIndex);
    found.extend(findings);
    let (actions, moved) = (Vec::new(), Vec::new());
    let mut plan =
        CodeliaRepairPlan { actions, findings: found, log: None, moved, bad_index, stale };
    if bad_index {
        plan.act(&home.files.database(), "moved out and rebuilt from the logs".to_owned());
    } else if stale {
        plan.act(&home.files.database(), format!("updated from the log of {id}"));
    }
    convert_legacy(home, &session, &mut plan)?;
    if session.is_unsaved {
        let history = SessionHistory::read_runs(home, id)?;
        let count = history.messages.len();
        plan.act(&session.log, format!("created from {count} messages in the logs of runs"));
        plan.log = Some(history.messages.iter().flat_map(|one| line(&one.message)).collect());
    }
    if session.has_log {
        let (bytes, what) = repaired_log(home, &session)?;
        what.into_iter().for_each(|what| plan.act(&session.log, what));
        plan.log = bytes;
    }
    let lineage = home.files.lineage(id)?;
    let is_bad = match home.parent(id) {
        Ok(parent) => parent.is_none() && home.store.stat(&lineage)?.is_some(),
        Err(CodeliaError::Damaged { .. }) => true,
        Err(error) => return Err(error),
    };
    if is_bad {
        let what = "moved out, because it does not name the parent session";
        plan.act(&lineage, what.to_owned());
        plan.moved.push(lineage);
    }
    Ok((session, plan))
}

fn damaged(file: &FilePath, message: String) -> Finding {
    Finding::new(file, FindingCode::BadDocument, message)
}

/// Converts a session of the old form to a log. A damaged document yields its intact messages and is moved away; beside
/// a log, it no longer counts.
fn convert_legacy(
    home: &CodeliaHome,
    session: &Session,
    plan: &mut CodeliaRepairPlan,
) -> Result<(), CodeliaError> {
    if !session.has_legacy {
        return Ok(());
    }
    let file = home.files.legacy(&session.id)?;
    let (messages, is_bad, rest) = match LegacySession::read(home, &session.id) {
        Ok(legacy) => (legacy.messages, !legacy.findings.is_empty(), String::new()),
        Err(CodeliaError::Damaged { .. }) => {
            let bytes = home.store.read(&file, 0..u64::MAX)?;
            let (spans, _) = find_objects(&bytes, |_, tree| is_message(tree));
            let mut done = 0;
            let mut left_out = Vec::new();
            for span in &spans {
                left_out.extend(
                    trim_whitespace(&bytes, done..span.start).filter(|part| part.len() > 1),
                );
                done = span.end;
            }
            left_out.extend(trim_whitespace(&bytes, done..bytes.len()));
            let messages = spans.iter().filter_map(|span| parse_tree(&bytes, span)).collect();
            (messages, true, describe_ranges(&left_out))
        }
        Err(error) => return Err(error),
    };
    if !session.has_log {
        let count = messages.len();
        let what = format!("created from the {count} messages of the legacy session{rest}");
        plan.act(&session.log, what);
        plan.log = Some(messages.iter().flat_map(line).collect());
    }
    if is_bad {
        plan.act(&file, "moved out, because it is damaged; the log takes precedence".to_owned());
        plan.moved.push(file);
    }
    Ok(())
}

fn line(message: &JsonTree) -> Vec<u8> {
    [message.to_line().as_bytes(), b"\n"].concat()
}

/// The log with one message per line and nothing else, and the changes made.
fn repaired_log(
    home: &CodeliaHome,
    session: &Session,
) -> Result<(Option<Vec<u8>>, Vec<String>), CodeliaError> {
    let before = read_optional(&home.store, &session.log)?.unwrap_or_default();
    let mut messages = MessageReader::open(&home.store, &session.log, 0, 0)?;
    for stored in &mut messages {
        stored?;
    }
    let (mut what, mut after) = (Vec::new(), before.clone());
    // Messages that are too long to be held are not mistaken for something else.
    let is_loss = |finding: &Finding| finding.message.contains("too many to display");
    if messages.findings.iter().any(is_loss) {
        return Ok((None, what));
    }
    if !messages.findings.is_empty() {
        let sorted = clean_log_of_objects(&session.log, &before, is_message)?;
        let places = sorted.describe_left_out();
        what.push(format!("rewritten with one message per line; other bytes moved out{places}"));
        after = sorted.bytes;
    } else if after.last().is_some_and(|last| *last != b'\n') {
        after.push(b'\n');
    }
    for call in &unanswered(&session.log, &after)? {
        let answer = json!({
            "role": "tool", "tool_call_id": call.id, "tool_name": call.name, "content": INTERRUPTED,
            "is_error": true,
        });
        let answer = JsonTree::from_value(&answer).unwrap_or_else(|_| JsonTree::null());
        after.extend(line(&answer));
        what.push(format!("added an `interrupted` result for the call {:?}", call.id));
    }
    Ok(((!what.is_empty()).then_some(after), what))
}

/// The calls at the end of a log that have no result.
fn unanswered(file: &FilePath, log: &[u8]) -> Result<Vec<ToolCall>, CodeliaError> {
    let mut open: Vec<ToolCall> = Vec::new();
    let scan = JsonlScan::new(log, file.clone()).forward();
    for item in scan.map_err(StoreError::io("read", file))? {
        let ScanItem::Record(record) = item.map_err(StoreError::io("read", file))? else {
            continue;
        };
        let Some(text) = record.text() else { continue };
        let message = JsonTree::from_trusted_str(text);
        match role(&message) {
            // A message that follows a call without its result has abandoned it; nothing is inserted between.
            MessageRole::Assistant | MessageRole::User => open = calls(&message),
            MessageRole::Tool => {
                let id = message.string_at(&["tool_call_id"]).unwrap_or_default();
                open.retain(|call| call.id != id);
            }
            _ => {}
        }
    }
    Ok(open)
}

/// Plans a repair.
pub(super) fn plan_repair(
    home: &CodeliaHome,
    id: &SessionId,
) -> Result<RepairReport, CodeliaError> {
    let (_, plan) = examine_session(home, id)?;
    Ok(RepairReport { actions: plan.actions, findings: plan.findings, originals: None })
}

fn scopes(home: &CodeliaHome, id: &SessionId) -> Result<Vec<FilePath>, CodeliaError> {
    Ok(vec![home.files.log(id)?, home.files.lineage(id)?, home.files.legacy(id)?])
}

/// Repairs a session.
pub(super) fn repair(
    home: &CodeliaHome,
    id: &SessionId,
    now: Timestamp,
) -> Result<RepairReport, CodeliaError> {
    let trash = allocate_originals(&home.store, id, now)?;
    let mut scopes = scopes(home, id)?;
    scopes.push(trash.clone());
    if matches!(home.index(), Err(IndexError::Damaged { .. })) {
        scopes.extend(home.files.database_files());
    }
    let writer = home.store.lock(&scopes)?;
    let (session, plan) = examine_session(home, id)?;
    if plan.actions.is_empty() {
        writer.release()?;
        return Ok(RepairReport {
            actions: plan.actions,
            findings: plan.findings,
            originals: None,
        });
    }
    let mut keeper = OriginalsBackup::new(&home.store, &*writer, &trash, id, &plan.actions, now);
    let changes_files = plan.log.is_some() || plan.bad_index || !plan.moved.is_empty();
    if let Some(bytes) = plan.log {
        keeper.write(&session.log, bytes)?;
    }
    plan.moved.iter().for_each(|file| keeper.move_away(file));
    if plan.bad_index {
        home.files.database_files().iter().for_each(|file| keeper.move_away(file));
    }
    keeper.flush()?;
    if plan.bad_index {
        for session in &home.sessions().sessions {
            update_index_row(home, session)?;
        }
    } else if plan.stale || changes_files {
        update_index_row(home, &home.find(id, &mut Vec::new())?)?;
    }
    writer.release()?;
    let (_, left) = examine_session(home, id)?;
    let kept = changes_files.then_some(trash);
    Ok(RepairReport { actions: plan.actions, findings: left.findings, originals: kept })
}

/// Undoes the last repair of a session.
pub(super) fn undo_repair(
    home: &CodeliaHome,
    id: &SessionId,
    now: Timestamp,
) -> Result<RepairReport, CodeliaError> {
    let mut scopes = scopes(home, id)?;
    scopes.extend(home.files.database_files());
    let done = revert(&home.store, id, &scopes, now)?;
    update_index_row(home, &home.find(id, &mut Vec::new())?)?;
    Ok(done)
}

/// Updates the index row, if there is an index, after texts in the log were replaced. The rest of the row is searched
/// for secrets, too.
pub(super) fn refresh_index(home: &CodeliaHome, id: &SessionId) -> Result<(), CodeliaError> {
    if home.index()?.is_none() {
        return Ok(());
    }
    update_index_row(home, &home.find(id, &mut Vec::new())?)?;
    home.index_to_write()?.change(id.as_str(), &mut |row| {
        let mut row = row?;
        let masked = |text: &String| SecretRules::standard().mask(text).0.into_owned();
        row.meta_json = row.meta_json.as_ref().map(masked);
        row.last_user_message = row.last_user_message.as_ref().map(masked);
        Some(row)
    })?;
    Ok(())
}

/// Overwrites the former contents of the index rows.
pub(super) fn vacuum_index(home: &CodeliaHome) -> Result<(), CodeliaError> {
    if home.index()?.is_some() {
        home.index_to_write()?.vacuum()?;
    }
    Ok(())
}

/// Updates the index row of a session from its log.
pub(super) fn update_index_row(home: &CodeliaHome, session: &Session) -> Result<(), CodeliaError> {
    let legacy = match session.has_legacy {
        true => LegacySession::read(home, &session.id).ok().map(|legacy| legacy.row),
        false => None,
    };
    if !session.has_log {
        return Ok(());
    }
    let tally = MessageCount::count(&home.store, &session.log, None)?;
    let said = last_user_message_in(home, &session.log)?;
    let parent = match home.parent(&session.id) {
        // The problem of the file is reported elsewhere.
        Err(CodeliaError::Damaged { .. }) => None,
        parent => parent?,
    };
    let id = session.id.as_str();
    // A row that is made again gets back what the runs of the session say.
    let from_runs = match session.row {
        Some(_) => None,
        None => Some(SessionHistory::read_runs(home, &session.id)?),
    };
    home.index_to_write()?.change(id, &mut |before| {
        let from_runs = || from_runs.as_ref().map(|history| history.to_row(&session.id));
        let unknown = || IndexRow::new(id, UNKNOWN_TIME.to_owned());
        let new = || legacy.clone().or_else(from_runs).unwrap_or_else(unknown);
        let mut row = before.unwrap_or_else(new);
        row.message_count = i64::try_from(tally.messages).ok();
        row.last_user_message.clone_from(&said);
        row.set_own("log", tally.mark.to_value());
        if let Some(parent) = &parent {
            row.set_own("parent", parent.as_str().into());
        }
        Some(row)
    })?;
    Ok(())
}
