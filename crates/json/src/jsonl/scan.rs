//! [`JsonlScan`]: the options of a scan. `forward.rs` and `reverse.rs` start it.

use super::source::{ByteSource, DEFAULT_CHUNK};
use crate::names::FilePath;

/// The default size above which records are yielded without their text.
pub const LARGEST_TEXT: u64 = 64 * 1024 * 1024;

/// A scan of one file that has not started.
///
/// The file is read up to its length at the start of the scan; later appends are ignored.
///
/// ```
/// use everturn_json::jsonl::{ScanItem, JsonlScan};
/// use everturn_json::names::FilePath;
///
/// let file = FilePath::parse("turn_log.jsonl")?;
/// let bytes = b"{\"turn\":1}\nnoise\n{\"turn\":2}\n{\"tur".as_slice();
/// let mut scan = JsonlScan::new(bytes, file).forward()?;
/// let mut turns = Vec::new();
/// for item in &mut scan {
///     match item? {
///         ScanItem::Record(record) => turns.extend(record.text().map(str::to_owned)),
///         ScanItem::Finding(finding) => eprintln!("{finding}"),
///     }
/// }
/// assert_eq!(turns, ["{\"turn\":1}", "{\"turn\":2}"]);
/// assert_eq!(scan.tail().good_end, 28);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct JsonlScan<S> {
    pub(super) source: S,
    pub(super) file: FilePath,
    pub(super) start: u64,
    pub(super) first_line: Option<u64>,
    pub(super) largest_text: u64,
    pub(super) chunk: usize,
}

impl<S: ByteSource> JsonlScan<S> {
    /// Reads all of `source`; findings name it `file`.
    #[must_use]
    pub fn new(source: S, file: FilePath) -> JsonlScan<S> {
        JsonlScan {
            source,
            file,
            start: 0,
            first_line: Some(1),
            largest_text: LARGEST_TEXT,
            chunk: DEFAULT_CHUNK,
        }
    }

    /// Starts at `offset`, which must be the start of a line. `line` is its number, if known.
    #[must_use]
    pub fn start_at(self, offset: u64, line: Option<u64>) -> JsonlScan<S> {
        JsonlScan { start: offset, first_line: line, ..self }
    }

    /// Yields records above this size without their text.
    #[must_use]
    pub fn largest_text(self, bytes: u64) -> JsonlScan<S> {
        JsonlScan { largest_text: bytes, ..self }
    }

    /// Reads this many bytes at once.
    #[must_use]
    pub fn chunk(self, bytes: usize) -> JsonlScan<S> {
        JsonlScan { chunk: bytes, ..self }
    }
}
