//! A [`Store`](everturn_store::Store) in PostgreSQL, for writers on many machines.
//!
//! `[Step] -> Writer::commit -> plan -> one transaction: leases checked, rows changed, change recorded, NOTIFY`
//!
//! A [`PostgresStore`] is a root: a schema of a database, named by a [`ServerAddress`]. Its writers hold leases by the
//! clock of the server.
//!
//! - `address`: the URL of a root.
//! - `connection`: connections, and the errors after which a transaction is sent again.
//! - `schema`: the tables of a root and their versions.
//! - `entries`: files and directories as rows.
//! - `plan`: from the steps of a batch to rows; nothing is written yet.
//! - `leases`: one writer per scope.
//! - `commit`: the transaction of a batch.
//! - `store`: the store itself, its writers and snapshots.

mod error;

mod address;

mod connection;
mod schema;

mod entries;

mod plan;

mod leases;

mod commit;

mod store;

pub use address::{AddressError, ServerAddress};
pub use store::{PostgresStore, StoreHolder};
