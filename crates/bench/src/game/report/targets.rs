//! The performance targets of Everturn, and whether they were met.

use super::{GameReport, baseline};
use crate::game::measurements::GameOp;

/// One target at one size.
#[derive(Debug)]
pub(crate) struct PerformanceTarget {
    /// The name of the target.
    pub(crate) what: String,
    /// The measured value.
    pub(crate) value: f64,
    /// The maximum value.
    pub(crate) limit: f64,
    /// The unit of both.
    pub(crate) unit: &'static str,
}

impl PerformanceTarget {
    /// Returns whether the target was met.
    pub(crate) fn is_met(&self) -> bool {
        self.value <= self.limit
    }
}

const EVERTURN: &str = "everturn";
/// The maximum ratio to the baseline, at every size.
const AGAINST_BASELINE: [(GameOp, f64); 4] =
    [(GameOp::Jump, 0.6), (GameOp::Resume, 0.5), (GameOp::Replay, 0.7), (GameOp::Snapshot, 2.0)];
/// The maximum ratio of the largest session to the smallest one.
const GROWTH: [(GameOp, f64); 2] = [(GameOp::Jump, 1.25), (GameOp::Save, 1.1)];
/// The maximum memory for replaying the largest session.
const REPLAY_MB: f64 = 64.0;
const KB_PER_MB: f64 = 1024.0;

/// Returns all targets for which there are measurements.
pub(crate) fn targets(report: &GameReport) -> Vec<PerformanceTarget> {
    let mut targets = Vec::new();
    let sizes = &report.plan.sizes;
    for (op, limit) in AGAINST_BASELINE {
        for &size in sizes {
            let against = baseline(op);
            let Some(own) = report.p50(op, size, EVERTURN) else { continue };
            let Some(other) = report.p50(op, size, against) else { continue };
            let what = format!("{} at {size} turns against {against}", op.name());
            targets.push(PerformanceTarget { what, value: own / other, limit, unit: "x" });
        }
    }
    let (Some(&small), Some(&large)) = (sizes.first(), sizes.last()) else { return targets };
    for (op, limit) in GROWTH.into_iter().filter(|_| small < large) {
        let Some(few) = report.p50(op, small, EVERTURN) else { continue };
        let Some(many) = report.p50(op, large, EVERTURN) else { continue };
        let what = format!("{} at {large} turns against {small} turns", op.name());
        targets.push(PerformanceTarget { what, value: many / few, limit, unit: "x" });
    }
    if let Some(peak) = report.peak(GameOp::Replay, large, EVERTURN) {
        let what = format!("memory for replaying {large} turns");
        targets.push(PerformanceTarget {
            what,
            value: peak as f64 / KB_PER_MB,
            limit: REPLAY_MB,
            unit: "MB",
        });
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::report::tests::report;

    #[test]
    fn targets_are_met_at_their_limit_and_missed_beyond_it() {
        let report = report(&[
            (GameOp::Jump, 1000, "everturn", &[60]),
            (GameOp::Jump, 1000, "sqlite", &[100]),
            (GameOp::Jump, 9000, "everturn", &[90]),
            (GameOp::Snapshot, 1000, "everturn", &[100]),
            (GameOp::Snapshot, 1000, "plain-files", &[40]),
        ]);
        let found: Vec<(String, bool)> =
            targets(&report).into_iter().map(|t| (t.what.clone(), t.is_met())).collect();
        let expect = [
            ("jump at 1000 turns against sqlite", true),
            ("snapshot at 1000 turns against plain-files", false),
            ("jump at 9000 turns against 1000 turns", false),
        ];
        let expect: Vec<(String, bool)> = expect.map(|(what, met)| (what.to_owned(), met)).into();
        assert_eq!(found, expect);
    }

    #[test]
    fn memory_counts_at_the_largest_size() {
        let report = report(&[(GameOp::Save, 1000, "everturn", &[1])]);
        let targets = targets(&report);
        assert_eq!(targets.len(), 1);
        assert!(targets[0].is_met() && targets[0].what == "memory for replaying 1000 turns");
    }
}
