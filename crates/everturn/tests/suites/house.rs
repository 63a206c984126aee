//! Sessions of every layout, kept in order: secrets taken out, seals, the trash by rules. Each is also cut at every
//! change of the disk.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::panic, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]

mod crash;
mod retention;
mod scrub;
mod seal;

use crate::common::crashes;
use crate::common::kinds;
