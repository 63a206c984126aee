//! The suite of every store, on PostgreSQL.

use crate::cluster::new_store;

pub(crate) use checks::{lock, refused, refuses, shown, snapshot, synced, with_store_checks};

#[path = "../../../store/tests/store/suite/batches.rs"]
mod batches;
#[path = "../../../store/tests/store/suite/checks.rs"]
mod checks;
#[path = "../../../store/tests/store/suite/scopes.rs"]
mod scopes;
#[path = "../../../store/tests/store/suite/steps.rs"]
mod steps;

/// One test for each check.
macro_rules! postgres_suite {
    ($($group:ident { $($check:ident,)* })*) => {
        $($(#[test]
        fn $check() {
            $group::$check(&new_store());
        })*)*
    };
}

with_store_checks!(postgres_suite);
