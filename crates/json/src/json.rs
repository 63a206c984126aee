//! The one JSON grammar of the code base: RFC 8259, strict, without recursion.
//!
//! [`Scanner`] is a state machine that is fed bytes as they come and says where a value ends, or where
//! and why the text cannot be JSON. It keeps one bit per level of nesting, so neither a long value nor
//! a deep one costs memory. The functions on slices ([`value_end`], [`entries`], [`duplicate_keys`])
//! run the same machine and learn the places of keys and values from it.
//!
//! What the grammar leaves to others:
//!
//! - Bytes of 0x80 and above are let through inside strings; whoever needs UTF-8 checks it.
//! - An escape such as `\ud800` is half a character, but correct by the grammar, and is kept as it is.
//! - The same key may come twice in an object; [`duplicate_keys`] finds where.
//! - Numbers may have any size and any number of digits.

mod byte_search;
mod containers;
mod error;
mod nesting;
mod scanner;

#[cfg(test)]
mod tests;

pub(crate) use byte_search::find_last_byte;
pub use byte_search::{find_byte, find_string_special};
pub use containers::unescape_inner;
pub use containers::{
    ContainerEntries, ContainerEntry, duplicate_keys, entries, key_matches, unescape, value_end,
};
pub use error::{JsonError, JsonErrorKind};
pub use scanner::{Completeness, Container, MAX_DEPTH, ScanProgress, Scanner, TokenVisitor};
