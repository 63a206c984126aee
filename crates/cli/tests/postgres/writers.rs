//! Many processes that write to the same sessions, with clocks hours apart.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::{everturn, new_address, run, succeed};

const SESSIONS: usize = 4;
const WRITERS: usize = 16;

/// Turns of each writer; each turn is a process.
const TURNS: usize = 3;

/// Each writer stands for a machine: its clock is wrong by up to a day, in both directions. Leases go by the clock of the
/// server, so nothing depends on it.
#[test]
fn sixteen_writers_with_wrong_clocks_lose_and_double_no_turn() {
    let dir = tempfile::tempdir().unwrap();
    let address = new_address();
    for session in 0..SESSIONS {
        let id = format!("s{session}");
        succeed(dir.path(), &["new", "thread", "--id", &id, "--root", &address], "");
    }
    let write = |writer: usize| {
        let id = format!("s{}", writer % SESSIONS);
        let clock = format!("2026-01-{:02}T{:02}:00:00Z", 10 + writer % 3, (writer * 7) % 24);
        let deadline = Instant::now() + Duration::from_secs(300);
        for turn in 0..TURNS {
            let text = format!("{{\"role\":\"user\",\"content\":\"turn {writer}-{turn}.\"}}");
            loop {
                let mut command = everturn(dir.path(), &["append", &id, "--root", &address]);
                command.env("EVERTURN_NOW", &clock);
                let output = run(command, &text);
                if output.status.success() {
                    break;
                }
                let error = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(error.contains("is being written by another process (host "), "{error}");
                assert!(Instant::now() < deadline, "{error}");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    };
    std::thread::scope(|scope| {
        let write = &write;
        for writer in 0..WRITERS {
            scope.spawn(move || write(writer));
        }
    });
    for session in 0..SESSIONS {
        let id = format!("s{session}");
        let shown = succeed(dir.path(), &["show", &id, "--json", "--root", &address], "");
        let turns: Vec<&str> = shown
            .lines()
            .filter_map(|line| line.split_once("turn ")?.1.split('.').next())
            .collect();
        assert_eq!(turns.len(), TURNS * WRITERS / SESSIONS, "{shown}");
        assert_eq!(turns.iter().collect::<BTreeSet<_>>().len(), turns.len(), "{shown}");
    }
    succeed(dir.path(), &["check", "--root", &address], "");
}
