//! The report as text tables.

use std::io::{self, Write};

use super::summary::{RowSummary, SaveReport, ScenarioReport};
use crate::machine::Machine;
use crate::peer::{Durability, Scenario};
use crate::workload::{DELTA_BYTES, DELTAS_PER_TURN, TURN_BYTES};

const BYTES_PER_MB: f64 = 1e6;

/// Writes the whole report.
pub(crate) fn write(report: &SaveReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "Saving one turn: a record of {TURN_BYTES} B and {DELTAS_PER_TURN} deltas of {DELTA_BYTES} B. \
         Medians of {} runs.",
        report.runs
    )?;
    writeln!(out, "{}", machine(&report.machine))?;
    report.scenarios.iter().try_for_each(|scenario| write_scenario(scenario, out))
}

/// Formats the machine on one line.
pub(crate) fn machine(machine: &Machine) -> String {
    let cores = machine.cores.map_or_else(|| "unknown".to_owned(), |cores| cores.to_string());
    let known = |fact: &Option<String>| fact.clone().unwrap_or_else(|| "unknown".to_owned());
    format!(
        "Cores: {cores}. Kernel: {}. File system: {}. Build: {}.",
        known(&machine.kernel),
        known(&machine.file_system),
        machine.build
    )
}

fn write_scenario(report: &ScenarioReport, out: &mut dyn Write) -> io::Result<()> {
    let title = match report.scenario {
        Scenario::OneWriter => "One writer".to_owned(),
        Scenario::ManySessions => format!("{} sessions at once", report.scenario.sessions()),
    };
    let turns = report.turns_per_run;
    let baseline = report.scenario.baseline();
    writeln!(out, "\n{title}, {turns} turns per run; \"x\" columns: relative to {baseline}\n")?;
    writeln!(
        out,
        "{:<24}{:>10}{:>10}{:>10}{:>10}{:>10}{:>9}{:>9}  set-up",
        "row", "p50 us", "p99 us", "turns/s", "p50 x", "turns/s x", "flushes", "MB disk"
    )?;
    for row in &report.rows {
        writeln!(out, "{}", line(report, row))?;
    }
    for best in report.best_of_families() {
        let (family, name) = (best.row.family, best.row.name);
        writeln!(out, "best {family}: {name}, {:.0} turns/s", best.turns_per_second)?;
    }
    Ok(())
}

fn line(report: &ScenarioReport, row: &RowSummary) -> String {
    let ratios = report.ratios(row);
    let or_dash = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
    let note = match row.row.durability {
        Durability::AtReturn => "",
        Durability::NotAtPowerCut => " (not durable at power cut)",
    };
    format!(
        "{:<24}{:>10.1}{:>10.1}{:>10.0}{:>10}{:>10}{:>9}{:>9.1}  {}{note}",
        row.row.name,
        row.p50_us,
        row.p99_us,
        row.turns_per_second,
        or_dash(ratios.as_ref().map(|ratios| ratios.p50)),
        or_dash(ratios.as_ref().map(|ratios| ratios.turns_per_second)),
        or_dash(row.flushes_per_turn),
        row.bytes_on_disk as f64 / BYTES_PER_MB,
        row.row.about,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::summary::tests::{report, summary};

    fn text(report: &SaveReport) -> String {
        let mut out = Vec::new();
        write(report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_table_shows_losses_and_marks_what_a_power_cut_takes_away() {
        let rows = vec![
            summary("raw-one-file", &[(200, 5000.0)]),
            summary("sqlite-full", &[(500, 2000.0)]),
            summary("sqlite-normal", &[(50, 20000.0)]),
        ];
        let text = text(&report(Scenario::OneWriter, rows));
        let expect = "\
Saving one turn: a record of 1200 B and 6 deltas of 200 B. Medians of 3 runs.
Cores: 2. Kernel: 6.1. File system: ext4. Build: release.

One writer, 640 turns per run; \"x\" columns: relative to raw-one-file

row                         p50 us    p99 us   turns/s     p50 x turns/s x  flushes  MB disk  set-up
raw-one-file                 200.0     400.0      5000      1.00      1.00     1.00      5.0  raw append + fdatasync, one growing file
sqlite-full                  500.0    1000.0      2000      2.50      0.40        -      5.0  SQLite WAL, synchronous=FULL
sqlite-normal                 50.0     100.0     20000      0.25      4.00        -      5.0  SQLite WAL, synchronous=NORMAL (not durable at power cut)
";
        assert_eq!(text, expect);
    }

    #[test]
    fn the_best_of_a_family_stands_below_the_table() {
        let rows = vec![
            summary("sqlite-full-mutex", &[(1, 100.0)]),
            summary("sqlite-full-group", &[(1, 900.0)]),
        ];
        let text = text(&report(Scenario::ManySessions, rows));
        assert!(text.ends_with("\nbest sqlite-full: sqlite-full-group, 900 turns/s\n"), "{text}");
        assert!(text.contains("\n64 sessions at once, 640 turns per run"), "{text}");
    }
}
