//! The native module of the package. The JavaScript files beside `src` are its interface.
//!
//! Values are JSON text in both directions: `JSON.parse` and `JSON.stringify` of Node are faster than building values
//! one by one from native code. Every call returns a promise, and its work is done in a thread of its own, because a
//! thread of Node's small pool that waits for a lock would hold up the call that releases it.
//!
//! - `blocking`: runs work in a thread. `errors`: errors with their code, path and hint.
//! - `native_root`, `native_session`, `native_thread`, `native_files`: the classes.

mod blocking;
mod errors;
mod native_files;
pub mod native_root;
mod native_session;
mod native_thread;
