//! [`LineEvents`]: the content of lines, in order; the state machine below both scan directions.

use std::io;

use super::source::{ByteSource, SourceWindow};
use super::utf8::Utf8Check;
use crate::json::{Completeness, JsonError, JsonErrorKind, ScanProgress, Scanner, find_byte};

/// The UTF-8 byte order mark.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// A part of a line that is not white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineEvent {
    /// The number of newlines before it in the range.
    pub(super) line: u64,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) content: EventContent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventContent {
    /// A whole value that is allowed at its position.
    Value {
        /// Whether it is the second whole value of its line.
        glued: bool,
        /// The first byte that is not UTF-8.
        not_utf8: Option<u64>,
    },
    /// Anything else, up to the end of its piece.
    Bad(JsonError),
    Nuls,
}

#[derive(Debug, Clone, Copy)]
enum EventState {
    /// Only white space since the last event.
    Between,
    Value {
        start: u64,
        /// Whether it is an object or array, which may share its line with others.
        container: bool,
    },
    /// A number, string or word, which is a record if it is alone on its line.
    Scalar {
        start: u64,
        end: u64,
    },
    Nuls {
        start: u64,
    },
    /// Not JSON: everything up to the end of the piece is skipped.
    Skip {
        start: u64,
        bad: JsonError,
    },
}

/// Reads the lines of a range of bytes that starts at the start of a line.
#[derive(Debug)]
pub(super) struct LineEvents {
    at: u64,
    end: u64,
    state: EventState,
    line: u64,
    /// The number of whole values on the current line so far.
    values: u64,
    /// Whether the current line has had an event.
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

impl LineEvents {
    /// The events of `start..end`.
    pub(super) fn new(start: u64, end: u64) -> LineEvents {
        LineEvents {
            at: start,
            end,
            state: EventState::Between,
            line: 0,
            values: 0,
            occupied: false,
            blank: 0,
            scanner: Scanner::single_line(),
            utf8: Utf8Check::default(),
        }
    }

    /// Restarts with another range, and keeps the memory.
    pub(super) fn restart(&mut self, start: u64, end: u64) {
        self.at = start;
        self.end = end;
        self.state = EventState::Between;
        self.line = 0;
        self.values = 0;
        self.occupied = false;
        self.blank = 0;
    }

    /// The number of newlines so far.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The number of bytes that belong to no event: white space, newlines and the byte order mark.
    pub(super) fn blank(&self) -> u64 {
        self.blank
    }

    /// The next event; `None` at the end of the range.
    pub(super) fn next(
        &mut self,
        window: &mut SourceWindow<impl ByteSource>,
    ) -> io::Result<Option<LineEvent>> {
        let bom = BOM.len() as u64;
        if self.at == 0 && self.end >= bom && window.read_whole(0, bom)? == BOM {
            self.at = bom;
            self.blank = bom;
        }
        while self.at < self.end {
            let chunk = window.read_first(self.at, self.end)?;
            let event = match self.state {
                EventState::Between => {
                    self.between(chunk);
                    None
                }
                EventState::Value { start, container } => self.value(start, container, chunk),
                EventState::Scalar { start, end } => self.after_scalar(start, end, chunk),
                EventState::Nuls { start } => self.nuls(start, chunk),
                EventState::Skip { start, bad } => self.skip(start, bad, chunk),
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(self.at_end())
    }

    /// Skips white space and newlines, and starts whatever follows.
    fn between(&mut self, chunk: &[u8]) {
        for &byte in chunk {
            match byte {
                0 => self.state = EventState::Nuls { start: self.at },
                b'\n' => {
                    self.line += 1;
                    self.values = 0;
                    self.occupied = false;
                }
                _ if is_blank(byte) => {}
                b'{' | b'[' => self.begin_value(true),
                _ if self.occupied => {
                    let wanted = "an object, an array or the end of the line";
                    let bad = JsonError {
                        at: self.at,
                        reason: JsonErrorKind::Unexpected { byte, wanted },
                    };
                    self.state = EventState::Skip { start: self.at, bad };
                }
                _ => self.begin_value(false),
            }
            if !matches!(self.state, EventState::Between) {
                return;
            }
            self.at += 1;
            self.blank += 1;
        }
    }

    fn begin_value(&mut self, container: bool) {
        self.scanner.reset();
        self.utf8.reset();
        self.state = EventState::Value { start: self.at, container };
    }

    fn value(&mut self, start: u64, container: bool, chunk: &[u8]) -> Option<LineEvent> {
        match self.scanner.feed(chunk) {
            Ok(ScanProgress::More) => {
                self.utf8.feed(chunk);
                self.at += chunk.len() as u64;
                None
            }
            Ok(ScanProgress::End(used)) => {
                self.utf8.feed(chunk.get(..used).unwrap_or_default());
                self.at += used as u64;
                if container {
                    return Some(self.whole_value(start, self.at));
                }
                self.state = EventState::Scalar { start, end: self.at };
                None
            }
            Err(bad) => {
                let bad = JsonError { at: start + bad.at, ..bad };
                let ahead = usize::try_from(bad.at - self.at).unwrap_or(usize::MAX);
                self.at = bad.at;
                if chunk.get(ahead).is_some_and(|&byte| ends_piece(byte)) {
                    return Some(self.cut_off(start));
                }
                self.state = EventState::Skip { start, bad };
                None
            }
        }
    }

    fn after_scalar(&mut self, start: u64, end: u64, chunk: &[u8]) -> Option<LineEvent> {
        let blank = find_byte(chunk, |byte| !is_blank(byte));
        self.at += blank as u64;
        match *chunk.get(blank)? {
            b'\n' => Some(self.lone_scalar(start, end)),
            byte => {
                let reason = JsonErrorKind::Unexpected { byte, wanted: "the end of the line" };
                let bad = JsonError { at: self.at, reason };
                self.state = EventState::Skip { start, bad };
                None
            }
        }
    }

    fn nuls(&mut self, start: u64, chunk: &[u8]) -> Option<LineEvent> {
        let run = find_byte(chunk, |byte| byte != 0);
        self.at += run as u64;
        (run < chunk.len()).then(|| self.event(start, self.at, EventContent::Nuls))
    }

    fn skip(&mut self, start: u64, bad: JsonError, chunk: &[u8]) -> Option<LineEvent> {
        let rest = find_byte(chunk, ends_piece);
        self.at += rest as u64;
        (rest < chunk.len()).then(|| self.event(start, self.at, EventContent::Bad(bad)))
    }

    /// The event that the end of the range completes.
    fn at_end(&mut self) -> Option<LineEvent> {
        match self.state {
            EventState::Between => None,
            EventState::Value { start, .. } if self.scanner.finish() == Completeness::Complete => {
                Some(self.whole_value(start, self.at))
            }
            EventState::Value { start, .. } => Some(self.cut_off(start)),
            EventState::Scalar { start, end } => Some(self.lone_scalar(start, end)),
            EventState::Nuls { start } => Some(self.event(start, self.at, EventContent::Nuls)),
            EventState::Skip { start, bad } => {
                Some(self.event(start, self.at, EventContent::Bad(bad)))
            }
        }
    }

    fn lone_scalar(&mut self, start: u64, end: u64) -> LineEvent {
        self.blank += self.at - end;
        self.whole_value(start, end)
    }

    fn whole_value(&mut self, start: u64, end: u64) -> LineEvent {
        self.values += 1;
        let glued = self.values == 2;
        let not_utf8 = self.utf8.first_invalid().map(|at| start + at);
        self.event(start, end, EventContent::Value { glued, not_utf8 })
    }

    /// A value that is cut off by the end of its piece.
    fn cut_off(&mut self, start: u64) -> LineEvent {
        let bad = JsonError { at: self.at, reason: self.scanner.unfinished() };
        self.event(start, self.at, EventContent::Bad(bad))
    }

    fn event(&mut self, start: u64, end: u64, content: EventContent) -> LineEvent {
        self.state = EventState::Between;
        self.occupied = true;
        LineEvent { line: self.line, start, end, content }
    }
}
