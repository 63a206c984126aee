//! JSONL files in every state that a crash, another program or a person can leave them in.

#![cfg(test)]

use everturn_json::finding::{Finding, FindingCode};
use everturn_json::jsonl::{FileTail, ForwardScan, JsonlRecord, JsonlScan, ScanItem};
use everturn_json::names::FilePath;

fn scan(bytes: &[u8]) -> ForwardScan<&[u8]> {
    JsonlScan::new(bytes, FilePath::parse("log.jsonl").unwrap()).forward().unwrap()
}

/// All items of a scan, after a check that no byte was lost.
fn read(bytes: &[u8]) -> (Vec<JsonlRecord>, Vec<Finding>, FileTail) {
    let mut scan = scan(bytes);
    let (mut records, mut findings) = (Vec::new(), Vec::new());
    for item in &mut scan {
        match item.unwrap() {
            ScanItem::Record(record) => records.push(record),
            ScanItem::Finding(finding) => findings.push(finding),
        }
    }
    let summary = scan.summary();
    assert_eq!(summary.records, records.len() as u64);
    assert_eq!(summary.findings, findings.len() as u64);
    assert_eq!(
        summary.record_bytes + summary.reported_bytes + summary.blank_bytes,
        bytes.len() as u64,
        "bytes are missing from the sums for {}",
        bytes.escape_ascii()
    );
    assert_eq!(FileTail::examine(bytes).unwrap(), scan.tail());
    (records, findings, scan.tail())
}

/// One line for each item: `line@offset text` or `line@offset code`.
fn shown(bytes: &[u8]) -> Vec<String> {
    let place = |line: Option<u64>, offset: u64| format!("{}@{offset}", line.unwrap());
    scan(bytes)
        .map(|item| match item.unwrap() {
            ScanItem::Record(record) => {
                assert_eq!(record.length, record.text().unwrap().len() as u64);
                format!("{} {}", place(record.line, record.offset), record.text().unwrap())
            }
            ScanItem::Finding(finding) => {
                format!("{} {}", place(finding.line, finding.offset.unwrap()), finding.code)
            }
        })
        .collect()
}

/// The expected end of a file.
struct End {
    good: u64,
    newline_missing: bool,
    torn: u64,
    nuls: u64,
}

const fn end(good: u64) -> End {
    End { good, newline_missing: false, torn: 0, nuls: 0 }
}

fn check(bytes: &[u8], expect: &[&str], end: &End) {
    assert_eq!(shown(bytes), expect, "{}", bytes.escape_ascii());
    let tail = read(bytes).2;
    let what = bytes.escape_ascii();
    assert_eq!(tail.good_end, end.good, "good end of {what}");
    assert_eq!(tail.newline_missing, end.newline_missing, "newline of {what}");
    assert_eq!(tail.torn.map_or(0, |torn| torn.span.length), end.torn, "torn bytes of {what}");
    assert_eq!(tail.nuls.map_or(0, |nuls| nuls.length), end.nuls, "NUL bytes of {what}");
    assert_eq!(tail.good_end + end.torn + end.nuls, bytes.len() as u64);
    assert_eq!(tail.is_clean(), tail.good_end == bytes.len() as u64 && !end.newline_missing);
}

#[test]
fn files_in_good_order_have_no_findings() {
    check(b"", &[], &end(0));
    check(b"{\"a\":1}\n[2]\n", &["1@0 {\"a\":1}", "2@8 [2]"], &end(12));
    check(b"{}\r\n\r\n {} \r\n", &["1@0 {}", "3@7 {}"], &end(12));
    check(b"\n\n  \n", &[], &end(5));
    check(b"   ", &[], &end(3));
    check(b"\xef\xbb\xbf", &[], &end(3));
    check(b"\xef\xbb\xbf{}\n", &["1@3 {}"], &end(6));
    check(b"1\n\"x\" \nnull\n", &["1@0 1", "2@2 \"x\"", "3@7 null"], &end(12));
    let surrogates = r#"{"a":"\ud800 \udc00\ud83d"}"#;
    check(format!("{surrogates}\n").as_bytes(), &[&format!("1@0 {surrogates}")], &end(28));
}

#[test]
fn a_last_record_without_a_newline_is_whole() {
    let missing = |good| End { newline_missing: true, ..end(good) };
    check(b"{}\n{}", &["1@0 {}", "2@3 {}"], &missing(5));
    check(b"{} ", &["1@0 {}"], &missing(3));
    check(b"{}\r", &["1@0 {}"], &missing(3));
    check(b"12", &["1@0 12"], &missing(2));
    check(b"{\"a\":\"\xff\"}", &["1@0 not-utf8"], &missing(9));
}

#[test]
fn torn_tails_are_told_from_the_rest() {
    check(b"{}\n{\"a", &["1@0 {}", "2@3 torn-tail"], &End { torn: 3, ..end(3) });
    check(b"{\"a", &["1@0 torn-tail"], &End { torn: 3, ..end(0) });
    check(b"\xef\xbb\xbf{\"a", &["1@3 torn-tail"], &End { torn: 3, ..end(3) });
    check(b"\xef\xbb", &["1@0 torn-tail"], &End { torn: 2, ..end(0) });
    check(b"{}\n  {", &["1@0 {}", "2@5 torn-tail"], &End { torn: 1, ..end(5) });
    check(b"{}\ntru", &["1@0 {}", "2@3 torn-tail"], &End { torn: 3, ..end(3) });
    check(b"{}\n{\"a\":\"\xc3", &["1@0 {}", "2@3 torn-tail"], &End { torn: 7, ..end(3) });
    check(b"{}\nrubbish", &["1@0 {}", "2@3 torn-tail"], &End { torn: 7, ..end(3) });
    let glued = End { torn: 5, newline_missing: true, ..end(7) };
    check(b"{\"a\":1}{\"b\":", &["1@0 {\"a\":1}", "1@7 torn-tail"], &glued);
    let three = ["1@0 {}", "1@2 glued-records", "1@2 {}", "1@4 torn-tail"];
    check(b"{}{}{", &three, &End { torn: 1, newline_missing: true, ..end(4) });
    check(b"{}1", &["1@0 {}", "1@2 torn-tail"], &End { torn: 1, newline_missing: true, ..end(2) });
}

#[test]
fn nul_bytes_at_the_end_are_set_apart() {
    check(b"\0\0\0", &["1@0 nul-tail"], &End { nuls: 3, ..end(0) });
    check(b"{}\n\0\0", &["1@0 {}", "2@3 nul-tail"], &End { nuls: 2, ..end(3) });
    let missing = End { nuls: 2, newline_missing: true, ..end(2) };
    check(b"{}\0\0", &["1@0 {}", "1@2 nul-tail"], &missing);
    let both = ["1@0 {}", "2@3 torn-tail", "2@6 nul-tail"];
    check(b"{}\n{\"a\0\0", &both, &End { torn: 3, nuls: 2, ..end(3) });
    let all = ["1@0 {}", "1@2 torn-tail", "1@4 nul-tail"];
    check(b"{}[1\0", &all, &End { torn: 2, nuls: 1, newline_missing: true, ..end(2) });
}

#[test]
fn nul_bytes_in_the_middle_hide_nothing() {
    check(b"{}\n\0\0\0{}\n", &["1@0 {}", "2@3 bad-line", "2@6 {}"], &end(9));
    check(b"\0\0\n{}\n", &["1@0 bad-line", "2@3 {}"], &end(6));
    let torn = ["1@0 bad-line", "1@3 bad-line", "1@5 {}"];
    check(b"{\"a\0\0{}\n", &torn, &end(8));
    let glued = ["1@0 {}", "1@2 bad-line", "1@3 glued-records", "1@3 {}"];
    check(b"{}\0{}\n", &glued, &end(6));
    check(b"12\0\n", &["1@0 bad-line", "1@2 bad-line"], &end(4));
    let middle = ["1@0 {}", "1@2 bad-line", "1@3 torn-tail"];
    check(b"{}\0{", &middle, &End { torn: 1, newline_missing: true, ..end(3) });
    let blank = ["1@0 bad-line", "1@2 bad-line"];
    check(b"xy\0 ", &blank, &End { newline_missing: true, ..end(4) });
}

#[test]
fn bad_lines_are_reported_and_the_rest_is_read() {
    check(b"{}\nx\n{}\n", &["1@0 {}", "2@3 bad-line", "3@5 {}"], &end(8));
    check(b"  {\"a\":\n{}\n", &["1@2 bad-line", "2@8 {}"], &end(11));
    check(b"\"a\n{}\n", &["1@0 bad-line", "2@3 {}"], &end(6));
    check(b"1 2\n", &["1@0 bad-line"], &end(4));
    check(b"1 {}\n", &["1@0 bad-line"], &end(5));
    check(b"{} 2\n", &["1@0 {}", "1@3 bad-line"], &end(5));
    check(b"{}x{}\n{}\n", &["1@0 {}", "1@2 bad-line", "2@6 {}"], &end(9));
    check(b"\xff\xfe\n{}\n", &["1@0 bad-line", "2@3 {}"], &end(6));
    check(b"{\"a\":\"\xff\"}\n{}\n", &["1@0 not-utf8", "2@10 {}"], &end(13));
    check(b"{}\n\xef\xbb\xbf{}\n", &["1@0 {}", "2@3 bad-line"], &end(9));
}

#[test]
fn a_message_says_where_and_why() {
    let messages =
        |bytes: &[u8]| -> Vec<String> { read(bytes).1.iter().map(ToString::to_string).collect() };
    assert_eq!(
        messages(b"{}\n {\"a\" 1}\n"),
        ["log.jsonl, line 2, byte 4: not JSON: found `1` instead of `:` at byte 9 (bad-line)"]
    );
    assert_eq!(
        messages(b"[1,\n"),
        ["log.jsonl, line 1, byte 0: not JSON: the text ends inside an array at byte 3 (bad-line)"]
    );
    assert_eq!(
        messages(b"\n{\"k\xff\":1}\n\0\n"),
        [
            "log.jsonl, line 2, byte 1: a record of 8 bytes is not UTF-8 at byte 4 (not-utf8)",
            "log.jsonl, line 3, byte 10: not JSON: NUL bytes (1 B) (bad-line)",
        ]
    );
    assert_eq!(
        messages(b"{}\n{\"a\":\"\0"),
        [
            "log.jsonl, line 2, byte 3: the file does not end with a whole record (6 B): \
         the text ends inside a string at byte 9 (torn-tail)",
            "log.jsonl, line 2, byte 9: the file ends in NUL bytes (1 B) (nul-tail)",
        ]
    );
}

fn records(count: usize) -> Vec<String> {
    (0..count)
        .map(|n| format!(r#"{{"turn":{n},"text":"Zug \u00fc é {n}","tags":[true,null]}}"#))
        .collect()
}

fn file_of(records: &[String]) -> Vec<u8> {
    records.iter().flat_map(|record| [record.as_bytes(), b"\n"].concat()).collect()
}

fn texts(found: &[JsonlRecord]) -> Vec<&str> {
    found.iter().map(|record| record.text().unwrap()).collect()
}

#[test]
fn t01_a_cut_at_any_byte_of_the_last_record_loses_that_record_only() {
    let records = records(5);
    let whole = file_of(&records);
    let last = whole.len() - records[4].len() - 1;
    for cut in last..=whole.len() {
        let (found, findings, tail) = read(&whole[..cut]);
        if cut == last || cut >= whole.len() - 1 {
            let kept = if cut == last { 4 } else { 5 };
            assert_eq!(texts(&found), records[..kept], "cut at {cut}");
            assert_eq!(findings, [], "cut at {cut}");
            assert_eq!(tail.newline_missing, cut == whole.len() - 1);
        } else {
            assert_eq!(texts(&found), records[..4], "cut at {cut}");
            let codes: Vec<FindingCode> = findings.iter().map(|finding| finding.code).collect();
            assert_eq!(codes, [FindingCode::TornTail], "cut at {cut}");
            assert_eq!((findings[0].line, findings[0].offset), (Some(5), Some(last as u64)));
            assert_eq!(tail.good_end, last as u64);
            assert_eq!(tail.torn.unwrap().span.length, (cut - last) as u64);
        }
    }
}

#[test]
fn t02_corrupt_lines_in_the_middle_cost_only_themselves() {
    let records = records(40);
    // A fixed walk over the lines, so that each round corrupts others.
    let mut seed = 7_usize;
    for round in 0..200 {
        let mut step = || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            seed >> 33
        };
        let bad: Vec<usize> = (0..=round % 8).map(|_| step() % records.len()).collect();
        let mut lines = records.clone();
        for &line in &bad {
            let text = &records[line];
            lines[line] = match step() % 4 {
                0 => text[..text.len() - 1 - step() % 20].to_owned(),
                1 => format!("x{text}"),
                2 => text.replacen(':', " ", 1),
                _ => text.replacen("Zug", "Z\u{1}g", 1),
            };
        }
        let (found, findings, tail) = read(&file_of(&lines));
        let kept: Vec<&String> =
            records.iter().enumerate().filter(|(n, _)| !bad.contains(n)).map(|(_, r)| r).collect();
        assert_eq!(texts(&found), kept, "round {round}");
        let mut expect: Vec<u64> = bad.iter().map(|&line| line as u64 + 1).collect();
        expect.sort_unstable();
        expect.dedup();
        let reported: Vec<u64> = findings.iter().map(|finding| finding.line.unwrap()).collect();
        assert_eq!(reported, expect, "round {round}");
        assert!(findings.iter().all(|finding| finding.code == FindingCode::BadLine));
        assert!(tail.is_clean());
    }
}

#[test]
fn t03_glued_records_are_all_recovered_wherever_they_are() {
    let records = records(6);
    for first in 0..5 {
        for count in 2..=(6 - first) {
            let mut lines = records[..first].to_vec();
            lines.push(records[first..first + count].concat());
            lines.extend_from_slice(&records[first + count..]);
            let (found, findings, tail) = read(&file_of(&lines));
            assert_eq!(texts(&found), records, "{count} glued from {first} on");
            assert_eq!(findings.len(), 1);
            assert_eq!(findings[0].code, FindingCode::GluedRecords);
            assert_eq!(findings[0].line, Some(first as u64 + 1));
            assert!(tail.is_clean());
        }
    }
}

#[test]
fn a_scan_may_start_at_any_line() {
    let records = records(4);
    let bytes = file_of(&records);
    let offset = (records[0].len() + 1) as u64;
    let start = |offset, line| {
        JsonlScan::new(bytes.as_slice(), FilePath::root())
            .start_at(offset, line)
            .forward()
            .unwrap()
            .map(|item| match item.unwrap() {
                ScanItem::Record(record) => (record.line, record.offset),
                ScanItem::Finding(finding) => panic!("{finding}"),
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(start(offset, Some(2))[0], (Some(2), offset));
    assert_eq!(start(offset, Some(2)).len(), 3);
    assert_eq!(start(offset, None)[2].0, None);
    assert_eq!(start(bytes.len() as u64, Some(5)), []);
    assert_eq!(start(u64::MAX, None), []);
}
