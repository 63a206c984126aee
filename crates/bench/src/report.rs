//! The results of a benchmark: summarized, and written as text or as JSON.

pub(crate) mod json;
pub(crate) mod summary;
pub(crate) mod table;
