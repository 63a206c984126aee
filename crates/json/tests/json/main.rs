//! JSONL files as they are found.

mod lines_damage;
mod lines_large;
mod lines_reverse;
