//! The binary as its users see it: stdout, stderr and exit status together.
//!
//! Short cases are transcripts under `tests/transcripts/`; the rest is asserted here.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod beside;
mod blocked;
mod campaigns;
mod catalog;
mod check;
mod codelia;
mod conversation;
mod everturn;
mod everywhere;
mod exports;
mod foreign;
mod foreign_large;
mod foreign_stores;
mod homes;
mod incomplete;
mod kills;
mod large;
mod latest;
mod limits;
mod narrator;
mod obstacles;
mod pages;
mod play;
mod quarantine;
mod readme;
mod scrubbing;
mod sessions;
mod shells;
mod sides;
mod streams;
mod terminal;
mod transcripts;
mod trust;
