//! A crash-safe session store for AI agents and AI-run games.
//!
//! `input -> plan (pure) -> [Step] -> commit -> plain files -> scan -> records`
//!
//! The modules, in reading order:

pub mod names;

pub mod finding;
