//! The JSON grammar that all crates use: RFC 8259, strict, without recursion.
//!
//! [`Scanner`] is an incremental state machine that reports where a value ends, or where and why the text is not JSON.
//! It needs one bit per level of nesting, so neither long nor deep values cost memory. The functions on slices
//! ([`value_end`], [`entries`], [`duplicate_keys`]) run the same machine and get the positions of keys and values from
//! it.
//!
//! The grammar does not check:
//!
//! - UTF-8: bytes of 0x80 and above are accepted inside strings; a caller that needs UTF-8 checks it.
//! - Surrogates: an escape such as `\ud800` is half a character, but valid by the grammar, and is preserved.
//! - Duplicate keys in an object: [`duplicate_keys`] finds them.
//! - Numbers: they may have any size and any number of digits.

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
