//! Measures how many bytes per second are scanned for secrets.

use std::io::{self, Write};
use std::time::Instant;

use clap::{Args, value_parser};
use everturn::scan::SecretRules;
use serde_json::json;
use thiserror::Error;

use crate::stats::median;

/// The target, in megabytes per second.
const TARGET: f64 = 100.0;

/// What the command line says about the benchmark of scans.
#[derive(Debug, Args)]
pub(crate) struct ScanBench {
    /// Size of each text in megabytes
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = value_parser!(u32).range(1..))]
    megabytes: u32,

    /// Number of runs for each text; the report shows the median
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
    runs: u32,

    /// Print one JSON document instead of a table
    #[arg(long)]
    json: bool,
}

/// An error of this benchmark.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum ScanError {
    /// The report could not be written.
    #[error("cannot write the report")]
    Output(#[from] io::Error),
    /// A scan found the wrong number of secrets.
    #[error("{text}: found {found} secrets, expected {made}")]
    Wrong {
        /// The text.
        text: &'static str,
        /// The number of secrets found.
        found: usize,
        /// The number of secrets in the text.
        made: usize,
    },
}

/// A deterministic pseudo-random generator.
struct SeededRandom(u64);

impl SeededRandom {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn letters(&mut self, count: usize) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let letter = |it: u64| LETTERS.get(usize::try_from(it % 62).unwrap_or(0)).copied();
        (0..count).filter_map(|_| letter(self.next()).map(char::from)).collect()
    }
}

const WORDS: &[&str] = &[
    "the",
    "session",
    "token",
    "password",
    "file",
    "of",
    "user:",
    "is",
    "changed",
    "and",
    "api",
    "in",
    "src/main.rs",
    "https://docs.example.org/page",
    "secret",
    "run",
    "error",
    "key",
    "with",
    "tests",
    "\\n",
    "function",
    "return",
];

/// Returns lines as coding agents write them: messages and tool output.
fn agent_records(bytes: usize, secrets: &mut usize) -> String {
    let mut random = SeededRandom(7);
    let mut text = String::with_capacity(bytes + 4096);
    while text.len() < bytes {
        let id = random.letters(24);
        text.push_str(&format!(
            "{{\"id\":\"msg_{id}\",\"usage\":{{\"input_tokens\":1834}},\"text\":\""
        ));
        for _ in 0..200 {
            let at = usize::try_from(random.next()).unwrap_or(0) % WORDS.len();
            text.push_str(WORDS.get(at).copied().unwrap_or_default());
            text.push(' ');
        }
        if random.next().is_multiple_of(500) {
            text.push_str(&format!("gsk_{} ", random.letters(52)));
            *secrets += 1;
        }
        text.push_str("\"}\n");
    }
    text
}

/// Returns one long run of base64, as in images.
fn pictures(bytes: usize) -> String {
    let mut random = SeededRandom(11);
    let mut text = String::with_capacity(bytes + 4096);
    while text.len() < bytes {
        text.push_str("{\"data\":\"");
        text.push_str(&random.letters(200_000));
        text.push_str("\"}\n");
    }
    text
}

impl ScanBench {
    pub(crate) fn execute(&self, out: &mut dyn Write) -> Result<(), ScanError> {
        let bytes = usize::try_from(self.megabytes).unwrap_or(1) * 1_000_000;
        let mut secrets = 0;
        let lines = agent_records(bytes, &mut secrets);
        let rows = [self.row("messages and tool output", &lines, Some(secrets))?];
        drop(lines);
        let rows = [rows, [self.row("images in base64", &pictures(bytes), None)?]].concat();
        if self.json {
            let rows: Vec<_> = rows
                .iter()
                .map(|(text, speed)| json!({"text": text, "megabytesPerSecond": speed}))
                .collect();
            writeln!(out, "{}", json!({"target": TARGET, "rows": rows}))?;
            return Ok(());
        }
        writeln!(out, "| text | MB/s | at least |\n|---|---:|---:|")?;
        for (text, speed) in rows {
            writeln!(out, "| {text} | {speed:.0} | {TARGET:.0} |")?;
        }
        Ok(())
    }

    /// Scans a text repeatedly; returns the median in megabytes per second.
    fn row(
        &self,
        text: &'static str,
        content: &str,
        made: Option<usize>,
    ) -> Result<(&'static str, f64), ScanError> {
        let rules = SecretRules::standard();
        let mut speeds = Vec::new();
        for _ in 0..self.runs {
            let start = Instant::now();
            let found = rules.find(content).len();
            speeds.push(content.len() as f64 / 1e6 / start.elapsed().as_secs_f64());
            if let Some(made) = made.filter(|made| *made != found) {
                return Err(ScanError::Wrong { text, found, made });
            }
        }
        Ok((text, median(speeds)))
    }
}
