//! Text that is read before anything is known about it: JSON, JSONL, and the names of files.
//!
//! - [`names`]: names, paths and ids, checked once when they are made: [`names::FilePath`], [`names::SessionId`].
//! - [`finding`]: what a reader noticed about a file: [`finding::Finding`] and its [`finding::Code`].
//! - [`json`]: the one JSON grammar, as a [`json::Scanner`] that is fed bytes and needs no recursion.
//! - [`lines`]: JSONL files: a [`lines::Scan`] reads a [`lines::Source`] forwards, backwards, and at its tail.
//! - [`checksum`]: the one checksum of the code base.
//!
//! This is the lowest crate of Everturn. It opens no file: a [`lines::Source`] gives it bytes.

pub mod names;

pub mod finding;

pub mod json;

pub mod lines;

pub mod checksum;
