//! A proxy that cuts a connection after a number of messages, and the commits that survive it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use everturn_postgres::PostgresStore;
use everturn_store::{Durability, Store};

use crate::cluster::{address_at, cluster, holder, new_root};
use crate::support::{append, path, replace};

/// The cut points of the test: messages of both directions, counted from the start of a commit.
const CUTS: i64 = 520;

/// Forwards connections to the server. When `left` reaches zero, the message on its way is lost with its connection.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    left: Arc<AtomicI64>,
    /// As long as another thread holds this, nothing arrives, and no connection is closed.
    pub(crate) partition: Arc<Mutex<()>>,
}

impl Proxy {
    pub(crate) fn start(server: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let left = Arc::new(AtomicI64::new(i64::MAX));
        let counter = Arc::clone(&left);
        let partition = Arc::new(Mutex::new(()));
        let waiting = Arc::clone(&partition);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) =
                    (client.unwrap(), TcpStream::connect(("127.0.0.1", server)).unwrap());
                client.set_nodelay(true).unwrap();
                server.set_nodelay(true).unwrap();
                forward(&client, &server, true, &counter, &waiting);
                forward(&server, &client, false, &counter, &waiting);
            }
        });
        Proxy { port, left, partition }
    }
}

/// Copies one direction message by message. The first message of a client has no type.
fn forward(
    from: &TcpStream,
    to: &TcpStream,
    mut untyped: bool,
    left: &Arc<AtomicI64>,
    partition: &Arc<Mutex<()>>,
) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    let (left, partition) = (Arc::clone(left), Arc::clone(partition));
    thread::spawn(move || {
        let mut copy = || -> std::io::Result<()> {
            loop {
                let mut message = vec![0; if untyped { 4 } else { 5 }];
                from.read_exact(&mut message)?;
                let len = u32::from_be_bytes(message[message.len() - 4..].try_into().unwrap());
                let head = message.len();
                message.resize(head + len as usize - 4, 0);
                from.read_exact(&mut message[head..])?;
                untyped = false;
                if left.fetch_sub(1, Ordering::SeqCst) == 1 {
                    return Ok(());
                }
                drop(partition.lock().unwrap());
                to.write_all(&message)?;
            }
        };
        drop(copy());
        drop(from.shutdown(Shutdown::Both));
        drop(to.shutdown(Shutdown::Both));
    });
}

/// Each round commits turns of two files while the connection is cut after one more message than in the round before.
/// Every answer must be true: a commit that was acknowledged is there once and whole, one that failed is not there.
#[test]
fn a_connection_that_is_cut_anywhere_loses_and_doubles_nothing() {
    let proxy = Proxy::start(cluster().port);
    let address = address_at(proxy.port, &new_root());
    let direct =
        PostgresStore::open(&cluster().address(address.root()), &holder("reader")).unwrap();
    let store = PostgresStore::open(&address, &holder("one")).unwrap();
    let writer = store.lock(&[path("s")]).unwrap();
    let (mut turns, mut log, mut failed, mut cut) = (0_u64, String::new(), 0, 0);
    for point in 1..=CUTS {
        // Long enough that the cut falls into one of these commits, wherever it is in the row of messages.
        proxy.left.store(point % 130 + 1, Ordering::SeqCst);
        for _ in 0..4 {
            let line = format!("{{\"turn\":{turns}}}\n");
            let steps = vec![append("s/log", &line), replace("s/state", &turns.to_string())];
            match writer.commit(steps, Durability::Synced) {
                Ok(receipt) => {
                    assert_eq!(receipt.appended, [log.len() as u64], "cut {point}");
                    log.push_str(&line);
                }
                Err(_) => failed += 1,
            }
            turns += 1;
        }
        cut += i64::from(proxy.left.swap(i64::MAX, Ordering::SeqCst) <= 0);
        let found = direct.read(&path("s/log"), 0..u64::MAX).unwrap();
        assert_eq!(String::from_utf8(found).unwrap(), log, "cut {point}");
        let state = direct.read(&path("s/state"), 0..99).unwrap();
        let last = log.lines().last().unwrap();
        assert_eq!(
            last,
            format!("{{\"turn\":{}}}", String::from_utf8(state).unwrap()),
            "cut {point}"
        );
    }
    println!("{cut} of {CUTS} rounds were cut, {failed} of {turns} commits failed");
    assert!(cut >= 500, "{cut}");
}
