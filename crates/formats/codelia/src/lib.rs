//! The home of Codelia, a coding agent: sessions as logs of messages, runs, tool outputs, and what goes with them.
//!
//! The log of messages is the truth about a session. `sessions/state.db`, in which the program looks its sessions
//! up, is an index: it is brought up to date after each commit and whenever a session is opened for writing, and
//! everything works without it. `docs/codelia.md` says what the files hold.
//!
//! ```
//! use std::sync::Arc;
//!
//! use everturn_codelia::{Home, SessionWriter};
//! use everturn_json::names::SessionId;
//! use everturn_store::MemoryStore;
//! use everturn_value::tree::Tree;
//!
//! let home = Home::new(Arc::new(MemoryStore::default()));
//! let now = "2026-01-01T10:00:00Z".parse()?;
//! let id = SessionId::parse("one")?;
//! let mut session = SessionWriter::create(&home, &id, None, now)?;
//! session.append(&[Tree::parse(r#"{"role":"user","content":"Hello."}"#)?], now)?;
//! assert_eq!(session.messages(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Home`] finds sessions, a [`SessionWriter`] appends messages, [`Runs`] and [`ToolOutputs`] keep what goes with them,
//! and [`CodeliaLayout`] shows all of it in the common view. The crate depends on `everturn-session`, `everturn-settings`
//! and `everturn-secrets`; the index is SQLite.

mod belongings;
mod branch;
mod check;
mod configuration;
mod error;
mod extras;
mod home;
mod index;
mod layout;
mod legacy;
mod life;
mod log;
mod message;
mod names;
mod outputs;
mod projects;
mod repair;
mod runs;
mod writer;

pub use check::{check_home, is_home};
pub use configuration::SCHEMA;
pub use error::CodeliaError;
pub use home::{Home, Session};
pub use index::{IndexError, MemoryIndex, Row, RowChange, SessionIndex, SqliteIndex};
pub use layout::CodeliaLayout;
pub use log::{Messages, Stored};
pub use outputs::{Eviction, OutputLimits, OutputLine, ToolOutputs};
pub use projects::{ApprovalMode, Projects};
pub use runs::{RUN_RECORDS, RunSummary, RunWriter, Runs};
pub use writer::{Saved, SessionWriter};

/// The secrets of model providers.
pub const AUTH: everturn_secrets::secrets::Shape = everturn_secrets::secrets::Shape {
    file: "auth.json",
    version: Some(1),
    entries: Some("providers"),
    fixed: &[("method", "api_key")],
    secret: "api_key",
};

/// The secrets of MCP servers.
pub const MCP_AUTH: everturn_secrets::secrets::Shape = everturn_secrets::secrets::Shape {
    file: "mcp-auth.json",
    version: Some(1),
    entries: Some("servers"),
    fixed: &[],
    secret: "access_token",
};
