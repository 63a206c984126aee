//! [`Tally`]: the counts, and the table at the end.

use std::io::{self, Write};

use crate::error::PowercutError;
use crate::verify::{Fault, Problem};

/// The problems at a point.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The number of the point in its round.
    pub(crate) point: usize,
    /// A description of the cut.
    pub(crate) words: String,
    /// The problems.
    pub(crate) problems: Vec<Problem>,
}

/// The counts of a file system.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// The number of points, without second cuts.
    pub(crate) points: usize,
    /// The number of second cuts, during recovery.
    pub(crate) second: usize,
    /// How many of them were mounted with another device number.
    pub(crate) other_device: usize,
    /// How many images the file system itself could not mount.
    pub(crate) unmountable: usize,
    /// How many acknowledged commits were checked.
    pub(crate) acknowledged: usize,
    /// How many points have problems.
    pub(crate) failed: usize,
    counts: [usize; 4],
    lines: Vec<Line>,
}

/// A message about a point, sorted by severity.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Line {
    /// The position of the fault in the table; notes come last.
    rank: usize,
    /// `None` while recording.
    point: Option<usize>,
    text: String,
}

fn slot(fault: Fault) -> usize {
    match fault {
        Fault::Lost => 0,
        Fault::Half => 1,
        Fault::Reader => 2,
        Fault::Other => 3,
    }
}

impl Tally {
    /// Counts a point.
    pub(crate) fn add(&mut self, failure: &Failure, acknowledged: usize, is_second: bool) {
        if is_second {
            self.second += 1;
        } else {
            self.points += 1;
        }
        self.acknowledged += acknowledged;
        if failure.problems.is_empty() {
            return;
        }
        self.failed += 1;
        for problem in &failure.problems {
            if let Some(count) = self.counts.get_mut(slot(problem.fault)) {
                *count += 1;
            }
            let text = format!("{}: {:?}: {}", failure.words, problem.fault, problem.text);
            self.lines.push(Line { rank: slot(problem.fault), point: Some(failure.point), text });
        }
    }

    /// Counts a failure while the power was on.
    pub(crate) fn add_live(&mut self, text: &str) {
        self.failed += 1;
        if let Some(count) = self.counts.get_mut(slot(Fault::Other)) {
            *count += 1;
        }
        let text = format!("while recording: {text}");
        self.lines.push(Line { rank: 0, point: None, text });
    }

    /// Counts an image that could not be mounted.
    pub(crate) fn add_unmountable(&mut self, point: usize, error: &PowercutError) {
        self.unmountable += 1;
        if self.unmountable <= 3 {
            let text = format!("note: {error}");
            self.lines.push(Line { rank: usize::MAX, point: Some(point), text });
        }
    }

    /// Adds the counts of another round, without its lines.
    pub(crate) fn merge(&mut self, other: &Tally) {
        self.points += other.points;
        self.second += other.second;
        self.other_device += other.other_device;
        self.unmountable += other.unmountable;
        self.acknowledged += other.acknowledged;
        self.failed += other.failed;
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine += theirs;
        }
    }

    /// Returns the first lines about points of a file system, the worst faults first.
    pub(crate) fn worst(&mut self, system: &str, most: usize) -> String {
        self.lines.sort();
        let tell = |line: &Line| {
            let at = line.point.map_or_else(String::new, |point| format!("{system}:{point} "));
            format!("    {at}{}\n", line.text)
        };
        self.lines.iter().take(most).map(tell).collect()
    }

    /// Returns the number of points that were examined.
    pub(crate) fn all(&self) -> usize {
        self.points + self.second
    }
}

/// Prints the counts by file system, and their sum.
pub(crate) fn print(out: &mut dyn Write, tallies: &[(&str, Tally)]) -> io::Result<()> {
    writeln!(
        out,
        "{:<13} {:>6} {:>6} {:>10} {:>12} {:>12} {:>6} {:>6} {:>8} {:>6}",
        "file system",
        "points",
        "+2nd",
        "other dev",
        "unmountable",
        "acknowledged",
        "lost",
        "half",
        "readers",
        "other"
    )?;
    let (mut passed, mut failed) = (0, 0);
    for (name, tally) in tallies {
        let [lost, half, readers, other] = tally.counts;
        writeln!(
            out,
            "{name:<13} {:>6} {:>6} {:>10} {:>12} {:>12} {lost:>6} {half:>6} {readers:>8} {other:>6}",
            tally.points, tally.second, tally.other_device, tally.unmountable, tally.acknowledged
        )?;
        passed += tally.all().saturating_sub(tally.failed);
        failed += tally.failed;
    }
    writeln!(out, "{passed} passed, {failed} failed")
}
