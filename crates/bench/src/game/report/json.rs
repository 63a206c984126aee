//! The report as one JSON document. [`SHAPE`] is its documentation, which `--help` prints.

use serde_json::{Value, json};

use super::targets::targets;
use super::{GameReport, baseline};
use crate::game::measurements::{BEHIND, JUMPS, REPLAY_TURNS, REPLAYS, RESUMES, SAVES, SNAPSHOTS};
use crate::peer::Durability;
use crate::report::json::machine;
use crate::report::summary::micros;
use crate::workload::SEED;

/// The fields of the document, described for `--help`.
pub(crate) const SHAPE: &str = "\
The document that --json prints:
  benchmark            \"game\"
  machine              cores, kernel, file_system (null where unknown), build (release or debug)
  workload             seed, replay_turns, states_behind (turns between the state files and the last
                       turn), and the number of operations of each kind in one run
  runs, sizes          number of runs of each row, and turns of the sessions
  peers[]              name, about, durable (false: not durable at power cut)
  built[]              turns, peer, seconds
  rows[]               op, turns, name (a peer; -values: the whole state as values; -play: opened for
                       writing), p50_us, p99_us (medians over the runs), baseline, ratio (p50
                       relative to the baseline, null if that was not measured), samples[]
                       (each run: p50_us, p99_us)
  memory[]             op, turns, peer, peak_kb (of a process that does nothing else)
  files[]              turns, peer, kind, files, bytes
  targets[]            what, value, limit, unit, met";

/// Returns the document for `report`.
pub(crate) fn document(report: &GameReport) -> Value {
    json!({
        "benchmark": "game",
        "machine": machine(&report.machine),
        "workload": {
            "seed": SEED,
            "replay_turns": REPLAY_TURNS,
            "states_behind": BEHIND,
            "jumps": JUMPS, "resumes": RESUMES, "replays": REPLAYS, "saves": SAVES,
            "snapshots": SNAPSHOTS,
        },
        "runs": report.plan.runs,
        "sizes": report.plan.sizes,
        "peers": report.plan.peers.iter().map(|peer| json!({
            "name": peer.name, "about": peer.about,
            "durable": peer.durability == Durability::AtReturn,
        })).collect::<Vec<Value>>(),
        "built": report.measured.built.iter().map(|built| json!({
            "turns": built.size, "peer": built.peer, "seconds": built.seconds,
        })).collect::<Vec<Value>>(),
        "rows": rows(report),
        "memory": report.measured.peaks.iter().map(|peak| json!({
            "op": peak.op.name(), "turns": peak.size, "peer": peak.peer, "peak_kb": peak.peak,
        })).collect::<Vec<Value>>(),
        "files": report.measured.kinds.iter().map(|kind| json!({
            "turns": kind.size, "peer": kind.peer, "kind": kind.kind, "files": kind.files,
            "bytes": kind.bytes,
        })).collect::<Vec<Value>>(),
        "targets": targets(report).iter().map(|target| json!({
            "what": target.what, "value": target.value, "limit": target.limit,
            "unit": target.unit, "met": target.is_met(),
        })).collect::<Vec<Value>>(),
    })
}

fn rows(report: &GameReport) -> Vec<Value> {
    let row = |row: super::GameRow<'_>| {
        let samples = row
            .samples
            .iter()
            .map(|sample| json!({"p50_us": micros(sample.p50), "p99_us": micros(sample.p99)}));
        json!({
            "op": row.op.name(),
            "turns": row.size,
            "name": row.name,
            "p50_us": row.p50_us,
            "p99_us": row.p99_us,
            "baseline": baseline(row.op),
            "ratio": report.ratio(&row),
            "samples": samples.collect::<Vec<Value>>(),
        })
    };
    report.rows().map(row).collect()
}
