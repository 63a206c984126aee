//! Serves sessions on the local machine: an HTTP API with live events, and MCP.
//!
//! `connection -> guard -> route -> Library (in a bounded blocking pool) -> reply`
//!
//! A [`Server`] listens on an address that [`ServeOptions`] name and serves the sessions of some [`ServedSource`]s. It
//! trusts nobody: every request needs a secret of this start, a known `Host`, and for a change the right `Origin`.
//! The sessions themselves are read and written by the crates below, which are synchronous; only this crate knows async.
//!
//! The modules, in reading order:
//!
//! - `options`: [`ServeOptions`], what a server serves, and its [`ServeLimits`].
//! - `credentials`: the one-time codes, cookies and tokens of one start.
//! - `problem`: what a failed request is answered (RFC 9457); `audit`: one record per change.
//! - `rate`, `guard`: which requests are let in.
//! - `headers`: the headers of every answer, and compression.
//! - `library`: the sources and their sessions, found by key; `session_key`: how a client names a session.
//! - `route`: a route with the types of its query, body and answer; `api`: all routes; `openapi`: their description.
//! - `hub`: which files have changed; `live`: what follows a cursor; `state`: what all requests share; `events`:
//!   server-sent events.
//! - `narration`: who narrates campaigns; `play_stream`: the narrator's answer while it arrives.
//! - `mcp`: tools, resources and prompts for agents.
//! - `login`: how a client gets in, and out.
//! - `page`: the page at `/`.
//! - `dispatch`: from a request to its answer; `listener`: connections; `socket`: the Unix
//!   socket; `server`: start and stop.

mod api;
mod audit;
mod credentials;
mod dispatch;
mod events;
mod guard;
mod headers;
mod hub;
mod library;
mod listener;
mod live;
mod login;
mod mcp;
mod narration;
mod openapi;
mod options;
mod page;
mod play_stream;
mod problem;
mod rate;
mod route;
mod server;
mod session_key;
mod socket;
mod state;

pub use audit::AuditRecord;
pub use narration::{NarrationSink, NarratorMaker};
pub use options::{ServeAddress, ServeLimits, ServeOptions, ServedSource, SourceOpener};
pub use server::{ServeError, Server, serve_mcp};
