//! A crash-safe session store for AI agents and AI-run games.
//!
//! `input -> plan (pure) -> [Step] -> commit -> plain files -> scan -> records`
//!
//! The modules, in reading order:
//!
//! - [`names`]: names that are safe to put on a disk.
//! - [`finding`]: what a reader noticed about a file.
//! - [`json`]: the one JSON grammar, as a scanner that is fed bytes.
//! - [`lines`]: JSONL files, read forwards, backwards, and at their tail.
//! - [`document`]: whole JSON files, edited without touching what did not change.
//! - [`tree`]: JSON values that are looked into only where somebody looks.
//! - [`delta`]: changes of such values that can be taken back.
//! - [`tokens`]: how many tokens a text costs a language model.
//! - [`card`]: character cards, as JSON and in pictures.
//! - [`lorebook`]: knowledge that turns up when the talk comes to it.
//! - [`context`]: what of a conversation fits into the window of a language model.
//! - [`disk`]: what is asked of a disk; the real one, and one that crashes on request.
//! - [`store`]: batches of changes to files that happen whole or not at all.
//! - [`archive`]: a directory as a `tar.gz`, and back, without trusting the archive.
//! - [`repairs`]: changes of sessions that keep every original, and can be taken back.
//! - [`view`]: sessions, entries and states as every layout shows them.
//! - [`home`]: where a program keeps its files.
//! - [`config`]: settings in layers, and which layer a value comes from.
//! - [`secrets`]: keys and tokens, kept to their owner and never shown.
//! - [`scan`]: keys, tokens and passwords in text, found and replaced.
//! - [`belongings`]: the files of a session, with copies of them.
//! - [`sweep`]: secrets in files, archives too.
//! - [`layout`]: the kinds of sessions there are, behind one shape.
//! - [`overlay`]: a store as it would be after changes.
//! - [`watch`]: what a check reports while it is running.
//! - [`seal`]: chains of hashes over sessions, by which later changes are found.
//! - [`scrub`]: secrets taken out of sessions, with originals kept until they are purged.
//! - [`retention`]: which sessions need not stay, and which are pinned.
//! - [`game`]: game sessions of turns, changes, snapshots and scenes.
//! - [`campaign`]: campaigns of turns, with the rules that make one.
//! - [`codelia`]: the home of a coding agent, sessions of messages with an index.
//! - [`markup`]: Markdown as HTML, and HTML that is safe to show.
//! - [`chatlog`]: chat logs of messages, tool snapshots and marks.
//! - [`chatlog_import`]: chat logs out of the database of the program that plays them.
//! - [`linggen`]: the home of a coding agent: projects, sessions, runs, missions, plans.
//! - `foreign`: sessions of other programs, which are only read: [`layout::FOREIGN`].
//! - [`check`]: what is wrong with the files of a directory.

pub use everturn_json::names;

pub use everturn_json::finding;

pub use everturn_json::json;

pub use everturn_json::lines;

pub use everturn_value::document;

pub use everturn_value::tree;

pub use everturn_value::delta;

pub use everturn_prompt::tokens;

pub use everturn_prompt::lorebook;

pub use everturn_prompt::card;

pub use everturn_prompt::context;

use everturn_json::checksum;

pub use everturn_store::disk;

pub use everturn_store as store;

pub use everturn_archive as archive;

pub use everturn_session::repairs;

pub use everturn_session::view;

pub use everturn_settings::home;

pub use everturn_settings::config;

pub use everturn_secrets::secrets;

pub use everturn_secrets::scan;

pub use everturn_session::belongings;

pub mod sweep;

pub mod layout {
    //! The kinds of sessions there are: the traits, and the registry of those that are compiled in.
    //!
    //! ```
    //! use std::sync::Arc;
    //!
    //! use everturn::layout;
    //! use everturn::store::{MemoryStore, Store};
    //! use everturn::view::New;
    //!
    //! let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    //! let now = "2026-01-01T10:00:00Z".parse()?;
    //! let game = layout::find("game").ok_or("there is no such layout")?;
    //! let mut editor = game.create(&store, &New::with_id("session-one"), now)?;
    //! let turn = r#"{"actor": "player", "events": [{"type": "move", "description": "You go."}]}"#;
    //! assert_eq!(editor.append(turn, now)?.turn, 1);
    //! editor.close(now)?;
    //!
    //! let place = game.places(&store)?.places.remove(0);
    //! let reader = game.open(&store, &place)?;
    //! let entry = reader.entries(1..=1)?.next().ok_or("there is no turn")??;
    //! assert_eq!((entry.kind.as_str(), entry.text.as_str()), ("user", "You go."));
    //! # Ok::<(), Box<dyn std::error::Error>>(())
    //! ```

    pub use everturn_session::layout::*;

    pub use crate::registry::{ALL, FOREIGN, find};
}

pub use everturn_store::overlay;

pub use everturn_session::watch;

use everturn_session::shelved;

pub mod seal;

pub mod scrub;

pub mod retention;

use everturn_session::marks;

use everturn_session::trash;

pub use everturn_game as game;

pub use everturn_campaign as campaign;

pub use everturn_codelia as codelia;

pub use everturn_prompt::markup;

pub use everturn_chatlog as chatlog;

pub use everturn_chatlog::chatlog_import;

pub use everturn_linggen as linggen;

use everturn_external as foreign;

mod registry;

pub mod convert;

pub mod check;
