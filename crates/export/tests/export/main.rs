//! Sessions of every format, exported in every format.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod again;
mod books;
mod browser;
mod choices;
mod golden;
mod hostile;
mod pages;
mod pictures;
mod support;
mod templates;
