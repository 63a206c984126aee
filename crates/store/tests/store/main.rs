//! Tests of the store, from the disk below it up to whole processes that die.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]
#![expect(clippy::panic, reason = "a test that cannot go on should say where")]
#![expect(clippy::print_stdout, reason = "the suites say how much they tried")]

mod chains;
mod crash;
mod dead_writers;
mod disks;
mod failures;
mod faults;
mod flushes;
mod hooked;
mod many;
mod model;
mod processes;
mod short_processes;
mod snapshots;
mod staged;
mod suite;
mod support;
mod turns;
mod workload;
