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
//! A [`ChatLog`] reads messages, a [`ChatWriter`] changes them, a [`Tool`] is changed by a narrator's [`ToolTag`]s, and
//! [`ChatFormat`] maps all of it to the common model. The crate depends on `everturn-session`, on `everturn-prompt` for
//! context windows, and on `everturn-external`, to leave the files of other programs alone.

mod branch;
pub mod chatlog_import;
mod check;
mod content;
mod context_window;
mod create;
mod derived;
mod edit;
mod error;
mod fold;
mod format;
mod import_store;
mod index;
mod journal;
mod lifecycle;
mod log;
mod lost;
mod message;
mod normalize;
mod paths;
mod rebase;
mod rebuild;
mod repair;
mod rewrite;
mod schema;
mod survey;
mod tags;
mod tools;
mod truncate;
mod writer;

pub use branch::{ChatFork, fork};
pub use check::{check_log, is_document, journal_of_chat_log};
pub use context_window::{ChatContext, ContextOptions};
pub use create::{ImportOutcome, NewChat, import, is_chat_log};
pub use error::ChatError;
pub use format::ChatFormat;
pub use import_store::{StoredDocument, StoredImport, store_import};
pub use log::{ChatLog, Message, MessageReader};
pub use repair::{plan_repair, repair, undo_repair};
pub use tags::{InvalidTag, TagAction, ToolTag, tags};
pub use tools::{Component, ComponentKind, FiredTrigger, Tool, ToolState};
pub use writer::{ChangeOutcome, ChatMark, ChatWriter, DiscardedMessage, NewChatMark};
