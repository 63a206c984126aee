//! [`Utf8Check`]: incremental UTF-8 validation, with characters split anywhere.

/// Finds the first byte that is not UTF-8.
#[derive(Debug, Clone, Default)]
pub struct Utf8Check {
    /// The number of bytes before the current piece.
    passed: u64,
    /// The start of an incomplete character.
    cut: Vec<u8>,
    bad: Option<u64>,
}

impl Utf8Check {
    pub(crate) fn reset(&mut self) {
        self.passed = 0;
        self.cut.clear();
        self.bad = None;
    }

    /// The offset of the first byte that is not UTF-8.
    ///
    /// An incomplete character at the end is not invalid; a JSON value always ends in ASCII.
    pub fn first_invalid(&self) -> Option<u64> {
        self.bad
    }

    /// Validates the next piece of the text.
    pub fn feed(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while !self.cut.is_empty()
            && self.bad.is_none()
            && let Some((&byte, after)) = rest.split_first()
        {
            let start = self.passed - self.cut.len() as u64;
            self.cut.push(byte);
            self.passed += 1;
            rest = after;
            match std::str::from_utf8(&self.cut) {
                Ok(_) => self.cut.clear(),
                Err(error) if error.error_len().is_some() => self.bad = Some(start),
                Err(_) => {}
            }
        }
        if self.bad.is_none()
            && let Err(error) = std::str::from_utf8(rest)
        {
            if error.error_len().is_some() {
                self.bad = Some(self.passed + error.valid_up_to() as u64);
            } else {
                let start = rest.get(error.valid_up_to()..).unwrap_or_default();
                self.cut.extend_from_slice(start);
            }
        }
        self.passed += rest.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &[u8], expect: Option<u64>) {
        for size in 1..=text.len() {
            let mut check = Utf8Check::default();
            text.chunks(size).for_each(|piece| check.feed(piece));
            assert_eq!(check.first_invalid(), expect, "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn the_first_bad_byte_is_found_however_the_text_is_cut() {
        check("a é 日 😀 z".as_bytes(), None);
        check(b"ab\xffcd", Some(2));
        check(b"ab\xc3(cd\xff", Some(2));
        check(b"\xf0\x9f\x98\x80\xf0\x9f\x98z", Some(4));
        check(b"\xed\xa0\x80", Some(0));
        check(b"\xe2\x82\xac\x80", Some(3));
    }
}
