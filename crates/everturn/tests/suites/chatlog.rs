//! Chat logs: the document, the journal, the tools, and what crashes leave of them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::panic, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]

mod branches;
mod check;
mod context;
mod crash;
mod damage;
mod document;
mod extras;
mod facts;
mod growth;
mod journals;
mod last_messages;
mod lost;
mod model;
mod support;
mod tools;

use crate::common::crashes;
