//! JSON documents, values and their changes.
//!
//! - [`document`]: a whole JSON file as a [`document::Document`], edited without touching what did not change.
//! - [`tree`]: a [`tree::Tree`] is a value that is looked into only where somebody looks; one text and one checksum for
//!   each value.
//! - [`delta`]: a [`delta::Delta`] changes such a value and can be taken back; [`delta::diff`] finds the changes between
//!   two of them.
//! - [`outline`]: values as a person would tell them.
//!
//! It depends on `everturn-json` for the grammar and on `serde_json` for typed values, and touches no files.

pub mod document;

pub mod tree;

pub mod delta;

pub mod outline;
