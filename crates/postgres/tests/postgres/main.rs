//! The store in PostgreSQL, on a private server that the tests start and stop.

mod cluster;
mod commits;
mod leases;
mod opening;
mod proxy;
mod suite;
#[path = "../../../store/tests/store/support.rs"]
#[expect(dead_code, reason = "shared with the suites of the other stores")]
mod support;
