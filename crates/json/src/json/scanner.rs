//! The state machine.

use std::mem;

use super::nesting::Nesting;
use super::{Bad, Reason, string_part};

/// The most containers that may be open at once; their bits take 2 MiB.
pub const MAX_DEPTH: usize = 1 << 24;

/// The two kinds of values that hold others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
}

/// How far the bytes fed so far have brought the scanner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Every byte was used and the value may go on.
    More,
    /// The value is complete; so many bytes of the last chunk belong to it.
    ///
    /// A number at the top ends at the first byte that is not part of it, so this may be 0.
    End(usize),
}

/// What the bytes fed so far are, if no more come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Nothing, or only white space.
    Empty,
    /// A whole value.
    Complete,
    /// The start of a value.
    Incomplete,
}

/// Someone who wants to know the places of what the scanner passes.
///
/// All places are bytes counted from the first one fed. `()` wants to know nothing.
pub trait Visit {
    /// A container starts here.
    fn opened(&mut self, _container: Container, _start: u64) {}

    /// The innermost open container ends before this byte.
    fn closed(&mut self, _end: u64) {}

    /// A key of the innermost object, with its quotes.
    fn key(&mut self, _start: u64, _end: u64) {}

    /// A string, number, `true`, `false` or `null` that is not a key.
    ///
    /// The end of a number is known when the byte after it has been fed.
    fn scalar(&mut self, _start: u64, _end: u64) {}
}

impl Visit for () {}

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
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
    /// What follows a backslash.
    Escape,
    /// So many more hexadecimal digits.
    Hex(u8),
    Number(Number),
    /// The rest of `true`, `false` or `null`.
    Word,
    /// Nothing: the value is complete.
    Done,
}

/// The last thing seen of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Minus,
    /// A zero at the front, which no digit may follow.
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl Number {
    /// The state after `byte`, if the number can go on with it.
    fn after(self, byte: u8) -> Option<Number> {
        match (self, byte) {
            (Number::Minus, b'0') => Some(Number::Zero),
            (Number::Minus, b'1'..=b'9') | (Number::Integer, b'0'..=b'9') => Some(Number::Integer),
            (Number::Zero | Number::Integer, b'.') => Some(Number::Point),
            (Number::Point | Number::Fraction, b'0'..=b'9') => Some(Number::Fraction),
            (Number::Zero | Number::Integer | Number::Fraction, b'e' | b'E') => {
                Some(Number::Exponent)
            }
            (Number::Exponent, b'+' | b'-') => Some(Number::ExponentSign),
            (Number::Exponent | Number::ExponentSign | Number::ExponentDigits, b'0'..=b'9') => {
                Some(Number::ExponentDigits)
            }
            _ => None,
        }
    }

    fn may_end(self) -> bool {
        matches!(self, Number::Zero | Number::Integer | Number::Fraction | Number::ExponentDigits)
    }
}

/// Whether a backslash and this byte are a character.
fn is_escape(byte: &u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')
}

/// Finds the end of one JSON value in bytes that come in pieces.
///
/// ```
/// use everturn_json::json::{Ending, Progress, Scanner};
///
/// let mut scanner = Scanner::new();
/// assert_eq!(scanner.feed(br#" {"a": [1, "#), Ok(Progress::More));
/// assert_eq!(scanner.finish(), Ending::Incomplete);
/// assert_eq!(scanner.feed(b"2]} and more"), Ok(Progress::End(3)));
/// ```
#[derive(Debug, Clone)]
pub struct Scanner {
    state: State,
    nesting: Nesting,
    /// Whether a newline between tokens is white space or the end of the text.
    newlines: bool,
    /// Whether the string that is being read is a key.
    in_key: bool,
    /// What is still to come of a word.
    word: &'static [u8],
    /// Where the string, number or word that is being read starts.
    token: u64,
    /// How many bytes were used before the current chunk.
    offset: u64,
    failed: Option<Bad>,
}

impl Default for Scanner {
    fn default() -> Scanner {
        Scanner::new()
    }
}

impl Scanner {
    /// A scanner for one value, with white space of any kind before it and in it.
    #[must_use]
    pub fn new() -> Scanner {
        Scanner {
            state: State::Value,
            nesting: Nesting::default(),
            newlines: true,
            in_key: false,
            word: &[],
            token: 0,
            offset: 0,
            failed: None,
        }
    }

    /// A scanner for a value that must lie on one line: a newline inside it is an error.
    #[must_use]
    pub fn in_line() -> Scanner {
        Scanner { newlines: false, ..Scanner::new() }
    }

    /// Makes the scanner ready for another value, with the memory it has.
    pub fn reset(&mut self) {
        let mut nesting = mem::take(&mut self.nesting);
        nesting.clear();
        *self = Scanner { nesting, newlines: self.newlines, ..Scanner::new() };
    }

    /// Takes the next bytes. After the end of the value, or an error, nothing more is taken.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<Progress, Bad> {
        self.feed_with(chunk, &mut ())
    }

    /// Takes the next bytes and tells `visit` what is in them.
    pub fn feed_with<V: Visit>(&mut self, chunk: &[u8], visit: &mut V) -> Result<Progress, Bad> {
        if let Some(bad) = self.failed {
            return Err(bad);
        }
        let mut used = 0;
        while let Some(rest) = chunk.get(used..)
            && let Some(&byte) = rest.first()
            && self.state != State::Done
        {
            let place = self.offset + used as u64;
            let step = match self.state {
                State::Text => self.text(rest, place, visit),
                State::Number(number) => self.number(number, rest, place, visit),
                _ => self.token(byte, place, visit).map(|()| 1),
            };
            match step {
                Ok(step) => used += step,
                Err(reason) => {
                    let bad = Bad { at: place, reason };
                    self.failed = Some(bad);
                    return Err(bad);
                }
            }
        }
        self.offset += used as u64;
        Ok(if self.state == State::Done { Progress::End(used) } else { Progress::More })
    }

    /// What there is if no more bytes come.
    #[must_use]
    pub fn finish(&self) -> Ending {
        if self.failed.is_some() {
            return Ending::Incomplete;
        }
        match self.state {
            State::Done => Ending::Complete,
            State::Number(number) if number.may_end() && self.nesting.depth() == 0 => {
                Ending::Complete
            }
            State::Value if self.nesting.depth() == 0 => Ending::Empty,
            _ => Ending::Incomplete,
        }
    }

    /// The reason to give when the text ends here although the value is not complete.
    #[must_use]
    pub fn unfinished(&self) -> Reason {
        let place = match self.state {
            State::Text | State::Escape | State::Hex(_) => "inside a string",
            State::Number(_) => "inside a number",
            State::Word => "inside a word",
            _ if self.nesting.is_in_object() => "inside an object",
            _ if self.nesting.depth() > 0 => "inside an array",
            _ => "before any value",
        };
        Reason::Unfinished { place }
    }

    /// Passes the ordinary bytes of a string, and its closing quote or a backslash.
    #[inline]
    fn text<V: Visit>(&mut self, rest: &[u8], place: u64, visit: &mut V) -> Result<usize, Reason> {
        let run = string_part(rest);
        match rest.get(run) {
            None => Ok(run),
            Some(b'"') => {
                self.close_text(place + run as u64 + 1, visit);
                Ok(run + 1)
            }
            Some(b'\\') if rest.get(run + 1).is_some_and(is_escape) => Ok(run + 2),
            Some(b'\\') => {
                self.state = State::Escape;
                Ok(run + 1)
            }
            // The error belongs to the byte after the run, so the run is passed first.
            Some(_) if run > 0 => Ok(run),
            Some(&byte) => Err(Reason::Control { byte }),
        }
    }

    fn close_text<V: Visit>(&mut self, end: u64, visit: &mut V) {
        if self.in_key {
            visit.key(self.token, end);
            self.in_key = false;
            self.state = State::Colon;
        } else {
            visit.scalar(self.token, end);
            self.state = self.after_value();
        }
    }

    /// Passes what follows of a number.
    fn number<V: Visit>(
        &mut self,
        mut number: Number,
        rest: &[u8],
        place: u64,
        visit: &mut V,
    ) -> Result<usize, Reason> {
        for (passed, &byte) in rest.iter().enumerate() {
            match number.after(byte) {
                Some(next) => number = next,
                None if number.may_end() => {
                    visit.scalar(self.token, place + passed as u64);
                    self.state = self.after_value();
                    return Ok(passed);
                }
                // As in a string, the error belongs to the byte, so what comes before it is passed first.
                None if passed > 0 => {
                    self.state = State::Number(number);
                    return Ok(passed);
                }
                None => return Err(Reason::Unexpected { byte, wanted: "a digit" }),
            }
        }
        self.state = State::Number(number);
        Ok(rest.len())
    }

    /// Passes one byte outside of numbers and of the ordinary parts of strings.
    fn token<V: Visit>(&mut self, byte: u8, place: u64, visit: &mut V) -> Result<(), Reason> {
        self.state = match (self.state, byte) {
            (State::Escape, byte) if is_escape(&byte) => State::Text,
            (State::Escape, b'u') => State::Hex(4),
            (State::Hex(left), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if left > 1 {
                    State::Hex(left - 1)
                } else {
                    State::Text
                }
            }
            (State::Escape | State::Hex(_), byte) => return Err(Reason::Escape { byte }),
            (State::Word, byte) => match self.word {
                [next, rest @ ..] if byte == *next => {
                    self.word = rest;
                    if !rest.is_empty() {
                        return Ok(());
                    }
                    visit.scalar(self.token, place + 1);
                    self.after_value()
                }
                _ => return Err(Reason::Unexpected { byte, wanted: "a value" }),
            },
            (state, b' ' | b'\t' | b'\r') => state,
            (state, b'\n') if self.newlines => state,
            (State::FirstElement, b']') | (State::FirstKey, b'}') => self.close(place, visit),
            (State::Value | State::FirstElement, _) => self.open(byte, place, visit)?,
            (State::FirstKey | State::Key, b'"') => {
                self.token = place;
                self.in_key = true;
                State::Text
            }
            (State::Colon, b':') => State::Value,
            (State::AfterValue, b',') if self.nesting.is_in_object() => State::Key,
            (State::AfterValue, b'}') if self.nesting.is_in_object() => self.close(place, visit),
            (State::AfterValue, b',') => State::Value,
            (State::AfterValue, b']') if !self.nesting.is_in_object() => self.close(place, visit),
            (state, byte) => {
                return Err(Reason::Unexpected { byte, wanted: self.wanted(state) });
            }
        };
        Ok(())
    }

    /// The first byte of a value.
    fn open<V: Visit>(&mut self, byte: u8, place: u64, visit: &mut V) -> Result<State, Reason> {
        self.token = place;
        Ok(match byte {
            b'{' | b'[' if self.nesting.depth() >= MAX_DEPTH => return Err(Reason::TooDeep),
            b'{' => {
                self.nesting.push(Container::Object);
                visit.opened(Container::Object, place);
                State::FirstKey
            }
            b'[' => {
                self.nesting.push(Container::Array);
                visit.opened(Container::Array, place);
                State::FirstElement
            }
            b'"' => State::Text,
            b'-' => State::Number(Number::Minus),
            b'0' => State::Number(Number::Zero),
            b'1'..=b'9' => State::Number(Number::Integer),
            b't' => self.begin_word(b"rue"),
            b'f' => self.begin_word(b"alse"),
            b'n' => self.begin_word(b"ull"),
            _ => return Err(Reason::Unexpected { byte, wanted: self.wanted(self.state) }),
        })
    }

    fn begin_word(&mut self, rest: &'static [u8]) -> State {
        self.word = rest;
        State::Word
    }

    fn close<V: Visit>(&mut self, place: u64, visit: &mut V) -> State {
        self.nesting.pop();
        visit.closed(place + 1);
        self.after_value()
    }

    fn after_value(&self) -> State {
        if self.nesting.depth() == 0 { State::Done } else { State::AfterValue }
    }

    fn wanted(&self, state: State) -> &'static str {
        match state {
            State::FirstElement => "a value or `]`",
            State::FirstKey => "a key or `}`",
            State::Key => "a key",
            State::Colon => "`:`",
            State::AfterValue if self.nesting.is_in_object() => "`,` or `}`",
            State::AfterValue => "`,` or `]`",
            _ => "a value",
        }
    }
}
