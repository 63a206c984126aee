//! What live events are made of.
//!
//! An event stream has no queue. Its position is a cursor in the session itself, which is also the ID of each event: the
//! server reads what follows the cursor whenever something may have changed. So a client that reconnects, to this process
//! or to the next one, misses nothing and gets nothing twice, and a slow client costs no memory and blocks no writer.
//!
//! - `tail`: what follows a cursor in a session; `feed`: changes of the list of sessions.

mod feed;
mod tail;

pub(crate) use feed::ListFeed;
pub(crate) use tail::{LiveEvent, TailCursor, end_of, read_after};
