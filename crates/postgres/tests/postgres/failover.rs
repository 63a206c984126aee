//! A primary with a synchronous standby: what is acknowledged is on both.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant, SystemTime};

use everturn_postgres::{PostgresStore, ServerAddress};
use everturn_store::{Durability, Store, StoreError};
use postgres::{Client, NoTls};

use crate::cluster::{Cluster, holder};
use crate::support::{append, path, replace};

/// The settings of a primary that acknowledges nothing before a standby has it.
const PRIMARY: &str = "-c synchronous_standby_names='*' -c wal_level=replica -c hot_standby=on";

const WRITERS: usize = 4;

/// How often the primary is killed. `EVERTURN_FAILOVERS` sets another number.
fn runs() -> usize {
    std::env::var("EVERTURN_FAILOVERS").map_or(2, |text| text.parse().unwrap())
}

fn pair() -> (Cluster, Cluster) {
    // A server waits for standbys as soon as it has the setting, so the copy is made first.
    let mut primary = Cluster::start("-c wal_level=replica");
    let standby = primary.standby("");
    primary.restart_with(PRIMARY);
    let mut client = primary.client();
    let attached =
        "SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')";
    let deadline = Instant::now() + Duration::from_secs(30);
    while client.query_one(attached, &[]).unwrap().get::<_, i64>(0) == 0 {
        assert!(Instant::now() < deadline, "the standby does not follow");
        std::thread::sleep(Duration::from_millis(50));
    }
    (primary, standby)
}

fn address(first: u16, second: u16) -> ServerAddress {
    let url = format!(
        "postgres://everturn@127.0.0.1:{first},127.0.0.1:{second}/postgres?root=team&target_session_attrs=read-write"
    );
    ServerAddress::parse(&url).unwrap()
}

/// What a writer was told about each of its turns.
type Told = Vec<Answer>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Acknowledged,
    Refused,
    Unknown,
}

fn write_until(
    store: &PostgresStore,
    session: usize,
    stopped: &mpsc::Receiver<()>,
    acknowledged: &AtomicUsize,
) -> Told {
    let (mut told, mut writer) = (Told::new(), None);
    while stopped.try_recv() != Err(mpsc::TryRecvError::Disconnected) {
        if writer.is_none() {
            writer = store.lock(&[path(&format!("s{session}"))]).ok();
        }
        let Some(held) = &writer else {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        let turn = told.len();
        let steps = vec![
            append(&format!("s{session}/log"), &format!("{turn}\n")),
            replace(&format!("s{session}/state"), &turn.to_string()),
        ];
        let answer = match held.commit(steps, Durability::Synced) {
            Ok(_) => Answer::Acknowledged,
            Err(StoreError::Poisoned { .. }) => Answer::Unknown,
            Err(_) => Answer::Refused,
        };
        if answer == Answer::Acknowledged {
            acknowledged.fetch_add(1, Ordering::SeqCst);
        }
        told.push(answer);
    }
    told
}

/// Compares what a writer was told with what is there.
fn verify(reader: &PostgresStore, session: usize, told: &[Answer]) -> usize {
    let log = reader.read(&path(&format!("s{session}/log")), 0..u64::MAX).unwrap();
    let log = String::from_utf8(log).unwrap();
    let found: Vec<usize> = log.lines().map(|line| line.parse().unwrap()).collect();
    for (turn, answer) in told.iter().enumerate() {
        let times = found.iter().filter(|found| **found == turn).count();
        match answer {
            Answer::Acknowledged => assert_eq!(times, 1, "session {session}, turn {turn}"),
            Answer::Refused => assert_eq!(times, 0, "session {session}, turn {turn}"),
            Answer::Unknown => assert!(times <= 1, "session {session}, turn {turn}"),
        }
    }
    let state = reader.read(&path(&format!("s{session}/state")), 0..99).unwrap();
    assert_eq!(String::from_utf8(state).unwrap(), found.last().unwrap().to_string());
    told.iter().filter(|answer| **answer == Answer::Acknowledged).count()
}

/// The primary is killed under load and the standby promoted. Returns the number of acknowledged turns and the time from
/// the kill to the next one.
fn fail_over(run: usize) -> (usize, Duration) {
    let (mut primary, standby) = pair();
    let address = address(primary.port, standby.port);
    let store = PostgresStore::open(&address, &holder("one")).unwrap();
    let acknowledged = AtomicUsize::new(0);
    // Waits for so many more turns, however slow the machine is.
    let wait_for = |more: usize| {
        let enough = acknowledged.load(Ordering::SeqCst) + more;
        let deadline = Instant::now() + Duration::from_secs(120);
        while acknowledged.load(Ordering::SeqCst) < enough {
            assert!(Instant::now() < deadline, "no turns are acknowledged");
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let (told, [killed, dead]) = std::thread::scope(|scope| {
        let mut stops = Vec::new();
        let writers: Vec<_> = (0..WRITERS)
            .map(|session| {
                let (stop, stopped) = mpsc::channel::<()>();
                stops.push(stop);
                let store = &store;
                let acknowledged = &acknowledged;
                scope.spawn(move || write_until(store, session, &stopped, acknowledged))
            })
            .collect();
        wait_for(60 + 7 * (run % 10));
        let killed = SystemTime::now();
        primary.kill();
        let dead = SystemTime::now();
        standby.promote();
        wait_for(20);
        drop(stops);
        let told: Vec<Told> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        (told, [killed, dead])
    });
    let reader = PostgresStore::open_read_only(&standby.address("team")).unwrap();
    let acknowledged = told.iter().enumerate().map(|(n, told)| verify(&reader, n, told)).sum();
    // Both servers have the clock of this machine, and the first one makes no changes after its death.
    let first = "SELECT min(made) FROM team.changes WHERE made > $1";
    let next: SystemTime = standby.client().query_one(first, &[&dead]).unwrap().get(0);
    (acknowledged, next.duration_since(killed).unwrap())
}

#[test]
fn a_failover_loses_and_doubles_no_acknowledged_turn() {
    let mut times = Vec::new();
    for run in 0..runs() {
        let (acknowledged, next) = fail_over(run);
        println!("run {run}: {acknowledged} turns acknowledged, next commit after {next:?}");
        assert!(acknowledged >= 80, "{acknowledged}");
        times.push(next);
    }
    times.sort_unstable();
    println!("{} runs, next commit after {:?} at most", times.len(), times.last().unwrap());
}

/// A server that is told to stop waiting for its standby answers that the commit succeeded, with a warning.
#[test]
fn a_commit_that_no_standby_has_is_not_acknowledged() {
    let (primary, mut standby) = pair();
    let store = PostgresStore::open(&primary.address("team"), &holder("one")).unwrap();
    let writer = store.lock(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "1\n")], Durability::Synced).unwrap();
    standby.kill();
    let done = Mutex::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let cancel =
                "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
            let mut client = primary.client();
            while !*done.lock().unwrap() {
                client.query(cancel, &[]).unwrap();
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let answer = writer.commit(vec![append("s/log", "2\n")], Durability::Synced);
        *done.lock().unwrap() = true;
        let error = answer.expect_err("acknowledged, though only one server has it");
        assert!(matches!(error, StoreError::Poisoned { .. }), "{error:?}");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        let cause = format!("{cause} {:?}", std::error::Error::source(&error));
        assert!(cause.contains("standby"), "{cause}");
        // Its lease cannot be released without the standby either.
        let mut client = primary.client();
        client.batch_execute("ALTER SYSTEM SET synchronous_standby_names = ''").ok();
        std::mem::forget(writer);
    });
}

#[test]
fn a_standby_can_be_read_and_says_why_it_cannot_be_written() {
    let (primary, standby) = pair();
    let store = PostgresStore::open(&primary.address("team"), &holder("one")).unwrap();
    let writer = store.lock(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "1\n")], Durability::Synced).unwrap();
    writer.release().unwrap();
    let reader = PostgresStore::open_read_only(&standby.address("team")).unwrap();
    let mut replayed =
        Client::connect(&format!("postgres://everturn@127.0.0.1:{}/postgres", standby.port), NoTls)
            .unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while replayed.query("SELECT 1 FROM team.entries WHERE path = 's/log'", &[]).unwrap().is_empty()
    {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(reader.read(&path("s/log"), 0..9).unwrap(), b"1\n");
    assert!(reader.snapshot(&[path("s")]).unwrap().unwrap().list(&path("s")).is_ok());
    let error = PostgresStore::open(&standby.address("team"), &holder("one")).err().unwrap();
    let StoreError::Io { source, .. } = &error else { panic!("{error:?}") };
    assert!(source.to_string().contains("standby"), "{source}");
}
