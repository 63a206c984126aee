//! A file read from its start.

use std::io;

use super::events::Events;
use super::report::{Report, Summary};
use super::scan::Scan;
use super::source::{Source, Window};
use super::{Item, Tail};

/// The items of a file in their order.
///
/// After an error the iteration is over, and what was not yielded is unknown, not absent.
#[derive(Debug)]
pub struct Forward<S> {
    window: Window<S>,
    events: Events,
    report: Report,
    first_line: Option<u64>,
    /// The second of two items that were made together.
    held: Option<Item>,
    stage: Stage,
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Lines,
    Tail,
    Over,
}

impl<S: Source> Forward<S> {
    pub(super) fn begin(scan: Scan<S>) -> io::Result<Forward<S>> {
        let mut window = Window::new(scan.source, scan.chunk);
        let tail = Tail::of(&mut window)?;
        Ok(Forward {
            window,
            events: Events::new(scan.start, tail.good_end),
            report: Report::new(scan.file, scan.largest_text, tail),
            first_line: scan.first_line,
            held: None,
            stage: Stage::Lines,
        })
    }

    /// How the file ends, known from the start.
    #[must_use]
    pub fn tail(&self) -> Tail {
        self.report.tail
    }

    /// The counts so far; of everything, when the iteration is over.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary { blank_bytes: self.events.blank(), ..self.report.summary }
    }

    fn advance(&mut self) -> io::Result<Option<Item>> {
        if self.held.is_some() {
            return Ok(self.held.take());
        }
        if self.stage == Stage::Lines {
            if let Some(event) = self.events.next(&mut self.window)? {
                let line = self.first_line.map(|first| first + event.line);
                let [first, second] = self.report.event_items(&event, line, &self.window)?;
                return Ok(self.yield_pair(first, second));
            }
            self.stage = Stage::Tail;
        }
        if self.stage == Stage::Tail {
            self.stage = Stage::Over;
            let line = self.first_line.map(|first| first + self.events.line());
            let [torn, nuls] = self.report.tail_items(line);
            return Ok(self.yield_pair(torn, nuls));
        }
        Ok(None)
    }

    fn yield_pair(&mut self, first: Option<Item>, second: Option<Item>) -> Option<Item> {
        if first.is_none() {
            return second;
        }
        self.held = second;
        first
    }
}

impl<S: Source> Iterator for Forward<S> {
    type Item = io::Result<Item>;

    fn next(&mut self) -> Option<io::Result<Item>> {
        let item = self.advance();
        if item.is_err() {
            self.stage = Stage::Over;
        }
        item.transpose()
    }
}
