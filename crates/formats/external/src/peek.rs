//! Session headers, read from the start and the end of a file.
//!
//! `FileStart` is the start of a file, and `SessionInfo` what a record states about its session.

use std::sync::Arc;

use jiff::Timestamp;

use super::record::{RecordInfo, RecordRole};
use super::survey::{Survey, earliest, prompt_title, title};
use everturn_json::finding::Finding;
use everturn_json::jsonl::{JsonlScan, ScanItem};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_store::{Store, StoreError, StoreSource};
use everturn_value::tree::JsonTree;

/// A file up to this size is read whole for a list; of a longer one only both ends are read. The first records of some
/// programs alone are longer than a few hundred kilobytes.
const WHOLE: u64 = 16 << 20;

/// The number of bytes read from each end, and the number of records examined in them.
const END: u64 = 64 << 10;
const RECORDS: usize = 200;

/// The list entry of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionHeader {
    pub(crate) title: Option<String>,
    pub(crate) created: Option<Timestamp>,
    pub(crate) updated: Option<Timestamp>,
    pub(crate) turns: Option<u64>,
    pub(crate) parent: Option<String>,
    /// Whether a helper of the program speaks here, on behalf of another session.
    pub(crate) is_helper: bool,
    pub(crate) findings: Vec<Finding>,
}

impl SessionHeader {
    pub(crate) fn of(survey: &Survey) -> SessionHeader {
        SessionHeader {
            title: survey.title.clone(),
            created: survey.created,
            updated: survey.updated,
            turns: Some(survey.turns()),
            parent: survey.parent.clone(),
            is_helper: survey.is_helper,
            findings: survey.findings.clone(),
        }
    }
}

/// The start of a file.
pub(super) struct FileStart {
    /// Its first bytes.
    pub(super) bytes: Vec<u8>,
    /// Its first few records, if it is JSONL.
    pub(super) records: Vec<JsonTree>,
}

impl FileStart {
    pub(super) fn read(store: &Arc<dyn Store>, file: &FilePath) -> Result<FileStart, SessionError> {
        let mut bytes = store.read(file, 0..END)?;
        let mut records = records(&bytes, file, 10)?;
        let is_lines = file.as_str().ends_with(".jsonl");
        if is_lines && records.is_empty() && bytes.len() as u64 == END {
            // The first line may be long.
            bytes = store.read(file, 0..END * 64)?;
            records = self::records(&bytes, file, 10)?;
        }
        Ok(FileStart { bytes, records })
    }

    /// The text at the start of the file.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Whether any of the first records matches.
    pub(super) fn any(&self, is: impl Fn(&JsonTree) -> bool) -> bool {
        self.records.iter().any(is)
    }

    /// The first value that `says` returns for one of the records.
    pub(super) fn first(&self, says: impl Fn(&JsonTree) -> Option<String>) -> Option<String> {
        self.records.iter().find_map(says)
    }
}

/// What a record states about the session as a whole.
#[derive(Default)]
pub(super) struct SessionInfo {
    /// The name of the session.
    pub(super) name: Option<String>,
    /// The parent session.
    pub(super) parent: Option<String>,
    /// Whether the session belongs to a helper of the program.
    pub(super) is_helper: bool,
}

/// The first records of some bytes.
fn records(bytes: &[u8], file: &FilePath, most: usize) -> Result<Vec<JsonTree>, SessionError> {
    let scan =
        JsonlScan::new(bytes, file.clone()).forward().map_err(StoreError::io("read", file))?;
    let mut records = Vec::new();
    for item in scan {
        let ScanItem::Record(record) = item.map_err(StoreError::io("read", file))? else {
            continue;
        };
        if let Some(text) = record.text().filter(|text| text.starts_with('{')) {
            records.push(JsonTree::from_trusted_str(text).into_expanded());
            if records.len() == most {
                break;
            }
        }
    }
    Ok(records)
}

/// The header of a JSONL file: from the whole file if it is short, otherwise from its two ends. `told` extracts the
/// session info from a record.
pub(super) fn peek_lines(
    store: &Arc<dyn Store>,
    file: &FilePath,
    survey: impl FnOnce() -> Result<Survey, SessionError>,
    look: impl Fn(&JsonTree) -> RecordInfo,
    told: impl Fn(&JsonTree) -> SessionInfo,
) -> Result<SessionHeader, SessionError> {
    let length = store.stat(file)?.ok_or_else(|| StoreError::Missing { path: file.clone() })?.len;
    if length <= WHOLE {
        return Ok(SessionHeader::of(&survey()?));
    }
    let mut header = SessionHeader::default();
    let mut side_title = None;
    let mut command_title = None;
    for record in records(&store.read(file, 0..END)?, file, RECORDS)? {
        let (look, told) = (look(&record), told(&record));
        header.created = earliest(header.created, look.time);
        let of_line = if look.is_side { &mut side_title } else { &mut header.title };
        if look.role == RecordRole::Prompt && of_line.is_none() {
            let text = look.drafts.first().map(|draft| draft.text.as_str()).unwrap_or_default();
            *of_line = prompt_title(text);
            if !look.is_side && of_line.is_none() && command_title.is_none() {
                command_title = title(text);
            }
        }
        header.title = told.name.or(header.title);
        header.parent = header.parent.or(told.parent);
        header.is_helper |= told.is_helper;
    }
    let scan = JsonlScan::new(StoreSource::open(store, file)?, file.clone()).largest_text(END * 16);
    let scan = scan.reverse().map_err(StoreError::io("read", file))?;
    let mut left = END * 4;
    let mut named = None;
    for item in scan {
        let ScanItem::Record(record) = item.map_err(StoreError::io("read", file))? else {
            continue;
        };
        left = left.saturating_sub(record.length);
        if let Some(text) = record.text() {
            let tree = JsonTree::from_trusted_str(text).into_expanded();
            header.updated = header.updated.max(look(&tree).time);
            named = named.or_else(|| told(&tree).name);
        }
        if left == 0 || (header.updated.is_some() && left < END * 3) {
            break;
        }
    }
    header.title = named.or(header.title).or(command_title).or(side_title);
    Ok(header)
}
