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
//! Two forms of such directories are read, see [`Form`]; a session keeps the form it has.
//!
//! A [`GameWriter`] appends turns and makes scenes, a [`Session`] reads them, a [`Moment`] is the state at a turn, and
//! [`GameLayout`] shows all of it in the common view. The crate depends on `everturn-session` and what is below it.

mod archive;
mod branch;
mod changes;
mod check;
mod error;
mod files;
mod follow;
mod form;
mod gaps;
mod indexes;
mod lifecycle;
mod log;
mod meta;
mod migrate;
mod names;
mod repair;
mod retention;
mod scenes;
mod session;
mod snapshot;
mod state;
mod state_files;
mod survey;
mod trash;
mod travel;
mod turn;
mod undo;
mod view;
mod writer;

pub use archive::{Archived, Archiving, archive, unarchive};
pub use branch::{Branched, Branching, Rewound, fork, rewind};
pub use changes::{Change, Group};
pub use check::{check_archive, check_dir, check_session, is_session_dir};
pub use error::GameError;
pub use form::Form;
pub use lifecycle::{Completed, Completing, complete, pause, plan_complete, resume};
pub use meta::NewSession;
pub use migrate::{Imported, Migration, Note};
pub use names::Status;
pub use repair::{Action, Repair, plan_repair, repair, undo_repair};
pub use retention::{Keep, Retention, SnapshotEntry, retain};
pub use scenes::{NewScene, SceneEnd};
pub use session::{LogRows, Session, list};
pub use snapshot::{Reason, Snapshot};
pub use state::{Scope, State};
pub use survey::Place;
pub use trash::{PurgePlan, TrashName, Trashed, purge, restore, trash, trashed};
pub use travel::{Frame, Moment, Replay};
pub use turn::{TurnInput, TurnRecord};
pub use view::GameLayout;
pub use writer::{Appended, GameWriter};
