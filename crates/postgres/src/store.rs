//! [`PostgresStore`], and the writers and snapshots that it returns.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use everturn_json::names::FilePath;
use everturn_store::disk::{DirListing, FileStat};
use everturn_store::{
    CheckedBatch, CommitReceipt, Durability, LockOwner, Step, Store, StoreError, Writer,
};

use crate::address::ServerAddress;
use crate::commit::CommitRequest;
use crate::connection::{Connection, LentConnection, Pool};
use crate::error::{Failure, server_error};
use crate::leases::{Lease, LeaseHolder};
use crate::queue::CommitQueue;
use crate::schema::unusable;
use crate::{commit, entries, leases, schema, server};

/// How often a commit is tried when other transactions are in the way.
const MOST_TRIES: u32 = 6;

/// How often to reconnect to learn the outcome of a commit, and the first pause; each pause is twice as long.
const MOST_RECONNECTS: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The process that writes, as shown to others.
#[derive(Debug, Clone)]
pub struct StoreHolder {
    /// The name of the machine.
    pub host: String,
    /// The process.
    pub owner: LockOwner,
    /// How long a lease lasts without being renewed. It is renewed three times as often.
    pub lease: Duration,
}

impl StoreHolder {
    /// A holder with leases of 15 seconds.
    #[must_use]
    pub fn new(host: String, owner: LockOwner) -> StoreHolder {
        StoreHolder { host, owner, lease: Duration::from_secs(15) }
    }
}

/// A store in PostgreSQL. Cloning it is cheap. Any number of processes on any number of machines may have the same root open.
#[derive(Clone)]
pub struct PostgresStore {
    shared: Arc<PostgresShared>,
}

struct PostgresShared {
    pool: Arc<Pool>,
    queue: CommitQueue,
    /// `None` if the store is read-only.
    holder: Option<LeaseHolder>,
    /// Makes the texts of [`PostgresShared::next_id`] different.
    next: AtomicU64,
    renewing: Mutex<bool>,
    /// The requests whose leases are held.
    requests: Mutex<BTreeSet<String>>,
}

impl PostgresStore {
    /// Opens a root for reading and writing. Creates it if it does not exist, and migrates it to this version.
    pub fn open(
        address: &ServerAddress,
        holder: &StoreHolder,
    ) -> Result<PostgresStore, StoreError> {
        PostgresStore::open_to_write(address, holder, true)
    }

    /// As [`PostgresStore::open`], for a root that must exist.
    pub fn open_existing(
        address: &ServerAddress,
        holder: &StoreHolder,
    ) -> Result<PostgresStore, StoreError> {
        PostgresStore::open_to_write(address, holder, false)
    }

    fn open_to_write(
        address: &ServerAddress,
        holder: &StoreHolder,
        may_create: bool,
    ) -> Result<PostgresStore, StoreError> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| unusable(error.to_string()))?;
        let described = format!("host {}, {}", holder.host, holder.owner);
        let lease = LeaseHolder {
            store: random.iter().map(|byte| format!("{byte:02x}")).collect(),
            holder: described,
            seconds: holder.lease.as_secs_f64(),
        };
        let store = PostgresStore::new(address, Some(lease));
        let opened = store.shared.pool.lend().and_then(|mut lent| {
            lent.with(|connection| {
                server::check_writable(connection)?;
                server::check_durability(connection)?;
                schema::create_or_migrate(connection, address.root(), may_create)
            })
        });
        opened.map_err(|failure| failure.into_store("open", &FilePath::root()))?;
        Ok(store)
    }

    /// Opens an existing root for reading. Never writes, so it works on a standby.
    pub fn open_read_only(address: &ServerAddress) -> Result<PostgresStore, StoreError> {
        let store = PostgresStore::new(address, None);
        let check =
            |connection: &mut Connection| schema::check_readable(connection, address.root());
        store.shared.pool.read(&FilePath::root(), check)?;
        Ok(store)
    }

    fn new(address: &ServerAddress, holder: Option<LeaseHolder>) -> PostgresStore {
        let pool = Pool::new(address.clone());
        let shared = PostgresShared {
            pool,
            queue: CommitQueue::default(),
            holder,
            next: AtomicU64::new(0),
            renewing: Mutex::default(),
            requests: Mutex::default(),
        };
        PostgresStore { shared: Arc::new(shared) }
    }
}

impl PostgresShared {
    /// Renews the leases of this store from a thread, until the store and its writers are gone.
    fn start_renewing(self: &Arc<PostgresShared>, holder: &LeaseHolder) {
        let mut renewing = self.renewing.lock().unwrap_or_else(PoisonError::into_inner);
        if !*renewing {
            *renewing = true;
            let shared = Arc::downgrade(self);
            let pause = Duration::from_secs_f64(holder.seconds / 3.0);
            thread::spawn(move || renew_leases(&shared, pause));
        }
    }

    fn take_leases(
        self: &Arc<PostgresShared>,
        scopes: &[FilePath],
    ) -> Result<Vec<Lease>, StoreError> {
        let holder = self.holder.as_ref().ok_or(StoreError::ReadOnly)?;
        self.start_renewing(holder);
        let request = self.next_id(holder);
        let scope = scopes.first().cloned().unwrap_or_default();
        let take = |connection: &mut Connection| leases::take(connection, holder, &request, scopes);
        let leases = self.pool.read(&scope, take)?;
        self.requests().insert(request);
        Ok(leases)
    }

    fn requests(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A text that no other lease or commit has.
    fn next_id(&self, holder: &LeaseHolder) -> String {
        format!("{}-{}", holder.store, self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Finds out whether a commit whose connection was lost was made, once it can no longer be made.
    fn settle(&self, leases: &mut [Lease], id: &str) -> Result<CommitOutcome, Failure> {
        let mut pause = FIRST_PAUSE;
        let mut tries = 0;
        loop {
            self.pool.forget_idle();
            let mut renumbered = leases.to_vec();
            let settled = self.pool.lend().and_then(|mut lent| {
                lent.with(|connection| {
                    let held = connection.in_transaction("BEGIN", |connection| {
                        let held = leases::renumber(connection, &mut renumbered)?;
                        // Even if all leases are lost, this transaction writes. So it waits for the standbys, which
                        // then have the commit in question, too.
                        connection.run("UPDATE root_version SET version = version", &[])?;
                        Ok(held)
                    })?;
                    Ok((held, commit::is_committed(connection, id)?))
                })
            });
            match settled {
                Ok((held, committed)) => {
                    leases.clone_from_slice(&renumbered);
                    return Ok(match (committed, held) {
                        (true, _) => CommitOutcome::Committed,
                        (false, true) => CommitOutcome::Absent,
                        (false, false) => CommitOutcome::LeaseLost,
                    });
                }
                Err(failure) => {
                    tries += 1;
                    // A server that waits for its standby in vain would do so again.
                    if tries >= MOST_RECONNECTS || matches!(failure, Failure::Unconfirmed) {
                        return Err(failure);
                    }
                    thread::sleep(pause);
                    pause *= 2;
                }
            }
        }
    }
}

/// The error for a commit that may be there or not, or may be lost with the server.
fn unknown_outcome(failure: Failure, scope: &FilePath) -> StoreError {
    StoreError::Poisoned { cause: Arc::new(failure.into_store("commit to", scope)) }
}

/// What became of a commit whose connection was lost.
enum CommitOutcome {
    Committed,
    Absent,
    LeaseLost,
}

fn renew_leases(shared: &Weak<PostgresShared>, pause: Duration) {
    loop {
        thread::sleep(pause);
        let Some(shared) = shared.upgrade() else { return };
        if let Some(holder) = &shared.holder {
            let requests: Vec<String> = shared.requests().iter().cloned().collect();
            let renewed = shared
                .pool
                .read(&FilePath::root(), |connection| leases::renew(connection, holder, &requests));
            // A lease that could not be renewed may be lost; the next commit checks it.
            drop(renewed);
        }
    }
}

impl Store for PostgresStore {
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        self.shared.pool.read(file, |connection| entries::read(connection, file, range.clone()))
    }

    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        self.shared.pool.read(path, |connection| entries::stat(connection, path))
    }

    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        self.shared.pool.read(dir, |connection| entries::list(connection, dir))
    }

    fn lock(&self, scopes: &[FilePath]) -> Result<Box<dyn Writer>, StoreError> {
        let leases = self.shared.take_leases(scopes)?;
        let state = Mutex::new(WriterState { own: leases.len(), leases });
        Ok(Box::new(PostgresWriter { shared: Arc::clone(&self.shared), state }))
    }

    /// Returns a store that reads in one transaction.
    fn snapshot(&self, paths: &[FilePath]) -> Result<Option<Arc<dyn Store>>, StoreError> {
        let path = paths.first().cloned().unwrap_or_default();
        let begin = || {
            let mut lent = self.shared.pool.lend_to_snapshot()?;
            lent.with(|connection| {
                connection.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            })?;
            Ok(lent)
        };
        let begun = match begin() {
            Err(Failure::Disconnected(_)) => {
                self.shared.pool.forget_idle();
                begin()
            }
            begun => begun,
        };
        let lent = begun.map_err(|failure| failure.into_store("read", &path))?;
        Ok(Some(Arc::new(PostgresSnapshot { lent: Mutex::new(lent) })))
    }

    fn numbers_contents(&self) -> bool {
        true
    }

    /// Always false: another machine may commit at any moment, so whole sessions are read from a snapshot.
    fn is_quiet(&self, _paths: &[FilePath]) -> Result<bool, StoreError> {
        Ok(false)
    }
}

/// A store as it was when its transaction began.
struct PostgresSnapshot {
    lent: Mutex<LentConnection>,
}

impl PostgresSnapshot {
    fn read_with<T>(
        &self,
        path: &FilePath,
        work: impl FnOnce(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let mut lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        lent.with(work).map_err(|failure| failure.into_store("read", path))
    }
}

impl Store for PostgresSnapshot {
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        self.read_with(file, |connection| entries::read(connection, file, range))
    }

    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        self.read_with(path, |connection| entries::stat(connection, path))
    }

    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        self.read_with(dir, |connection| entries::list(connection, dir))
    }

    fn lock(&self, _: &[FilePath]) -> Result<Box<dyn Writer>, StoreError> {
        Err(StoreError::ReadOnly)
    }
}

impl Drop for PostgresSnapshot {
    fn drop(&mut self) {
        let lent = self.lent.get_mut().unwrap_or_else(PoisonError::into_inner);
        // A connection that cannot end its transaction is closed.
        drop(lent.with(|connection| connection.end_transaction()));
    }
}

struct PostgresWriter {
    shared: Arc<PostgresShared>,
    state: Mutex<WriterState>,
}

struct WriterState {
    /// The leases that the writer was created with, and then the added ones.
    leases: Vec<Lease>,
    own: usize,
}

impl PostgresWriter {
    fn state(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases the leases from this index on.
    fn release_from(&self, first: usize) -> Result<(), StoreError> {
        let mut state = self.state();
        let first = first.min(state.leases.len());
        let ended = state.leases.split_off(first);
        if ended.is_empty() {
            return Ok(());
        }
        // Not renewed any more, so that they expire if the server cannot be reached.
        let is_ended = |request: &String| ended.iter().any(|lease| lease.request == *request);
        self.shared.requests().retain(|request| !is_ended(request));
        let release = |connection: &mut Connection| leases::release(connection, &ended);
        self.shared.pool.read(&FilePath::root(), release)
    }

    fn commit_batch(
        &self,
        state: &mut WriterState,
        batch: CheckedBatch,
        durability: Durability,
    ) -> Result<CommitReceipt, StoreError> {
        let Some(holder) = &self.shared.holder else { return Err(StoreError::ReadOnly) };
        let id = self.shared.next_id(holder);
        let scope = state.leases.first().map_or_else(FilePath::root, |lease| lease.scope.clone());
        let leases = state.leases.clone();
        let mut request =
            Arc::new(CommitRequest { id, leases, batch: Arc::new(batch), durability });
        let mut tries = 0;
        loop {
            tries += 1;
            let (done, planned) = self.shared.queue.commit(&self.shared.pool, Arc::clone(&request));
            let failure = match done {
                Ok(receipt) => return Ok(receipt),
                Err(failure) => failure,
            };
            match failure {
                Failure::Retry(_) if tries < MOST_TRIES => continue,
                Failure::Disconnected(error) => {
                    match self.shared.settle(&mut state.leases, &request.id) {
                        Ok(CommitOutcome::Committed) => {
                            return planned.ok_or(StoreError::Overtaken);
                        }
                        Ok(CommitOutcome::LeaseLost) => {
                            return Err(StoreError::LeaseLost { scope });
                        }
                        Ok(CommitOutcome::Absent) if tries < MOST_TRIES => {
                            let leases = state.leases.clone();
                            request = Arc::new(request.with_leases(leases));
                        }
                        Ok(CommitOutcome::Absent) => {
                            return Err(server_error(&error, "commit to", &scope));
                        }
                        Err(failure) => return Err(unknown_outcome(failure, &scope)),
                    }
                }
                Failure::Unconfirmed => return Err(unknown_outcome(failure, &scope)),
                failure => return Err(failure.into_store("commit to", &scope)),
            }
        }
    }
}

impl Writer for PostgresWriter {
    fn commit(
        &self,
        steps: Vec<Step>,
        durability: Durability,
    ) -> Result<CommitReceipt, StoreError> {
        let mut state = self.state();
        let scopes: Vec<FilePath> = state.leases.iter().map(|lease| lease.scope.clone()).collect();
        let batch = CheckedBatch::new(&scopes, steps)?;
        if batch.steps().is_empty() {
            return Ok(CommitReceipt::default());
        }
        self.commit_batch(&mut state, batch, durability)
    }

    fn add_scopes(&mut self, scopes: &[FilePath]) -> Result<(), StoreError> {
        let added = self.shared.take_leases(scopes)?;
        self.state().leases.extend(added);
        Ok(())
    }

    fn release_added_scopes(&mut self) -> Result<(), StoreError> {
        let own = self.state().own;
        self.release_from(own)
    }

    fn release(self: Box<Self>) -> Result<(), StoreError> {
        self.release_from(0)
    }
}

impl Drop for PostgresWriter {
    fn drop(&mut self) {
        // A lease that cannot be released expires.
        drop(self.release_from(0));
    }
}
