//! Fifteen ways in which session stores are known to lose or block people's work, by their numbers, in every layout
//! where they can happen; and some more that cost little to try.
//!
//! | number | what happens to others |
//! |---|---|
//! | T1 | a torn last line: a session is blank or cut off when it is resumed |
//! | T2 | a bad line in the middle hides everything behind it |
//! | T3 | two records on one line |
//! | T4 | parents that are not there, and forks that nobody made, drop most of a conversation |
//! | T5 | a tool that was called and never answered blocks a session |
//! | T6 | two live writers at one session |
//! | T7 | a session of gigabytes cannot be resumed, and slows down all others |
//! | T8 | each resume writes the history again |
//! | T9 | a file that cannot be read is taken for an empty one, and written over |
//! | T10 | sessions are deleted by the times of their files |
//! | T11 | a migration loses or hides sessions |
//! | T12 | a damaged index keeps the program from starting |
//! | T13 | secrets in logs |
//! | T14 | paths that are encoded alike, projects that were moved |
//! | T15 | a full disk, half a batch, a power cut |
//!
//! What the store below the layouts does about them is tried in `crates/store/tests/store/failures/`, the search index in
//! `crates/catalog/tests/catalog/damage.rs`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::panic, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]

mod support;

mod t01_torn_tail;
mod t02_bad_line;
mod t03_glued;
mod t04_parents;
mod t05_orphan_calls;
mod t06_two_writers;
mod t07_giants;
mod t08_growth;
mod t09_unreadable;
mod t10_retention;
mod t11_migration;
mod t12_indexes;
mod t13_secrets;
mod t14_paths;
mod t15_full_disk;
mod t16_cheap;

use crate::common::crashes;
use crate::common::kinds;
use crate::common::records;
use crate::foreign::support as foreign;
