//! Sessions of other programs: every oddity of their files, made by generators of our own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]
#![expect(clippy::needless_pass_by_value, reason = "records are written down where they are used")]

mod aider;
mod claude;
mod codex;
mod convert;
mod damage;
mod gemini;
mod goose;
mod only_read;
mod opencode;
mod pi;
mod repair;
mod sillytavern;
pub(crate) mod support;

use crate::common::records;
