//! The bytes of a document, and the elements of its long arrays in order.
//!
//! `DocumentBytes` reads bytes at offsets, `ArrayElements` iterates over an array, and `DocumentDigest` identifies a
//! content.

use std::ops::Range;
use std::sync::Arc;

use super::error::ChatError;
use everturn_json::checksum::checksum;
use everturn_json::json::{ScanProgress, Scanner};
use everturn_json::names::FilePath;
use everturn_store::disk::{FileId, FileStat};
use everturn_store::{Store, StoreError};

/// The number of bytes read at a time.
pub(crate) const CHUNK: u64 = 256 << 10;

/// The largest element that is read.
const LARGEST_ELEMENT: u64 = 512 << 20;

/// The number of bytes at each end that the digest covers.
const ENDS: u64 = 4096;

/// Bytes at offsets: a stored file, or a text in memory.
#[derive(Clone)]
pub(crate) enum DocumentBytes {
    Stored { store: Arc<dyn Store>, file: FilePath, version: Version },
    Held { file: FilePath, bytes: Arc<[u8]> },
}

impl DocumentBytes {
    /// A file as it is now; `None` if it does not exist.
    pub(crate) fn open(
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Option<DocumentBytes>, ChatError> {
        let stat = store.stat(file)?;
        if let Some(stat) = &stat {
            StoreError::check_kind(file, stat)?;
        }
        Ok(stat.map(|stat| {
            let (store, file) = (Arc::clone(store), file.clone());
            DocumentBytes::Stored { store, file, version: Version::of(stat) }
        }))
    }

    pub(crate) fn held(file: &FilePath, bytes: Vec<u8>) -> DocumentBytes {
        DocumentBytes::Held { file: file.clone(), bytes: bytes.into() }
    }

    pub(crate) fn file(&self) -> &FilePath {
        match self {
            DocumentBytes::Stored { file, .. } | DocumentBytes::Held { file, .. } => file,
        }
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            DocumentBytes::Stored { version, .. } => version.len,
            DocumentBytes::Held { bytes, .. } => bytes.len() as u64,
        }
    }

    /// All bytes of a range, which must exist. It is an error if the file has been replaced: its bytes would be
    /// misinterpreted.
    pub(crate) fn read(&self, range: Range<u64>) -> Result<Vec<u8>, ChatError> {
        let wanted = range.end.saturating_sub(range.start);
        let bytes = match self {
            DocumentBytes::Stored { store, file, version } => {
                let bytes = store.read(file, range)?;
                if store.stat(file)?.map(Version::of) != Some(*version) {
                    return Err(StoreError::Changed { file: file.clone() }.into());
                }
                bytes
            }
            DocumentBytes::Held { bytes, .. } => {
                let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
                let held = bytes.get(place(range.start)..place(range.end));
                held.unwrap_or_default().to_vec()
            }
        };
        if bytes.len() as u64 != wanted {
            return Err(StoreError::Changed { file: self.file().clone() }.into());
        }
        Ok(bytes)
    }

    /// At most `most` bytes from `at`; none at the end.
    pub(crate) fn chunk(&self, at: u64, most: u64) -> Result<Vec<u8>, ChatError> {
        self.read(at..self.len().min(at.saturating_add(most)).max(at))
    }

    /// The version of the file; `None` if it is not stored.
    pub(crate) fn version(&self) -> Option<Version> {
        match self {
            DocumentBytes::Stored { version, .. } => Some(*version),
            DocumentBytes::Held { .. } => None,
        }
    }

    /// The digest of the content: its length, and a checksum of its two ends.
    pub(crate) fn digest(&self) -> Result<DocumentDigest, ChatError> {
        let bytes = self.len();
        let first = self.read(0..bytes.min(ENDS))?;
        let last = self.read(bytes.saturating_sub(ENDS)..bytes)?;
        Ok(DocumentDigest { bytes, sum: checksum(&[&first, &last]) })
    }
}

/// Identifies a version of a file, to detect that it was replaced or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    len: u64,
    id: FileId,
    modified: u64,
}

impl Version {
    pub(crate) fn of(stat: FileStat) -> Version {
        Version { len: stat.len, id: stat.id, modified: stat.modified }
    }
}

/// Identifies the content of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DocumentDigest {
    pub(crate) bytes: u64,
    pub(crate) sum: u64,
}

/// One element of an array.
pub(crate) struct ArrayElement {
    /// The white space before it, and a comma unless it is the first one.
    pub(crate) gap: Vec<u8>,
    /// Its position.
    pub(crate) span: Range<u64>,
    /// Its text, which is JSON but may not be UTF-8.
    pub(crate) bytes: Vec<u8>,
}

impl ArrayElement {
    /// The element as text.
    pub(crate) fn into_text(self, file: &FilePath) -> Result<String, ChatError> {
        let start = self.span.start;
        String::from_utf8(self.bytes).map_err(|error| {
            let at = start + error.utf8_error().valid_up_to() as u64;
            ChatError::damaged(file, format!("not UTF-8 at byte {at}"))
        })
    }
}

/// Reads the elements of an array, starting at one of them.
pub(crate) struct ArrayElements {
    content: DocumentBytes,
    /// The start of the next element, or of the gap before it.
    at: u64,
    /// The position of the closing bracket.
    close: u64,
    base: u64,
    buffer: Vec<u8>,
    scanner: Scanner,
}

impl ArrayElements {
    pub(crate) fn new(content: &DocumentBytes, at: u64, close: u64) -> ArrayElements {
        let (content, buffer) = (content.clone(), Vec::new());
        ArrayElements { content, at, close, base: at, buffer, scanner: Scanner::new() }
    }

    pub(crate) fn next(&mut self) -> Result<Option<ArrayElement>, ChatError> {
        let mut before = Vec::new();
        loop {
            if self.at >= self.close {
                return Ok(None);
            }
            let Some(rest) = self.held(self.at) else {
                self.load(self.at, CHUNK)?;
                continue;
            };
            let gap = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',');
            let end = rest.iter().position(|byte| !gap(byte));
            let count = end.unwrap_or(rest.len());
            before.extend_from_slice(rest.get(..count).unwrap_or_default());
            self.at += count as u64;
            if end.is_some() {
                break;
            }
        }
        if self.at >= self.close {
            return Ok(None);
        }
        let element = self.element()?;
        Ok(Some(ArrayElement { gap: before, ..element }))
    }

    /// The element at the current position.
    fn element(&mut self) -> Result<ArrayElement, ChatError> {
        let (start, mut size) = (self.at, CHUNK);
        loop {
            self.scanner.reset();
            let rest = match self.base.checked_add(self.buffer.len() as u64) {
                Some(end) if end > start && start >= self.base => {
                    let skip = usize::try_from(start - self.base).unwrap_or(usize::MAX);
                    self.buffer.get(skip..).unwrap_or_default()
                }
                _ => &[],
            };
            let bad = |bad: everturn_json::json::JsonError| {
                let at = start + bad.at;
                ChatError::damaged(
                    self.content.file(),
                    format!("not JSON at byte {at}: {}", bad.reason),
                )
            };
            if let ScanProgress::End(used) = self.scanner.feed(rest).map_err(bad)? {
                let bytes = rest.get(..used).unwrap_or_default().to_vec();
                self.at = start + used as u64;
                return Ok(ArrayElement { gap: Vec::new(), span: start..self.at, bytes });
            }
            let held = rest.len() as u64;
            if start + held >= self.content.len() {
                let reason = format!("not JSON at byte {start}: {}", self.scanner.unfinished());
                return Err(ChatError::damaged(self.content.file(), reason));
            }
            if held >= size {
                size *= 2;
            }
            if size > LARGEST_ELEMENT {
                let reason = format!("the element at byte {start} is too large to be read");
                return Err(ChatError::damaged(self.content.file(), reason));
            }
            self.load(start, size)?;
        }
    }

    fn held(&self, at: u64) -> Option<&[u8]> {
        let skip = usize::try_from(at.checked_sub(self.base)?).ok()?;
        self.buffer.get(skip..).filter(|rest| !rest.is_empty())
    }

    fn load(&mut self, at: u64, size: u64) -> Result<(), ChatError> {
        self.buffer = self.content.chunk(at, size)?;
        self.base = at;
        if self.buffer.is_empty() {
            return Err(StoreError::Changed { file: self.content.file().clone() }.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(text: &str, at: u64) -> Vec<String> {
        let file = FilePath::parse("a.json").unwrap();
        let content = DocumentBytes::held(&file, text.as_bytes().to_vec());
        let close = text.len() as u64 - 1;
        let mut elements = ArrayElements::new(&content, at, close);
        let mut found = Vec::new();
        while let Some(element) = elements.next().unwrap() {
            let at = |place: u64| usize::try_from(place).unwrap();
            let span = at(element.span.start)..at(element.span.end);
            assert_eq!(&text.as_bytes()[span], element.bytes);
            found.push(element.into_text(&file).unwrap());
        }
        found
    }

    #[test]
    fn elements_come_one_after_the_other() {
        assert_eq!(elements("[]", 1), [""; 0]);
        assert_eq!(elements("[ \n]", 1), [""; 0]);
        assert_eq!(elements("[1, \"a,]\" ,{\"b\":[2]}\n]", 1), ["1", "\"a,]\"", "{\"b\":[2]}"]);
        assert_eq!(elements("[1, 22,333]", 7), ["333"]);
    }

    #[test]
    fn elements_longer_than_what_is_read_at_once_are_whole() {
        let long = format!("\"{}\"", "é".repeat(400_000));
        let text = format!("[{long}, 7,\n{long}]");
        assert_eq!(elements(&text, 1), [long.as_str(), "7", long.as_str()]);
    }
}
