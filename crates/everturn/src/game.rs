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

mod changes;
mod error;
mod files;
mod form;
mod indexes;
mod log;
mod meta;
mod names;
mod scenes;
mod session;
mod snapshot;
mod state;
mod travel;
mod turn;
mod writer;

pub use changes::{Change, Group};
pub use error::GameError;
pub use form::Form;
pub(crate) use log::StoreSource;
pub use meta::NewSession;
pub use names::Status;
pub use scenes::{NewScene, SceneEnd};
pub use session::{Session, list};
pub use snapshot::{Reason, Snapshot};
pub use state::{Scope, State};
pub use travel::{Frame, Moment, Replay};
pub use turn::{Turn, TurnInput};
pub use writer::{Appended, GameWriter};
