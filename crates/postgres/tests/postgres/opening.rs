//! Roots that are created, opened or refused.

use everturn_postgres::PostgresStore;
use everturn_store::{Durability, Step, Store, StoreError};

use crate::cluster::{Cluster, cluster, holder, new_root};
use crate::support::{path, replace};

/// The message of an error with its cause.
fn message(error: &StoreError) -> String {
    let cause = std::error::Error::source(error).map_or_else(String::new, ToString::to_string);
    format!("{error}: {cause}")
}

fn refusal(opened: Result<PostgresStore, StoreError>) -> String {
    match opened {
        Ok(_) => panic!("the root was opened"),
        Err(error) => message(&error),
    }
}

#[test]
fn a_root_is_there_for_the_next_process() {
    let address = cluster().address(&new_root());
    let missing = PostgresStore::open_read_only(&address).err().unwrap();
    assert!(matches!(missing, StoreError::Missing { .. }), "{missing:?}");
    let store = PostgresStore::open(&address, &holder("one")).unwrap();
    let writer = store.lock(&[path("s")]).unwrap();
    let large = vec![7; 1_000_000];
    let steps = vec![replace("s/a", "1"), Step::replace(path("s/large"), large.clone())];
    writer.commit(steps, Durability::Synced).unwrap();
    writer.release().unwrap();
    drop(store);
    for store in
        [PostgresStore::open(&address, &holder("two")), PostgresStore::open_read_only(&address)]
    {
        let store = store.unwrap();
        assert_eq!(store.read(&path("s/a"), 0..9).unwrap(), b"1");
        assert_eq!(store.read(&path("s/large"), 0..u64::MAX).unwrap(), large);
        assert_eq!(store.read(&path("s/large"), 262_140..262_150).unwrap(), [7; 10]);
    }
    let reader = PostgresStore::open_read_only(&address).unwrap();
    assert!(matches!(reader.lock(&[path("s")]), Err(StoreError::ReadOnly)));
}

#[test]
fn a_root_can_be_created_by_many_at_once() {
    let address = cluster().address(&new_root());
    std::thread::scope(|scope| {
        let opened = [(); 8]
            .map(|()| scope.spawn(|| PostgresStore::open(&address, &holder("one")).map(drop)));
        opened.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
    });
}

#[test]
fn a_newer_version_and_a_foreign_schema_are_refused() {
    let (root, foreign) = (new_root(), new_root());
    drop(PostgresStore::open(&cluster().address(&root), &holder("one")).unwrap());
    let mut client = cluster().client();
    client.batch_execute(&format!("UPDATE {root}.root_version SET version = 99")).unwrap();
    client
        .batch_execute(&format!("CREATE SCHEMA {foreign}; CREATE TABLE {foreign}.t (x int)"))
        .unwrap();
    let text = refusal(PostgresStore::open(&cluster().address(&root), &holder("one")));
    assert!(text.contains("version 99"), "{text}");
    let text = refusal(PostgresStore::open_read_only(&cluster().address(&root)));
    assert!(text.contains("version 99"), "{text}");
    let text = refusal(PostgresStore::open(&cluster().address(&foreign), &holder("one")));
    assert!(text.contains("not Everturn's"), "{text}");
}

#[test]
fn a_server_that_may_lose_commits_is_refused_with_the_setting() {
    for (setting, named) in [
        ("synchronous_commit=off", "set synchronous_commit = on"),
        ("synchronous_commit=remote_write", "set synchronous_commit = on"),
        ("synchronous_commit=local", "set synchronous_commit = on"),
        ("fsync=off", "set fsync = on"),
    ] {
        let other = Cluster::start(&format!("-c {setting}"));
        let text = refusal(PostgresStore::open(&other.address("team"), &holder("one")));
        assert!(text.contains(named), "{text}");
    }
}

#[test]
fn missing_rights_are_an_error_that_says_so() {
    let root = new_root();
    drop(PostgresStore::open(&cluster().address(&root), &holder("one")).unwrap());
    let mut client = cluster().client();
    client.batch_execute("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN").unwrap();
    let url = format!("postgres://stranger@127.0.0.1:{}/postgres?root={root}", cluster().port);
    let address = everturn_postgres::ServerAddress::parse(&url).unwrap();
    let text = refusal(PostgresStore::open_read_only(&address));
    assert!(text.contains("permission denied"), "{text}");
}

#[test]
fn a_damaged_piece_is_an_error_and_never_content() {
    let root = new_root();
    let store = PostgresStore::open(&cluster().address(&root), &holder("one")).unwrap();
    let writer = store.lock(&[path("s")]).unwrap();
    writer.commit(vec![replace("s/a", "123"), replace("s/b", "456")], Durability::Synced).unwrap();
    let mut client = cluster().client();
    client
        .batch_execute(&format!("UPDATE {root}.pieces SET bytes = '124' WHERE bytes = '123'"))
        .unwrap();
    let error = message(&store.read(&path("s/a"), 0..9).unwrap_err());
    assert!(error.contains("wrong checksum"), "{error}");
    client.batch_execute(&format!("DELETE FROM {root}.pieces WHERE bytes = '456'")).unwrap();
    let error = message(&store.read(&path("s/b"), 0..9).unwrap_err());
    assert!(error.contains("bytes 0 to 3 are missing"), "{error}");
}
