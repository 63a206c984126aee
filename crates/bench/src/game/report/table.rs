//! The report as text tables.

use std::io::{self, Write};

use super::targets::targets;
use super::{GameReport, GameRow, baseline};
use crate::game::measurements::{BEHIND, GameOp, REPLAY_TURNS};
use crate::peer::Durability;
use crate::report::table::machine;

const BYTES_PER_KB: f64 = 1e3;
const MICROS_PER_MS: f64 = 1e3;

/// Writes the whole report.
pub(crate) fn write(report: &GameReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "Game sessions: a world of 300 KB, a player of 20 KB, six changes of 200 B and events of 1.2 KB \
         a turn.\nMedians of {} runs; caches are warm; the state files are {BEHIND} turns old.",
        report.plan.runs
    )?;
    writeln!(out, "{}\n", machine(&report.machine))?;
    for peer in &report.plan.peers {
        let note = match peer.durability {
            Durability::AtReturn => "",
            Durability::NotAtPowerCut => " (not durable at power cut)",
        };
        writeln!(out, "{:<12}{}{note}", peer.name, peer.about)?;
    }
    write_built(report, out)?;
    for op in GameOp::ALL {
        write_rows(report, op, out)?;
    }
    write_memory(report, out)?;
    write_files(report, out)?;
    write_targets(report, out)
}

fn write_built(report: &GameReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nBuilding the sessions, turn by turn\n")?;
    for built in &report.measured.built {
        let rate = f64::from(built.size) / built.seconds;
        writeln!(
            out,
            "{:<16}{:>8} turns{:>9.1} s{:>9.0} turns/s",
            built.peer, built.size, built.seconds, rate
        )?;
    }
    Ok(())
}

fn write_rows(report: &GameReport, op: GameOp, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<GameRow<'_>> = report.rows().filter(|row| row.op == op).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let title = match op {
        GameOp::Jump => "Jump: read the state at a random turn".to_owned(),
        GameOp::Resume => "Resume: open, and read the state after the last turn".to_owned(),
        GameOp::Replay => format!("Replay: up to {REPLAY_TURNS} turns with their states"),
        GameOp::Save => "Save: one turn".to_owned(),
        GameOp::Snapshot => "Snapshot: write a snapshot and the state files".to_owned(),
    };
    writeln!(out, "\n{title}; \"x\": p50 relative to {}\n", baseline(op))?;
    writeln!(
        out,
        "{:<18}{:>8}{:>11}{:>11}{:>8}  p50 of the runs, ms",
        "row", "turns", "p50 ms", "p99 ms", "x"
    )?;
    for row in &rows {
        let ratio = report.ratio(row).map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        let (least, most) = row.span();
        writeln!(
            out,
            "{:<18}{:>8}{:>11.3}{:>11.3}{ratio:>8}  {:.3} to {:.3}",
            row.name,
            row.size,
            row.p50_us / MICROS_PER_MS,
            row.p99_us / MICROS_PER_MS,
            least / MICROS_PER_MS,
            most / MICROS_PER_MS,
        )?;
    }
    Ok(())
}

fn write_memory(report: &GameReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nPeak memory of a process that does nothing else; a replay reads all turns\n")?;
    for peak in &report.measured.peaks {
        let kb = peak.peak.map_or("unknown".to_owned(), |peak| format!("{peak} kB"));
        let (peer, size) = (peak.peer, peak.size);
        writeln!(out, "{peer:<12}{size:>8} turns  {:<10}{kb:>12}", peak.op.name())?;
    }
    Ok(())
}

fn write_files(report: &GameReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nFiles by kind\n")?;
    for kind in &report.measured.kinds {
        let (peer, size, name) = (kind.peer, kind.size, kind.kind);
        let kb = kind.bytes as f64 / BYTES_PER_KB;
        writeln!(out, "{peer:<12}{size:>8} turns  {name:<14}{:>6} files{kb:>12.1} KB", kind.files)?;
    }
    Ok(())
}

fn write_targets(report: &GameReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nTargets\n")?;
    for target in targets(report) {
        let met = if target.is_met() { "met" } else { "missed" };
        let (value, limit, unit) = (target.value, target.limit, target.unit);
        writeln!(out, "{met:<8}{:<48}{value:.2} {unit}, at most {limit} {unit}", target.what)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::report::tests::report;

    #[test]
    fn the_tables_show_losses_spans_and_missed_targets() {
        let report = report(&[
            (GameOp::Jump, 1000, "everturn", &[1000, 3000, 2000]),
            (GameOp::Jump, 1000, "sqlite", &[1000]),
        ]);
        let mut out = Vec::new();
        write(&report, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let has = |line: &str| assert!(text.contains(line), "{line:?} is missing in\n{text}");
        has("everturn              1000      2.000      2.000    2.00  1.000 to 3.000\n");
        has("sqlite                1000      1.000      1.000    1.00  1.000 to 1.000\n");
        has("missed  jump at 1000 turns against sqlite               2.00 x, at most 0.6 x\n");
        has("met     memory for replaying 1000 turns                 29.30 MB, at most 64 MB\n");
        has("everturn        1000 turns  replay        30000 kB\n");
    }
}
