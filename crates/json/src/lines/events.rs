//! The content of lines, in order: the state machine below both directions of reading.

use std::io;

use super::source::{Source, Window};
use super::utf8::Utf8Check;
use crate::json::{Bad, Ending, Progress, Reason, Scanner, find};

/// The UTF-8 byte order mark.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// A part of a line that is not white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    /// How many newlines came before it in what was read.
    pub(super) line: u64,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) content: Content,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// A whole value that has its place on the line.
    Value {
        /// Whether it is the second whole value of its line.
        glued: bool,
        /// The first byte that is not UTF-8.
        not_utf8: Option<u64>,
    },
    /// Something else, up to the end of its piece.
    Bad(Bad),
    Nuls,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Nothing but white space since the last event.
    Between,
    Value {
        start: u64,
        /// Whether it is an object or array, which may have others beside it.
        container: bool,
    },
    /// A number, string or word that is a record if nothing else is on its line.
    Scalar {
        start: u64,
        end: u64,
    },
    Nuls {
        start: u64,
    },
    /// Not JSON: everything is passed over to the end of the piece.
    Skip {
        start: u64,
        bad: Bad,
    },
}

/// Reads the lines of a range of bytes that starts with a line.
#[derive(Debug)]
pub(super) struct Events {
    at: u64,
    end: u64,
    state: State,
    line: u64,
    /// How many whole values the current line has had.
    values: u64,
    /// Whether the current line has had any event.
    occupied: bool,
    blank: u64,
    scanner: Scanner,
    utf8: Utf8Check,
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn ends_piece(byte: u8) -> bool {
    byte == b'\n' || byte == 0
}

impl Events {
    /// The events of `start..end`, not yet begun.
    pub(super) fn new(start: u64, end: u64) -> Events {
        Events {
            at: start,
            end,
            state: State::Between,
            line: 0,
            values: 0,
            occupied: false,
            blank: 0,
            scanner: Scanner::in_line(),
            utf8: Utf8Check::default(),
        }
    }

    /// Starts over with another range and the same memory.
    pub(super) fn restart(&mut self, start: u64, end: u64) {
        self.at = start;
        self.end = end;
        self.state = State::Between;
        self.line = 0;
        self.values = 0;
        self.occupied = false;
        self.blank = 0;
    }

    /// How many newlines were passed.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// How many bytes belong to no event: white space, newlines and the byte order mark.
    pub(super) fn blank(&self) -> u64 {
        self.blank
    }

    /// The next event, or nothing at the end of the range.
    pub(super) fn next(&mut self, window: &mut Window<impl Source>) -> io::Result<Option<Event>> {
        let bom = BOM.len() as u64;
        if self.at == 0 && self.end >= bom && window.whole(0, bom)? == BOM {
            self.at = bom;
            self.blank = bom;
        }
        while self.at < self.end {
            let chunk = window.first(self.at, self.end)?;
            let event = match self.state {
                State::Between => {
                    self.between(chunk);
                    None
                }
                State::Value { start, container } => self.value(start, container, chunk),
                State::Scalar { start, end } => self.after_scalar(start, end, chunk),
                State::Nuls { start } => self.nuls(start, chunk),
                State::Skip { start, bad } => self.skip(start, bad, chunk),
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(self.at_end())
    }

    /// Passes white space and newlines, and sees what comes after them.
    fn between(&mut self, chunk: &[u8]) {
        for &byte in chunk {
            match byte {
                0 => self.state = State::Nuls { start: self.at },
                b'\n' => {
                    self.line += 1;
                    self.values = 0;
                    self.occupied = false;
                }
                _ if is_blank(byte) => {}
                b'{' | b'[' => self.begin_value(true),
                _ if self.occupied => {
                    let wanted = "an object, an array or the end of the line";
                    let bad = Bad { at: self.at, reason: Reason::Unexpected { byte, wanted } };
                    self.state = State::Skip { start: self.at, bad };
                }
                _ => self.begin_value(false),
            }
            if !matches!(self.state, State::Between) {
                return;
            }
            self.at += 1;
            self.blank += 1;
        }
    }

    fn begin_value(&mut self, container: bool) {
        self.scanner.reset();
        self.utf8.reset();
        self.state = State::Value { start: self.at, container };
    }

    fn value(&mut self, start: u64, container: bool, chunk: &[u8]) -> Option<Event> {
        match self.scanner.feed(chunk) {
            Ok(Progress::More) => {
                self.utf8.feed(chunk);
                self.at += chunk.len() as u64;
                None
            }
            Ok(Progress::End(used)) => {
                self.utf8.feed(chunk.get(..used).unwrap_or_default());
                self.at += used as u64;
                if container {
                    return Some(self.whole_value(start, self.at));
                }
                self.state = State::Scalar { start, end: self.at };
                None
            }
            Err(bad) => {
                let bad = Bad { at: start + bad.at, ..bad };
                let ahead = usize::try_from(bad.at - self.at).unwrap_or(usize::MAX);
                self.at = bad.at;
                if chunk.get(ahead).is_some_and(|&byte| ends_piece(byte)) {
                    return Some(self.cut_off(start));
                }
                self.state = State::Skip { start, bad };
                None
            }
        }
    }

    fn after_scalar(&mut self, start: u64, end: u64, chunk: &[u8]) -> Option<Event> {
        let blank = find(chunk, |byte| !is_blank(byte));
        self.at += blank as u64;
        match *chunk.get(blank)? {
            b'\n' => Some(self.lone_scalar(start, end)),
            byte => {
                let reason = Reason::Unexpected { byte, wanted: "the end of the line" };
                let bad = Bad { at: self.at, reason };
                self.state = State::Skip { start, bad };
                None
            }
        }
    }

    fn nuls(&mut self, start: u64, chunk: &[u8]) -> Option<Event> {
        let run = find(chunk, |byte| byte != 0);
        self.at += run as u64;
        (run < chunk.len()).then(|| self.event(start, self.at, Content::Nuls))
    }

    fn skip(&mut self, start: u64, bad: Bad, chunk: &[u8]) -> Option<Event> {
        let rest = find(chunk, ends_piece);
        self.at += rest as u64;
        (rest < chunk.len()).then(|| self.event(start, self.at, Content::Bad(bad)))
    }

    /// What the end of the range makes of what was begun.
    fn at_end(&mut self) -> Option<Event> {
        match self.state {
            State::Between => None,
            State::Value { start, .. } if self.scanner.finish() == Ending::Complete => {
                Some(self.whole_value(start, self.at))
            }
            State::Value { start, .. } => Some(self.cut_off(start)),
            State::Scalar { start, end } => Some(self.lone_scalar(start, end)),
            State::Nuls { start } => Some(self.event(start, self.at, Content::Nuls)),
            State::Skip { start, bad } => Some(self.event(start, self.at, Content::Bad(bad))),
        }
    }

    fn lone_scalar(&mut self, start: u64, end: u64) -> Event {
        self.blank += self.at - end;
        self.whole_value(start, end)
    }

    fn whole_value(&mut self, start: u64, end: u64) -> Event {
        self.values += 1;
        let glued = self.values == 2;
        let not_utf8 = self.utf8.bad().map(|at| start + at);
        self.event(start, end, Content::Value { glued, not_utf8 })
    }

    /// A value that the end of its piece cuts off.
    fn cut_off(&mut self, start: u64) -> Event {
        let bad = Bad { at: self.at, reason: self.scanner.unfinished() };
        self.event(start, self.at, Content::Bad(bad))
    }

    fn event(&mut self, start: u64, end: u64, content: Content) -> Event {
        self.state = State::Between;
        self.occupied = true;
        Event { line: self.line, start, end, content }
    }
}
