//! Servers that are killed while the binary writes, and binaries that are killed.

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use crate::cluster::Cluster;
use crate::{everturn, succeed};

/// The address of a root on a server of its own.
fn address(server: &Cluster) -> String {
    format!("postgres://everturn@127.0.0.1:{}/postgres?root=team", server.port)
}

/// Turns are appended while the server is killed and started again, again and again. Every turn that was acknowledged is
/// there once, in order; one that was refused is not there.
#[test]
fn a_killed_server_loses_and_doubles_no_acknowledged_turn() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Cluster::start("");
    let address = address(&server);
    succeed(dir.path(), &["new", "thread", "--id", "tale", "--root", &address], "");
    let mut acknowledged = Vec::new();
    let mut number = 0;
    for round in 0..6_u64 {
        let words = ["append", "tale", "--lines", "--json", "--root", &address];
        let mut child = everturn(dir.path(), &words).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(150 + 40 * round));
            server.kill_and_restart();
            server
        });
        for _ in 0..400 {
            number += 1;
            let turn = format!("{{\"role\":\"user\",\"content\":\"turn {number}\"}}\n");
            if input.write_all(turn.as_bytes()).is_err() {
                break;
            }
            match answers.next() {
                Some(Ok(_)) => acknowledged.push(number),
                _ => break,
            }
            if killer.is_finished() {
                break;
            }
        }
        drop(input);
        child.wait().unwrap();
        server = killer.join().unwrap();
    }
    let shown = succeed(dir.path(), &["show", "tale", "--json", "--root", &address], "");
    let found: Vec<u64> = shown
        .lines()
        .filter_map(|line| line.split_once("turn ")?.1.split('"').next()?.parse().ok())
        .collect();
    println!("{} turns acknowledged, {} found", acknowledged.len(), found.len());
    let mut distinct = found.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(found, distinct, "a turn is there twice or out of order");
    for turn in &acknowledged {
        assert!(found.contains(turn), "turn {turn} was acknowledged and is lost");
    }
    // At most the last turn of each round had no answer.
    assert!(found.len() <= acknowledged.len() + 6, "{} {}", found.len(), acknowledged.len());
    assert!(!acknowledged.is_empty());
    succeed(dir.path(), &["check", "--root", &address], "");
}
