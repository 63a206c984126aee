//! The home of Codelia, a coding agent: sessions as logs of messages, with runs and tool outputs.
//!
//! The message log is the truth about a session. `sessions/state.db`, in which the program looks up its sessions, is an
//! index: it is updated after each commit and whenever a session is opened for writing, and everything works without
//! it. `docs/codelia.md` describes the files.
//!
//! ```
//! use std::sync::Arc;
//!
//! use everturn_codelia::{CodeliaHome, CodeliaWriter};
//! use everturn_json::names::SessionId;
//! use everturn_store::MemoryStore;
//! use everturn_value::tree::JsonTree;
//!
//! let home = CodeliaHome::new(Arc::new(MemoryStore::default()));
//! let now = "2026-01-01T10:00:00Z".parse()?;
//! let id = SessionId::parse("one")?;
//! let mut session = CodeliaWriter::create(&home, &id, None, now)?;
//! session.append(&[JsonTree::parse(r#"{"role":"user","content":"Hello."}"#)?], now)?;
//! assert_eq!(session.messages(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`CodeliaHome`] finds sessions, a [`CodeliaWriter`] appends messages, [`RunLogs`] and [`ToolOutputs`] keep the
//! runs and tool outputs of a session, and [`CodeliaFormat`] maps all of it to the common model. The crate depends on
//! `everturn-session`, `everturn-settings` and `everturn-secrets`; the index is SQLite.
//!
//! The modules, in reading order:
//!
//! - `paths`: file names.
//! - `home`, `sessions`: the files and the index of a home; its sessions.
//! - `log`, `message`: the message log and its messages.
//! - `legacy`: sessions of the old single-document form.
//! - `index`: the session index, in SQLite or in memory.
//! - `writer`, `branch`, `lifecycle`, `downgrade`: appends, forks and rewinds, trash, and the old form of a session.
//! - `runs`, `history`, `outputs`, `logs`: run logs, the whole history of a session, the cache of tool outputs, and plain
//!   text logs.
//! - `projects`, `configuration`, `aux_files`: approval modes per project, the settings, and the other files of a home.
//! - `check`, `repair`, `session_files`: findings, repairs, and all files of a session.
//! - `format`: the common model.
//! - `error`: the errors of a home.

mod paths;
mod home;
mod sessions;
mod log;
mod message;
mod legacy;
mod index;
mod writer;
mod branch;
mod lifecycle;
mod downgrade;
mod runs;
mod history;
mod outputs;
mod logs;
mod projects;
mod configuration;
mod aux_files;
mod check;
mod repair;
mod session_files;
mod format;
mod error;

pub use check::{check_home, check_log_file, is_home};
pub use configuration::SCHEMA;
pub use downgrade::write_legacy_document;
pub use error::{CodeliaError, IndexError};
pub use format::{CodeliaFormat, FORMAT, FULL_HISTORY};
pub use home::CodeliaHome;
pub use index::{IndexRow, MemoryIndex, RowChange, SessionIndex, SqliteIndex};
pub use log::{MessageReader, StoredMessage};
pub use logs::{append_text_log, read_text_log, text_logs};
pub use outputs::{EvictionPlan, OutputLimits, OutputLine, ToolOutputs};
pub use projects::{ApprovalMode, ProjectPolicies};
pub use runs::{RUN_RECORDS, RunLogs, RunSummary, RunWriter};
pub use sessions::Session;
pub use writer::{CodeliaWriter, SaveOutcome};

/// The secrets of model providers.
pub const AUTH: everturn_secrets::vault::VaultFormat = everturn_secrets::vault::VaultFormat {
    file: "auth.json",
    version: Some(1),
    entries: Some("providers"),
    fixed: &[("method", "api_key")],
    secret: "api_key",
};

/// The secrets of MCP servers.
pub const MCP_AUTH: everturn_secrets::vault::VaultFormat = everturn_secrets::vault::VaultFormat {
    file: "mcp-auth.json",
    version: Some(1),
    entries: Some("servers"),
    fixed: &[],
    secret: "access_token",
};
