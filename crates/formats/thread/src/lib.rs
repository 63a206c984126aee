//! Threads: what agent frameworks store of a conversation, in one append-only log.
//!
//! ```text
//! threads/{id}/thread.jsonl          a header, then items, checkpoints and pending writes
//! threads/{id}/everturn.marks.json   marks, if there are any
//! ```
//!
//! An item is a message or an event with an optional idempotency key. A checkpoint holds the values of named channels
//! and refers to its parent, so checkpoints form a tree. A channel whose version is stored already is not stored again,
//! and a list that has grown is stored as what was added. Every record is one commit of one line.
//!
//! A [`Thread`] reads a log, a [`ThreadWriter`] appends to it, and [`ThreadFormat`] maps it to the common model. The crate
//! depends on `everturn-session`.
//!
//! The modules, in reading order:
//!
//! - `paths`: file names.
//! - `record`: the records of the log.
//! - `values`: channel values, stored whole or as additions to an earlier version.
//! - `thread`: the whole log, its main line and its branches.
//! - `writer`, `retain`, `branch`: appends, removals, forks and rewinds.
//! - `check`, `repair`: findings and repairs.
//! - `format`: the common model.

mod paths;
mod record;
mod values;
mod thread;
mod writer;
mod retain;
mod branch;
mod check;
mod repair;
mod format;

pub use check::{ThreadCheck, check_dir, is_thread_dir};
pub use format::{FORMAT, ThreadFormat};
pub use record::{RecordType, ThreadRecord};
pub use thread::Thread;
pub use writer::{SuspendedThread, ThreadWriter};
