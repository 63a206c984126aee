//! The report as one JSON document. [`SHAPE`] is its documentation, which `--help` prints.

use serde_json::{Value, json};

use super::summary::{RowSummary, SaveReport, ScenarioReport, micros};
use crate::machine::Machine;
use crate::peer::Durability;
use crate::workload::{DELTA_BYTES, DELTAS_PER_TURN, SAVE_BYTES, SEED, TURN_BYTES};

/// The fields of the document, described for `--help`.
pub(crate) const SHAPE: &str = "\
The document that --json prints:
  benchmark            \"save\"
  machine              cores, kernel, file_system (null where unknown), build (release or debug)
  workload             seed, turn_bytes, deltas_per_turn, delta_bytes, save_bytes (all of one save)
  runs                 number of runs of each row
  scenarios[]          name (one-writer, many-sessions), sessions, turns_per_run, baseline,
                       best (by family: the fastest row of those with several), rows
  scenarios[].rows[]   name, family, about, durable (false: not durable at power cut),
                       p50_us, p99_us, turns_per_second (medians over the runs),
                       p50_ratio, turns_per_second_ratio (this row relative to the baseline, null
                       if that was not measured), flushes_per_turn (null where not counted),
                       bytes_on_disk (of the closed store, without holes),
                       samples[] (each run: p50_us, p99_us, turns_per_second)";

/// Returns the document for `report`.
pub(crate) fn document(report: &SaveReport) -> Value {
    json!({
        "benchmark": "save",
        "machine": machine(&report.machine),
        "workload": {
            "seed": SEED,
            "turn_bytes": TURN_BYTES,
            "deltas_per_turn": DELTAS_PER_TURN,
            "delta_bytes": DELTA_BYTES,
            "save_bytes": SAVE_BYTES,
        },
        "runs": report.runs,
        "scenarios": report.scenarios.iter().map(scenario).collect::<Vec<Value>>(),
    })
}

/// Returns the machine as JSON.
pub(crate) fn machine(machine: &Machine) -> Value {
    json!({
        "cores": machine.cores,
        "kernel": machine.kernel,
        "file_system": machine.file_system,
        "build": machine.build,
    })
}

fn scenario(report: &ScenarioReport) -> Value {
    let best = report.best_of_families().into_iter();
    let best = best.map(|best| (best.row.family.to_owned(), Value::from(best.row.name)));
    json!({
        "name": report.scenario.name(),
        "sessions": report.scenario.sessions(),
        "turns_per_run": report.turns_per_run,
        "baseline": report.scenario.baseline(),
        "best": best.collect::<serde_json::Map<String, Value>>(),
        "rows": report.rows.iter().map(|line| row(report, line)).collect::<Vec<Value>>(),
    })
}

fn row(report: &ScenarioReport, line: &RowSummary) -> Value {
    let ratios = report.ratios(line);
    let samples = line.samples.iter().map(|run| {
        json!({
            "p50_us": micros(run.p50),
            "p99_us": micros(run.p99),
            "turns_per_second": run.turns_per_second,
        })
    });
    json!({
        "name": line.row.name,
        "family": line.row.family,
        "about": line.row.about,
        "durable": line.row.durability == Durability::AtReturn,
        "p50_us": line.p50_us,
        "p99_us": line.p99_us,
        "turns_per_second": line.turns_per_second,
        "p50_ratio": ratios.as_ref().map(|ratios| ratios.p50),
        "turns_per_second_ratio": ratios.as_ref().map(|ratios| ratios.turns_per_second),
        "flushes_per_turn": line.flushes_per_turn,
        "bytes_on_disk": line.bytes_on_disk,
        "samples": samples.collect::<Vec<Value>>(),
    })
}
