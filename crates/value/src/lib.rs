//! JSON documents, values and their changes.
//!
//! - [`document`]: a JSON file as a [`document::Document`]; an edit leaves all other bytes as they are.
//! - [`tree`]: a [`tree::JsonTree`] is a lazily parsed value with a canonical text and checksum.
//! - [`delta`]: a [`delta::Delta`] changes a value and can be undone; [`delta::diff`] computes the changes between two
//!   values.
//! - [`outline`]: values as readable text.
//! - [`intact`]: the intact parts of a damaged document.
//!
//! It depends on `everturn-json` for the grammar and on `serde_json` for typed values. It opens no files.

pub mod document;

pub mod tree;

pub mod delta;

pub mod outline;

pub mod intact;
