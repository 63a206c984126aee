//! The roles of `roles.sql`, and the encryption of connections.

use std::path::Path;
use std::process::Command;

use everturn_postgres::{PostgresStore, ServerAddress};
use everturn_store::{Durability, Store, StoreError};

use crate::cluster::{cluster, holder, new_root, programs};
use crate::support::{path, replace};

fn address(role: &str, root: &str) -> ServerAddress {
    let port = cluster().port;
    let url = format!("postgres://{role}@127.0.0.1:{port}/postgres?root={root}");
    ServerAddress::parse(&url).unwrap()
}

fn run_script(root: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("roles.sql");
    let mut psql = Command::new(programs().join("psql"));
    psql.args(["-X", "-q", "-h", "127.0.0.1", "-U", "everturn", "-p", &cluster().port.to_string()]);
    psql.args(["-v", &format!("root={root}"), "-f"]).arg(script).arg("postgres");
    let output = psql.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_roles_have_the_rights_that_they_need_and_no_others() {
    let (root, other) = (new_root(), new_root());
    run_script(&root);
    run_script(&root);
    let role = |name: &str| address(&format!("{root}_{name}"), &root);
    // Only the owner creates the tables.
    assert!(PostgresStore::open(&role("writer"), &holder("one")).is_err());
    drop(PostgresStore::open(&role("owner"), &holder("one")).unwrap());
    let store = PostgresStore::open(&role("writer"), &holder("one")).unwrap();
    let writer = store.lock(&[path("s")]).unwrap();
    writer.commit(vec![replace("s/a", "1")], Durability::Synced).unwrap();
    writer.release().unwrap();
    let reader = PostgresStore::open_read_only(&role("reader")).unwrap();
    assert_eq!(reader.read(&path("s/a"), 0..9).unwrap(), b"1");
    assert!(reader.snapshot(&[path("s")]).unwrap().unwrap().list(&path("s")).is_ok());
    let store = PostgresStore::open(&role("reader"), &holder("one")).unwrap();
    let refused = store.lock(&[path("s")]).err().unwrap();
    assert!(refused.to_string().contains("s"), "{refused}");
    // Nobody reaches into another root.
    drop(PostgresStore::open(&cluster().address(&other), &holder("one")).unwrap());
    for name in ["owner", "writer", "reader"] {
        let stranger = address(&format!("{root}_{name}"), &other);
        let error = PostgresStore::open_read_only(&stranger).err().unwrap();
        let StoreError::Io { source, .. } = &error else { panic!("{error:?}") };
        assert_eq!(source.kind(), std::io::ErrorKind::PermissionDenied, "{error:?}");
    }
    for statement in
        ["DROP TABLE entries", "UPDATE entries SET len = 1", "SELECT nextval('epochs')"]
    {
        let mut client = cluster().client();
        client
            .batch_execute(&format!("SET ROLE {root}_reader; SET search_path TO {root}"))
            .unwrap();
        assert!(client.batch_execute(statement).is_err(), "{statement}");
    }
}
