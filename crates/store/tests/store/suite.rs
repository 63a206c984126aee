//! One suite of behaviours for every store.

use std::sync::Arc;

use everturn_store::disk::RealDisk;
use everturn_store::disk::sim::SimDisk;
use everturn_store::{FileStore, MemoryStore, Options};

use crate::support::small_log;

pub(crate) use checks::{lock, refused, refuses, shown, snapshot, synced, with_store_checks};

mod batches;
mod checks;
mod scopes;
mod steps;

/// One test for each check on each store.
macro_rules! store_suite {
    ($($group:ident { $($check:ident,)* })*) => {
        mod memory {
            $($(#[test]
            fn $check() {
                super::$group::$check(&super::MemoryStore::new());
            })*)*
        }

        mod simulated {
            $($(#[test]
            fn $check() {
                super::$group::$check(&super::open(super::SimDisk::new(), super::small_log()));
            })*)*
        }

        mod staging {
            $($(#[test]
            fn $check() {
                let options = super::Options { stage_from: 1, ..super::small_log() };
                super::$group::$check(&super::open(super::SimDisk::new(), options));
            })*)*
        }

        mod real {
            $($(#[test]
            fn $check() {
                let dir = tempfile::tempdir().unwrap();
                let disk = super::RealDisk::open(dir.path()).unwrap();
                super::$group::$check(&super::open(disk, super::small_log()));
            })*)*
        }

        mod real_staging {
            $($(#[test]
            fn $check() {
                let dir = tempfile::tempdir().unwrap();
                let disk = super::RealDisk::open(dir.path()).unwrap();
                let options = super::Options { stage_from: 1, ..super::small_log() };
                super::$group::$check(&super::open(disk, options));
            })*)*
        }
    };
}

with_store_checks!(store_suite);

fn open(disk: impl everturn_store::disk::Disk + 'static, options: Options) -> FileStore {
    FileStore::open(Arc::new(disk), options).unwrap()
}
