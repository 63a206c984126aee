//! The requests of a session: one model for the line protocol and every other door.
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! use everturn::Root;
//! use everturn::game::Game;
//! use everturn_requests::{Request, Response, SessionHandler};
//!
//! let root = Root::open_or_create(dir.path())?;
//! Game::create(&root, "demo")?.close()?;
//! let mut handler = SessionHandler::new(root.find("demo")?);
//!
//! let turn = r#"{"data": {"actor": "player", "narration": "You go in."}, "key": "7f3c"}"#;
//! let request = Request::parse("append", turn)?;
//! let Response::Append(stored) = handler.handle(&request)? else { return Err("not a turn".into()) };
//! assert_eq!(stored.turn, 1);
//!
//! // The same as lines of text, as `everturn session` reads and writes them.
//! let answer = handler.answer_line(br#"{"id": 2, "request": "entries", "limit": 1}"#).text;
//! assert!(answer.starts_with(r#"{"id":2,"ok":{"entries":[{"seq":1,"turn":1,"#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `line -> Request -> SessionHandler -> Response or RequestError -> line`
//!
//! A [`SessionHandler`] serves one open session. It reads no input and prints nothing, so that a pipe, a server and
//! bindings for other languages can use it. It is `Send`: a program that serves a session to several threads puts it into
//! a mutex, and a program that serves several sessions has a handler for each; they share the root and its flushes.
//! `docs/protocol.md` describes all requests and answers, `docs/protocol.schema.json` is their JSON Schema.
//!
//! - `request`: [`Request`], what can be asked; its fields are checked, and unknown ones are refused.
//! - `response`: [`Response`], the answers; `error`: [`RequestError`], why a request failed, with a stable
//!   [`ErrorCode`].
//! - `handler`: [`SessionHandler`], from a request to its answer; `page` has pages of entries, `views` the parts of
//!   answers.
//! - `lines`: [`RequestLines`] reads lines of bounded length, and [`SessionHandler::answer`] answers each with one.

mod error;
mod handler;
mod lines;
mod page;
mod request;
mod response;
mod views;

pub use error::{ErrorCode, RequestError};
pub use handler::{Access, SessionHandler};
pub use lines::{LineAnswer, MAX_LINE, RequestLine, RequestLines};
pub use page::{MAX_PAGE, PAGE, read_page};
pub use request::{
    AppendRequest, DiffRequest, EmptyRequest, EntriesRequest, ForkRequest, MarkAddRequest,
    MarkRemoveRequest, Request, RewindRequest, SceneRequest, StatePath, StateRequest, UndoRequest,
};
pub use response::{
    AppendAnswer, AppendTiming, BranchView, BranchesAnswer, DiffAnswer, EntriesAnswer, EntryView,
    ForkAnswer, InfoAnswer, MarkAnswer, MarkView, MarksAnswer, Response, RewindAnswer, SceneAnswer,
    SnapshotAnswer, StateAnswer, StatusAnswer, SyncAnswer, UndoAnswer, Warning,
};
pub use views::{change_view, entry_view};
