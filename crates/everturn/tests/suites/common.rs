//! What several suites go by.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::panic, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]
#![expect(clippy::needless_pass_by_value, reason = "records are written down where they are used")]

pub(crate) mod capabilities;
pub(crate) mod crashes;
pub(crate) mod kinds;
pub(crate) mod records;
