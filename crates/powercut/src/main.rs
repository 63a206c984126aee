//! Cuts the power under real `everturn` processes on real file systems, and compares with what was
//! acknowledged.
//!
//! `writers -> file system -> loop device -> recorder (FUSE) -> crash image -> readers, recovery, compare`
//!
//! The modules, in reading order:
#![expect(
    clippy::disallowed_methods,
    reason = "the test looks at disks from the outside, and its own files are no stored data"
)]

mod blocks;
mod recorder;

mod bench;
mod filesystem;
mod machine;
mod program;

mod everturn;
mod formats;
mod model;
mod streams;
mod trees;

mod recording;
mod round;
mod verify;

mod report;
mod saved;

mod cli;
mod error;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::error::PowercutError;

/// The status of a test that was not run, as in other test suites.
const SKIPPED: u8 = 77;

fn main() -> ExitCode {
    match cli::Cli::parse().execute(&mut io::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Nothing is left to tell anyone if standard error is gone as well.
            writeln!(io::stderr(), "error: {}", with_causes(&error)).ok();
            match error {
                PowercutError::Unavailable(_) => ExitCode::from(SKIPPED),
                PowercutError::Usage(_) => ExitCode::from(2),
                PowercutError::Interrupted => ExitCode::from(130),
                _ => ExitCode::from(70),
            }
        }
    }
}

/// The message of `error`, followed by what caused it, on one line.
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
