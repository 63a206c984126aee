//! Game sessions: directories of turns, changes, snapshots, scenes, states and indexes.
//!
//! ```text
//! sessions/{active,paused,completed}/<id>/
//!     session.meta.json  world.state.json  player.state.json
//!     turns/  deltas/  snapshots/  scenes/  indexes/
//! sessions/archives/<id>.tar.gz
//! ```
//!
//! A turn is one commit: its line, the lines of its changes, the metadata, and the renames when a file is
//! full. States and snapshots follow from the changes and are written now and then. So the state at any turn is
//! that of a snapshot at or before it with the changes since then.
//!
//! Two forms of such directories are read, see [`Dialect`]; a session keeps the form it has.
//!
//! A [`GameWriter`] appends turns and makes scenes, a [`Session`] reads them, a [`StateAt`] is the state at a turn, and
//! [`GameFormat`] shows all of it in the common view. The crate depends on `everturn-session` and what is below it.

mod archive;
mod branch;
mod changes;
mod check;
mod derived;
mod dialect;
mod error;
mod files;
mod format;
mod history;
mod indexes;
mod lifecycle;
mod log;
mod meta;
mod migrate;
mod missing_segments;
mod paths;
mod repair;
mod retention;
mod scenes;
mod session;
mod snapshot;
mod state;
mod state_files;
mod survey;
mod trash;
mod turn;
mod undo;
mod writer;

pub use archive::{ArchiveOptions, ArchiveOutcome, archive, unarchive};
pub use branch::{BranchOptions, GameFork, GameRewind, fork, rewind};
pub use changes::{ChangeRecord, DeltaGroup};
pub use check::{check_archive, check_dir, check_session, is_session_dir};
pub use dialect::Dialect;
pub use error::GameError;
pub use format::GameFormat;
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
