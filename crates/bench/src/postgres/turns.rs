//! Durable turns of one and many sessions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use everturn::names::FilePath;
use everturn::store::{AppendAt, Durability, Step, Store};
use everturn_postgres::{PostgresStore, ServerAddress};
use serde_json::{Value, json};

use super::PostgresError;
use super::cluster::{Cluster, holder};
use crate::stats::percentile;

/// The bytes of a turn.
pub(crate) const TURN: usize = 1000;

/// The times of a row.
pub(crate) struct TurnTimes {
    pub(crate) name: String,
    pub(crate) sessions: usize,
    pub(crate) per_second: u64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

impl TurnTimes {
    pub(crate) fn as_json(&self) -> Value {
        json!({
            "name": self.name, "sessions": self.sessions, "per_second": self.per_second,
            "p50_us": u64::try_from(self.p50.as_micros()).unwrap_or(u64::MAX),
            "p99_us": u64::try_from(self.p99.as_micros()).unwrap_or(u64::MAX),
        })
    }
}

fn line() -> String {
    format!("{{\"text\":\"{}\"}}\n", "x".repeat(TURN - 12))
}

/// Saves one turn.
type SaveTurn = Box<dyn FnMut() -> Result<(), PostgresError>>;

/// Saves turns in `count` threads until the time is over.
fn measure(
    name: &str,
    count: usize,
    time: Duration,
    start: &(dyn Fn(usize) -> Result<SaveTurn, PostgresError> + Sync),
) -> Result<TurnTimes, PostgresError> {
    let run = |number: usize| {
        let mut save = start(number)?;
        let (begin, mut times) = (Instant::now(), Vec::new());
        while begin.elapsed() < time {
            let before = Instant::now();
            save()?;
            times.push(before.elapsed());
        }
        Ok::<_, PostgresError>(times)
    };
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || run(number))).collect();
        for thread in threads {
            let ended = || PostgresError::Wrong("a thread has panicked".to_owned());
            times.extend(thread.join().map_err(|_| ended())??);
        }
        Ok::<_, PostgresError>(())
    })?;
    times.sort_unstable();
    Ok(TurnTimes {
        name: name.to_owned(),
        sessions: count,
        per_second: times.len() as u64 / time.as_secs().max(1),
        p50: percentile(&times, 50),
        p99: percentile(&times, 99),
    })
}

/// A raw `INSERT` of the same bytes, on a connection for each session.
pub(crate) fn raw(
    server: &Cluster,
    count: usize,
    time: Duration,
) -> Result<TurnTimes, PostgresError> {
    server.client().batch_execute("CREATE TABLE IF NOT EXISTS raw (session int, line bytea)")?;
    measure("raw INSERT", count, time, &|number| {
        let mut client = server.client();
        let insert = client.prepare("INSERT INTO raw VALUES ($1, $2)")?;
        let session = i32::try_from(number).unwrap_or(0);
        Ok(Box::new(move || {
            client.execute(&insert, &[&session, &line().as_bytes()])?;
            Ok(())
        }))
    })
}

/// Opens a session in a store.
fn session(store: &Arc<dyn Store>, scope: &str) -> Result<SaveTurn, PostgresError> {
    let writer = store.lock(&[FilePath::parse(scope)?])?;
    let file = FilePath::parse(&format!("{scope}/log"))?;
    Ok(Box::new(move || {
        let step =
            Step::Append { file: file.clone(), at: AppendAt::End, lines: line().into_bytes() };
        writer.commit(vec![step], Durability::Synced)?;
        Ok(())
    }))
}

/// Sessions that share a store.
pub(crate) fn store(
    name: &str,
    store: &Arc<dyn Store>,
    count: usize,
    time: Duration,
) -> Result<TurnTimes, PostgresError> {
    measure(name, count, time, &|number| session(store, &format!("turns{count}/s{number}")))
}

/// Sessions with a store and a connection each.
pub(crate) fn one_store_each(
    address: &ServerAddress,
    count: usize,
    time: Duration,
) -> Result<TurnTimes, PostgresError> {
    measure("PostgreSQL, one store each", count, time, &|number| {
        let own: Arc<dyn Store> = Arc::new(PostgresStore::open(address, &holder("bench"))?);
        session(&own, &format!("alone{count}/s{number}"))
    })
}

/// The bytes in the tables and indexes for each turn so far.
pub(crate) fn bytes_per_turn(server: &Cluster) -> Result<i64, PostgresError> {
    let size = "SELECT (sum(pg_total_relation_size(c.oid)) / (SELECT count(*) FROM bench.changes))::bigint \
         FROM pg_class c WHERE relnamespace = 'bench'::regnamespace AND relkind = 'r'";
    Ok(server.client().query_one(size, &[])?.try_get(0)?)
}
