//! Writers on several machines.

use std::thread::sleep;
use std::time::Duration;

use everturn_postgres::{PostgresStore, StoreHolder};
use everturn_store::{AppendAt, Durability, Step, Store, StoreError};

use crate::cluster::{cluster, holder, new_root};
use crate::support::{append, path};

const SESSIONS: usize = 4;
const WRITERS: usize = 16;
const TURNS: usize = 10;

#[test]
fn busy_names_the_holder_and_the_host() {
    let address = cluster().address(&new_root());
    let one = PostgresStore::open(&address, &holder("alpha")).unwrap();
    let two = PostgresStore::open(&address, &holder("beta")).unwrap();
    let writer = one.lock(&[path("s/a")]).unwrap();
    for scope in ["s/a", "s", "s/a/b", ""] {
        let error = two.lock(&[path(scope)]).err().unwrap().to_string();
        assert!(error.contains("host alpha, pid 7"), "{error}");
    }
    drop(two.lock(&[path("s/ab")]).unwrap());
    writer.release().unwrap();
    two.lock(&[path("s/a")]).unwrap().release().unwrap();
}

#[test]
fn a_lease_is_renewed_while_it_is_held() {
    let address = cluster().address(&new_root());
    let short = StoreHolder { lease: Duration::from_millis(900), ..holder("alpha") };
    let one = PostgresStore::open(&address, &short).unwrap();
    let two = PostgresStore::open(&address, &holder("beta")).unwrap();
    let writer = one.lock(&[path("s")]).unwrap();
    sleep(Duration::from_millis(2700));
    assert!(matches!(two.lock(&[path("s")]), Err(StoreError::Busy { .. })));
    writer.commit(vec![append("s/log", "{}\n")], Durability::Synced).unwrap();
}

#[test]
fn a_writer_whose_lease_was_taken_writes_nothing() {
    let root = new_root();
    let address = cluster().address(&root);
    let one = PostgresStore::open(&address, &holder("alpha")).unwrap();
    let two = PostgresStore::open(&address, &holder("beta")).unwrap();
    let stalled = one.lock(&[path("s")]).unwrap();
    stalled.commit(vec![append("s/log", "1\n")], Durability::Synced).unwrap();
    // The holder is cut off until its lease has run out by the clock of the server.
    let expire = format!("UPDATE {root}.leases SET expires = clock_timestamp() - interval '1s'");
    cluster().client().batch_execute(&expire).unwrap();
    // An expired lease that was not taken is still exclusive.
    stalled.commit(vec![append("s/log", "2\n")], Durability::Synced).unwrap();
    let heir = two.lock(&[path("s")]).unwrap();
    for durability in [Durability::Synced, Durability::Buffered] {
        let error = stalled.commit(vec![append("s/log", "3\n")], durability).unwrap_err();
        assert!(
            matches!(&error, StoreError::LeaseLost { scope } if *scope == path("s")),
            "{error:?}"
        );
    }
    heir.commit(vec![append("s/log", "4\n")], Durability::Synced).unwrap();
    assert_eq!(one.read(&path("s/log"), 0..99).unwrap(), b"1\n2\n4\n");
    // Its release does not end the lease of the other.
    stalled.release().unwrap();
    heir.commit(vec![append("s/log", "5\n")], Durability::Synced).unwrap();
}

/// Each writer has its own store, as a process would. Leases are stolen all the time by making them expire.
#[test]
fn sixteen_writers_on_four_sessions_lose_and_double_no_turn() {
    let root = new_root();
    let address = cluster().address(&root);
    let reader = PostgresStore::open(&address, &holder("reader")).unwrap();
    let turn = |writer: usize| {
        let store = PostgresStore::open(&address, &holder(&format!("host{writer}"))).unwrap();
        let file = path(&format!("s{}/log", writer % SESSIONS));
        let (mut done, mut lost) = (0, 0);
        while done < TURNS {
            let Ok(lease) = store.lock(&[file.parent().unwrap()]) else {
                sleep(Duration::from_millis(3));
                continue;
            };
            while done < TURNS {
                let end = store.stat(&file).unwrap().map_or(0, |stat| stat.len);
                let lines = format!("{{\"writer\":{writer},\"turn\":{done}}}\n").into_bytes();
                let step = Step::Append { file: file.clone(), at: AppendAt::Offset(end), lines };
                match lease.commit(vec![step], Durability::Synced) {
                    Ok(receipt) => {
                        assert_eq!(receipt.appended, [end]);
                        done += 1;
                    }
                    Err(StoreError::LeaseLost { .. }) => {
                        lost += 1;
                        break;
                    }
                    Err(error) => panic!("{error:?}"),
                }
            }
        }
        lost
    };
    let lost: usize = std::thread::scope(|scope| {
        let turn = &turn;
        let writers: Vec<_> = (0..WRITERS).map(|n| scope.spawn(move || turn(n))).collect();
        let mut client = cluster().client();
        let expire =
            format!("UPDATE {root}.leases SET expires = clock_timestamp() - interval '1s'");
        while !writers.iter().all(|writer| writer.is_finished()) {
            client.batch_execute(&expire).unwrap();
            sleep(Duration::from_millis(5));
        }
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    println!("{lost} commits of writers that had lost their lease were refused");
    for session in 0..SESSIONS {
        let bytes = reader.read(&path(&format!("s{session}/log")), 0..u64::MAX).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let mut turns: Vec<&str> = text.lines().collect();
        assert_eq!(turns.len(), TURNS * WRITERS / SESSIONS);
        turns.sort_unstable();
        turns.dedup();
        assert_eq!(turns.len(), TURNS * WRITERS / SESSIONS);
    }
}
