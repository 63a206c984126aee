//! Commits, notifications, snapshots and merged pieces; backends that are terminated.

use std::time::Duration;

use everturn_postgres::PostgresStore;
use everturn_store::{Durability, Step, Store, StoreError};
use postgres::fallible_iterator::FallibleIterator;

use crate::cluster::{cluster, holder, new_root, new_store};
use crate::support::{append, path, replace};

#[test]
fn a_snapshot_does_not_see_later_commits() {
    let store = new_store();
    let writer = store.lock(&[path("s")]).unwrap();
    writer.commit(vec![replace("s/a", "1"), replace("s/b", "1")], Durability::Synced).unwrap();
    let before = store.snapshot(&[path("s")]).unwrap().unwrap();
    assert_eq!(before.read(&path("s/a"), 0..9).unwrap(), b"1");
    writer.commit(vec![replace("s/a", "2"), replace("s/b", "2")], Durability::Synced).unwrap();
    assert_eq!(before.read(&path("s/b"), 0..9).unwrap(), b"1");
    assert_eq!(store.read(&path("s/b"), 0..9).unwrap(), b"2");
    drop(before);
    let after = store.snapshot(&[path("s")]).unwrap().unwrap();
    assert_eq!(after.read(&path("s/b"), 0..9).unwrap(), b"2");
}

#[test]
fn appended_pieces_are_merged_and_read_the_same() {
    let root = new_root();
    let store = PostgresStore::open(&cluster().address(&root), &holder("one")).unwrap();
    let writer = store.lock(&[path("s")]).unwrap();
    let mut expected = String::new();
    for n in 0..300 {
        let line = format!("{n}\n");
        let receipt = writer.commit(vec![append("s/log", &line)], Durability::Buffered).unwrap();
        assert_eq!(receipt.appended, [expected.len() as u64]);
        expected.push_str(&line);
    }
    assert_eq!(store.read(&path("s/log"), 0..u64::MAX).unwrap(), expected.as_bytes());
    let row =
        cluster().client().query_one(&format!("SELECT count(*) FROM {root}.pieces"), &[]).unwrap();
    let pieces: i64 = row.get(0);
    assert!(pieces < 100, "{pieces} pieces");
    for start in [0_u16, 1, 100, 511, 512, 900] {
        let range = u64::from(start)..u64::from(start) + 10;
        let part = store.read(&path("s/log"), range).unwrap();
        assert_eq!(part, &expected.as_bytes()[usize::from(start)..usize::from(start) + 10]);
    }
}

#[test]
fn every_commit_has_a_number_and_a_notification() {
    let root = new_root();
    let store = PostgresStore::open(&cluster().address(&root), &holder("one")).unwrap();
    let mut listener = cluster().client();
    listener.batch_execute(&format!("LISTEN \"everturn.{root}\"")).unwrap();
    let writer = store.lock(&[path("s")]).unwrap();
    for n in 0..3 {
        writer.commit(vec![replace("s/a", &n.to_string())], Durability::Synced).unwrap();
    }
    writer.commit(vec![append("s/a/b", "{}\n")], Durability::Synced).unwrap_err();
    let mut notes = listener.notifications();
    let told = notes.timeout_iter(Duration::from_secs(10)).take(3);
    let told: Vec<String> = told.map(|note| Ok(note.payload().to_owned())).collect().unwrap();
    drop(notes);
    let rows =
        listener.query(&format!("SELECT number::text FROM {root}.changes ORDER BY number"), &[]);
    let numbers: Vec<String> = rows.unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!(told, numbers);
}

#[test]
fn old_changes_are_removed_and_recent_ones_stay() {
    let root = new_root();
    let store = PostgresStore::open(&cluster().address(&root), &holder("one")).unwrap();
    let writer = store.lock(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "0\n")], Durability::Synced).unwrap();
    let old = format!(
        "UPDATE {root}.changes SET made = made - interval '8 days'; \
         INSERT INTO {root}.changes (number, id, paths, made) \
         SELECT -n, 'old' || n, '{{}}', now() - interval '9 days' FROM generate_series(1, 500) n"
    );
    cluster().client().batch_execute(&old).unwrap();
    for n in 1..300 {
        writer.commit(vec![append("s/log", &format!("{n}\n"))], Durability::Buffered).unwrap();
    }
    let count = format!("SELECT count(*), min(number) FROM {root}.changes");
    let row = cluster().client().query_one(&count, &[]).unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (299, 2));
}

#[test]
fn terminated_backends_lose_and_double_nothing() {
    let root = new_root();
    let store = PostgresStore::open(&cluster().address(&root), &holder("one")).unwrap();
    let writer = store.lock(&[path("s")]).unwrap();
    let mut outcomes = Vec::new();
    std::thread::scope(|scope| {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let root = &root;
        scope.spawn(move || {
            // Only the backends that have read this root: other tests share the server.
            let kill = format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'everturn' \
                 AND pid IN (SELECT pid FROM pg_locks WHERE relation = '{root}.leases'::regclass)"
            );
            let mut client = cluster().client();
            let mut killed = 0;
            while stopped.recv_timeout(Duration::from_millis(10)).is_err_and(|e| e == std::sync::mpsc::RecvTimeoutError::Timeout) {
                killed += client.query(&kill, &[]).unwrap().len();
            }
            println!("{killed} backends were terminated");
            assert!(killed > 0);
        });
        for n in 0..100 {
            let line = format!("{n}\n");
            outcomes.push(match writer.commit(vec![append("s/log", &line)], Durability::Synced) {
                Ok(receipt) => Ok(receipt.appended[0]),
                Err(error) => Err(error),
            });
        }
        drop(stop);
    });
    let log = store.read(&path("s/log"), 0..u64::MAX).unwrap();
    let log = String::from_utf8(log).unwrap();
    let mut acknowledged = 0;
    for (n, outcome) in outcomes.iter().enumerate() {
        let line = format!("{n}\n");
        let found: Vec<usize> = log.match_indices(&line).map(|(at, _)| at).collect();
        let found: Vec<usize> =
            found.into_iter().filter(|at| *at == 0 || log.as_bytes()[at - 1] == b'\n').collect();
        match outcome {
            Ok(at) => {
                acknowledged += 1;
                assert_eq!(found, [usize::try_from(*at).unwrap()], "turn {n}");
            }
            // The server could not be asked again and again.
            Err(StoreError::Poisoned { .. }) => assert!(found.len() <= 1, "turn {n}: {found:?}"),
            Err(error) => assert!(found.is_empty(), "turn {n} is there in spite of {error:?}"),
        }
    }
    println!("{acknowledged} of {} turns were acknowledged", outcomes.len());
    assert!(acknowledged > 0);
}

/// Commits of many writers that arrive together share transactions. A batch that cannot be applied fails alone.
#[test]
fn writers_share_transactions_and_fail_alone() {
    let root = new_root();
    let store = PostgresStore::open(&cluster().address(&root), &holder("one")).unwrap();
    std::thread::scope(|scope| {
        for session in 0..16 {
            let store = &store;
            scope.spawn(move || {
                let writer = store.lock(&[path(&format!("s/{session}"))]).unwrap();
                let log = format!("s/{session}/log");
                for n in 0..20_u64 {
                    let line = format!("{n}\n");
                    let receipt = writer.commit(vec![append(&log, &line)], Durability::Synced);
                    assert_eq!(receipt.unwrap().appended.len(), 1);
                    // A batch whose expectation does not hold, between the others.
                    let wrong = Step::create(path(&log), b"x".to_vec());
                    let refused = writer.commit(vec![wrong], Durability::Synced);
                    assert!(matches!(refused, Err(StoreError::Taken { .. })), "{refused:?}");
                }
            });
        }
    });
    let lines: String = (0..20).map(|n| format!("{n}\n")).collect();
    for session in 0..16 {
        let log = store.read(&path(&format!("s/{session}/log")), 0..u64::MAX).unwrap();
        assert_eq!(String::from_utf8(log).unwrap(), lines, "session {session}");
    }
    let count = format!("SELECT count(*), count(DISTINCT xact) FROM {root}.changes");
    let row = cluster().client().query_one(&count, &[]).unwrap();
    let (changes, transactions): (i64, i64) = (row.get(0), row.get(1));
    println!("{changes} commits in {transactions} transactions");
    assert_eq!(changes, 320);
    assert!(transactions < changes / 2, "{transactions}");
}
