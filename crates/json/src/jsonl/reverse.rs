//! [`ReverseScan`]: reads a file from its end.

use std::collections::VecDeque;
use std::io;

use super::events::{LineEvent, LineEvents};
use super::items::{ItemBuilder, ScanSummary};
use super::scan::JsonlScan;
use super::source::{ByteSource, SourceWindow};
use super::{FileTail, ScanItem};

/// The most events of one line that are kept; a line with more of them is read again for the earlier ones.
const MOST_EVENTS: usize = 4096;

/// The items of a file in reverse order, without line numbers.
///
/// After an error the iteration ends, and the remaining items are unknown, not absent.
#[derive(Debug)]
pub struct ReverseScan<S> {
    window: SourceWindow<S>,
    events: LineEvents,
    report: ItemBuilder,
    /// The start of the range.
    start: u64,
    line: ReverseLine,
    /// The first of a pair of items.
    held: Option<ScanItem>,
    stage: ReverseStage,
}

/// The current line; all lines after it have been yielded.
#[derive(Debug)]
struct ReverseLine {
    start: u64,
    end: u64,
    /// The number of its events that were neither yielded nor kept.
    earlier: usize,
    kept: VecDeque<LineEvent>,
}

#[derive(Debug, PartialEq, Eq)]
enum ReverseStage {
    Tail,
    Lines,
    Over,
}

impl<S: ByteSource> JsonlScan<S> {
    /// Starts a scan from the end. The last records cost only their own bytes, however long the file is.
    pub fn reverse(self) -> io::Result<ReverseScan<S>> {
        ReverseScan::begin(self)
    }
}

impl<S: ByteSource> ReverseScan<S> {
    fn begin(scan: JsonlScan<S>) -> io::Result<ReverseScan<S>> {
        let mut window = SourceWindow::new(scan.source, scan.chunk);
        let tail = FileTail::from_window(&mut window)?;
        let end = tail.good_end;
        Ok(ReverseScan {
            window,
            events: LineEvents::new(end, end),
            report: ItemBuilder::new(scan.file, scan.largest_text, tail),
            start: scan.start,
            line: ReverseLine { start: end, end, earlier: 0, kept: VecDeque::new() },
            held: None,
            stage: ReverseStage::Tail,
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
        self.report.summary
    }

    fn advance(&mut self) -> io::Result<Option<ScanItem>> {
        if self.held.is_some() {
            return Ok(self.held.take());
        }
        if self.stage == ReverseStage::Tail {
            self.stage = ReverseStage::Lines;
            let [torn, nuls] = self.report.tail_items(None);
            if torn.is_some() || nuls.is_some() {
                return Ok(self.yield_pair(torn, nuls));
            }
        }
        while self.stage == ReverseStage::Lines {
            if let Some(event) = self.line.kept.pop_back() {
                let [first, second] = self.report.event_items(&event, None, &self.window)?;
                return Ok(self.yield_pair(first, second));
            } else if self.line.earlier > 0 {
                self.read_line(self.line.earlier)?;
            } else if self.line.start > self.start {
                self.line.end = self.line.start;
                // The line's own newline is its last byte, if it has one.
                self.line.start = self.window.line_start(self.start, self.line.end - 1)?;
                self.read_line(usize::MAX)?;
                self.report.summary.blank_bytes += self.events.blank();
            } else {
                self.stage = ReverseStage::Over;
            }
        }
        Ok(None)
    }

    /// Reads the first `count` events of the line and keeps the last of them.
    fn read_line(&mut self, count: usize) -> io::Result<()> {
        let line = &mut self.line;
        line.earlier = 0;
        self.events.restart(line.start, line.end);
        while line.earlier + line.kept.len() < count
            && let Some(event) = self.events.next(&mut self.window)?
        {
            if line.kept.len() == MOST_EVENTS {
                line.kept.pop_front();
                line.earlier += 1;
            }
            line.kept.push_back(event);
        }
        Ok(())
    }

    fn yield_pair(
        &mut self,
        first: Option<ScanItem>,
        second: Option<ScanItem>,
    ) -> Option<ScanItem> {
        if second.is_none() {
            return first;
        }
        self.held = first;
        second
    }
}

impl<S: ByteSource> Iterator for ReverseScan<S> {
    type Item = io::Result<ScanItem>;

    fn next(&mut self) -> Option<io::Result<ScanItem>> {
        let item = self.advance();
        if item.is_err() {
            self.stage = ReverseStage::Over;
        }
        item.transpose()
    }
}
