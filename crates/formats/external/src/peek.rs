//! Sessions at a glance: how a file begins and ends.

use std::sync::Arc;

use super::SessionHeader;
use super::record::{RecordInfo, RecordRole};
use super::survey::{Survey, earliest, title};
use everturn_json::jsonl::{JsonlScan, ScanItem};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_store::{Store, StoreError, StoreSource};
use everturn_value::tree::JsonTree;

/// A file that is no longer than this is read whole for a list; of a longer one only both ends are.
const WHOLE: u64 = 128 << 10;

/// How many bytes of each end are read, and how many records of them are looked at.
const END: u64 = 64 << 10;
const RECORDS: usize = 200;

/// How a file begins.
pub(super) struct FileStart {
    /// Its first bytes.
    pub(super) bytes: Vec<u8>,
    /// Its first few records, if it has lines of them.
    pub(super) records: Vec<JsonTree>,
}

impl FileStart {
    pub(super) fn read(store: &Arc<dyn Store>, file: &FilePath) -> Result<FileStart, SessionError> {
        let mut bytes = store.read(file, 0..END)?;
        let mut records = records(&bytes, file, 10)?;
        let is_lines = file.as_str().ends_with(".jsonl");
        if is_lines && records.is_empty() && bytes.len() as u64 == END {
            // A first line may be long.
            bytes = store.read(file, 0..END * 64)?;
            records = self::records(&bytes, file, 10)?;
        }
        Ok(FileStart { bytes, records })
    }

    /// The text with which the file begins.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Whether one of the first records is like this.
    pub(super) fn any(&self, is: impl Fn(&JsonTree) -> bool) -> bool {
        self.records.iter().any(is)
    }

    /// What the first of the records says that says it.
    pub(super) fn first(&self, says: impl Fn(&JsonTree) -> Option<String>) -> Option<String> {
        self.records.iter().find_map(says)
    }
}

/// What a record says of the session as a whole.
#[derive(Default)]
pub(super) struct SessionInfo {
    /// What it is called.
    pub(super) name: Option<String>,
    /// The session that it comes from.
    pub(super) parent: Option<String>,
    /// Whether a helper of the program talks in it.
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

/// What is said of a file of lines in a list: all of it if it is short, else what its two ends tell. `told` is what a
/// record says of the session.
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
    for record in records(&store.read(file, 0..END)?, file, RECORDS)? {
        let (look, told) = (look(&record), told(&record));
        header.created = earliest(header.created, look.time);
        let of_line = if look.is_side { &mut side_title } else { &mut header.title };
        if look.role == RecordRole::Prompt && of_line.is_none() {
            *of_line = look.drafts.first().and_then(|draft| title(&draft.text));
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
    header.title = named.or(header.title).or(side_title);
    Ok(header)
}
