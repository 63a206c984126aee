//! The store in PostgreSQL, on a private server that the tests start and stop.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]
#![expect(clippy::disallowed_methods, reason = "the tests start a server and look at its files")]
#![expect(clippy::panic, reason = "a test that cannot go on should say where")]

mod cluster;
mod commits;
mod crashes;
mod failover;
mod leases;
mod model;
mod opening;
mod partitions;
mod proxy;
mod rights;
mod scale;
mod suite;
#[path = "../../../store/tests/store/support.rs"]
#[expect(dead_code, reason = "shared with the suites of the other stores")]
mod support;
mod throughput;
