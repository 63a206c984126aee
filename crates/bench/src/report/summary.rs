//! Summarizes samples: medians, ratios, and the best row of each family.

use std::time::Duration;

use crate::machine::Machine;
use crate::peer::{PeerRow, Scenario};
use crate::run::SaveSample;
use crate::stats::median;

/// The complete report.
#[derive(Debug)]
pub(crate) struct SaveReport {
    /// The machine of the measurement.
    pub(crate) machine: Machine,
    /// The number of runs of each row.
    pub(crate) runs: u32,
    /// The measured scenarios; a scenario without rows is absent.
    pub(crate) scenarios: Vec<ScenarioReport>,
}

/// The rows of one scenario.
#[derive(Debug)]
pub(crate) struct ScenarioReport {
    /// The scenario.
    pub(crate) scenario: Scenario,
    /// The number of turns that all sessions together saved in each run.
    pub(crate) turns_per_run: usize,
    /// The rows, in the order of the registry.
    pub(crate) rows: Vec<RowSummary>,
}

impl ScenarioReport {
    /// Returns the ratios of `row` to the baseline, if that was measured.
    pub(crate) fn ratios(&self, row: &RowSummary) -> Option<Ratios> {
        let baseline = self.rows.iter().find(|r| r.row.name == self.scenario.baseline())?;
        Some(Ratios {
            p50: row.p50_us / baseline.p50_us,
            turns_per_second: row.turns_per_second / baseline.turns_per_second,
        })
    }

    /// Returns the fastest row of each family that has several, by turns per second.
    pub(crate) fn best_of_families(&self) -> Vec<&RowSummary> {
        let mut best: Vec<(&RowSummary, usize)> = Vec::new();
        for row in &self.rows {
            match best.iter_mut().find(|(other, _)| other.row.family == row.row.family) {
                None => best.push((row, 1)),
                Some((fastest, rows)) => {
                    *rows += 1;
                    if row.turns_per_second > fastest.turns_per_second {
                        *fastest = row;
                    }
                }
            }
        }
        best.into_iter().filter(|(_, rows)| *rows > 1).map(|(row, _)| row).collect()
    }
}

/// A row divided by the baseline.
#[derive(Debug)]
pub(crate) struct Ratios {
    /// The ratio of the median latency: below 1 is faster than the baseline.
    pub(crate) p50: f64,
    /// The ratio of the turns per second: above 1 is faster than the baseline.
    pub(crate) turns_per_second: f64,
}

/// One row: medians over its runs.
#[derive(Debug)]
pub(crate) struct RowSummary {
    /// The row that was measured.
    pub(crate) row: &'static PeerRow,
    /// The median of the runs' p50, in microseconds.
    pub(crate) p50_us: f64,
    /// The median of the runs' p99, in microseconds.
    pub(crate) p99_us: f64,
    /// The median of the runs' turns per second.
    pub(crate) turns_per_second: f64,
    /// The median of the runs' flushes per turn, where they are counted.
    pub(crate) flushes_per_turn: Option<f64>,
    /// The maximum disk usage of a closed store.
    pub(crate) bytes_on_disk: u64,
    /// The runs, in order.
    pub(crate) samples: Vec<SaveSample>,
}

impl RowSummary {
    /// Summarizes the runs of `row`.
    pub(crate) fn new(row: &'static PeerRow, samples: Vec<SaveSample>) -> RowSummary {
        let flushes: Option<Vec<f64>> = samples.iter().map(|run| run.flushes_per_turn).collect();
        RowSummary {
            row,
            p50_us: median(samples.iter().map(|run| micros(run.p50))),
            p99_us: median(samples.iter().map(|run| micros(run.p99))),
            turns_per_second: median(samples.iter().map(|run| run.turns_per_second)),
            flushes_per_turn: flushes.map(median),
            bytes_on_disk: samples.iter().map(|run| run.bytes_on_disk).max().unwrap_or_default(),
            samples,
        }
    }
}

/// Returns a duration in microseconds.
pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::peers::ROWS;

    /// Returns a row with these results: `p50` microseconds and turns per second for each run.
    pub(crate) fn summary(name: &str, runs: &[(u64, f64)]) -> RowSummary {
        let row = ROWS.iter().copied().flatten().find(|row| row.name == name).unwrap();
        let sample = |&(p50, turns_per_second): &(u64, f64)| SaveSample {
            p50: Duration::from_micros(p50),
            p99: Duration::from_micros(p50 * 2),
            turns_per_second,
            flushes_per_turn: (row.family == "raw").then_some(1.0),
            bytes_on_disk: 5_000_000,
        };
        RowSummary::new(row, runs.iter().map(sample).collect())
    }

    /// Returns a report with the given rows, all of `scenario`.
    pub(crate) fn report(scenario: Scenario, rows: Vec<RowSummary>) -> SaveReport {
        let machine = Machine {
            cores: Some(2),
            kernel: Some("6.1".to_owned()),
            file_system: Some("ext4".to_owned()),
            build: "release",
        };
        let scenarios = vec![ScenarioReport { scenario, turns_per_run: 640, rows }];
        SaveReport { machine, runs: 3, scenarios }
    }

    #[test]
    fn a_row_is_the_median_of_its_runs() {
        let row = summary("raw-one-file", &[(300, 10.0), (100, 30.0), (200, 50.0)]);
        assert!((row.p50_us - 200.0).abs() < 1e-6, "{}", row.p50_us);
        assert!((row.p99_us - 400.0).abs() < 1e-6, "{}", row.p99_us);
        assert!((row.turns_per_second - 30.0).abs() < 1e-9, "{}", row.turns_per_second);
        assert_eq!(row.flushes_per_turn, Some(1.0));
        assert_eq!(summary("redb", &[(1, 1.0)]).flushes_per_turn, None);
    }

    #[test]
    fn ratios_are_against_the_baseline_of_the_scenario_and_absent_without_it() {
        let rows = vec![
            summary("raw-one-file", &[(200, 5000.0)]),
            summary("sqlite-full", &[(500, 2000.0)]),
        ];
        let mut report = report(Scenario::OneWriter, rows).scenarios.remove(0);
        let ratios = report.ratios(&report.rows[1]).unwrap();
        assert!((ratios.p50 - 2.5).abs() < 1e-9, "{ratios:?}");
        assert!((ratios.turns_per_second - 0.4).abs() < 1e-9, "{ratios:?}");
        report.rows.remove(0);
        assert!(report.ratios(&report.rows[0]).is_none());
    }

    #[test]
    fn the_best_of_a_family_is_its_fastest_row_and_a_lone_row_is_not_named() {
        let rows = vec![
            summary("sqlite-full-mutex", &[(1, 100.0)]),
            summary("sqlite-full-group", &[(1, 900.0)]),
            summary("sqlite-full-connections", &[(1, 300.0)]),
            summary("fjall-shared", &[(1, 5000.0)]),
        ];
        let report = report(Scenario::ManySessions, rows);
        let best: Vec<&str> =
            report.scenarios[0].best_of_families().iter().map(|row| row.row.name).collect();
        assert_eq!(best, ["sqlite-full-group"]);
    }
}
