//! Tests of archives: packed, read back, and refused.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]
#![expect(clippy::panic, reason = "a test that cannot go on should say where")]

mod damage;
mod foreign;
mod limits;
mod packing;
mod random;
mod refusals;
mod support;
