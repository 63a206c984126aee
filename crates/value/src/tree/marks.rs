//! The structural characters of a JSON text: its brackets, colons and commas outside strings.
//!
//! The text must be valid. Then everything between two marks is white space around at most one string, number or word,
//! and the text need not be scanned byte by byte: 64 bytes at a time become the bits of a number.

use std::ops::Range;

/// The number of bytes that are processed together.
const BLOCK: usize = 64;

/// An iterator over the positions of the marks.
pub(super) struct StructuralMarks<'t> {
    text: &'t [u8],
    /// The end of the current block.
    end: usize,
    /// The remaining marks of the current block, one bit for each byte.
    left: u64,
    /// All ones, if the next block starts inside a string.
    quoted: u64,
    /// One, if a backslash before the next block escapes its first byte.
    escaped: u64,
}

impl<'t> StructuralMarks<'t> {
    pub(super) fn new(text: &'t str) -> StructuralMarks<'t> {
        StructuralMarks { text: text.as_bytes(), end: 0, left: 0, quoted: 0, escaped: 0 }
    }

    /// Advances to the next block, if there is one.
    fn advance(&mut self) -> Option<()> {
        let rest = self.text.get(self.end..).filter(|rest| !rest.is_empty())?;
        self.left = match rest.first_chunk() {
            Some(block) => self.marks(block),
            None => {
                let mut block = [b' '; BLOCK];
                block.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                self.marks(&block)
            }
        };
        self.end += BLOCK;
        Some(())
    }

    fn marks(&mut self, block: &[u8; BLOCK]) -> u64 {
        let mut quotes = matching_bits(block, |byte| byte == b'"');
        let is_backslash = |byte| byte == b'\\';
        // Most blocks have no escapes, which is faster to detect than their positions.
        if self.escaped != 0 || block.iter().fold(false, |seen, &byte| seen | is_backslash(byte)) {
            quotes &= !self.escaped_by(matching_bits(block, is_backslash));
        }
        // A bit is set if the number of quotes up to it is odd: from the opening quote on.
        let mut inside = quotes;
        for distance in [1, 2, 4, 8, 16, 32] {
            inside ^= inside << distance;
        }
        inside ^= self.quoted;
        self.quoted = if inside >> (BLOCK - 1) == 1 { u64::MAX } else { 0 };
        matching_bits(block, is_mark) & !inside
    }

    /// The bytes that these backslashes escape.
    fn escaped_by(&mut self, backslashes: u64) -> u64 {
        let mut escaped = self.escaped;
        // An escaped backslash escapes nothing.
        let mut left = backslashes & !escaped;
        self.escaped = 0;
        while left != 0 {
            let backslash = left & left.wrapping_neg();
            let next = backslash << 1;
            self.escaped = backslash >> (BLOCK - 1);
            escaped |= next;
            left &= !(backslash | next);
        }
        escaped
    }

    /// Skips to the mark that closes the container that the last mark opened.
    pub(super) fn skip_container(&mut self) -> Option<usize> {
        let mut depth = 1_usize;
        loop {
            let at = self.next()?;
            match self.text.get(at)? {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(at);
            }
        }
    }
}

impl Iterator for StructuralMarks<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            self.advance()?;
        }
        let at = self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        Some(self.end - BLOCK + at)
    }
}

fn is_mark(byte: u8) -> bool {
    // Brackets and braces differ in one bit.
    matches!(byte | 0x20, b'{' | b'}') || matches!(byte, b',' | b':')
}

/// One bit for each byte that `matters`, the lowest for the first.
#[inline]
fn matching_bits(block: &[u8; BLOCK], matters: impl Fn(u8) -> bool) -> u64 {
    // A plain loop over all bytes is vectorized in every caller.
    let mut flags = [0; BLOCK];
    flags.iter_mut().zip(block).for_each(|(flag, &byte)| *flag = u8::from(matters(byte)));
    let (eights, _) = flags.as_chunks();
    eights.iter().rev().fold(0, |bits, eight| {
        // The product has the lowest bits of the eight bytes adjacent in its highest byte.
        let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        (bits << 8) | gathered
    })
}

/// The members or elements of a container, with their keys if they have any.
pub(super) struct TextEntries<'t> {
    text: &'t str,
    marks: StructuralMarks<'t>,
    /// The start of the next entry.
    start: usize,
}

impl<'t> TextEntries<'t> {
    /// The entries of the container that is all of `text`.
    pub(super) fn of(text: &'t str) -> TextEntries<'t> {
        let mut marks = StructuralMarks::new(text);
        let start = marks.next().map_or(text.len(), |opening| opening + 1);
        TextEntries { text, marks, start }
    }
}

impl<'t> Iterator for TextEntries<'t> {
    /// The key with its quotes, and the value.
    type Item = (Option<&'t str>, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        let mut key = None;
        loop {
            let at = self.marks.next()?;
            match self.text.as_bytes().get(at)? {
                b'{' | b'[' => drop(self.marks.skip_container()?),
                b':' => {
                    key = self.text.get(trim_between(self.text, self.start..at));
                    self.start = at + 1;
                }
                _ => {
                    let value = self.text.get(trim_between(self.text, self.start..at))?;
                    self.start = at + 1;
                    // The value is empty only in an empty container.
                    return (!value.is_empty()).then_some((key, value));
                }
            }
        }
    }
}

/// The range of the scalar between two marks; empty if there is only white space.
#[inline]
pub(super) fn trim_between(text: &str, between: Range<usize>) -> Range<usize> {
    let is_space = |byte: &u8| *byte <= b' ';
    let bytes = text.as_bytes().get(between.clone()).unwrap_or_default();
    let before = bytes.iter().take_while(|byte| is_space(byte)).count();
    let after = bytes.iter().skip(before).rev().take_while(|byte| is_space(byte)).count();
    between.start + before..between.end - after
}
