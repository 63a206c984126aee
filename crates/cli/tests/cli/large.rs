//! A session that is larger than the memory available to the binary.
//!
//! `EVERTURN_LARGE_MB=2000 cargo test -p everturn-cli --test cli large` makes it larger.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use everturn::disk::RealDisk;
use everturn::game::{GameWriter, NewGame, TurnInput};
use everturn::names::SessionId;
use everturn::store::{FileStore, LockOwner, Options, Store};

/// The memory limit of the binary, in kilobytes.
const MEMORY_KB: u64 = 256 * 1024;

/// The size of a turn's text in bytes, and the text of one of them.
const TOLD: usize = 100_000;
const LONG: usize = 12_000_000;

/// Creates a session of this many megabytes; returns its last turn.
fn build(root: &Path, megabytes: u64) -> u64 {
    let owner = LockOwner { pid: std::process::id(), started: "2026-01-01T00:00:00Z".to_owned() };
    let disk = Arc::new(RealDisk::create(root).unwrap());
    let store: Arc<dyn Store> = Arc::new(FileStore::open(disk, Options::new(owner)).unwrap());
    let now = "2026-01-01T10:00:00Z".parse().unwrap();
    let mut new = NewGame::new(SessionId::parse("giant").unwrap());
    new.player_name = "Vex".to_owned();
    let mut game = GameWriter::create(store, &new, now).unwrap();
    let turns = megabytes * 1_000_000 / TOLD as u64;
    for number in 1..=turns {
        let told = "x".repeat(if number == turns / 2 { LONG } else { TOLD });
        let text = format!(
            r#"{{"actor":"gm","narration":"{told}","deltas":[{{"scope":"world","deltas":[{{"op":"set","path":"clock","value":{number}}}]}}]}}"#
        );
        game.append(&TurnInput::parse(&text).unwrap(), now).unwrap();
    }
    game.close(now).unwrap();
    turns
}

/// Runs the binary with little memory.
fn run(root: &Path, words: &[&str]) -> Output {
    let limited = format!("ulimit -v {MEMORY_KB}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_everturn")]).args(words);
    command.arg("--root").arg(root).env_clear().output().unwrap()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a larger session is asked for from outside")]
fn a_giant_is_resumed_and_searched_in_little_memory() {
    let place = tempfile::tempdir().unwrap();
    let megabytes = std::env::var("EVERTURN_LARGE_MB").map_or(200, |text| text.parse().unwrap());
    let last = build(place.path(), megabytes);
    for turn in [1, last / 2, last - 1, last] {
        let done = run(place.path(), &["state", "giant", "--turn", &turn.to_string(), "--json"]);
        let out = String::from_utf8(done.stdout).unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stderr), "");
        assert!(out.contains(&format!("\"clock\":{turn}")), "{out}");
    }
    let shown = run(place.path(), &["show", "giant", "--turns", &(last / 2).to_string(), "--json"]);
    assert_eq!(shown.status.code(), Some(0), "{}", String::from_utf8_lossy(&shown.stderr));
    assert!(shown.stdout.len() > LONG);
    let listed = run(place.path(), &["ls", "--json"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains(&format!("\"turns\":{last}")));
    // The long turn makes its file larger than recommended; nothing else is wrong.
    let checked = run(place.path(), &["check", place.path().to_str().unwrap(), "--json"]);
    let found = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.status.code(), Some(3), "{}", String::from_utf8_lossy(&checked.stderr));
    assert!(found.lines().all(|line| line.contains("\"size-over-")), "{found}");
}
