//! [`Connection`]: one connection with its prepared statements; [`Pool`] lends them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use everturn_json::names::FilePath;
use everturn_store::StoreError;
use postgres::error::Severity;
use postgres::types::ToSql;
use postgres::{Client, Row, Statement};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::ServerAddress;
use crate::error::Failure;
use crate::schema::unusable;

/// The most connections of one store.
const MOST_CONNECTIONS: usize = 32;

/// How many of them snapshots may use. The others are left to commits and leases.
const MOST_SNAPSHOTS: usize = 24;

/// How long to wait for a connection of the pool.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// What holds for every connection: nothing waits forever, and a vanished client blocks nobody for long.
const SESSION_SETTINGS: &str = "SET lock_timeout = '10s'; SET statement_timeout = '60s'; \
     SET idle_in_transaction_session_timeout = '600s'; SET client_min_messages = warning";

/// A connection to the server. A failed statement leaves it usable, unless the connection itself is gone.
pub(crate) struct Connection {
    client: Client,
    statements: HashMap<&'static str, Statement>,
    broken: bool,
    /// Whether the server has sent a warning.
    warned: Arc<AtomicBool>,
}

type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

impl Connection {
    fn open(address: &ServerAddress) -> Result<Connection, Failure> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let tls = tls.map_err(|error| unusable(error.to_string()))?;
        let tls = tls.with_root_certificates(authorities(address)?).with_no_client_auth();
        let warned = Arc::new(AtomicBool::new(false));
        let (mut config, flag) = (address.config.clone(), Arc::clone(&warned));
        config.notice_callback(move |notice| {
            if notice.parsed_severity() == Some(Severity::Warning) {
                flag.store(true, Ordering::SeqCst);
            }
        });
        let mut client = config.connect(MakeRustlsConnect::new(tls))?;
        client.batch_execute(SESSION_SETTINGS)?;
        client.batch_execute(&format!("SET search_path TO \"{}\"", address.root()))?;
        Ok(Connection { client, statements: HashMap::new(), broken: false, warned })
    }

    fn statement(&mut self, sql: &'static str) -> Result<Statement, postgres::Error> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql)?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    pub(crate) fn query(
        &mut self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Failure> {
        let statement = self.statement(sql)?;
        Ok(self.client.query(&statement, parameters)?)
    }

    pub(crate) fn run(
        &mut self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<u64, Failure> {
        let statement = self.statement(sql)?;
        Ok(self.client.execute(&statement, parameters)?)
    }

    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), Failure> {
        Ok(self.client.batch_execute(sql)?)
    }

    /// Runs `work` between `begin` and `COMMIT`; after an error, everything is rolled back.
    pub(crate) fn in_transaction<T>(
        &mut self,
        begin: &str,
        work: impl FnOnce(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.batch(begin)?;
        match work(self) {
            Ok(done) => {
                self.warned.store(false, Ordering::SeqCst);
                self.batch("COMMIT")?;
                // The wait for a standby was ended, by a timeout or a person: the server has the transaction, and
                // only warns that no standby has it.
                match self.warned.load(Ordering::SeqCst) {
                    true => Err(Failure::Unconfirmed),
                    false => Ok(done),
                }
            }
            Err(failure) => {
                // A connection in an unknown state is not used again.
                self.broken |= self.batch("ROLLBACK").is_err();
                Err(failure)
            }
        }
    }

    /// Ends a transaction of reads. If that fails, the connection is not used again.
    pub(crate) fn end_transaction(&mut self) -> Result<(), Failure> {
        let ended = self.batch("ROLLBACK");
        self.broken |= ended.is_err();
        ended
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.broken || self.client.is_closed()
    }
}

/// The certificate authorities that may vouch for the server.
fn authorities(address: &ServerAddress) -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    let Some(own) = &address.authorities else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        return Ok(roots);
    };
    let failed =
        |cause: String| unusable(format!("the file of sslrootcert cannot be used: {cause}"));
    for certificate in CertificateDer::pem_slice_iter(own.as_bytes()) {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(failed("it has no certificates".to_owned())),
        false => Ok(roots),
    }
}

/// The connections of one store.
pub(crate) struct Pool {
    address: ServerAddress,
    state: Mutex<PoolState>,
    returned: Condvar,
}

#[derive(Default)]
struct PoolState {
    idle: Vec<Connection>,
    lent: usize,
}

impl Pool {
    pub(crate) fn new(address: ServerAddress) -> Arc<Pool> {
        Arc::new(Pool { address, state: Mutex::default(), returned: Condvar::new() })
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends a connection; opens one if none is idle. Waits if all are lent.
    pub(crate) fn lend(self: &Arc<Pool>) -> Result<LentConnection, Failure> {
        self.lend_below(MOST_CONNECTIONS)
    }

    /// As [`Pool::lend`], for as long as a reader needs it.
    pub(crate) fn lend_to_snapshot(self: &Arc<Pool>) -> Result<LentConnection, Failure> {
        self.lend_below(MOST_SNAPSHOTS)
    }

    fn lend_below(self: &Arc<Pool>, most: usize) -> Result<LentConnection, Failure> {
        let full = |state: &mut PoolState| state.lent >= most;
        let waited = self.returned.wait_timeout_while(self.state(), LONGEST_WAIT, full);
        let (mut state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            let text = format!("all {most} connections of this process are in use");
            return Err(unusable(text).into());
        }
        state.lent += 1;
        let idle = state.idle.pop();
        drop(state);
        let mut lent = LentConnection { pool: Arc::clone(self), connection: idle };
        if lent.connection.is_none() {
            lent.connection = Some(Connection::open(&self.address)?);
        }
        Ok(lent)
    }

    /// Closes all idle connections: after one was lost, the others may be lost too.
    pub(crate) fn forget_idle(&self) {
        let idle = std::mem::take(&mut self.state().idle);
        drop(idle);
    }

    /// Runs reads on a connection. A lost connection is opened again, once.
    pub(crate) fn read<T>(
        self: &Arc<Pool>,
        path: &FilePath,
        mut work: impl FnMut(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let mut run = || self.lend()?.with(&mut work);
        let done = match run() {
            Err(Failure::Disconnected(_)) => {
                self.forget_idle();
                run()
            }
            done => done,
        };
        done.map_err(|failure| failure.into_store("read", path))
    }
}

/// A connection that returns to its pool when it is dropped, unless it is closed.
pub(crate) struct LentConnection {
    pool: Arc<Pool>,
    connection: Option<Connection>,
}

impl LentConnection {
    pub(crate) fn with<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let connection = self.connection.as_mut();
        let connection =
            connection.ok_or_else(|| unusable("the connection was given up".to_owned()))?;
        let done = work(connection);
        if matches!(done, Err(Failure::Disconnected(_))) {
            self.connection = None;
        }
        done
    }
}

impl Drop for LentConnection {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        state.lent = state.lent.saturating_sub(1);
        let usable = |connection: &Connection| !connection.is_closed();
        if let Some(connection) = self.connection.take().filter(usable) {
            state.idle.push(connection);
        }
        self.pool.returned.notify_all();
    }
}
