//! What the packages for Python and Node share. Values are JSON text in both directions, and errors are
//! [`RequestError`]s with a stable code.
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! use everturn_bindings::{OpenMode, RootBinding};
//!
//! let root = RootBinding::open(dir.path(), OpenMode::Create)?;
//! let game = root.create_session("game", "demo", None, "{}")?;
//! game.request("append", r#"{"data": {"actor": "player", "narration": "You go in."}}"#)?;
//! assert!(game.request("entries", "{}")?.contains("You go in."));
//!
//! let thread = root.thread("support-7")?;
//! thread.append("{}", &[r#"{"role": "user", "content": "Hello"}"#])?;
//! assert!(thread.items()?.contains("Hello"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every binding can be used from several threads, which wait for each other. A binding belongs to the process that
//! created it: after a fork, the child gets an error, and the locks of the parent stay as they are.
//!
//! - `process_bound`: values that belong to one process. `idle`: releases locks that are not used for a while.
//! - `root`: [`RootBinding`]. `session`: [`SessionBinding`]. `search`: full-text search over a root.
//! - `thread`: [`ThreadBinding`], for checkpoints and items of agent frameworks. `thread_names`: IDs of frameworks as
//!   names of directories.
//! - `files`: [`FilesBinding`], atomic commits of plain files.

mod files;
mod idle;
mod process_bound;
mod root;
mod search;
mod session;
mod thread;
mod thread_names;

pub use everturn_requests::{ErrorCode, RequestError};
pub use files::{FileChange, FilesBinding};
pub use root::{OpenMode, RootBinding};
pub use session::SessionBinding;
pub use thread::ThreadBinding;
