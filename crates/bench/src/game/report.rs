//! [`GameReport`]: rows with medians and ratios, and whether the targets were met.

pub(crate) mod json;
pub(crate) mod table;
pub(crate) mod targets;

use super::measurements::{GameMeasurements, GameOp, GameSample, MeasurementPlan};
use super::write::PLAIN;
use crate::machine::Machine;
use crate::report::summary::micros;
use crate::stats::median;

/// The complete report.
#[derive(Debug)]
pub(crate) struct GameReport {
    /// The machine of the measurement.
    pub(crate) machine: Machine,
    /// The measurement plan.
    pub(crate) plan: MeasurementPlan,
    /// The measurements.
    pub(crate) measured: GameMeasurements,
}

/// A row with all its runs.
#[derive(Debug)]
pub(crate) struct GameRow<'m> {
    pub(crate) op: GameOp,
    pub(crate) size: u32,
    pub(crate) name: &'m str,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) samples: &'m [GameSample],
}

impl GameRow<'_> {
    /// Returns the p50 of the fastest and of the slowest run.
    pub(crate) fn span(&self) -> (f64, f64) {
        let p50 = || self.samples.iter().map(|sample| micros(sample.p50));
        (p50().fold(f64::INFINITY, f64::min), p50().fold(0.0, f64::max))
    }
}

/// Returns the row that the others are compared with.
pub(crate) fn baseline(op: GameOp) -> &'static str {
    match op {
        GameOp::Jump | GameOp::Resume | GameOp::Replay | GameOp::Save => "sqlite",
        GameOp::Snapshot => PLAIN,
    }
}

impl GameReport {
    /// Returns all rows, by operation, size and name.
    pub(crate) fn rows(&self) -> impl Iterator<Item = GameRow<'_>> {
        self.measured.samples.iter().map(|((op, size, name), samples)| GameRow {
            op: *op,
            size: *size,
            name,
            p50_us: median(samples.iter().map(|sample| micros(sample.p50))),
            p99_us: median(samples.iter().map(|sample| micros(sample.p99))),
            samples,
        })
    }

    /// Returns the p50 of a row in microseconds, if it was measured.
    pub(crate) fn p50(&self, op: GameOp, size: u32, name: &str) -> Option<f64> {
        self.rows()
            .find(|row| row.op == op && row.size == size && row.name == name)
            .map(|row| row.p50_us)
    }

    /// Returns the ratio of a row to its baseline, if that was measured.
    pub(crate) fn ratio(&self, row: &GameRow<'_>) -> Option<f64> {
        Some(row.p50_us / self.p50(row.op, row.size, baseline(row.op))?)
    }

    /// Returns the peak memory of an operation, in kB.
    pub(crate) fn peak(&self, op: GameOp, size: u32, peer: &str) -> Option<u64> {
        let is_it = |peak: &&super::measurements::MemoryPeak| {
            peak.op == op && peak.size == size && peak.peer == peer
        };
        self.measured.peaks.iter().find(is_it)?.peak
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::game::measurements::MemoryPeak;

    /// Returns a report with these rows: operation, size, name, p50 of each run in microseconds.
    pub(crate) fn report(rows: &[(GameOp, u32, &str, &[u64])]) -> GameReport {
        let machine = Machine {
            cores: Some(2),
            kernel: Some("6.1".to_owned()),
            file_system: Some("ext4".to_owned()),
            build: "release",
        };
        let mut sizes: Vec<u32> = rows.iter().map(|row| row.1).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let plan = MeasurementPlan { runs: 3, sizes, ops: GameOp::ALL.to_vec(), peers: Vec::new() };
        let mut measured = GameMeasurements::default();
        for (op, size, name, runs) in rows {
            for micros in *runs {
                measured.add(*op, *size, name, vec![Duration::from_micros(*micros)]);
            }
        }
        let peak =
            MemoryPeak { op: GameOp::Replay, size: 1000, peer: "everturn", peak: Some(30_000) };
        measured.peaks.push(peak);
        GameReport { machine, plan, measured }
    }

    #[test]
    fn a_row_is_the_median_of_its_runs_and_is_divided_by_its_baseline() {
        let report = report(&[
            (GameOp::Jump, 1000, "everturn", &[30, 10, 20]),
            (GameOp::Jump, 1000, "sqlite", &[80]),
            (GameOp::Jump, 2000, "everturn", &[40]),
        ]);
        let rows: Vec<GameRow<'_>> = report.rows().collect();
        assert_eq!(rows.len(), 3);
        assert!((rows[0].p50_us - 20.0).abs() < 1e-9, "{rows:?}");
        assert!((rows[0].span().0 - 10.0).abs() < 1e-9 && (rows[0].span().1 - 30.0).abs() < 1e-9);
        assert!((report.ratio(&rows[0]).unwrap() - 0.25).abs() < 1e-9);
        assert_eq!(report.ratio(&rows[2]), None);
    }
}
