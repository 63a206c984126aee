//! The catalog over real roots: lists, searches, changes and damage.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the tests look at files, and have a clock")]

mod answers;
mod changes;
mod damage;
mod forget;
mod moved;
mod random;
mod support;
