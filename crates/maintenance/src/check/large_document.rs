//! Checks documents that are too large for memory, in one pass.

use std::io;

use everturn_json::finding::{Finding, FindingCode};
use everturn_json::json::{Completeness, ScanProgress, Scanner};
use everturn_json::jsonl::{ByteSource, Utf8Check};
use everturn_json::names::FilePath;
use everturn_store::StoreSource;

/// The number of bytes that are read at once.
const CHUNK: usize = 1 << 20;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Checks a document. Duplicate keys are not detected.
pub(super) fn check_large_document(
    path: &FilePath,
    file: &StoreSource,
) -> io::Result<Vec<Finding>> {
    let mut look =
        DocumentScan { scanner: Scanner::new(), utf8: Utf8Check::default(), ended: false };
    let (mut at, mut start, mut buf) = (0, 0, vec![0; CHUNK]);
    let mut bad_json = None;
    loop {
        let read = file.read_at(at, &mut buf)?;
        let mut bytes = buf.get(..read).unwrap_or_default();
        if at == 0 && bytes.starts_with(BOM) {
            start = BOM.len() as u64;
            bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
        }
        look.utf8.feed(bytes);
        if bad_json.is_none() {
            bad_json = look.next(bytes, at.max(start), start).err();
        }
        if read == 0 {
            break;
        }
        at += read as u64;
    }
    if bad_json.is_none() && look.scanner.finish() != Completeness::Complete {
        bad_json = Some((at, look.scanner.unfinished().to_string()));
    }
    let bad_text = look
        .utf8
        .first_invalid()
        .map(|bad| (bad + start, FindingCode::NotUtf8, "not UTF-8".to_owned()));
    let bad_json = bad_json.map(|(at, reason)| {
        (at, FindingCode::BadDocument, format!("not JSON at byte {at}: {reason}"))
    });
    let findings = bad_text.into_iter().chain(bad_json);
    let findings =
        findings.map(|(offset, code, message)| Finding::new(path, code, message).at_offset(offset));
    Ok(findings.collect())
}

struct DocumentScan {
    scanner: Scanner,
    utf8: Utf8Check,
    /// Whether the value has ended, so that only white space may follow.
    ended: bool,
}

impl DocumentScan {
    /// Scans the bytes at `at` of a document whose text starts at `start`.
    fn next(&mut self, bytes: &[u8], at: u64, start: u64) -> Result<(), (u64, String)> {
        let mut used = 0;
        if !self.ended {
            match self.scanner.feed(bytes) {
                Ok(ScanProgress::More) => return Ok(()),
                Ok(ScanProgress::End(end)) => (self.ended, used) = (true, end),
                Err(bad) => return Err((start + bad.at, bad.reason.to_string())),
            }
        }
        let rest = bytes.get(used..).unwrap_or_default();
        match rest.iter().position(|byte| !byte.is_ascii_whitespace()) {
            Some(place) => {
                Err((at + (used + place) as u64, "trailing data after the value".to_owned()))
            }
            None => Ok(()),
        }
    }
}
