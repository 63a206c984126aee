//! A crash-safe session store for AI agents and AI-run games.
//!
//! `input -> plan (pure) -> [Step] -> commit -> plain files -> scan -> records`
//!
//! The modules, in reading order:

#[cfg(not(unix))]
compile_error!("everturn needs a Unix system: it relies on O_APPEND, flock and directory flushes");

pub mod names;

pub mod finding;

mod checksum;

pub mod json;

pub mod lines;

pub mod disk;

pub mod store;
