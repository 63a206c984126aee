//! [`ForwardScan`]: reads a file from its start.

use std::io;

use super::events::LineEvents;
use super::items::{ItemBuilder, ScanSummary};
use super::scan::JsonlScan;
use super::source::{ByteSource, SourceWindow};
use super::{FileTail, ScanItem};

/// The items of a file in order.
///
/// After an error the iteration ends, and the remaining items are unknown, not absent.
#[derive(Debug)]
pub struct ForwardScan<S> {
    window: SourceWindow<S>,
    events: LineEvents,
    report: ItemBuilder,
    first_line: Option<u64>,
    /// The second of a pair of items.
    held: Option<ScanItem>,
    stage: ForwardStage,
}

#[derive(Debug, PartialEq, Eq)]
enum ForwardStage {
    Lines,
    Tail,
    Over,
}

impl<S: ByteSource> JsonlScan<S> {
    /// Starts a scan from the start.
    pub fn forward(self) -> io::Result<ForwardScan<S>> {
        ForwardScan::begin(self)
    }
}

impl<S: ByteSource> ForwardScan<S> {
    fn begin(scan: JsonlScan<S>) -> io::Result<ForwardScan<S>> {
        let mut window = SourceWindow::new(scan.source, scan.chunk);
        let tail = FileTail::from_window(&mut window)?;
        Ok(ForwardScan {
            window,
            events: LineEvents::new(scan.start, tail.good_end),
            report: ItemBuilder::new(scan.file, scan.largest_text, tail),
            first_line: scan.first_line,
            held: None,
            stage: ForwardStage::Lines,
        })
    }

    /// The end of the file, known from the start.
    #[must_use]
    pub fn tail(&self) -> FileTail {
        self.report.tail
    }

    /// The counts so far; complete when the iteration has ended.
    #[must_use]
    pub fn summary(&self) -> ScanSummary {
        ScanSummary { blank_bytes: self.events.blank(), ..self.report.summary }
    }

    fn advance(&mut self) -> io::Result<Option<ScanItem>> {
        if self.held.is_some() {
            return Ok(self.held.take());
        }
        if self.stage == ForwardStage::Lines {
            if let Some(event) = self.events.next(&mut self.window)? {
                let line = self.first_line.map(|first| first + event.line);
                let [first, second] = self.report.event_items(&event, line, &self.window)?;
                return Ok(self.yield_pair(first, second));
            }
            self.stage = ForwardStage::Tail;
        }
        if self.stage == ForwardStage::Tail {
            self.stage = ForwardStage::Over;
            let line = self.first_line.map(|first| first + self.events.line());
            let [torn, nuls] = self.report.tail_items(line);
            return Ok(self.yield_pair(torn, nuls));
        }
        Ok(None)
    }

    fn yield_pair(
        &mut self,
        first: Option<ScanItem>,
        second: Option<ScanItem>,
    ) -> Option<ScanItem> {
        if first.is_none() {
            return second;
        }
        self.held = second;
        first
    }
}

impl<S: ByteSource> Iterator for ForwardScan<S> {
    type Item = io::Result<ScanItem>;

    fn next(&mut self) -> Option<io::Result<ScanItem>> {
        let item = self.advance();
        if item.is_err() {
            self.stage = ForwardStage::Over;
        }
        item.transpose()
    }
}
