//! Measures durable turns: `cargo test --release -p everturn-postgres --test postgres -- --ignored --nocapture measure`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use everturn_postgres::PostgresStore;
use everturn_store::disk::RealDisk;
use everturn_store::{Durability, FileStore, LockOwner, Options, Store};

use crate::cluster::{cluster, holder, new_root};
use crate::support::{append, path};

/// The bytes of a turn.
const TURN: usize = 1000;

/// The time of one measurement.
const TIME: Duration = Duration::from_secs(4);

fn line() -> String {
    format!("{{\"text\":\"{}\"}}\n", "x".repeat(TURN - 12))
}

/// Runs `turn` in `count` threads; returns turns per second and the times of a turn.
fn measure(name: &str, count: usize, turn: &(dyn Fn(usize) -> Box<dyn FnMut()> + Sync)) -> String {
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                scope.spawn(move || {
                    let mut turn = turn(number);
                    let (start, mut times) = (Instant::now(), Vec::new());
                    while start.elapsed() < TIME {
                        let before = Instant::now();
                        turn();
                        times.push(before.elapsed());
                    }
                    times
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_micros();
    let rate = times.len() as u128 * 1000 / TIME.as_millis();
    format!(
        "{name:<28} {count:>3} sessions {rate:>6} turns/s  p50 {:>7} us  p99 {:>7} us",
        at(50),
        at(99)
    )
}

fn measure_store(name: &str, store: &Arc<dyn Store>, count: usize) -> String {
    measure(name, count, &|number| {
        let scope = format!("n{count}/s{number}");
        let writer = store.lock(&[path(&scope)]).unwrap();
        let file = format!("{scope}/log");
        Box::new(move || {
            drop(writer.commit(vec![append(&file, &line())], Durability::Synced).unwrap());
        })
    })
}

#[test]
#[ignore = "a measurement"]
fn measure_durable_turns() {
    let root = new_root();
    let mut client = cluster().client();
    client.batch_execute("CREATE TABLE raw (session int, line bytea)").unwrap();
    let address = cluster().address(&root);
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(&address, &holder("one")).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let owner = LockOwner { pid: 7, started: "2026-01-01T00:00:00Z".to_owned() };
    let disk = Arc::new(RealDisk::open(dir.path()).unwrap());
    let files: Arc<dyn Store> = Arc::new(FileStore::open(disk, Options::new(owner)).unwrap());
    for count in [1, 16, 64] {
        let raw = measure("raw INSERT", count, &|number| {
            let mut client = cluster().client();
            let insert = client.prepare("INSERT INTO raw VALUES ($1, $2)").unwrap();
            let session = i32::try_from(number).unwrap();
            Box::new(move || {
                client.execute(&insert, &[&session, &line().as_bytes()]).unwrap();
            })
        });
        let shared = measure_store("PostgreSQL", &store, count);
        let alone = |number: usize| -> Box<dyn FnMut()> {
            let store = PostgresStore::open(&address, &holder("one")).unwrap();
            let scope = format!("alone{count}/s{number}");
            let writer = store.lock(&[path(&scope)]).unwrap();
            let file = format!("{scope}/log");
            Box::new(move || {
                drop(writer.commit(vec![append(&file, &line())], Durability::Synced).unwrap());
            })
        };
        let alone = measure("PostgreSQL, one store each", count, &alone);
        let plain = measure_store("plain files", &files, count);
        println!("{raw}\n{shared}\n{alone}\n{plain}");
    }
    let size = format!(
        "SELECT sum(pg_total_relation_size(c.oid)) / (SELECT count(*) FROM {root}.changes) \
         FROM pg_class c WHERE relnamespace = '{root}'::regnamespace AND relkind = 'r'"
    );
    let row = cluster().client().query_one(&format!("SELECT ({size})::bigint"), &[]).unwrap();
    println!("bytes per turn of {TURN}: {}", row.get::<_, i64>(0));
}
