//! Measures Everturn and its peers in one run.
//!
//! `workload -> row (peer + sharing) -> run (timed, then read back) -> stats -> table or JSON`
//!
//! The modules, in reading order:

mod workload;

mod peer;
mod peers;
mod sharing;

mod run;
mod stats;

mod game;

mod agent_homes;
mod campaign;
mod chatlog;
mod corpus;
mod export;
mod postgres;
mod search;
mod secrets;

mod machine;
mod report;

mod cli;
mod files;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::Cli::parse().execute(&mut io::stdout(), &mut io::stderr()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr is gone as well, nothing can be reported.
            writeln!(io::stderr(), "error: {}", with_causes(&error)).ok();
            ExitCode::FAILURE
        }
    }
}

/// Formats `error` and its causes on one line.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
