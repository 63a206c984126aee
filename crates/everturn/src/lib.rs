//! A crash-safe session store for AI agents and AI-run games.
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! # std::env::set_current_dir(&dir)?;
//! use everturn::{Root, game::{Game, Turn}};
//!
//! let root = Root::open_or_create("saves")?;
//! let mut game: Game = root.open_or_create("demo")?;
//! game.append(Turn::by("player").narrate("You go in.").set("world.npcs.luna.trust", 5))?;
//!
//! let trust: u32 = game.state_at(1)?.get("world.npcs.luna.trust")?;
//! # assert_eq!(trust, 5);
//! for entry in game.entries(..)? {
//!     println!("{}", entry?.text);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Root`] is a directory of sessions. A [`Session`] is one of them: `game::Game`, `campaign::CampaignSession`,
//! `chatlog::ChatSession`, `codelia::CodeliaSession`, `linggen::LinggenSession` and `thread::ThreadSession` are sessions of
//! one format, and an [`AnySession`] is a session of any format, as returned by [`RootSessions::find`]. When
//! [`append`](Session::append_json) returns, the turn survives a crash of the program and a power cut. [`Error::kind`]
//! says what a caller can do about an [`Error`].
//!
//! A session appends, undoes, rewinds and forks, and reads entries, states, changes, marks, branches and forks. The crate
//! `everturn-export` adds `session.export(format, &mut file)` with its trait `ExportSession`, for text, Markdown, HTML, EPUB,
//! PDF and JSON. `everturn-catalog` lists and searches the sessions of many roots.
//!
//! `input -> plan (pure) -> [Step] -> commit -> plain files -> scan -> records`
//!
//! This crate is the front door: it re-exports the crates below it, one for each layer.
//! Its own modules are, in reading order, `root`, `session`, `views` (what a session returns), `inputs` (typed turns and
//! messages), `append_once`, `new_session`, `trash`, `check_report` and `error`. The others, by layer:
//!
//! - `everturn-json`: [`names`], [`finding`], [`json`], [`jsonl`], [`checksum`].
//! - `everturn-value`: [`document`], [`tree`], [`delta`].
//! - `everturn-store`: [`disk`], [`store`], [`overlay`]; `everturn-archive`: [`archive`].
//! - `everturn-settings`: [`home`], [`config`]; `everturn-secrets`: [`vault`], [`scan`].
//! - `everturn-prompt`: `tokens`, `lorebook`, `card`, `context`, `markup`, with the feature `prompt` or `chat`.
//! - `everturn-rpg`: the rules and narrators of campaigns, in `campaign`.
//! - `everturn-session`: [`model`], [`mod@format`], [`finding_sink`], [`repair`], [`session_files`], [`quarantine`].
//! - The formats: `game`, `campaign`, `codelia`, `linggen` and `thread` (feature `agents`), `chatlog` and `chatlog_import`
//!   (feature `chat`), and the sessions of other programs (feature `external`), which are in [`format::EXTERNAL`].
//! - `everturn-maintenance`: [`check`](mod@check), [`mod@copy`], [`seal`], [`scan_files`], [`scrub`], [`retention`], and `convert`,
//!   which needs every format.
//!
//! All formats are compiled in by default. A program that needs only some of them disables the default features.

mod root;
mod session;
mod views;
mod inputs;
mod append_once;
mod new_session;
mod trash;
mod check_report;
mod error;

pub use append_once::{AppendCondition, OnceOutcome};
pub use check_report::CheckReport;
pub use error::{Error, ErrorKind};
pub use everturn_json::finding::Finding;
pub use everturn_session::format::{LATEST, RepairMode, Transition};
pub use everturn_session::model::{
    AppendOutcome, Entry, EntryKind, ForkOptions, ForkOutcome, Mark, MarkKind, NewMark, NewSession,
    Revision, SessionBranch, SessionRef, SessionSummary, StateChange, TransitionOutcome,
};
pub use root::{Root, RootBuilder, RootSessions, SessionList};
pub use session::{AnyFormat, AnySession, FormatTag, Session};
pub use trash::TrashItem;
pub use views::{ChangeIter, EntryIter, TypedState};

pub use everturn_archive as archive;
pub use everturn_json::{checksum, finding, json, jsonl, names};
pub use everturn_maintenance::{check, copy, retention, scan_files, scrub, seal};
pub use everturn_secrets::{scan, vault};
pub use everturn_session::{finding_sink, model, quarantine, repair, session_files};
pub use everturn_settings::{config, home};
pub use everturn_store as store;
pub use everturn_store::{disk, overlay};
pub use everturn_value::{delta, document, tree};

#[cfg(feature = "prompt")]
pub use everturn_prompt::{card, context, lorebook, markup, tokens};

#[cfg(feature = "chat")]
pub use everturn_chatlog::chatlog_import;

/// The examples of the page about the library run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryPage;

#[cfg(feature = "game")]
pub mod game {
    //! Games: turns, changes of a state, snapshots, scenes.

    pub use crate::inputs::{Game, GameFormat, Turn};
    pub use everturn_game::*;
}

#[cfg(feature = "campaign")]
pub mod campaign {
    //! Tabletop campaigns with a turn log.

    pub use crate::inputs::{CampaignFormat, CampaignSession};
    pub use everturn_campaign::*;
}

#[cfg(feature = "chat")]
pub mod chatlog {
    //! Chat logs with tools, bookmarks and a context window.

    pub use crate::inputs::{ChatFormat, ChatMessage, ChatSession};
    pub use everturn_chatlog::*;
}

#[cfg(feature = "agents")]
pub mod codelia {
    //! Sessions of the coding agent Codelia.

    pub use crate::inputs::{CodeliaFormat, CodeliaSession};
    pub use everturn_codelia::*;
}

#[cfg(feature = "agents")]
pub mod linggen {
    //! Sessions of the coding agent Linggen.

    pub use crate::inputs::{LinggenFormat, LinggenSession};
    pub use everturn_linggen::*;
}

#[cfg(feature = "agents")]
pub mod thread {
    //! Threads of agent frameworks: items, checkpoints and pending writes.

    pub use crate::inputs::{ThreadFormat, ThreadSession};
    pub use everturn_thread::*;
}

#[cfg(all(
    feature = "agents",
    feature = "campaign",
    feature = "chat",
    feature = "external",
    feature = "game"
))]
pub use everturn_maintenance::convert;

pub mod format {
    //! The traits of a format, its capabilities, and the registry of the formats that are compiled in.
    //!
    //! ```
    //! use std::sync::Arc;
    //!
    //! use everturn::format::{self, Operation};
    //! use everturn::store::{MemoryStore, Store};
    //! use everturn::model::NewSession;
    //!
    //! let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    //! let now = "2026-01-01T10:00:00Z".parse()?;
    //! let game = format::find("game").ok_or("there is no such layout")?;
    //! let editing = game.editing(Operation::Create)?;
    //! let mut editor = editing.create(&store, &NewSession::with_id("session-one"), now)?;
    //! let turn = r#"{"actor": "player", "events": [{"type": "move", "description": "You go."}]}"#;
    //! assert_eq!(editor.append(turn, now)?.turn, 1);
    //! editor.close(now)?;
    //!
    //! let place = game.locate(&store)?.sessions.remove(0);
    //! let reader = game.open(&store, &place)?;
    //! let entry = reader.entries(1..=1)?.next().ok_or("there is no turn")??;
    //! assert_eq!((entry.kind.as_str(), entry.text.as_str()), ("user", "You go."));
    //! # Ok::<(), Box<dyn std::error::Error>>(())
    //! ```

    pub use everturn_maintenance::registry::{ALL, EXTERNAL, find};
    pub use everturn_session::format::*;
}
