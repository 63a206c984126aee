//! A crash-safe session store for AI agents and AI-run games.
//!
//! `input -> plan (pure) -> [Step] -> commit -> plain files -> scan -> records`
//!
//! The modules, in reading order:
//!
//! - [`names`]: names that are safe to put on a disk.
//! - [`finding`]: what a reader noticed about a file.
//! - [`json`]: the one JSON grammar, as a scanner that is fed bytes.
//! - [`lines`]: JSONL files, read forwards, backwards, and at their tail.
//! - [`document`]: whole JSON files, edited without touching what did not change.

pub mod names;

pub mod finding;

pub mod json;

pub mod lines;

pub mod document;
