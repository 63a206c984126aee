//! Checks a home: its sessions, their index, and the files beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::aux_files;
use super::error::{CodeliaError, unreadable};
use super::home::CodeliaHome;
use super::legacy::LegacySession;
use super::message::{MessageRole, calls, defect, role};
use super::paths::{LOG_END, id_in};
use super::runs::{RunLogs, kind_of};
use super::sessions::Session;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::finding_sink::FindingSink;
use everturn_store::disk::FileKind;
use everturn_store::{Store, read_optional, snapshot};
use everturn_value::document::Document;

/// The checked files, and the findings.
#[derive(Default)]
pub struct HomeCheck {
    pub files: BTreeSet<FilePath>,
    /// The number of good messages and run records.
    pub records: u64,
    pub findings: Vec<Finding>,
}

/// Whether a directory is a home.
pub fn is_home(store: &Arc<dyn Store>, dir: &FilePath) -> bool {
    let home = CodeliaHome::at(Arc::clone(store), dir.clone());
    let kind = |path: &FilePath| store.stat(path).ok().flatten().map(|stat| stat.kind);
    kind(&home.files.messages()) == Some(FileKind::Dir)
        || kind(&home.files.database()) == Some(FileKind::File)
}

/// Checks the home in a directory.
pub fn check_home(
    store: &Arc<dyn Store>,
    dir: &FilePath,
    watch: &mut dyn FindingSink,
) -> HomeCheck {
    let home = CodeliaHome::at(Arc::clone(store), dir.clone());
    let mut checked = HomeCheck::default();
    let found = home.sessions();
    // Unusable names and unreadable files are reported by the caller that walks the directories.
    let index = found.findings.into_iter().filter(|finding| finding.file == home.files.database());
    checked.findings.extend(index);
    let others: BTreeSet<&SessionId> = found.sessions.iter().map(|session| &session.id).collect();
    for session in &found.sessions {
        watch.file(&session.log);
        match frozen(&home, session).and_then(|home| check_session(&home, session, &others)) {
            Ok((records, findings)) => {
                checked.records += records;
                checked.findings.extend(findings);
                if session.has_log {
                    checked.files.insert(session.log.clone());
                }
            }
            // A file that is not JSON is reported elsewhere.
            Err(CodeliaError::Damaged { file, reason }) => {
                let bytes = read_optional(store, &file).ok().flatten().unwrap_or_default();
                if Document::parse(&bytes).is_ok() {
                    checked.findings.push(Finding::new(&file, FindingCode::BadDocument, reason));
                }
            }
            Err(error) => checked.findings.push(unreadable(&session.log, &error)),
        }
    }
    check_runs(&home, watch, &mut checked);
    aux_files::check_aux_files(&home, &mut checked.findings);
    checked
}

/// Checks the logs of all runs.
fn check_runs(home: &CodeliaHome, watch: &mut dyn FindingSink, checked: &mut HomeCheck) {
    let runs = RunLogs::new(home);
    for path in runs.readable_logs().unwrap_or_default() {
        watch.file(&path);
        // An unreadable log is reported by the caller that walks the directories.
        let Ok(mut records) = runs.records_of(&path) else { continue };
        for stored in records.by_ref().map_while(Result::ok) {
            let kind = kind_of(&stored.message);
            let message = match kind.as_deref() {
                None => "a record without a type".to_owned(),
                Some(kind) if stored.number == 1 && kind != "header" => {
                    format!("the first record is {kind:?}, not the header")
                }
                Some("header") if stored.number > 1 => "a second header".to_owned(),
                Some(_) => continue,
            };
            checked.findings.push(
                Finding::new(&path, FindingCode::BadRecord, message)
                    .at_line(stored.line)
                    .at_offset(stored.offset),
            );
        }
        checked.records += records.read_so_far();
        checked.findings.append(&mut records.findings);
        checked.files.insert(path);
    }
}

/// Checks the session whose log this is; `None` if the file is not the log of a session in a home.
pub fn check_log_file(store: &Arc<dyn Store>, file: &FilePath) -> Option<HomeCheck> {
    let dir = file.parent()?;
    let base = dir.parent()?.parent()?;
    let home = CodeliaHome::at(Arc::clone(store), base);
    let id = id_in(&file.name()?, LOG_END)?.ok()?;
    if home.files.log(&id).ok()? != *file || !is_home(store, &home.files.base) {
        return None;
    }
    let mut checked = HomeCheck::default();
    let session = home.find(&id, &mut checked.findings).ok()?;
    let all = home.sessions().sessions;
    let others: BTreeSet<&SessionId> = all.iter().map(|session| &session.id).collect();
    match frozen(&home, &session).and_then(|home| check_session(&home, &session, &others)) {
        Ok((records, findings)) => {
            checked.records = records;
            checked.findings.extend(findings);
        }
        Err(error) => checked.findings.push(unreadable(file, &error)),
    }
    Some(checked)
}

/// The home with a snapshot of one session between two commits.
fn frozen(home: &CodeliaHome, session: &Session) -> Result<CodeliaHome, CodeliaError> {
    let store = snapshot(&home.store, &home.files.of_session(&session.id)?)?;
    Ok(CodeliaHome::at(store, home.files.base.clone()))
}

/// Checks one session; returns the number of its messages, and the findings.
pub(super) fn check_session(
    home: &CodeliaHome,
    session: &Session,
    others: &BTreeSet<&SessionId>,
) -> Result<(u64, Vec<Finding>), CodeliaError> {
    let mut findings = Vec::new();
    if session.has_legacy {
        match LegacySession::read(home, &session.id) {
            Ok(legacy) => findings.extend(legacy.findings),
            // The log counts, and problems of the document are reported elsewhere.
            Err(CodeliaError::Damaged { .. }) if session.has_log => {}
            Err(error) => return Err(error),
        }
    }
    let records = if session.has_log { check_log(home, session, &mut findings)? } else { 0 };
    let count = home.count(session)?.messages;
    let database = home.files.database();
    match &session.row {
        None if session.has_log => {
            let message = format!("does not list the session {}", session.id);
            findings.push(Finding::new(&database, FindingCode::StaleIndex, message));
        }
        Some(row) if session.lacks_log() => {
            let count = row.message_count.unwrap_or(0);
            let message = format!("is missing, but the index lists {count} messages");
            findings.push(Finding::new(&session.log, FindingCode::MissingFile, message));
        }
        // A writer updates the index after it has committed.
        Some(row)
            if row.message_count.and_then(|count| u64::try_from(count).ok()) != Some(count)
                && !home.store.has_writer(&home.files.of_session(&session.id)?)? =>
        {
            let says =
                row.message_count.map_or_else(|| "nothing".to_owned(), |count| count.to_string());
            let message =
                format!("records {says} as the message count of {}, which has {count}", session.id);
            findings.push(Finding::new(&database, FindingCode::StaleIndex, message));
        }
        _ => {}
    }
    findings.extend(lineage(home, session, others)?);
    Ok((records, findings))
}

/// Checks the file that records the origin of a session.
fn lineage(
    home: &CodeliaHome,
    session: &Session,
    others: &BTreeSet<&SessionId>,
) -> Result<Option<Finding>, CodeliaError> {
    let file = home.files.lineage(&session.id)?;
    Ok(match home.parent(&session.id) {
        Ok(Some(parent)) if others.iter().any(|other| other.as_str() == parent) => None,
        Ok(Some(parent)) => {
            let message = format!("the parent session {parent:?} does not exist");
            Some(Finding::new(&file, FindingCode::MissingParent, message))
        }
        Ok(None) if home.store.stat(&file)?.is_some() => {
            let message = "it does not name the parent session".to_owned();
            Some(Finding::new(&file, FindingCode::BadMetadata, message))
        }
        // A file that is not JSON is reported elsewhere.
        Ok(None) | Err(CodeliaError::Damaged { .. }) => None,
        Err(error) => return Err(error),
    })
}

/// The first message with an unknown role, and how many there are.
struct UnknownRole {
    line: Option<u64>,
    offset: u64,
    messages: u64,
}

/// Checks the messages of a session, and that every tool call has a result.
fn check_log(
    home: &CodeliaHome,
    session: &Session,
    findings: &mut Vec<Finding>,
) -> Result<u64, CodeliaError> {
    let mut messages = home.messages(&session.id)?;
    let mut open: BTreeMap<String, u64> = BTreeMap::new();
    let mut unknown_roles: BTreeMap<String, UnknownRole> = BTreeMap::new();
    for stored in &mut messages {
        let stored = stored?;
        let mut note = |code: FindingCode, message: String| {
            findings.push(
                Finding::new(&session.log, code, message)
                    .at_line(stored.line)
                    .at_offset(stored.offset),
            );
        };
        if let Some(what) = defect(&stored.message) {
            note(FindingCode::BadRecord, format!("message {}: {what}", stored.number));
        }
        for call in calls(&stored.message) {
            open.insert(call.id, stored.number);
        }
        if let MessageRole::Other(role) = role(&stored.message) {
            let seen = unknown_roles.entry(role).or_insert(UnknownRole {
                line: stored.line,
                offset: stored.offset,
                messages: 0,
            });
            seen.messages += 1;
        }
        if role(&stored.message) == MessageRole::Tool {
            let id = stored.message.string_at(&["tool_call_id"]).unwrap_or_default();
            if open.remove(&id).is_none() {
                note(
                    FindingCode::OrphanCall,
                    format!(
                        "message {} is a result for {id:?}, but there is no such call",
                        stored.number
                    ),
                );
            }
        }
    }
    findings.append(&mut messages.findings);
    // A missing role is a bad record.
    for (role, seen) in unknown_roles.into_iter().filter(|(role, _)| !role.is_empty()) {
        let message = match seen.messages {
            1 => format!("a message has the unknown role {role:?}"),
            count => format!("{count} messages have the unknown role {role:?}"),
        };
        findings.push(
            Finding::new(&session.log, FindingCode::UnknownRole, message)
                .at_line(seen.line)
                .at_offset(seen.offset),
        );
    }
    for (id, number) in open {
        let message = format!("the call {id:?} of message {number} has no result");
        findings.push(Finding::new(&session.log, FindingCode::OrphanCall, message));
    }
    Ok(messages.read_so_far())
}
