//! The command line.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, value_parser};
use thiserror::Error;

use crate::agent_homes::{HomeBench, HomesError};
use crate::campaign::{self, CampaignBench, CampaignError};
use crate::chatlog::{ChatBench, ChatsError, FoldTask};
use crate::export::{ExportBench, ExportTask, ExportsError};
use crate::files;
use crate::game::{self, GameBench, GameError, MemoryTask};
use crate::machine::Machine;
use crate::peer::{PeerError, PeerRow, Scenario};
use crate::peers::ROWS;
use crate::postgres::{PostgresBench, PostgresError};
use crate::report::json;
use crate::report::summary::{RowSummary, SaveReport, ScenarioReport};
use crate::report::table;
use crate::run::{self, RunError};
use crate::search::{SearchBench, SearchError};
use crate::secrets::{ScanBench, ScanError};
use crate::workload::Workload;

/// Benchmarks of Everturn and its peers, measured in one run.
#[derive(Debug, Parser)]
#[command(name = "everturn-bench", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure the cost of saving one turn durably
    #[command(after_long_help = json::SHAPE)]
    Save(SaveBench),
    /// Measure reading and writing long game sessions: resume, jump, replay, save, snapshot
    #[command(after_long_help = game::JSON_SHAPE)]
    Game(GameBench),
    /// Measure growing chat logs: append, fold, read earlier states
    Chatlog(ChatBench),
    /// Fold a chat log and print the peak of memory; `chatlog` starts this
    #[command(hide = true)]
    ChatlogFold(FoldTask),
    /// Measure the time and memory of exporting a long chat log in every format
    Export(ExportBench),
    /// Export a chat log and print what it took; `export` starts this
    #[command(hide = true)]
    ExportOne(ExportTask),
    /// Measure the time to list the sessions of an agent home
    Homes(HomeBench),
    /// Measure indexing and full-text queries beside SQLite's FTS5, and lists of many sessions
    Search(SearchBench),
    /// Measure what a turn of a campaign costs, and whether that grows with the campaign
    #[command(after_long_help = campaign::JSON_SHAPE)]
    Campaign(CampaignBench),
    /// Measure sessions in PostgreSQL beside plain files, a raw INSERT and LangGraph's PostgresSaver
    Postgres(PostgresBench),
    /// Measure the speed of scanning text for keys, tokens and passwords
    Scan(ScanBench),
    /// Do one operation and print the peak of memory; `game` starts this
    #[command(hide = true)]
    GameMemory(MemoryTask),
}

#[derive(Debug, Args)]
struct SaveBench {
    /// Number of runs of each row; the report shows medians
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
    runs: u32,

    /// Turns in each run with one writer
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = value_parser!(u32).range(1..))]
    turns: u32,

    /// Turns of each session in each run with many sessions
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = value_parser!(u32).range(1..))]
    session_turns: u32,

    /// Parent of the temporary data directory, which is removed afterwards
    #[arg(long, value_name = "DIR", default_value = "target/bench-data")]
    dir: PathBuf,

    /// Measure only the rows of this name or family; may be repeated
    #[arg(long = "peer", value_name = "NAME")]
    peers: Vec<String>,

    /// List the rows and measure nothing
    #[arg(long)]
    list: bool,

    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

/// An error of the benchmark.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum CliError {
    /// `--peer` names an unknown peer.
    #[error("no row or family named {name:?}; list them with --list")]
    UnknownPeer {
        /// The name as given.
        name: String,
    },
    /// The directory for the data cannot be used.
    #[error("cannot use the data directory")]
    Directory(#[source] PeerError),
    /// A row could not be measured.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The game could not be measured.
    #[error(transparent)]
    Game(#[from] GameError),
    /// The chat logs could not be measured.
    #[error(transparent)]
    Chats(#[from] ChatsError),
    /// The exports could not be measured.
    #[error(transparent)]
    Exports(#[from] ExportsError),
    /// The homes could not be measured.
    #[error(transparent)]
    Homes(#[from] HomesError),
    /// The search could not be measured.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The campaign could not be measured.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// The sessions in PostgreSQL could not be measured.
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// The secret scan could not be measured.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// The operation whose memory was to be measured failed.
    #[error("the operation failed")]
    Memory(#[source] PeerError),
    /// The report could not be written.
    #[error("cannot write the report")]
    Output(#[from] io::Error),
}

impl Cli {
    /// Runs the command line: the report goes to `out`, progress to `progress`.
    pub(crate) fn execute(
        &self,
        out: &mut dyn Write,
        progress: &mut dyn Write,
    ) -> Result<(), CliError> {
        match &self.command {
            Command::Save(save) => save.execute(out, progress),
            Command::Game(game) => Ok(game.execute(out, progress)?),
            Command::Chatlog(chats) => Ok(chats.execute(out, progress)?),
            Command::Export(exports) => Ok(exports.execute(out, progress)?),
            Command::ExportOne(one) => Ok(writeln!(out, "{}", one.execute()?)?),
            Command::ChatlogFold(fold) => {
                let peak = fold.execute()?;
                Ok(writeln!(out, "{}", peak.map_or_else(String::new, |peak| peak.to_string()))?)
            }
            Command::Homes(homes) => Ok(homes.execute(out, progress)?),
            Command::Search(search) => Ok(search.execute(out, progress)?),
            Command::Campaign(campaign) => Ok(campaign.execute(out, progress)?),
            Command::Postgres(postgres) => Ok(postgres.execute(out, progress)?),
            Command::Scan(scan) => Ok(scan.execute(out)?),
            Command::GameMemory(task) => {
                let peak = task.execute().map_err(CliError::Memory)?;
                Ok(writeln!(out, "{}", peak.map_or_else(String::new, |peak| peak.to_string()))?)
            }
        }
    }
}

impl SaveBench {
    fn execute(&self, out: &mut dyn Write, progress: &mut dyn Write) -> Result<(), CliError> {
        let rows = choose(&self.peers)?;
        if self.list {
            return Ok(list(&rows, out)?);
        }
        let report = self.measure(&rows, progress)?;
        if self.json {
            writeln!(out, "{:#}", json::document(&report))?;
        } else {
            table::write(&report, out)?;
        }
        Ok(())
    }

    fn measure(
        &self,
        rows: &[&'static PeerRow],
        progress: &mut dyn Write,
    ) -> Result<SaveReport, CliError> {
        files::create_dir(&self.dir).map_err(CliError::Directory)?;
        let dir = files::absolute(&self.dir).map_err(CliError::Directory)?;
        let mut scenarios = Vec::new();
        for scenario in Scenario::ALL {
            let rows: Vec<&'static PeerRow> =
                rows.iter().copied().filter(|row| row.scenario == scenario).collect();
            if rows.is_empty() {
                continue;
            }
            let turns = match scenario {
                Scenario::OneWriter => self.turns,
                Scenario::ManySessions => self.session_turns,
            };
            let workload = Workload::new(scenario.sessions(), turns);
            let samples = run::measure(&rows, &workload, self.runs, &dir, progress)?;
            let rows = rows.into_iter().zip(samples);
            scenarios.push(ScenarioReport {
                scenario,
                turns_per_run: workload.turns(),
                rows: rows.map(|(row, samples)| RowSummary::new(row, samples)).collect(),
            });
        }
        Ok(SaveReport { machine: Machine::detect(&dir), runs: self.runs, scenarios })
    }
}

/// Returns the rows whose name or family is among `names`; all rows if there are no names.
fn choose(names: &[String]) -> Result<Vec<&'static PeerRow>, CliError> {
    let all = || ROWS.iter().copied().flatten();
    let is_called = |row: &PeerRow, name: &String| row.name == name || row.family == name;
    if let Some(name) = names.iter().find(|name| !all().any(|row| is_called(row, name))) {
        return Err(CliError::UnknownPeer { name: name.clone() });
    }
    let wanted = |row: &&PeerRow| names.is_empty() || names.iter().any(|name| is_called(row, name));
    Ok(all().filter(wanted).collect())
}

fn list(rows: &[&'static PeerRow], out: &mut dyn Write) -> io::Result<()> {
    rows.iter().try_for_each(|row| {
        writeln!(out, "{:<24}{:<16}{:<16}{}", row.name, row.family, row.scenario.name(), row.about)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn check(names: &[&str], expect: &[&str]) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let chosen: Vec<&str> = choose(&names).unwrap().iter().map(|row| row.name).collect();
        assert_eq!(chosen, expect);
    }

    #[test]
    fn rows_are_chosen_by_name_and_by_family() {
        check(&["redb-group"], &["redb-group"]);
        check(&["sqlite-normal"], &["sqlite-normal", "sqlite-normal-mutex"]);
        check(&["redb-group", "raw-one-file"], &["raw-one-file", "redb-group"]);
        assert!(choose(&[]).unwrap().len() > 10);
        let error = choose(&["redb".to_owned(), "oracle".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("\"oracle\""), "{error}");
    }

    #[test]
    fn names_are_unique_and_every_baseline_is_a_row_of_its_scenario() {
        let rows = choose(&[]).unwrap();
        let names: HashSet<&str> = rows.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), rows.len());
        for scenario in Scenario::ALL {
            let is_baseline =
                |row: &&PeerRow| row.name == scenario.baseline() && row.scenario == scenario;
            assert!(rows.iter().copied().any(|row| is_baseline(&row)), "{scenario:?}");
        }
    }
}
