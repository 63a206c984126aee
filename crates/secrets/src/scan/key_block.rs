//! Private keys in PEM blocks.

use std::ops::Range;

use super::boundaries::{has_bytes_at, run_end};
use super::{Certainty, MAX_SECRET_SPAN, SecretMatch};

pub(super) const FAMILY: &str = "private-key";

/// The minimum number of base64 characters of a key.
const LEAST: usize = 40;

/// The block that begins with the `-----BEGIN ` in this range. A truncated block is matched up to its last base64
/// character.
pub(super) fn check_key_block(bytes: &[u8], start: Range<usize>) -> Option<SecretMatch> {
    let title = run_end(bytes, start.end, 40, |byte| byte.is_ascii_uppercase() || byte == b' ');
    let name = bytes.get(start.end..title)?;
    let is_private = name.ends_with(b"PRIVATE KEY") || name.ends_with(b"PRIVATE KEY BLOCK");
    if !is_private || !has_bytes_at(bytes, title, b"-----") {
        return None;
    }
    let from = title + 5;
    let rest = bytes.get(from..bytes.len().min(from + MAX_SECRET_SPAN / 2))?;
    let closing = [b"-----END ", name, b"-----"].concat();
    let closed = rest.windows(closing.len()).position(|window| window == closing);
    let (body, end) = match closed {
        Some(at) => (rest.get(..at)?, from + at + closing.len()),
        None => {
            let mut end = run_end(bytes, from, MAX_SECRET_SPAN / 2, is_inside);
            // A trailing backslash belongs to the quote after it.
            while bytes.get(end - 1) == Some(&b'\\') {
                end -= 1;
            }
            (bytes.get(from..end)?, end)
        }
    };
    // Escapes such as `\n` add a few letters.
    let letters = body.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    let certainty = if closed.is_some() { Certainty::Certain } else { Certainty::Likely };
    (letters >= LEAST).then(|| SecretMatch::plain(start.start..end, FAMILY, certainty))
}

/// Whether the byte can be part of a key: base64, line endings and their escapes.
fn is_inside(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=\\\r\n".contains(&byte)
}
