//! Live events: server-sent events of one session, and of the list of sessions.
//!
//! An event stream has no queue. Its position is a cursor in the session itself, which is also the ID of each event: the
//! server reads what follows the cursor whenever something may have changed. So a client that reconnects, to this process
//! or to the next one, misses nothing and gets nothing twice, and a slow client costs no memory and blocks no writer.
//!
//! - `hub`: [`LiveHub`] says which files have changed, by this process or another.
//! - `tail`: what follows a cursor in a session; `feed`: changes of the list of sessions.
//! - `stream`: from these to the body of an answer.

mod feed;
mod hub;
mod stream;
mod tail;

pub(crate) use feed::ListFeed;
pub(crate) use hub::LiveHub;
pub(crate) use stream::{list_events, session_events};
