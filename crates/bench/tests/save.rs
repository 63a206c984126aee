//! The save benchmark from the outside: a complete run with tiny counts.
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
    command.arg("save").args(args).current_dir(dir).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::str::from_utf8(&output.stdout).unwrap()
}

#[test]
fn the_whole_benchmark_gives_one_json_document_and_leaves_no_data_behind() {
    let dir = tempfile::tempdir().unwrap();
    let tiny = ["--runs", "2", "--turns", "5", "--session-turns", "2", "--json"];
    let output = bench(dir.path(), &tiny);
    let report: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(report["benchmark"], "save");
    assert_eq!(report["runs"], 2);

    let expected = [("one-writer", 1, 5), ("many-sessions", 64, 128)];
    let scenarios = report["scenarios"].as_array().unwrap();
    assert_eq!(scenarios.len(), expected.len());
    let mut measured = Vec::new();
    for (scenario, (name, sessions, turns)) in scenarios.iter().zip(expected) {
        assert_eq!(scenario["name"], name);
        assert_eq!(scenario["sessions"], sessions);
        assert_eq!(scenario["turns_per_run"], turns);
        for row in scenario["rows"].as_array().unwrap() {
            check_row(row, scenario["baseline"].as_str().unwrap());
            measured.push(row["name"].as_str().unwrap());
        }
    }
    let listed = bench(dir.path(), &["--list"]);
    let mut listed: Vec<&str> =
        stdout(&listed).lines().map(|line| line.split(' ').next().unwrap()).collect();
    measured.sort_unstable();
    listed.sort_unstable();
    assert_eq!(measured, listed);

    let best = &report["scenarios"][1]["best"]["sqlite-full"];
    assert!(best.as_str().is_some_and(|name| name.starts_with("sqlite-full-")), "{best}");
    let left = std::fs::read_dir(dir.path().join("target/bench-data"));
    assert_eq!(left.unwrap().count(), 0);
}

fn check_row(row: &Value, baseline: &str) {
    let number = |field: &str| row[field].as_f64().unwrap_or_else(|| panic!("{field} of {row}"));
    let name = row["name"].as_str().unwrap();
    assert!(number("p50_us") > 0.0, "{row}");
    assert!(number("p99_us") >= number("p50_us"), "{row}");
    assert!(number("turns_per_second") > 0.0, "{row}");
    assert!(number("bytes_on_disk") > 0.0, "{row}");
    assert_eq!(row["samples"].as_array().unwrap().len(), 2);
    let not_durable = name.starts_with("sqlite-normal") || name == "everturn-written";
    assert_eq!(row["durable"], !not_durable, "{row}");
    let counts_flushes = name.starts_with("raw-") || name.starts_with("everturn");
    assert_eq!(row["flushes_per_turn"].is_null(), !counts_flushes, "{row}");
    assert!(number("p50_ratio") > 0.0, "{row}");
    if name == baseline {
        assert!((number("turns_per_second_ratio") - 1.0).abs() < 1e-9, "{row}");
    }
}

#[test]
fn without_the_baseline_there_are_no_ratios() {
    let dir = tempfile::tempdir().unwrap();
    let output = bench(dir.path(), &["--runs", "1", "--turns", "1", "--peer", "raw-two-files"]);
    let table = stdout(&output);
    let row = table.lines().find(|line| line.starts_with("raw-two-files")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[4..7], ["-", "-", "2.00"], "{row}");
    assert!(!table.contains("64 sessions"), "{table}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("run 1 of 1: raw-two-files"));
}

#[test]
fn an_unknown_peer_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let output = bench(dir.path(), &["--peer", "oracle"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("\"oracle\""));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
