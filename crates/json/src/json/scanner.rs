//! [`Scanner`]: the state machine.

use std::mem;

use super::nesting::NestingStack;
use super::{JsonError, JsonErrorKind, find_string_special};

/// The most containers that may be open at once; their bits take 2 MiB.
pub const MAX_DEPTH: usize = 1 << 24;

/// The two kinds of containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
}

/// The progress of the scanner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanProgress {
    /// Every byte was consumed, and the value may continue.
    More,
    /// The value is complete; this many bytes of the last chunk belong to it.
    ///
    /// A top-level number ends at the first byte that is not part of it, so this may be 0.
    End(usize),
}

/// The completeness of the input so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// Nothing, or only white space.
    Empty,
    /// A whole value.
    Complete,
    /// The start of a value.
    Incomplete,
}

/// Receives the positions of tokens from the scanner.
///
/// All positions are relative to the first byte that was fed. `()` ignores them.
pub trait TokenVisitor {
    /// A container starts here.
    fn container_opened(&mut self, _container: Container, _start: u64) {}

    /// The innermost open container ends before this byte.
    fn container_closed(&mut self, _end: u64) {}

    /// A key of the innermost object, with its quotes.
    fn key(&mut self, _start: u64, _end: u64) {}

    /// A string, number, `true`, `false` or `null` that is not a key.
    ///
    /// The end of a number is known when the byte after it has been fed.
    fn scalar(&mut self, _start: u64, _end: u64) {}
}

impl TokenVisitor for () {}

/// The expected input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScannerState {
    /// A value.
    Value,
    /// A value, or the end of an array that has none yet.
    FirstElement,
    /// A key, or the end of an object that has none yet.
    FirstKey,
    Key,
    Colon,
    /// A comma, or the end of the container.
    AfterValue,
    /// More of a string.
    Text,
    /// The byte after a backslash.
    Escape,
    /// This many more hexadecimal digits.
    Hex(u8),
    Number(NumberState),
    /// The rest of `true`, `false` or `null`.
    Word,
    /// Nothing: the value is complete.
    Done,
}

/// The last part of a number that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberState {
    Minus,
    /// A leading zero, which no digit may follow.
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl NumberState {
    /// The state after `byte`, if it can continue the number.
    fn after(self, byte: u8) -> Option<NumberState> {
        match (self, byte) {
            (NumberState::Minus, b'0') => Some(NumberState::Zero),
            (NumberState::Minus, b'1'..=b'9') | (NumberState::Integer, b'0'..=b'9') => {
                Some(NumberState::Integer)
            }
            (NumberState::Zero | NumberState::Integer, b'.') => Some(NumberState::Point),
            (NumberState::Point | NumberState::Fraction, b'0'..=b'9') => {
                Some(NumberState::Fraction)
            }
            (NumberState::Zero | NumberState::Integer | NumberState::Fraction, b'e' | b'E') => {
                Some(NumberState::Exponent)
            }
            (NumberState::Exponent, b'+' | b'-') => Some(NumberState::ExponentSign),
            (
                NumberState::Exponent | NumberState::ExponentSign | NumberState::ExponentDigits,
                b'0'..=b'9',
            ) => Some(NumberState::ExponentDigits),
            _ => None,
        }
    }

    fn may_end(self) -> bool {
        matches!(
            self,
            NumberState::Zero
                | NumberState::Integer
                | NumberState::Fraction
                | NumberState::ExponentDigits
        )
    }
}

/// Whether a backslash and this byte are a complete escape.
fn is_escape(byte: &u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')
}

/// Finds the end of one JSON value in a stream of bytes.
///
/// ```
/// use everturn_json::json::{Completeness, ScanProgress, Scanner};
///
/// let mut scanner = Scanner::new();
/// assert_eq!(scanner.feed(br#" {"a": [1, "#), Ok(ScanProgress::More));
/// assert_eq!(scanner.finish(), Completeness::Incomplete);
/// assert_eq!(scanner.feed(b"2]} and more"), Ok(ScanProgress::End(3)));
/// ```
#[derive(Debug, Clone)]
pub struct Scanner {
    state: ScannerState,
    nesting: NestingStack,
    /// Whether a newline between tokens is white space or an error.
    newlines: bool,
    /// Whether the current string is a key.
    in_key: bool,
    /// The rest of the current word.
    word: &'static [u8],
    /// The start of the current string, number or word.
    token: u64,
    /// The number of bytes that were consumed before the current chunk.
    offset: u64,
    failed: Option<JsonError>,
}

impl Default for Scanner {
    fn default() -> Scanner {
        Scanner::new()
    }
}

impl Scanner {
    /// A scanner for one value, with any white space before it and in it.
    #[must_use]
    pub fn new() -> Scanner {
        Scanner {
            state: ScannerState::Value,
            nesting: NestingStack::default(),
            newlines: true,
            in_key: false,
            word: &[],
            token: 0,
            offset: 0,
            failed: None,
        }
    }

    /// A scanner for a value on a single line: a newline inside it is an error.
    #[must_use]
    pub fn single_line() -> Scanner {
        Scanner { newlines: false, ..Scanner::new() }
    }

    /// Resets the scanner for another value, and keeps its memory.
    pub fn reset(&mut self) {
        let mut nesting = mem::take(&mut self.nesting);
        nesting.clear();
        *self = Scanner { nesting, newlines: self.newlines, ..Scanner::new() };
    }

    /// Scans the next bytes. After the end of the value, or an error, nothing more is consumed.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<ScanProgress, JsonError> {
        self.feed_with(chunk, &mut ())
    }

    /// Scans the next bytes and reports tokens to `visit`.
    pub fn feed_with<V: TokenVisitor>(
        &mut self,
        chunk: &[u8],
        visit: &mut V,
    ) -> Result<ScanProgress, JsonError> {
        if let Some(bad) = self.failed {
            return Err(bad);
        }
        let mut used = 0;
        while let Some(rest) = chunk.get(used..)
            && let Some(&byte) = rest.first()
            && self.state != ScannerState::Done
        {
            let place = self.offset + used as u64;
            let step = match self.state {
                ScannerState::Text => self.text(rest, place, visit),
                ScannerState::Number(number) => self.number(number, rest, place, visit),
                _ => self.token(byte, place, visit).map(|()| 1),
            };
            match step {
                Ok(step) => used += step,
                Err(reason) => {
                    let bad = JsonError { at: place, reason };
                    self.failed = Some(bad);
                    return Err(bad);
                }
            }
        }
        self.offset += used as u64;
        Ok(if self.state == ScannerState::Done {
            ScanProgress::End(used)
        } else {
            ScanProgress::More
        })
    }

    /// The completeness if the input ends here.
    #[must_use]
    pub fn finish(&self) -> Completeness {
        if self.failed.is_some() {
            return Completeness::Incomplete;
        }
        match self.state {
            ScannerState::Done => Completeness::Complete,
            ScannerState::Number(number) if number.may_end() && self.nesting.depth() == 0 => {
                Completeness::Complete
            }
            ScannerState::Value if self.nesting.depth() == 0 => Completeness::Empty,
            _ => Completeness::Incomplete,
        }
    }

    /// The error if the text ends here although the value is not complete.
    #[must_use]
    pub fn unfinished(&self) -> JsonErrorKind {
        let place = match self.state {
            ScannerState::Text | ScannerState::Escape | ScannerState::Hex(_) => "inside a string",
            ScannerState::Number(_) => "inside a number",
            ScannerState::Word => "inside a word",
            _ if self.nesting.is_in_object() => "inside an object",
            _ if self.nesting.depth() > 0 => "inside an array",
            _ => "before any value",
        };
        JsonErrorKind::Unfinished { place }
    }

    /// Scans the ordinary bytes of a string, and its closing quote or a backslash.
    #[inline]
    fn text<V: TokenVisitor>(
        &mut self,
        rest: &[u8],
        place: u64,
        visit: &mut V,
    ) -> Result<usize, JsonErrorKind> {
        let run = find_string_special(rest);
        match rest.get(run) {
            None => Ok(run),
            Some(b'"') => {
                self.close_text(place + run as u64 + 1, visit);
                Ok(run + 1)
            }
            Some(b'\\') if rest.get(run + 1).is_some_and(is_escape) => Ok(run + 2),
            Some(b'\\') => {
                self.state = ScannerState::Escape;
                Ok(run + 1)
            }
            // The error belongs to the byte after the run, so the run is consumed first.
            Some(_) if run > 0 => Ok(run),
            Some(&byte) => Err(JsonErrorKind::Control { byte }),
        }
    }

    fn close_text<V: TokenVisitor>(&mut self, end: u64, visit: &mut V) {
        if self.in_key {
            visit.key(self.token, end);
            self.in_key = false;
            self.state = ScannerState::Colon;
        } else {
            visit.scalar(self.token, end);
            self.state = self.after_value();
        }
    }

    /// Scans the rest of a number.
    fn number<V: TokenVisitor>(
        &mut self,
        mut number: NumberState,
        rest: &[u8],
        place: u64,
        visit: &mut V,
    ) -> Result<usize, JsonErrorKind> {
        for (passed, &byte) in rest.iter().enumerate() {
            match number.after(byte) {
                Some(next) => number = next,
                None if number.may_end() => {
                    visit.scalar(self.token, place + passed as u64);
                    self.state = self.after_value();
                    return Ok(passed);
                }
                // As in a string, the error belongs to this byte, so the bytes before it are consumed first.
                None if passed > 0 => {
                    self.state = ScannerState::Number(number);
                    return Ok(passed);
                }
                None => return Err(JsonErrorKind::Unexpected { byte, wanted: "a digit" }),
            }
        }
        self.state = ScannerState::Number(number);
        Ok(rest.len())
    }

    /// Scans one byte outside numbers and the ordinary parts of strings.
    fn token<V: TokenVisitor>(
        &mut self,
        byte: u8,
        place: u64,
        visit: &mut V,
    ) -> Result<(), JsonErrorKind> {
        self.state = match (self.state, byte) {
            (ScannerState::Escape, byte) if is_escape(&byte) => ScannerState::Text,
            (ScannerState::Escape, b'u') => ScannerState::Hex(4),
            (ScannerState::Hex(left), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if left > 1 {
                    ScannerState::Hex(left - 1)
                } else {
                    ScannerState::Text
                }
            }
            (ScannerState::Escape | ScannerState::Hex(_), byte) => {
                return Err(JsonErrorKind::Escape { byte });
            }
            (ScannerState::Word, byte) => match self.word {
                [next, rest @ ..] if byte == *next => {
                    self.word = rest;
                    if !rest.is_empty() {
                        return Ok(());
                    }
                    visit.scalar(self.token, place + 1);
                    self.after_value()
                }
                _ => return Err(JsonErrorKind::Unexpected { byte, wanted: "a value" }),
            },
            (state, b' ' | b'\t' | b'\r') => state,
            (state, b'\n') if self.newlines => state,
            (ScannerState::FirstElement, b']') | (ScannerState::FirstKey, b'}') => {
                self.close(place, visit)
            }
            (ScannerState::Value | ScannerState::FirstElement, _) => {
                self.open(byte, place, visit)?
            }
            (ScannerState::FirstKey | ScannerState::Key, b'"') => {
                self.token = place;
                self.in_key = true;
                ScannerState::Text
            }
            (ScannerState::Colon, b':') => ScannerState::Value,
            (ScannerState::AfterValue, b',') if self.nesting.is_in_object() => ScannerState::Key,
            (ScannerState::AfterValue, b'}') if self.nesting.is_in_object() => {
                self.close(place, visit)
            }
            (ScannerState::AfterValue, b',') => ScannerState::Value,
            (ScannerState::AfterValue, b']') if !self.nesting.is_in_object() => {
                self.close(place, visit)
            }
            (state, byte) => {
                return Err(JsonErrorKind::Unexpected { byte, wanted: self.expected_token(state) });
            }
        };
        Ok(())
    }

    /// Scans the first byte of a value.
    fn open<V: TokenVisitor>(
        &mut self,
        byte: u8,
        place: u64,
        visit: &mut V,
    ) -> Result<ScannerState, JsonErrorKind> {
        self.token = place;
        Ok(match byte {
            b'{' | b'[' if self.nesting.depth() >= MAX_DEPTH => return Err(JsonErrorKind::TooDeep),
            b'{' => {
                self.nesting.push(Container::Object);
                visit.container_opened(Container::Object, place);
                ScannerState::FirstKey
            }
            b'[' => {
                self.nesting.push(Container::Array);
                visit.container_opened(Container::Array, place);
                ScannerState::FirstElement
            }
            b'"' => ScannerState::Text,
            b'-' => ScannerState::Number(NumberState::Minus),
            b'0' => ScannerState::Number(NumberState::Zero),
            b'1'..=b'9' => ScannerState::Number(NumberState::Integer),
            b't' => self.begin_word(b"rue"),
            b'f' => self.begin_word(b"alse"),
            b'n' => self.begin_word(b"ull"),
            _ => {
                return Err(JsonErrorKind::Unexpected {
                    byte,
                    wanted: self.expected_token(self.state),
                });
            }
        })
    }

    fn begin_word(&mut self, rest: &'static [u8]) -> ScannerState {
        self.word = rest;
        ScannerState::Word
    }

    fn close<V: TokenVisitor>(&mut self, place: u64, visit: &mut V) -> ScannerState {
        self.nesting.pop();
        visit.container_closed(place + 1);
        self.after_value()
    }

    fn after_value(&self) -> ScannerState {
        if self.nesting.depth() == 0 { ScannerState::Done } else { ScannerState::AfterValue }
    }

    fn expected_token(&self, state: ScannerState) -> &'static str {
        match state {
            ScannerState::FirstElement => "a value or `]`",
            ScannerState::FirstKey => "a key or `}`",
            ScannerState::Key => "a key",
            ScannerState::Colon => "`:`",
            ScannerState::AfterValue if self.nesting.is_in_object() => "`,` or `}`",
            ScannerState::AfterValue => "`,` or `]`",
            _ => "a value",
        }
    }
}
