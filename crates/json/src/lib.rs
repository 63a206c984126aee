//! JSON and JSONL scanning, file names, and findings.
//!
//! - [`names`]: names, paths and IDs, validated on construction: [`names::FilePath`], [`names::SessionId`].
//! - [`finding`]: a problem that a reader reports about a file: [`finding::Finding`] and its [`finding::FindingCode`].
//! - [`json`]: the JSON grammar, as an incremental [`json::Scanner`] without recursion.
//! - [`jsonl`]: JSONL files: a [`jsonl::JsonlScan`] reads a [`jsonl::ByteSource`] forwards, backwards, and at its end.
//! - [`checksum`]: the checksum that all crates use.
//!
//! This is the lowest crate of Everturn. It opens no files: a [`jsonl::ByteSource`] supplies the bytes.

pub mod names;

pub mod finding;

pub mod json;

pub mod jsonl;

pub mod checksum;
