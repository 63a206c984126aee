//! Writers that are cut off from the server, or stall, while others go on.

use std::thread::sleep;
use std::time::{Duration, Instant};

use everturn_postgres::{PostgresStore, StoreHolder};
use everturn_store::{Durability, Store, StoreError, Writer};

use crate::cluster::{address_at, cluster, holder, new_root};
use crate::proxy::Proxy;
use crate::support::{append, path};

fn short(host: &str) -> StoreHolder {
    StoreHolder { lease: Duration::from_millis(900), ..holder(host) }
}

/// Takes a lease as soon as it has expired.
fn lock_later(store: &PostgresStore, scope: &str) -> Box<dyn Writer> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match store.lock(&[path(scope)]) {
            Ok(writer) => return writer,
            Err(StoreError::Busy { .. }) => assert!(Instant::now() < deadline),
            Err(error) => panic!("{error:?}"),
        }
        sleep(Duration::from_millis(50));
    }
}

/// The holder of a lease is cut off; no connection is closed. Its turns arrive when the partition ends, after another
/// writer has taken over.
#[test]
fn a_holder_behind_a_partition_writes_nothing_after_its_lease_was_taken() {
    let root = new_root();
    let proxy = Proxy::start(cluster().port);
    let far = PostgresStore::open(&address_at(proxy.port, &root), &short("far")).unwrap();
    let near = PostgresStore::open(&cluster().address(&root), &short("near")).unwrap();
    let stalled = far.lock(&[path("s")]).unwrap();
    stalled.commit(vec![append("s/log", "far 1\n")], Durability::Synced).unwrap();
    let partition = proxy.partition.lock().unwrap();
    std::thread::scope(|scope| {
        let late =
            scope.spawn(|| stalled.commit(vec![append("s/log", "far 2\n")], Durability::Synced));
        let heir = lock_later(&near, "s");
        heir.commit(vec![append("s/log", "near 1\n")], Durability::Synced).unwrap();
        drop(partition);
        let error = late.join().unwrap().unwrap_err();
        assert!(matches!(error, StoreError::LeaseLost { .. }), "{error:?}");
        heir.commit(vec![append("s/log", "near 2\n")], Durability::Synced).unwrap();
    });
    let log = near.read(&path("s/log"), 0..99).unwrap();
    assert_eq!(String::from_utf8(log).unwrap(), "far 1\nnear 1\nnear 2\n");
}

/// Without the check of the epoch the late turn would be written: this shows that nothing else stops it.
#[test]
fn only_the_epoch_keeps_a_late_turn_out() {
    let root = new_root();
    let address = cluster().address(&root);
    let one = PostgresStore::open(&address, &holder("one")).unwrap();
    let two = PostgresStore::open(&address, &holder("two")).unwrap();
    let stalled = one.lock(&[path("s")]).unwrap();
    let mut client = cluster().client();
    let epoch: i64 =
        client.query_one(&format!("SELECT epoch FROM {root}.leases"), &[]).unwrap().get(0);
    client
        .batch_execute(&format!("UPDATE {root}.leases SET expires = now() - interval '1s'"))
        .unwrap();
    let heir = two.lock(&[path("s")]).unwrap();
    heir.commit(vec![append("s/log", "two\n")], Durability::Synced).unwrap();
    let late = || stalled.commit(vec![append("s/log", "one\n")], Durability::Synced);
    assert!(matches!(late(), Err(StoreError::LeaseLost { .. })));
    assert_eq!(one.read(&path("s/log"), 0..99).unwrap(), b"two\n");
    // The epoch is put back, as if it were not checked.
    let put_back = format!(
        "INSERT INTO {root}.leases VALUES ('elsewhere', {epoch}, 'x', 'x', now() + interval '1min')"
    );
    client.batch_execute(&put_back).unwrap();
    late().unwrap();
    assert_eq!(one.read(&path("s/log"), 0..99).unwrap(), b"two\none\n");
}

/// Makes commits that touch files called `slow` take some seconds.
fn slow_down(root: &str, seconds: u32) {
    let trigger = format!(
        "CREATE FUNCTION {root}.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF array_to_string(NEW.paths, ' ') LIKE '%slow%' THEN PERFORM pg_sleep({seconds}); END IF; RETURN NEW; END $$; \
         CREATE TRIGGER wait BEFORE INSERT ON {root}.changes FOR EACH ROW EXECUTE FUNCTION {root}.wait()"
    );
    cluster().client().batch_execute(&trigger).unwrap();
}

/// A long commit keeps its own lease and does not stop the renewal of the others of its process.
#[test]
fn a_long_commit_lets_no_lease_run_out() {
    let root = new_root();
    let address = cluster().address(&root);
    let one = PostgresStore::open(&address, &short("one")).unwrap();
    let two = PostgresStore::open(&address, &short("two")).unwrap();
    slow_down(&root, 4);
    let (long, idle) = (one.lock(&[path("s/slow")]).unwrap(), one.lock(&[path("s/b")]).unwrap());
    std::thread::scope(|scope| {
        let commit =
            scope.spawn(|| long.commit(vec![append("s/slow/log", "1\n")], Durability::Synced));
        sleep(Duration::from_millis(2200));
        for scope in ["s/b", "s/slow"] {
            let start = Instant::now();
            let busy = two.lock(&[path(scope)]);
            assert!(matches!(&busy, Err(StoreError::Busy { .. })), "{scope} was taken");
            assert!(start.elapsed() < Duration::from_secs(1), "{scope}: {:?}", start.elapsed());
        }
        commit.join().unwrap().unwrap();
    });
    idle.commit(vec![append("s/b/log", "1\n")], Durability::Synced).unwrap();
    long.commit(vec![append("s/slow/other", "1\n")], Durability::Synced).unwrap();
}

/// An expired lease under which a commit still runs is busy, and taking it does not wait.
#[test]
fn an_expired_lease_is_not_taken_from_a_running_commit() {
    let root = new_root();
    let address = cluster().address(&root);
    let one = PostgresStore::open(&address, &holder("one")).unwrap();
    let two = PostgresStore::open(&address, &holder("two")).unwrap();
    slow_down(&root, 3);
    let writer = one.lock(&[path("slow")]).unwrap();
    std::thread::scope(|scope| {
        let commit =
            scope.spawn(|| writer.commit(vec![append("slow/log", "1\n")], Durability::Synced));
        sleep(Duration::from_millis(800));
        let expire = format!("UPDATE {root}.leases SET expires = now() - interval '1s'");
        let mut client = cluster().client();
        client.batch_execute("SET lock_timeout = '300ms'").unwrap();
        client.batch_execute(&expire).unwrap();
        let start = Instant::now();
        let busy = two.lock(&[path("slow")]).err().unwrap();
        assert!(busy.to_string().contains("host one"), "{busy}");
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        commit.join().unwrap().unwrap();
    });
    two.lock(&[path("slow")]).unwrap().release().unwrap();
}

/// As many readers as there are connections do not keep writers out.
#[test]
fn readers_leave_connections_to_writers() {
    let root = new_root();
    let store = PostgresStore::open(&cluster().address(&root), &holder("one")).unwrap();
    let writer = store.lock(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "1\n")], Durability::Synced).unwrap();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    std::thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| {
                let snapshot = store.snapshot(&[path("s")]);
                released.lock().unwrap().recv().ok();
                drop(snapshot);
            });
        }
        sleep(Duration::from_millis(1500));
        let start = Instant::now();
        let committed = writer.commit(vec![append("s/log", "2\n")], Durability::Synced);
        let elapsed = start.elapsed();
        for _ in 0..40 {
            release.send(()).unwrap();
        }
        committed.unwrap();
        assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
    });
}
