//! Large sessions of other programs, read in bounded memory.

#![expect(clippy::disallowed_methods, reason = "the folders of other programs are made here")]

use std::fs;
use std::io::Write;
use std::process::Command;

use crate::foreign::{ID, claude_line, put};

/// The memory limit of the binary, in kilobytes.
const MEMORY_KB: u64 = 256 * 1024;

#[test]
fn a_giant_is_read_in_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let megabytes: u64 =
        std::env::var("EVERTURN_LARGE_MB").map_or(200, |text| text.parse().unwrap());
    let folder = dir.path().join("projects/-srv-app");
    fs::create_dir_all(&folder).unwrap();
    let mut file =
        std::io::BufWriter::new(fs::File::create(folder.join(format!("{ID}.jsonl"))).unwrap());
    let (told, long) = ("x".repeat(20_000), "y".repeat(12_000_000));
    let records = megabytes * 1_000_000 / 20_000;
    let mut parent: Option<String> = None;
    for number in 0..records {
        let kind = if number % 2 == 0 { "user" } else { "assistant" };
        let text = if number == records / 2 { &long } else { &told };
        let id = format!("n{number}");
        writeln!(file, "{}", claude_line(kind, &id, parent.as_deref(), text)).unwrap();
        parent = Some(id);
    }
    drop(file);
    let small = "11111111-1111-1111-1111-111111111111";
    put(
        dir.path(),
        &format!("projects/-srv-app/{small}.jsonl"),
        &claude_line("user", "u", None, "Small."),
    );
    let run = |words: &[&str]| {
        let limited = format!("ulimit -v {MEMORY_KB}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_everturn")]).args(words);
        let output = command.arg("--root").arg(dir.path()).env_clear().output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{words:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    let middle = (records / 4 + 1).to_string();
    assert!(run(&["show", ID, "--turns", &middle, "--json"]).len() > 12_000_000);
    assert!(run(&["show", ID, "--stats"]).contains(&format!("{records} read = {records} kept")));
    assert_eq!(run(&["ls"]).lines().count(), 2);
    assert!(run(&["show", small]).contains("Small."));
}
