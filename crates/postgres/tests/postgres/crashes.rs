//! A server that is killed while commits are made.

use std::sync::mpsc;
use std::time::Duration;

use everturn_postgres::PostgresStore;
use everturn_store::{Durability, Store, StoreError};

use crate::cluster::{Cluster, holder};
use crate::support::{append, path, replace};

/// How often the server is killed.
const KILLS: usize = 8;

/// Four writers commit turns while the server is killed with all its processes, and started again. Every answer must be
/// true: an acknowledged turn is there once, a refused one is not there, and an unknown one is there at most once.
#[test]
fn a_killed_server_loses_and_doubles_no_acknowledged_turn() {
    let mut server = Cluster::start("");
    let address = server.address("team");
    let store = PostgresStore::open(&address, &holder("one")).unwrap();
    let outcomes = std::thread::scope(|scope| {
        let mut stops = Vec::new();
        let writers: Vec<_> = (0..4)
            .map(|session| {
                let (stop, stopped) = mpsc::channel::<()>();
                stops.push(stop);
                let store = &store;
                scope.spawn(move || write_until(store, session, &stopped))
            })
            .collect();
        for kill in 0..KILLS {
            std::thread::sleep(Duration::from_millis(120 + 37 * kill as u64));
            server.kill_and_restart();
        }
        std::thread::sleep(Duration::from_millis(300));
        drop(stops);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    let reader = PostgresStore::open_read_only(&address).unwrap();
    let (mut acknowledged, mut unknown) = (0, 0);
    for (session, turns) in outcomes.iter().enumerate() {
        let log = reader.read(&path(&format!("s{session}/log")), 0..u64::MAX).unwrap();
        let log = String::from_utf8(log).unwrap();
        let found: Vec<usize> = log.lines().map(|line| line.parse().unwrap()).collect();
        for (turn, outcome) in turns.iter().enumerate() {
            let times = found.iter().filter(|found| **found == turn).count();
            match outcome {
                Outcome::Acknowledged => assert_eq!(times, 1, "session {session}, turn {turn}"),
                Outcome::Refused => assert_eq!(times, 0, "session {session}, turn {turn}"),
                Outcome::Unknown => assert!(times <= 1, "session {session}, turn {turn}"),
            }
            acknowledged += usize::from(*outcome == Outcome::Acknowledged);
            unknown += usize::from(*outcome == Outcome::Unknown);
        }
        // The other file of the commit is of the same turn.
        let state = reader.read(&path(&format!("s{session}/state")), 0..99).unwrap();
        assert_eq!(String::from_utf8(state).unwrap(), found.last().unwrap().to_string());
    }
    println!("{KILLS} kills: {acknowledged} turns acknowledged, {unknown} with an unknown outcome");
    assert!(acknowledged > 20, "{acknowledged}");
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Acknowledged,
    Refused,
    Unknown,
}

fn write_until(
    store: &PostgresStore,
    session: usize,
    stopped: &mpsc::Receiver<()>,
) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut writer = None;
    while stopped.try_recv() != Err(mpsc::TryRecvError::Disconnected) {
        if writer.is_none() {
            writer = store.lock(&[path(&format!("s{session}"))]).ok();
        }
        let Some(held) = &writer else {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        let turn = outcomes.len();
        let steps = vec![
            append(&format!("s{session}/log"), &format!("{turn}\n")),
            replace(&format!("s{session}/state"), &turn.to_string()),
        ];
        outcomes.push(match held.commit(steps, Durability::Synced) {
            Ok(_) => Outcome::Acknowledged,
            Err(StoreError::Poisoned { .. }) => Outcome::Unknown,
            Err(_) => Outcome::Refused,
        });
    }
    outcomes
}
