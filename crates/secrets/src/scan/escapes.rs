//! Escapes of JSON that hide a secret: `\\/`, `\\u002d`. Escapes of escapes, as in JSON inside JSON, are decoded, too.

use std::borrow::Cow;
use std::ops::Range;

/// A text without these escapes, and where its bytes came from.
pub(super) struct UnescapedText {
    pub(super) bytes: Vec<u8>,
    /// Offsets in the text, each with its offset in the original; between them, both advance alike.
    marks: Vec<(usize, usize)>,
}

impl UnescapedText {
    /// The text without escapes; `None` if it has none.
    pub(super) fn of(original: &[u8]) -> Option<UnescapedText> {
        let mut text = UnescapedText { bytes: Vec::new(), marks: vec![(0, 0)] };
        let mut copied = 0;
        let mut at = 0;
        while let Some(next) = original.get(at..)?.iter().position(|byte| *byte == b'\\') {
            let start = at + next;
            let Some((byte, end)) = escape_at(original, start) else {
                at = start + 1;
                continue;
            };
            text.bytes.extend_from_slice(original.get(copied..start)?);
            text.marks.push((text.bytes.len(), start));
            text.bytes.push(byte);
            text.marks.push((text.bytes.len(), end));
            (copied, at) = (end, end);
        }
        text.bytes.extend_from_slice(original.get(copied..)?);
        (copied > 0).then_some(text)
    }

    /// The range in the original.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let offset = |at: usize| {
            let next = self.marks.partition_point(|(here, _)| *here <= at);
            let mark = next.checked_sub(1).and_then(|next| self.marks.get(next));
            mark.map_or(at, |(here, there)| there + at - here)
        };
        offset(range.start)..offset(range.end)
    }
}

/// The byte that an escape stands for, and the end of the escape. Quotes and backslashes keep their escapes.
fn escape_at(bytes: &[u8], start: usize) -> Option<(u8, usize)> {
    let rest = bytes.get(start..)?;
    let slashes = rest.iter().take(8).take_while(|byte| **byte == b'\\').count();
    let rest = rest.get(slashes..)?;
    if rest.first() == Some(&b'/') {
        return Some((b'/', start + slashes + 1));
    }
    let digits = rest.strip_prefix(b"u")?.get(..4)?;
    let code = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    let is_plain = code.is_ascii_graphic() && !matches!(code, b'"' | b'\\');
    is_plain.then_some((code, start + slashes + 5))
}

/// Bytes without these escapes.
pub(super) fn unescaped(bytes: &[u8]) -> Cow<'_, [u8]> {
    match UnescapedText::of(bytes) {
        Some(text) => Cow::Owned(text.bytes),
        None => Cow::Borrowed(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_and_their_places_known() {
        let check = |text: &str, expect: &str| {
            assert_eq!(unescaped(text.as_bytes()), expect.as_bytes(), "{text}");
        };
        check("a\\/b\\u002dc", "a/b-c");
        check("a\\\\u002Dc\\\\/", "a-c/");
        check("\\n\\u0022\\u005c\\u00e9\\u12", "\\n\\u0022\\u005c\\u00e9\\u12");
        let text = "x\\/y\\u002dz";
        let decoded = UnescapedText::of(text.as_bytes()).unwrap();
        assert_eq!(decoded.bytes, b"x/y-z");
        let parts: Vec<&str> = (0..5).map(|at| &text[decoded.original(&(at..at + 1))]).collect();
        assert_eq!(parts, ["x", "\\/", "y", "\\u002d", "z"]);
        assert_eq!(&text[decoded.original(&(0..5))], text);
        assert!(UnescapedText::of(b"plain \\n").is_none());
    }
}
