//! Long lines, deep nesting and failing reads, from sources that generate their bytes.

#![cfg(test)]

use std::io;

use everturn_json::finding::FindingCode;
use everturn_json::jsonl::{ByteSource, FileTail, JsonlRecord, JsonlScan, RecordText, ScanItem};
use everturn_json::names::FilePath;

/// A record that is one long string, between two short records.
struct LongLine {
    /// The length of the string in bytes.
    length: u64,
    /// The bytes after the string.
    after: &'static [u8],
}

const BEFORE: &[u8] = b"{\"a\":1}\n{\"text\":\"";

impl ByteSource for LongLine {
    fn len(&self) -> io::Result<u64> {
        Ok(BEFORE.len() as u64 + self.length + self.after.len() as u64)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let text = BEFORE.len() as u64;
        if offset < text {
            return BEFORE.read_at(offset, buf);
        }
        if offset >= text + self.length {
            return self.after.read_at(offset - text - self.length, buf);
        }
        let count = buf.len().min(usize::try_from(text + self.length - offset).unwrap());
        buf[..count].fill(b'x');
        Ok(count)
    }
}

fn items(source: impl ByteSource) -> Vec<ScanItem> {
    JsonlScan::new(source, FilePath::root()).forward().unwrap().map(Result::unwrap).collect()
}

fn record(item: &ScanItem) -> &JsonlRecord {
    match item {
        ScanItem::Record(record) => record,
        ScanItem::Finding(finding) => panic!("{finding}"),
    }
}

#[test]
fn a_record_of_100_mb_is_checked_and_yielded_without_its_text() {
    let source = LongLine { length: 100_000_000, after: b"\"}\n{\"b\":2}\n" };
    let found = items(&source);
    assert_eq!(found.len(), 3);
    assert_eq!(record(&found[0]).text(), Some("{\"a\":1}"));
    let large = record(&found[1]);
    assert_eq!(large.text, RecordText::Large);
    assert_eq!((large.line, large.offset, large.length), (Some(2), 8, 100_000_011));
    assert_eq!(record(&found[2]).text(), Some("{\"b\":2}"));
}

#[test]
fn a_long_record_is_read_backwards_too() {
    let source = LongLine { length: 3_000_000, after: b"\"}\n{\"b\":2}\n" };
    let scan = JsonlScan::new(&source, FilePath::root()).largest_text(1_000_000).reverse().unwrap();
    let found: Vec<ScanItem> = scan.map(Result::unwrap).collect();
    assert_eq!(found.len(), 3);
    assert_eq!(record(&found[1]).text, RecordText::Large);
    assert_eq!((record(&found[1]).offset, record(&found[1]).length), (8, 3_000_011));
}

#[test]
fn a_mistake_at_the_end_of_a_long_record_is_seen() {
    let source = LongLine { length: 3_000_000, after: b"\x01\"}\n{\"b\":2}\n" };
    let found = items(&source);
    let ScanItem::Finding(finding) = &found[1] else { panic!("no finding") };
    assert_eq!(finding.code, FindingCode::BadLine);
    assert!(finding.message.ends_with("at byte 3000017"), "{}", finding.message);
    assert_eq!(record(&found[2]).text(), Some("{\"b\":2}"));
}

#[test]
fn a_long_torn_record_is_measured() {
    let tail = FileTail::examine(&LongLine { length: 3_000_000, after: b"" }).unwrap();
    assert_eq!((tail.good_end, tail.newline_missing), (8, false));
    assert_eq!(tail.torn.unwrap().span.length, 3_000_009);
}

#[test]
fn the_text_is_held_up_to_the_length_that_was_set() {
    let length = |largest| {
        let bytes = b"[1234]\n".as_slice();
        let mut scan =
            JsonlScan::new(bytes, FilePath::root()).largest_text(largest).forward().unwrap();
        record(&scan.next().unwrap().unwrap()).text.clone()
    };
    assert_eq!(length(6), RecordText::Whole("[1234]".to_owned()));
    assert_eq!(length(5), RecordText::Large);
}

#[test]
fn deep_nesting_is_an_ordinary_record() {
    for depth in [10_000, 1_000_000] {
        let text = ["{\"a\":[".repeat(depth / 2), "]}".repeat(depth / 2)].concat();
        let found = items(format!("{text}\n{{}}\n").as_bytes());
        assert_eq!(record(&found[0]).text(), Some(text.as_str()));
        assert_eq!(record(&found[1]).text(), Some("{}"));
    }
}

/// Reads a few bytes at a time, and fails in its own way at an offset.
struct Breaks {
    bytes: Vec<u8>,
    at: u64,
    how: fn() -> io::Result<usize>,
}

impl ByteSource for Breaks {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        if (offset..offset + buf.len() as u64).contains(&self.at) {
            return (self.how)();
        }
        let few = buf.len().min(5);
        self.bytes.read_at(offset, &mut buf[..few])
    }
}

fn breaks(how: fn() -> io::Result<usize>) -> Breaks {
    Breaks { bytes: b"{\"a\":1}\n".repeat(20), at: 80, how }
}

#[test]
fn a_failing_read_is_an_error_and_not_the_end() {
    let source = breaks(|| Err(io::Error::other("the disk is on fire")));
    let mut scan = JsonlScan::new(&source, FilePath::root()).chunk(16).forward().unwrap();
    let mut good = 0;
    let error = loop {
        match scan.next().expect("the error came before the end") {
            Ok(_) => good += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.to_string(), "the disk is on fire");
    assert_eq!(good, 10);
    assert!(scan.next().is_none());

    let mut scan = JsonlScan::new(&source, FilePath::root()).chunk(16).reverse().unwrap();
    let error = scan.find_map(Result::err).expect("the error came before the start");
    assert_eq!(error.to_string(), "the disk is on fire");
    assert!(scan.next().is_none());
}

#[test]
fn an_interrupted_read_is_tried_again() {
    struct Interrupted(std::cell::Cell<bool>);

    impl ByteSource for Interrupted {
        fn len(&self) -> io::Result<u64> {
            Ok(3)
        }

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
            if self.0.replace(!self.0.get()) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            b"{}\n".read_at(offset, buf)
        }
    }

    assert_eq!(items(Interrupted(std::cell::Cell::new(true))).len(), 1);
}

#[test]
fn a_file_that_became_shorter_is_an_error() {
    let source = breaks(|| Ok(0));
    let result: io::Result<Vec<ScanItem>> =
        JsonlScan::new(&source, FilePath::root()).chunk(16).forward().unwrap().collect();
    let error = result.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert!(error.to_string().ends_with("at byte 80"), "{error}");
}

#[test]
fn what_is_appended_during_a_scan_is_left_for_the_next_one() {
    struct Grows(std::cell::Cell<u64>);

    impl ByteSource for Grows {
        fn len(&self) -> io::Result<u64> {
            Ok(self.0.get())
        }

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
            self.0.set(self.0.get() + 3);
            for (at, byte) in (offset..).zip(buf.iter_mut()) {
                *byte = b"{}\n"[(at % 3) as usize];
            }
            Ok(buf.len())
        }
    }

    assert_eq!(items(Grows(std::cell::Cell::new(30))).len(), 10);
}
