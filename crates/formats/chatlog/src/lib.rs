//! Chat logs: one document of messages, tool snapshots and marks, and beside it a journal.
//!
//! ```text
//! chats/<id>.json             the chat log
//! chats/<id>.journal.jsonl    what was changed since the document was written
//! chats/<id>.index            where in a long document things are; can be deleted at any time
//! tools/<id>.json             the definition of a support tool
//! ```
//!
//! A change is one commit that adds a line to the journal, so that it costs the same however long the chat log is. A
//! fold puts the journal into the document: everything that did not change is copied byte for byte. Reading is the
//! document with the journal over it, and says the same before a fold and after it.
//!
//! A [`ChatLog`] reads messages, a [`ChatWriter`] changes them, a [`Tool`] is what a narrator's [`Tag`]s act on, and
//! [`ChatLayout`] shows all of it in the common view. The crate depends on `everturn-session`, on `everturn-prompt` for
//! context windows, and on `everturn-external`, to leave the files of other programs alone.

mod branch;
pub mod chatlog_import;
mod check;
mod content;
mod create;
mod database;
mod edit;
mod error;
mod fold;
mod follow;
mod index;
mod journal;
mod layout;
mod life;
mod log;
mod lost;
mod message;
mod names;
mod refit;
mod repair;
mod rescue;
mod reshape;
mod rewrite;
mod salvage;
mod shape;
mod survey;
mod tags;
mod tools;
mod window;
mod writer;

pub use branch::{Branched, fork};
pub use check::{check_log, is_document, journal_of_chat_log};
pub use create::{Imported, NewLog, import, is_chat_log};
pub use database::{Shelf, Shelved, shelve};
pub use error::ChatError;
pub use layout::ChatLayout;
pub use log::{ChatLog, Message, Messages};
pub use repair::{plan_repair, repair, undo_repair};
pub use tags::{Action, OddTag, Tag, tags};
pub use tools::{Component, ComponentKind, Fired, Tool, ToolState};
pub use window::{Context, Telling};
pub use writer::{Changed, ChatMark, ChatWriter, Discarded, NewMark};
