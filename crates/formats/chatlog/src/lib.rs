//! Chat logs: one document of messages, tool snapshots and marks, with a journal beside it.
//!
//! ```text
//! chats/<id>.json             the chat log
//! chats/<id>.journal.jsonl    the changes since the document was written
//! chats/<id>.index            offsets into a long document; can be deleted at any time
//! tools/<id>.json             the definition of a support tool
//! ```
//!
//! A change is one commit that appends a line to the journal, so its cost does not depend on the length of the chat
//! log. A fold merges the journal into the document and copies everything unchanged byte for byte. A reader sees the
//! document with the journal applied, which gives the same result before and after a fold.
//!
//! A [`ChatLog`] reads messages, a [`ChatWriter`] changes them, a [`Tool`] is changed by a narrator's [`ToolTag`]s, and
//! [`ChatFormat`] maps all of it to the common model. The crate depends on `everturn-session`, on `everturn-prompt` for
//! context windows, and on `everturn-external`, to leave the files of other programs alone.
//!
//! The modules, in reading order:
//!
//! - `log`, `content`: read a chat log: the bytes of its document with the journal applied.
//! - `queries`: what can be asked of a chat log as a whole.
//! - `journal`, `fold`, `rewrite`, `edit`: the journal, and merging it into the document.
//! - `survey`, `index`: one pass over a document, and the offsets that it found.
//! - `writer`, `create`, `message`, `schema`: the writer, new chat logs, and the shape of every part.
//! - `tools`, `tags`: support tools, and the tags that change them.
//! - `branch`, `lifecycle`, `paths`: forks and rewinds, trash, file names.
//! - `check`, `derived`: findings, and derived data after texts were replaced.
//! - `repair`, `normalize`, `truncate`, `lost`, `rebuild`: repairs of damaged documents.
//! - `format`, `context_window`: the common model, and the messages that fit into a model's context window.
//! - [`chatlog_import`], `import_store`: imports chat logs from a database, and stores them.
//! - `error`: the errors of a chat log.

mod log;
mod content;
mod queries;
mod journal;
mod fold;
mod rewrite;
mod edit;
mod survey;
mod index;
mod writer;
mod create;
mod message;
mod schema;
mod tools;
mod tags;
mod branch;
mod lifecycle;
mod paths;
mod check;
mod derived;
mod repair;
mod normalize;
mod truncate;
mod lost;
mod rebuild;
mod format;
mod context_window;
pub mod chatlog_import;
mod import_store;
mod error;

pub use branch::{ChatFork, fork};
pub use check::{check_log, is_document, journal_of_chat_log};
pub use context_window::{ChatContext, ContextOptions};
pub use create::{ImportOutcome, NewChat, import, is_chat_log};
pub use error::ChatError;
pub use format::{ChatFormat, FORMAT};
pub use import_store::{StoredDocument, StoredImport, store_import};
pub use log::{ChatLog, Message, MessageReader};
pub use message::ContentEdit;
pub use repair::{plan_repair, repair, undo_repair};
pub use tags::{InvalidTag, TagAction, ToolTag, tags};
pub use tools::{Component, ComponentKind, FiredTrigger, Tool, ToolState};
pub use writer::{ChangeOutcome, ChatMark, ChatWriter, DiscardedMessage, NewChatMark};
