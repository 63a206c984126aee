//! A reverse scan yields the items of a forward scan in reverse order.

#![cfg(test)]

use everturn_json::jsonl::{FileTail, JsonlScan, ScanItem, ScanSummary};
use everturn_json::names::FilePath;
use proptest::prelude::*;

fn without_line(item: ScanItem) -> ScanItem {
    match item {
        ScanItem::Record(mut record) => {
            record.line = None;
            ScanItem::Record(record)
        }
        ScanItem::Finding(mut finding) => {
            finding.line = None;
            ScanItem::Finding(finding)
        }
    }
}

fn forward(bytes: &[u8], chunk: usize) -> (Vec<ScanItem>, ScanSummary, FileTail) {
    let mut scan = JsonlScan::new(bytes, FilePath::root()).chunk(chunk).forward().unwrap();
    let items = scan.by_ref().map(|item| without_line(item.unwrap())).collect();
    (items, scan.summary(), scan.tail())
}

fn reverse(bytes: &[u8], chunk: usize) -> (Vec<ScanItem>, ScanSummary, FileTail) {
    let mut scan = JsonlScan::new(bytes, FilePath::root()).chunk(chunk).reverse().unwrap();
    let mut items: Vec<ScanItem> = scan.by_ref().map(Result::unwrap).collect();
    items.reverse();
    (items, scan.summary(), scan.tail())
}

fn check(bytes: &[u8]) {
    let whole = forward(bytes, bytes.len().max(1));
    let ScanSummary { record_bytes, reported_bytes, blank_bytes, .. } = whole.1;
    assert_eq!(record_bytes + reported_bytes + blank_bytes, bytes.len() as u64);
    for chunk in [1, 2, 3, 7, 64, bytes.len().max(1)] {
        assert_eq!(forward(bytes, chunk), whole, "{} by {chunk}", bytes.escape_ascii());
        assert_eq!(reverse(bytes, chunk), whole, "{} back by {chunk}", bytes.escape_ascii());
    }
    assert_eq!(FileTail::examine(bytes).unwrap(), whole.2);
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let fixed: Vec<&[u8]> = vec![
        b"{\"turn\":1,\"text\":\"hello\"}",
        b"{}",
        b"[1,[2,{}]]",
        b"{\"k\":\"\xc3\xa9\xf0\x9f\x98\x80\"}",
        b"{\"k\":\"\\ud800\"}",
        b"{\"k\":\"\xff\"}",
        b"17",
        b"\"text\"",
        b"null",
        b"{\"cut\":",
        b"{\"cu",
        b"\"cut",
        b"noise",
        b"}",
        b"\0",
        b"\0\0\0\0\0",
        b"\n",
        b"\n",
        b"\n",
        b"\r\n",
        b" ",
        b"\t",
        b"\xef\xbb\xbf",
        b"\x80",
    ];
    prop_oneof![
        8 => prop::sample::select(fixed).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn both_directions_yield_the_same_of_any_file(pieces in prop::collection::vec(piece(), 0..24)) {
        check(&pieces.concat());
    }

    /// An append always leaves a clean file with all records, old and new.
    #[test]
    fn an_append_after_the_tail_was_examined_loses_and_glues_nothing(
        pieces in prop::collection::vec(piece(), 0..12),
    ) {
        let mut bytes = pieces.concat();
        let (before, ..) = forward(&bytes, 64);
        let tail = FileTail::examine(bytes.as_slice()).unwrap();
        bytes.truncate(usize::try_from(tail.good_end).unwrap());
        if tail.newline_missing {
            bytes.push(b'\n');
        }
        let offset = bytes.len() as u64;
        bytes.extend_from_slice(b"{\"next\":1}\n");
        let (after, _, end) = forward(&bytes, 64);
        let kept = |items: &[ScanItem]| -> Vec<ScanItem> {
            items.iter().filter(|item| match item {
                ScanItem::Record(_) => true,
                ScanItem::Finding(finding) => finding.offset.unwrap() < tail.good_end,
            }).cloned().collect()
        };
        let (mut before, after) = (kept(&before), kept(&after));
        let Some(ScanItem::Record(last)) = after.last() else { panic!("the record is not the last item") };
        assert_eq!((last.offset, last.text()), (offset, Some("{\"next\":1}")));
        before.push(after.last().unwrap().clone());
        assert_eq!(after, before);
        assert!(end.is_clean());
    }
}

#[test]
fn a_line_of_very_many_records_is_read_backwards_in_parts() {
    let mut bytes = b"{\"first\":1}\n".to_vec();
    for n in 0..10_000 {
        bytes.extend_from_slice(format!("[{n}] ").as_bytes());
    }
    bytes.extend_from_slice(b"\n{\"last\":1}\n");
    let whole = forward(&bytes, 4096);
    assert_eq!(whole.1.records, 10_002);
    assert_eq!(reverse(&bytes, 4096), whole);
}

#[test]
fn the_last_records_cost_only_their_own_bytes() {
    use std::cell::Cell;
    use std::io;

    use everturn_json::jsonl::ByteSource;

    /// Refuses to read anything but its last 64 KiB.
    struct EndOnly<'b>(&'b [u8], Cell<u64>);

    impl ByteSource for EndOnly<'_> {
        fn len(&self) -> io::Result<u64> {
            Ok(1 << 40)
        }

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
            let skipped = (1 << 40) - self.0.len() as u64;
            let start = offset.checked_sub(skipped).ok_or_else(|| io::Error::other("too far"))?;
            self.1.set(self.1.get() + buf.len() as u64);
            self.0.read_at(start, buf)
        }
    }

    let bytes: Vec<u8> =
        (0..100_000).flat_map(|n| format!("{{\"n\":{n}}}\n").into_bytes()).collect();
    let source = EndOnly(&bytes, Cell::new(0));
    let last: Vec<String> = JsonlScan::new(&source, FilePath::root())
        .reverse()
        .unwrap()
        .take(3)
        .map(|item| match item.unwrap() {
            ScanItem::Record(record) => record.text().unwrap().to_owned(),
            ScanItem::Finding(finding) => panic!("{finding}"),
        })
        .collect();
    assert_eq!(last, ["{\"n\":99999}", "{\"n\":99998}", "{\"n\":99997}"]);
    assert!(source.1.get() <= 64 * 1024, "{} bytes were read", source.1.get());
}
