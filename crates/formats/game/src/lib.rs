//! Game sessions: directories of turns, changes, snapshots, scenes, states and indexes.
//!
//! ```text
//! sessions/{active,paused,completed}/<id>/
//!     session.meta.json  world.state.json  player.state.json
//!     turns/  deltas/  snapshots/  scenes/  indexes/
//! sessions/archives/<id>.tar.gz
//! ```
//!
//! A turn is one commit: its line, the lines of its changes, the metadata, and the renames when a log file is full.
//! States and snapshots are derived from the changes and written from time to time. The state at a turn is that of a
//! snapshot at or before it, plus the changes since then.
//!
//! A [`GameWriter`] appends turns and scenes, a [`Session`] reads them, a [`StateAt`] is the state at a turn, and
//! [`GameFormat`] maps all of it to the common model. Sessions come in two dialects, see [`Dialect`]; a session keeps
//! its dialect. What differs between them is one trait, `GameDialect`, which `dialect::spec` and `dialect::upstream`
//! implement; no other module compares dialects. The crate depends on `everturn-session` and the crates below it.
//!
//! The modules, in reading order:
//!
//! - `paths`, `files`: names of files, and which files a session has.
//! - `dialect`: the two dialects, and how the dialect of a session is detected.
//! - `meta`, `turn`, `changes`, `portable`, `state`: the metadata, turns, changes and states.
//! - `log`, `last_turn`, `session`, `history`, `state_source`: reading logs, sessions, and the state at a turn.
//! - `snapshot`, `scenes`, `indexes`, `state_files`: the other files of a session.
//! - `writer`, `undo`, `branch`: append and undo turns, fork and rewind.
//! - `lifecycle`, `retention`, `archive`, `trash`: transitions, snapshot retention, archives and the trash.
//! - `survey`, `check`, `missing_segments`, `repair`, `derived`: find and repair damage, update derived data.
//! - `adopt`: adopts edited state files as a turn.
//! - `migrate`: imports legacy sessions.
//! - `format`: the `SessionFormat` of games.
//! - `error`: the errors of the crate.

mod paths;
mod files;
mod dialect;
mod meta;
mod turn;
mod changes;
mod portable;
mod state;
mod log;
mod last_turn;
mod session;
mod history;
mod state_source;
mod snapshot;
mod scenes;
mod indexes;
mod state_files;
mod writer;
mod undo;
mod branch;
mod lifecycle;
mod retention;
mod archive;
mod trash;
mod survey;
mod check;
mod missing_segments;
mod repair;
mod derived;
mod adopt;
mod migrate;
mod format;
mod error;

pub use adopt::adopt;
pub use archive::{ArchiveOptions, ArchiveOutcome, archive, unarchive};
pub use branch::{BranchOptions, GameFork, GameRewind, fork, rewind};
pub use changes::{ChangeRecord, DeltaGroup};
pub use check::{check_archive, check_dir, check_session, is_session_dir};
pub use dialect::Dialect;
pub use error::GameError;
pub use format::{FORMAT, GameFormat};
pub use history::{Replay, ReplayFrame, StateAt};
pub use lifecycle::{CompletionOutcome, CompletionPlan, complete, pause, plan_complete, resume};
pub use meta::NewGame;
pub use migrate::{ImportOutcome, Migration, MigrationNote};
pub use paths::GameStatus;
pub use repair::{RepairAction, RepairReport, plan_repair, repair, undo_repair};
pub use retention::{KeepReason, SnapshotEntry, SnapshotRetention, retain};
pub use scenes::{NewScene, SceneEnd};
pub use session::{LogRows, Session, list};
pub use snapshot::{Snapshot, SnapshotReason};
pub use state::{GameState, Scope};
pub use survey::GameLocation;
pub use trash::{PurgePlan, TrashEntry, TrashName, purge, restore, trash, trashed};
pub use turn::{TurnInput, TurnRecord};
pub use writer::{GameWriter, TurnOutcome};
