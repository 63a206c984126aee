//! Repairs a damaged thread: every whole record stays, byte for byte, and everything else leaves the log.

use std::sync::Arc;

use jiff::Timestamp;

use crate::paths::log_file;
use crate::record::ThreadRecord;
use crate::thread::Thread;
use crate::writer::header_members;
use everturn_json::finding::FindingCode;
use everturn_json::names::{FilePath, SessionId};
use everturn_session::format::{RepairMode, SessionError, error_chain};
use everturn_session::marks;
use everturn_session::model::SessionRef;
use everturn_session::repair::{
    OriginalsBackup, RepairAction, RepairError, RepairReport, allocate_originals,
    clean_log_of_objects, revert,
};
use everturn_store::{Store, read_optional};
use everturn_value::tree::JsonTree;

/// Plans, applies or undoes a repair.
pub(crate) fn repair(
    store: &Arc<dyn Store>,
    place: &SessionRef,
    mode: RepairMode,
    now: Timestamp,
) -> Result<RepairReport, SessionError> {
    let id = SessionId::parse(&place.id)?;
    match mode {
        RepairMode::Plan => {
            let findings = Thread::open(store, &place.path)?.check(store, &place.path)?;
            let actions = actions(&plan(store, place, now)?);
            Ok(RepairReport { actions, findings, originals: None })
        }
        RepairMode::Apply => apply(store, place, &id, now),
        RepairMode::Undo => {
            revert(store, &id, std::slice::from_ref(&place.path), now).map_err(repair_error)
        }
    }
}

/// The new content of a file, and the reason.
struct FileRepair {
    file: FilePath,
    what: String,
    bytes: Vec<u8>,
}

fn actions(repairs: &[FileRepair]) -> Vec<RepairAction> {
    let action =
        |repair: &FileRepair| RepairAction { file: repair.file.clone(), what: repair.what.clone() };
    repairs.iter().map(action).collect()
}

fn plan(
    store: &Arc<dyn Store>,
    place: &SessionRef,
    now: Timestamp,
) -> Result<Vec<FileRepair>, SessionError> {
    let thread = Thread::open(store, &place.path)?;
    let file = log_file(&place.path);
    let (mut bytes, mut what) = (store.read(&file, 0..u64::MAX)?, Vec::new());
    let is_record = |tree: &JsonTree| ThreadRecord::parse(tree.clone()).is_ok();
    if thread.findings.iter().any(|finding| finding.code != FindingCode::BadRecord) {
        let cleaned = clean_log_of_objects(&file, &bytes, is_record)?;
        let places = cleaned.describe_left_out();
        what.push(format!("rewritten with one record per line; other bytes moved out{places}"));
        bytes = cleaned.bytes;
    }
    if thread.header().is_none() {
        let id = SessionId::parse(&place.id)?;
        let header = JsonTree::from_members(header_members(&id, now)).to_line();
        bytes.splice(0..0, format!("{header}\n").into_bytes());
        what.push("added the header".to_owned());
    }
    let mut repairs = Vec::new();
    if !what.is_empty() {
        repairs.push(FileRepair { file, what: what.join("; "), bytes });
    }
    let file = marks::marks_file(&place.path);
    if let Some(bytes) = read_optional(store, &file)?
        && marks::read_marks(store, &place.path).is_err()
    {
        let bytes = marks::repaired_marks(&bytes)
            .map_err(|error| SessionError::damaged(error.to_string()))?;
        repairs.push(FileRepair { file, what: "kept every whole mark".to_owned(), bytes });
    }
    Ok(repairs)
}

fn apply(
    store: &Arc<dyn Store>,
    place: &SessionRef,
    id: &SessionId,
    now: Timestamp,
) -> Result<RepairReport, SessionError> {
    let trash = allocate_originals(store, id, now).map_err(repair_error)?;
    let writer = store.lock(&[place.path.clone(), trash.clone()])?;
    let repairs = plan(store, place, now)?;
    let mut report = RepairReport { actions: actions(&repairs), ..RepairReport::default() };
    if !repairs.is_empty() {
        let mut backup = OriginalsBackup::new(store, &*writer, &trash, id, &report.actions, now);
        for FileRepair { file, bytes, .. } in repairs {
            backup.write(&file, bytes)?;
        }
        backup.flush()?;
        report.originals = Some(trash);
    }
    writer.release()?;
    report.findings = Thread::open(store, &place.path)?.check(store, &place.path)?;
    Ok(report)
}

fn repair_error(error: RepairError) -> SessionError {
    match error {
        RepairError::Store(error) => SessionError::Store(error),
        RepairError::Name(error) => SessionError::Name(error),
        RepairError::Damaged { .. } => SessionError::damaged(error_chain(&error)),
        other => SessionError::request(error_chain(&other)),
    }
}
