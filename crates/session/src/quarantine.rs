//! The contents of the quarantine: which file each piece came from, and whether it contains records.
//!
//! [`quarantined`] lists the [`QuarantinedPiece`]s of a root.
//! [`SessionFiles::quarantined_files`](crate::session_files::SessionFiles::quarantined_files) returns those of a
//! session.

use std::sync::Arc;

use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_store::{Store, StoreError, quarantine_dir};
use everturn_value::tree::JsonTree;

use crate::trash::list_dir;

/// The most bytes of a piece that are examined. A longer piece is assumed to contain records.
const MAX_LOOK: u64 = 1 << 20;

/// Bytes that were removed from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedPiece {
    /// Where they are kept.
    pub kept: FilePath,
    /// The file that they came from, according to the name of the piece.
    pub file: FilePath,
    /// Their offset in that file.
    pub start: u64,
    /// Their number.
    pub len: u64,
    /// Whether they contain a whole record or document, not only the rest of a torn line.
    pub has_records: bool,
}

impl QuarantinedPiece {
    /// The finding for the piece.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let QuarantinedPiece { kept, file, start, len, has_records } = self;
        let (code, what) = match has_records {
            true => (FindingCode::Quarantined, "with records that are missing in this file"),
            false => (FindingCode::SetAside, "without a complete record"),
        };
        let message = format!(
            "{len} bytes {what} are kept in {kept}: inspect that file, and remove it when it is no longer needed"
        );
        Finding::new(file, code, message).at_offset(*start)
    }

    /// The finding for a piece that recovery of the root will create.
    #[must_use]
    pub fn coming(&self) -> Finding {
        let message = "another program has changed this file since a commit of a dead process; the next command that \
                       writes will recover it and move conflicting bytes to quarantine";
        Finding::new(&self.file, FindingCode::Quarantined, message).at_offset(self.start)
    }
}

/// Everything in the quarantine of a root.
pub fn quarantined(store: &Arc<dyn Store>) -> Result<Vec<QuarantinedPiece>, StoreError> {
    let mut pieces = Vec::new();
    for kept in list_dir(store, &quarantine_dir())? {
        pieces.extend(piece(store, kept)?);
    }
    Ok(pieces)
}

/// A piece by its path in the quarantine; `None` if it is gone, or is not a piece.
pub fn piece(
    store: &Arc<dyn Store>,
    kept: FilePath,
) -> Result<Option<QuarantinedPiece>, StoreError> {
    let name = kept.name();
    let Some((file, start)) = name.as_ref().and_then(|name| origin(name.as_str())) else {
        return Ok(None);
    };
    let Some(stat) = store.stat(&kept)? else { return Ok(None) };
    let has_records = stat.len > MAX_LOOK || {
        let bytes = match store.read(&kept, 0..MAX_LOOK) {
            Err(StoreError::Missing { .. }) => return Ok(None),
            other => other?,
        };
        holds_records(&bytes)
    };
    Ok(Some(QuarantinedPiece { kept, file, start, len: stat.len, has_records }))
}

/// The file and the offset in the name of a piece: `<file>@<offset>.<sum>`.
fn origin(name: &str) -> Option<(FilePath, u64)> {
    let (file, rest) = name.rsplit_once('@')?;
    let (start, _) = rest.split_once('.')?;
    let file = FilePath::parse(&file.replace("%2F", "/").replace("%25", "%")).ok()?;
    Some((file, start.parse().ok()?))
}

/// Whether the bytes are a document, or have a line that is a record.
fn holds_records(bytes: &[u8]) -> bool {
    let is_json = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).unwrap_or_default().trim();
        text.starts_with(['{', '[']) && JsonTree::parse(text).is_ok()
    };
    is_json(bytes) || bytes.split(|byte| *byte == b'\n').any(is_json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_where_pieces_come_from() {
        let check = |path: &str, start: u64| {
            let path = FilePath::parse(path).unwrap();
            let name = path.flat_name(&format!("@{start}.{:016x}", 7));
            assert_eq!(origin(name.as_str()), Some((path, start)));
        };
        check("chats/tale.json", 0);
        check("a%2Fb/c@1.d.jsonl", 12);
        assert_eq!(origin("notes.txt"), None);
        assert_eq!(origin("a@b"), None);
    }

    #[test]
    fn the_rest_of_a_torn_line_is_no_record() {
        for torn in ["", "{\"a\":", "\0\0\0", "1", "noise\n", "\"a\"}\n"] {
            assert!(!holds_records(torn.as_bytes()), "{torn:?}");
        }
        for whole in ["{}", "{\n  \"a\": 1\n}\n", "x\n{\"a\":1}\n", "{\"a\":1}\n{\"b\""] {
            assert!(holds_records(whole.as_bytes()), "{whole:?}");
        }
    }
}
