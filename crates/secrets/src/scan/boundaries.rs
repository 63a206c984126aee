//! Word boundaries and runs of bytes in a text, also if the text is escaped.

/// Whether the byte can be part of a word.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a word can begin here: at the start, after a byte that is not part of a word, or after an escape such as
/// `\n`, `\u003d` or `%20`.
pub(super) fn begins_word(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default();
    match before {
        [] => true,
        [.., last] if !is_word(*last) => true,
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()),
        [.., b'%', a, b] => a.is_ascii_hexdigit() && b.is_ascii_hexdigit(),
        // Terminal colour codes end with an m.
        [.., a, b'm'] => a.is_ascii_digit() && follows_escape(before),
        _ => false,
    }
}

/// Whether the text ends with a terminal colour code.
fn follows_escape(before: &[u8]) -> bool {
    let digits = |byte: &&u8| byte.is_ascii_digit() || **byte == b';' || **byte == b'm';
    let length = before.iter().rev().take(12).take_while(digits).count();
    before.len().checked_sub(length + 1).and_then(|at| before.get(at)) == Some(&b'[')
}

/// The end of the run of bytes that `is_in` accepts; at most `most` bytes, and one more to detect that there are too
/// many.
pub(super) fn run_end(bytes: &[u8], from: usize, most: usize, is_in: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take(most.saturating_add(1)).take_while(|byte| is_in(**byte)).count()
}

/// The start of the run of bytes before a position that `is_in` accepts.
pub(super) fn run_start(bytes: &[u8], to: usize, most: usize, is_in: impl Fn(u8) -> bool) -> usize {
    let before = bytes.get(..to).unwrap_or_default();
    to - before.iter().rev().take(most.saturating_add(1)).take_while(|byte| is_in(**byte)).count()
}

/// Whether `what` is at this position.
pub(super) fn has_bytes_at(bytes: &[u8], at: usize, what: &[u8]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_behind_escapes() {
        let check = |before: &str, expect| {
            assert_eq!(begins_word(before.as_bytes(), before.len()), expect, "{before:?}");
        };
        for fine in ["", " ", "=", "\"", "\\n", "a\\t", "\\u003d", "?a%3D", "\u{1b}[32m", "x/", "-"]
        {
            check(fine, true);
        }
        for wrong in ["a", "_", "n", "5", "u003d", "3D", "am", "5m", "\u{e9}a"] {
            check(wrong, false);
        }
    }
}
