//! A scanner for lines whose exact form is expected.

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;
use smallvec::smallvec;

use everturn_json::json;
use everturn_value::delta::ArrayPositions;

/// A scanner over one line. Each method returns the position of what it passed, or `None` if something else follows.
pub(super) struct LineScanner<'l> {
    line: &'l str,
    at: usize,
}

impl<'l> LineScanner<'l> {
    pub(super) fn new(line: &'l str) -> LineScanner<'l> {
        LineScanner { line, at: 0 }
    }

    #[inline]
    pub(super) fn text(&self, span: Range<usize>) -> &'l str {
        self.line.get(span).unwrap_or_default()
    }

    #[inline]
    fn rest(&self) -> &'l str {
        self.text(self.at..self.line.len())
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.line.len()
    }

    /// Passes exactly this text.
    #[inline]
    pub(super) fn pass(&mut self, text: &str) -> Option<()> {
        self.rest().as_bytes().starts_with(text.as_bytes()).then(|| self.at += text.len())
    }

    /// Passes an optional field. Returns `None` if the field is present but malformed.
    #[expect(clippy::option_option, reason = "a field may be absent, and it may be wrong")]
    pub(super) fn field<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.pass(name) {
            Some(()) => read(self).map(Some),
            None => Some(None),
        }
    }

    /// Passes a number without sign, fraction or exponent.
    pub(super) fn number<N: std::str::FromStr>(&mut self) -> Option<N> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let text = self.rest().get(..digits)?;
        self.at += digits;
        // JSON does not allow leading zeros.
        text.parse().ok().filter(|_| text == "0" || !text.starts_with('0'))
    }

    /// Passes a non-empty array of such numbers.
    pub(super) fn numbers(&mut self) -> Option<ArrayPositions> {
        self.pass("[")?;
        let mut numbers = smallvec![self.number()?];
        while self.pass(",").is_some() {
            numbers.push(self.number()?);
        }
        self.pass("]")?;
        Some(numbers)
    }

    /// Passes a string without escapes. Returns its position between the quotes.
    pub(super) fn plain(&mut self) -> Option<Range<usize>> {
        self.pass("\"")?;
        let span = self.at..self.at + json::find_string_special(self.rest().as_bytes());
        self.at = span.end;
        self.pass("\"")?;
        Some(span)
    }

    /// Passes any value.
    pub(super) fn value(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        let simple = match self.rest().bytes().next()? {
            b'"' => self.plain().is_some(),
            b'0'..=b'9' => {
                self.number::<u64>().is_some()
                    && !matches!(self.rest().bytes().next(), Some(b'.' | b'e' | b'E'))
            }
            _ => false,
        };
        if !simple {
            let mut values = serde_json::Deserializer::from_str(self.line.get(start..)?);
            let raw = <&RawValue>::deserialize(&mut values).ok()?;
            self.at = start + raw.get().len();
        }
        Some(start..self.at)
    }
}
