//! The game benchmark from the outside: a complete run with small sessions.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and looks at the directory from outside"
)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn bench(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everturn-bench"));
    command.arg("game").args(args).current_dir(dir).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::str::from_utf8(&output.stdout).unwrap()
}

const PEERS: [&str; 3] = ["everturn", "sqlite", "document"];

/// Returns the rows of an operation.
fn expected(op: &str) -> Vec<&'static str> {
    match op {
        "jump" | "replay" => vec!["document", "everturn", "everturn-values", "sqlite"],
        "resume" => vec![
            "document",
            "document-play",
            "everturn",
            "everturn-play",
            "everturn-values",
            "sqlite",
            "sqlite-play",
        ],
        "save" => vec!["document", "everturn", "sqlite"],
        "snapshot" => vec!["document", "everturn", "plain-files", "sqlite"],
        other => panic!("{other}"),
    }
}

#[test]
fn the_whole_benchmark_gives_one_json_document_and_leaves_no_data_behind() {
    let dir = tempfile::tempdir().unwrap();
    let output = bench(dir.path(), &["--sizes", "400,200", "--runs", "1", "--json"]);
    let report: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(report["benchmark"], "game");
    assert_eq!(report["sizes"], serde_json::json!([200, 400]));

    let rows = report["rows"].as_array().unwrap();
    for op in ["jump", "resume", "replay", "save", "snapshot"] {
        for turns in [200, 400] {
            let found = rows.iter().filter(|row| row["op"] == op && row["turns"] == turns);
            let names: Vec<&str> = found.map(|row| row["name"].as_str().unwrap()).collect();
            assert_eq!(names, expected(op), "{op} at {turns}");
        }
    }
    for row in rows {
        let number = |field: &str| row[field].as_f64().unwrap_or_else(|| panic!("{field}: {row}"));
        assert!(number("p50_us") > 0.0 && number("p99_us") >= number("p50_us"), "{row}");
        assert!(number("ratio") > 0.0, "{row}");
        assert_eq!(row["samples"].as_array().unwrap().len(), 1);
    }
    check_files(&report);
    assert_eq!(report["memory"].as_array().unwrap().len(), PEERS.len() * 2 * 3);
    // Four at each of the two sizes, two about growth, one about memory.
    let targets = report["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 4 * 2 + 2 + usize::from(cfg!(target_os = "linux")), "{targets:?}");
    let left = std::fs::read_dir(dir.path().join("target/bench-data"));
    assert_eq!(left.unwrap().count(), 0);
}

fn check_files(report: &Value) {
    let bytes = |peer: &str, turns: u64, kind: &str| {
        let is_it =
            |file: &&Value| file["peer"] == peer && file["turns"] == turns && file["kind"] == kind;
        let found = report["files"].as_array().unwrap().iter().find(is_it);
        found.unwrap_or_else(|| panic!("{peer} {turns} {kind}"))["bytes"].as_u64().unwrap()
    };
    for peer in ["everturn", "document"] {
        assert!(bytes(peer, 200, "world") > 300_000);
        for kind in ["turns", "deltas", "snapshots"] {
            assert!(bytes(peer, 400, kind) > bytes(peer, 200, kind) * 3 / 2, "{peer} {kind}");
        }
    }
    assert!(bytes("sqlite", 400, "database") > bytes("sqlite", 200, "database"));
}

#[test]
fn one_operation_of_one_peer_can_be_measured_alone() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["--sizes", "30", "--runs", "2", "--op", "jump", "--peer", "everturn"];
    let output = bench(dir.path(), &args);
    let table = stdout(&output);
    assert!(table.contains("\nJump: "), "{table}");
    assert!(!table.contains("\nSave: ") && !table.contains("sqlite       "), "{table}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("run 2 of 2: everturn 30"));
}

#[test]
fn an_unknown_peer_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let output = bench(dir.path(), &["--peer", "oracle"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("\"oracle\""));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
