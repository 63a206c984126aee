//! The catalog over real roots: what it lists and finds, what changes do to it, and what damage does.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the tests look at files, and have a clock")]

mod answers;
mod changes;
mod damage;
mod forget;
mod random;
mod support;
