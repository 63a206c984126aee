//! Tests of JSONL scanning, with clean, damaged and very large files.

mod lines_damage;
mod lines_large;
mod lines_reverse;
