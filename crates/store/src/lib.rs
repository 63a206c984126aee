//! Atomic, durable batches of changes to plain files.
//!
//! `[Step] -> Writer::commit -> plan -> log -> flush -> apply -> plain files`
//!
//! A [`Store`] reads files and locks scopes: each scope has one [`Writer`] at a time, across all processes. A writer
//! commits lists of [`Step`]s. A [`FileStore`] keeps the files on a [`disk::Disk`], a [`MemoryStore`] in memory.
//! Readers see committed data.
//!
//! ```
//! use everturn_store::names::FilePath;
//! use everturn_store::{Durability, Precondition, MemoryStore, FileMode, Step, Store};
//!
//! let store = MemoryStore::default();
//! let file = FilePath::parse("notes/today.json")?;
//! let writer = store.lock(&[FilePath::parse("notes")?])?;
//! let step = Step::Replace {
//!     file: file.clone(),
//!     expect: Precondition::Absent,
//!     bytes: b"{}".to_vec(),
//!     mode: FileMode::Default,
//! };
//! writer.commit(vec![step], Durability::Synced)?;
//! writer.release()?;
//! assert_eq!(store.read(&file, 0..u64::MAX)?, b"{}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`disk`]: the disk trait; the real disk, and with the feature `sim` a simulated one that crashes on request.
//! - `store`: the traits and their two implementations, re-exported here.
//! - [`overlay`]: a store with uncommitted changes on top.
//!
//! It depends on `everturn-json`, for the tails of JSONL files and for [`names`] and [`finding`], re-exported here.

#[cfg(not(unix))]
compile_error!("everturn needs a Unix system: it relies on O_APPEND, flock and directory flushes");

pub mod disk;

mod store;

pub mod overlay;

pub use everturn_json::{finding, names};
pub use store::{
    AppendAt, CheckedBatch, CommitReceipt, Durability, FileMode, FileStore, FileWriter,
    Fingerprint, LockOwner, MemoryStore, OWN_DIR, Options, Precondition, RecoveryFindings,
    RecoveryProgress, RecoveryStage, Step, Store, StoreError, StoreSource, Writer, audit_dir,
    check_append_offset, failed_opens, is_unfinished_copy, pins_dir, quarantine_dir,
    read_consistently, read_optional, seals_dir, snapshot, staging_dir, trash_dir,
};
