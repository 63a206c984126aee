//! T1, T3: the end of a file before an append.

use everturn_json::finding::FindingCode;
use everturn_store::disk::sim::SimDisk;
use everturn_store::{Durability, Writer};

use super::{LOST, text};
use crate::support::{append, open, path, quarantined};

const BEFORE: &str = "{\"turn\":1}\n{\"turn\":2}\n{\"turn\":3}\n";
const LAST: &str = "{\"turn\":4,\"text\":\"ünï \\\"q\\\" \\u00e9 {}\",\"n\":[1,{}]}\n";
const NEXT: &str = "{\"turn\":5}\n";

#[test]
fn t01_a_torn_last_line_is_set_aside_whatever_is_left_of_it() {
    for cut in 0..=LAST.len() {
        let disk = SimDisk::new();
        let torn = &LAST.as_bytes()[..cut];
        disk.put_file(&path("s/log.jsonl"), &[BEFORE.as_bytes(), torn].concat());
        let store = open(&disk).unwrap();
        let writer = store.lock_files(&[path("s")]).unwrap();
        let receipt = writer.commit(vec![append("s/log.jsonl", NEXT)], Durability::Synced).unwrap();
        disk.power_cut(LOST);
        drop(open(&disk).unwrap());

        let whole = cut + 1 >= LAST.len();
        let kept = if whole { format!("{BEFORE}{LAST}") } else { BEFORE.to_owned() };
        assert_eq!(text(&disk, "s/log.jsonl"), format!("{kept}{NEXT}"), "cut at {cut}");
        assert_eq!(receipt.appended, [kept.len() as u64], "cut at {cut}");
        if whole || cut == 0 {
            assert!(receipt.findings.is_empty() && quarantined(&disk).is_empty(), "cut at {cut}");
        } else {
            assert_eq!(quarantined(&disk), [torn], "cut at {cut}");
            let [finding] = &receipt.findings[..] else { panic!("{:?}", receipt.findings) };
            let place = (finding.file.clone(), finding.offset, finding.code);
            let start = BEFORE.len() as u64;
            assert_eq!(place, (path("s/log.jsonl"), Some(start), FindingCode::SetAside));
            assert!(finding.message.starts_with(&format!("{cut} bytes")), "{finding}");
        }
    }
}

#[test]
fn t01_two_torn_lines_are_both_kept() {
    let disk = SimDisk::new();
    let store = open(&disk).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    for torn in ["{\"a\":", "{\"b\":", "{\"a\":"] {
        let mut content = text(&disk, "s/log").into_bytes();
        content.extend_from_slice(torn.as_bytes());
        disk.put_file(&path("s/log"), &content);
        writer.commit(vec![append("s/log", "{}\n")], Durability::Synced).unwrap();
    }
    assert_eq!(text(&disk, "s/log"), "{}\n{}\n{}\n");
    assert_eq!(quarantined(&disk).concat().len(), 15);
}

/// Appends to a file with this content; checks the resulting content and the quarantine.
fn check(content: &[u8], expect: &[u8], aside: &[&[u8]]) {
    let disk = SimDisk::new();
    disk.put_file(&path("s/log"), content);
    let store = open(&disk).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "{\"new\":1}\n")], Durability::Synced).unwrap();
    let found = crate::support::data(&disk).remove(&path("s/log")).unwrap();
    let shown = String::from_utf8_lossy(&found);
    assert_eq!(found, expect, "{:?} became {shown:?}", String::from_utf8_lossy(content));
    assert_eq!(quarantined(&disk), aside, "{:?}", String::from_utf8_lossy(content));
}

#[test]
fn t03_an_append_never_glues_two_records() {
    check(b"", b"{\"new\":1}\n", &[]);
    check(b"{}\n", b"{}\n{\"new\":1}\n", &[]);
    check(b"{}", b"{}\n{\"new\":1}\n", &[]);
    check(b"{}\n{\"a\":1}", b"{}\n{\"a\":1}\n{\"new\":1}\n", &[]);
    check(b"{}{}", b"{}{}\n{\"new\":1}\n", &[]);
    check(b"{}\r\n{}\r", b"{}\r\n{}\r\n{\"new\":1}\n", &[]);
    check(b"\xef\xbb\xbf{}", b"\xef\xbb\xbf{}\n{\"new\":1}\n", &[]);
    check(b"{}{\"a\":", b"{}\n{\"new\":1}\n", &[b"{\"a\":"]);
    check(b"{}\n\0\0\0\0", b"{}\n{\"new\":1}\n", &[b"\0\0\0\0"]);
    check(b"{}\n{\"a\"\0\0", b"{}\n{\"new\":1}\n", &[b"{\"a\"\0\0"]);
    check(b"{}\n{\"a\":\"\xc3", b"{}\n{\"new\":1}\n", &[b"{\"a\":\"\xc3"]);
    check(b"{}\nbad\n", b"{}\nbad\n{\"new\":1}\n", &[]);
}
