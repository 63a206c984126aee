//! A [`Store`](everturn_store::Store) in PostgreSQL, for writers on many machines.
//!
//! `[Step] -> Writer::commit -> plan -> one transaction: leases checked, rows changed, change recorded, NOTIFY`
//!
//! A [`PostgresStore`] is a root: a schema of a database, named by a [`ServerAddress`]. Its writers hold leases by the
//! clock of the server.
//!
//! - `environment`, `address`: what an address, variables, service and password files say.
//! - `connection`, `schema`: connections and their pool; the tables and their version.
//! - `server`: what a server must be, and how it must be set.
//! - `entries`, `plan`: rows of files, and how a batch changes them.
//! - `leases`, `commit`, `queue`: who may write, the transaction of a commit, and commits that share one.
//! - `store`: the store, its writers and snapshots. `error`: how errors of the server become errors of the store.

mod error;

mod environment;

mod address;

mod connection;
mod schema;

mod server;

mod entries;

mod plan;

mod leases;

mod commit;

mod queue;

mod store;

pub use address::{AddressError, ServerAddress};
pub use environment::ServerEnvironment;
pub use store::{PostgresStore, StoreHolder};
