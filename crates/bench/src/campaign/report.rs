//! The campaign report, as a table and as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::{CampaignReport, CampaignRow};

/// The `--json` output, described for the help text.
pub(crate) const SHAPE: &str = "\
The document that --json prints:
  {\"machine\":{\"cores\":…,\"kernel\":…,\"fileSystem\":…,\"build\":…},\"runs\":…,\"turns\":…,
   \"rows\":[{\"peer\":\"everturn\",\"size\":100,\"p50Micros\":…,\"p99Micros\":…,\"growth\":1.0}]}
  growth is p50 relative to the smallest size.";

fn micros(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Returns the cost of a turn relative to the smallest size.
fn growth(report: &CampaignReport, row: &CampaignRow) -> f64 {
    let first =
        report.rows.iter().filter(|first| first.peer == row.peer).min_by_key(|row| row.size);
    first.map_or(1.0, |first| micros(row.p50) / micros(first.p50).max(f64::MIN_POSITIVE))
}

pub(super) fn write(report: &CampaignReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "one turn of a campaign, {} runs of {} turns", report.runs, report.turns)?;
    writeln!(out, "{:<12}{:>10}{:>12}{:>12}{:>9}", "peer", "turns", "p50 µs", "p99 µs", "growth")?;
    for row in &report.rows {
        let (p50, p99, growth) = (micros(row.p50), micros(row.p99), growth(report, row));
        writeln!(out, "{:<12}{:>10}{p50:>12.1}{p99:>12.1}{growth:>8.2}x", row.peer, row.size)?;
    }
    Ok(())
}

pub(super) fn document(report: &CampaignReport) -> Value {
    let machine = &report.machine;
    let row = |row: &CampaignRow| {
        json!({
            "peer": row.peer, "size": row.size, "p50Micros": micros(row.p50),
            "p99Micros": micros(row.p99), "growth": growth(report, row),
        })
    };
    json!({
        "machine": {
            "cores": machine.cores, "kernel": machine.kernel,
            "fileSystem": machine.file_system, "build": machine.build,
        },
        "runs": report.runs,
        "turns": report.turns,
        "rows": report.rows.iter().map(row).collect::<Vec<Value>>(),
    })
}
