//! Measures the time and memory of exporting a long chat log in every format.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::{Args, value_parser};
use everturn::format::{self, SessionError};
use everturn::scan::SecretRules;
use everturn_export::{Export, ExportError, ExportFormat, ExportOptions, ExportStyle, SecretMask};
use thiserror::Error;

use crate::chatlog::{ChatsError, document, peak, store};
use crate::files;
use crate::peer::PeerError;
use crate::stats::median;

/// What the command line says about the benchmark of exports.
#[derive(Debug, Args)]
pub(crate) struct ExportBench {
    /// Number of messages in the chat log
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = value_parser!(u32).range(1..))]
    messages: u32,

    /// Number of runs; the report shows medians
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
    runs: u32,

    /// Parent of the temporary data directory, which is removed afterwards
    #[arg(long, value_name = "DIR", default_value = "target/bench-data")]
    dir: PathBuf,
}

/// One export, in a process that reports its peak memory.
#[derive(Debug, Args)]
pub(crate) struct ExportTask {
    /// The root
    dir: PathBuf,
    /// The format
    format: ExportFormat,
}

/// An error of this benchmark.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum ExportsError {
    /// The directory for the data cannot be used.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// The chat log could not be written.
    #[error(transparent)]
    Chats(#[from] ChatsError),
    /// The chat log could not be read.
    #[error(transparent)]
    Layout(#[from] SessionError),
    /// It could not be exported.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The report or the data could not be written.
    #[error("cannot write")]
    Output(#[from] io::Error),
    /// An unexpected result.
    #[error("{0}")]
    Odd(&'static str),
}

/// Returns the target for an export, in seconds.
fn target_seconds(format: ExportFormat) -> f64 {
    if format == ExportFormat::Pdf { 30.0 } else { 2.0 }
}

/// The output of one process.
struct ExportFigures {
    seconds: f64,
    bytes: f64,
    peak: f64,
}

impl ExportBench {
    /// Runs the benchmark and writes the report.
    pub(crate) fn execute(
        &self,
        out: &mut dyn Write,
        progress: &mut dyn Write,
    ) -> Result<(), ExportsError> {
        files::create_dir(&self.dir)?;
        let dir = files::absolute(&self.dir)?;
        writeln!(progress, "building a chat log of {} messages", self.messages)?;
        let home = tempfile::tempdir_in(&dir)?;
        files::create_dir(&home.path().join("chats"))?;
        files::write(&home.path().join("chats/tale.json"), &document(self.messages)?)?;
        let mut rows: Vec<(ExportFormat, Vec<ExportFigures>)> =
            ExportFormat::ALL.iter().map(|format| (*format, Vec::new())).collect();
        for run in 1..=self.runs {
            writeln!(progress, "run {run} of {}", self.runs)?;
            for (format, said) in &mut rows {
                said.push(run_export(home.path(), *format)?);
            }
        }
        writeln!(out, "| format | seconds | target | MB | peak MB |")?;
        writeln!(out, "|---|---:|---:|---:|---:|")?;
        for (format, said) in &rows {
            let of = |value: fn(&ExportFigures) -> f64| median(said.iter().map(value));
            writeln!(
                out,
                "| {} | {:.2} | {:.0} | {:.1} | {:.0} |",
                format.as_str(),
                of(|said| said.seconds),
                target_seconds(*format),
                of(|said| said.bytes) / 1e6,
                of(|said| said.peak) / 1024.0,
            )?;
        }
        Ok(())
    }
}

/// Runs an export in a separate process.
fn run_export(dir: &Path, format: ExportFormat) -> Result<ExportFigures, ExportsError> {
    let output = Command::new(files::this_program()?)
        .arg("export-one")
        .arg(dir)
        .arg(format.as_str())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(ExportsError::Odd("the export process failed"));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>().unwrap_or(f64::NAN));
    let mut next = || numbers.next().ok_or(ExportsError::Odd("the export process printed nothing"));
    Ok(ExportFigures { seconds: next()?, bytes: next()?, peak: next()? })
}

impl ExportTask {
    /// Runs the export; returns the seconds, the bytes and the peak memory in kB.
    pub(crate) fn execute(&self) -> Result<String, ExportsError> {
        let start = Instant::now();
        let store = store(&self.dir)?;
        let layout =
            format::find("chatlog").ok_or(ExportsError::Odd("the chatlog format is missing"))?;
        let place = layout.locate(&store)?.sessions.pop();
        let place = place.ok_or(ExportsError::Odd("the chat log is missing"))?;
        let summary = layout.summary(&store, &place)?;
        let reader = layout.open(&store, &place)?;
        let choices = ExportOptions::defaults_for(self.format, ExportStyle::Rich);
        let export = Export {
            summary: &summary,
            reader: &*reader,
            choices: &choices,
            mask: self.format.masks_secrets().then(|| SecretRules::standard() as &dyn SecretMask),
            pictures: None,
            template: None,
            now: "2026-01-02T10:00:00Z".parse().map_err(|_| ExportsError::Odd("invalid time"))?,
        };
        let report =
            export.write(self.format, &mut io::sink(), &mut |_| ControlFlow::Continue(()))?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(format!("{seconds} {} {}", report.bytes, peak().unwrap_or(0)))
    }
}
