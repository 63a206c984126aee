//! The result of a benchmark, summed up, and written for people or for programs.

pub(crate) mod json;
pub(crate) mod summary;
pub(crate) mod table;
