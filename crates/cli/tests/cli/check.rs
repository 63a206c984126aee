//! `everturn check` on all kinds of files: each bad input gets its finding, and nothing else does.
#![expect(clippy::disallowed_methods, reason = "the test makes the files that are checked")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::everturn::{command, run};

/// Returns the findings of `check --json` for a directory, and the exit code.
fn check(dir: &Path, words: &[&str]) -> (Vec<Value>, Option<i32>) {
    let mut everturn = command(dir);
    everturn.args(["check", "--json"]).args(words);
    let output = run(everturn, "");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "status is for people");
    let text = String::from_utf8(output.stdout).unwrap();
    let finding = |line| serde_json::from_str(line).expect("one finding per line");
    (text.lines().map(finding).collect(), output.status.code())
}

/// Checks a directory with one file; the findings must have these lines, offsets and codes.
fn expect(name: &str, content: &[u8], findings: &[(Option<u64>, Option<u64>, &str)]) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(name), content).unwrap();
    let (found, code) = check(dir.path(), &["."]);
    let facts: Vec<_> = found
        .iter()
        .map(|finding| {
            let number = |field: &str| finding.get(field).and_then(Value::as_u64);
            let text = |field: &str| finding.get(field).and_then(Value::as_str).unwrap();
            assert_eq!(text("file"), format!("./{name}"));
            assert!(!text("message").is_empty());
            (number("line"), number("offset"), text("code"))
        })
        .collect();
    assert_eq!(facts, findings, "{name}: {:?}", String::from_utf8_lossy(content));
    assert_eq!(code, Some(if findings.is_empty() { 0 } else { 3 }));
}

#[test]
fn good_files_have_no_findings_whatever_their_style() {
    expect("a.jsonl", b"", &[]);
    expect("a.jsonl", b"{\"a\":1}\n{\"b\":2}\n", &[]);
    expect("a.jsonl", b"\xef\xbb\xbf{\"a\":1}\r\n\r\n{\"b\":2}", &[]);
    expect(
        "a.ndjson",
        b"{\"lone\":\"\\ud800\",\"huge\":1e999,\"long\":123456789012345678901}\n",
        &[],
    );
    expect("a.json", b"{\"version\": 1}", &[]);
    expect("a.json", b"\xef\xbb\xbf[]\r\n", &[]);
    expect("notes.txt", b"{{{", &[]);
}

#[test]
fn damage_in_lines_is_found_where_it_is() {
    expect("a.jsonl", b"{\"a\":1}\n{\"b\":", &[(Some(2), Some(8), "torn-tail")]);
    expect("a.jsonl", b"{\"a\":1}\n\0\0\0", &[(Some(2), Some(8), "nul-tail")]);
    expect("a.jsonl", b"{\"a\":1}\nnoise\n{\"b\":2}\n", &[(Some(2), Some(8), "bad-line")]);
    expect("a.jsonl", b"{\"a\":1}{\"b\":2}\n", &[(Some(1), Some(7), "glued-records")]);
    expect("a.jsonl", b"{\"a\":\"\xff\"}\n", &[(Some(1), Some(0), "not-utf8")]);
}

#[test]
fn damage_in_documents_is_found_where_it_is() {
    expect("a.json", b"", &[(None, None, "empty-document")]);
    expect("a.json", b"{\n  // no\n}", &[(Some(2), Some(4), "bad-document")]);
    expect("a.json", b"{\"a\":1,\"a\":2}", &[(Some(1), Some(7), "duplicate-key")]);
}

#[test]
fn deep_nesting_and_long_lines_are_only_data() {
    let deep = format!("{}{}\n", "[".repeat(10_000), "]".repeat(10_000));
    expect("deep.jsonl", deep.as_bytes(), &[]);
    expect("deep.json", deep.as_bytes(), &[]);
    let long = format!("{{\"text\":\"{}\"}}\n", "x".repeat(100_000_000));
    expect("long.jsonl", long.as_bytes(), &[]);
    expect("long.json", long.as_bytes(), &[]);
}

#[test]
fn a_directory_is_read_to_the_end_and_each_finding_names_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let below = dir.path().join("sessions/one");
    fs::create_dir_all(&below).unwrap();
    fs::write(below.join("a.jsonl"), "{}\n{").unwrap();
    fs::write(below.join("b.json"), "{").unwrap();
    fs::write(below.join("c.json"), "{}").unwrap();
    fs::write(below.join("nul.json"), "{}").unwrap();
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), below.join("elsewhere")).unwrap();
    let (found, code) = check(dir.path(), &["sessions"]);
    let facts: Vec<(&str, &str)> = found
        .iter()
        .map(|finding| {
            let text = |field: &str| finding.get(field).and_then(Value::as_str).unwrap();
            (text("file"), text("code"))
        })
        .collect();
    let expected = [
        ("sessions/one", "bad-name"),
        ("sessions/one/a.jsonl", "torn-tail"),
        ("sessions/one/b.json", "bad-document"),
        ("sessions/one/elsewhere", "link-outside"),
    ];
    assert_eq!(facts, expected);
    assert_eq!(code, Some(3));
    let (found, code) = check(dir.path(), &["sessions/one/c.json"]);
    assert_eq!((found.len(), code), (0, Some(0)));
}

#[test]
fn a_path_that_is_not_there_is_an_error_and_not_a_clean_directory() {
    let dir = tempfile::tempdir().unwrap();
    let mut everturn = command(dir.path());
    everturn.args(["check", "nowhere"]);
    let output = run(everturn, "");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: cannot read nowhere: "));
}

#[test]
fn a_check_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.jsonl"), "{}\n{").unwrap();
    check(dir.path(), &["."]);
    let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["a.jsonl"]);
    assert_eq!(fs::read(dir.path().join("a.jsonl")).unwrap(), b"{}\n{");
}

#[test]
fn a_link_to_a_directory_is_not_walked_into() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.jsonl"), "{").unwrap();
    symlink(".", dir.path().join("again")).unwrap();
    let (found, _) = check(dir.path(), &["."]);
    assert_eq!(found.len(), 1);
}

#[test]
fn a_root_that_is_called_like_the_own_directory_is_checked() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join(".everturn/sessions");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("a.jsonl"), "{").unwrap();
    let (found, code) = check(dir.path(), &["."]);
    assert_eq!((found.len(), code), (1, Some(3)));
}

#[test]
fn what_is_in_the_trash_or_not_in_its_place_yet_is_not_checked() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(".everturn/wal")).unwrap();
    for place in ["trash", "staging"] {
        let home = dir.path().join(".everturn").join(place);
        fs::create_dir_all(&home).unwrap();
        fs::write(home.join("a.jsonl"), "{").unwrap();
    }
    assert_eq!(check(dir.path(), &["."]), (vec![], Some(0)));
}

#[test]
fn commits_that_only_the_log_of_a_dead_process_has_are_checked_too() {
    let dir = tempfile::tempdir().unwrap();
    let commit = |root: &Path| {
        let mut everturn = command(root);
        everturn.args(["commit", "--root", ".", "--written", "one"]);
        everturn
    };
    let steps = r#"{"steps":[{"append":{"file":"one/turns.jsonl","lines":[{"turn":1}]}}]}"#;
    let mut child = commit(dir.path()).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, format!("{steps}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    let answers = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(answers), &mut answer).unwrap();
    assert!(answer.contains("\"line\":1"), "{answer}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(check(dir.path(), &["."]), (vec![], Some(0)));
    assert!(!dir.path().join("one/turns.jsonl").exists(), "a check has changed something");
    assert_eq!(run(commit(dir.path()), "").status.code(), Some(0));
    assert_eq!(check(dir.path(), &["."]), (vec![], Some(0)));
    let turns = fs::read_to_string(dir.path().join("one/turns.jsonl")).unwrap();
    assert_eq!(turns, "{\"turn\":1}\n");
}

#[test]
fn people_read_findings_on_stdout_and_the_count_on_stderr() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("sessions/one")).unwrap();
    fs::write(dir.path().join("sessions/one/a.jsonl"), "{}\n{").unwrap();
    let mut everturn = command(dir.path());
    everturn.args(["check", "sessions"]);
    let output = run(everturn, "");
    let line = "sessions/one/a.jsonl:2: torn-tail: the file does not end with a whole record (1 B): \
                the text ends inside an object at byte 4 (byte 3)\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), line);
    let said = "1 file, 1 record: 1 finding\n\
                actions of `everturn repair` in a session:\n  \
                torn-tail: keeps every whole record, and moves the rest out\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), said);
    assert_eq!(output.status.code(), Some(3));
}
