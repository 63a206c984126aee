//! Cuts the power under real `everturn` processes on real file systems, and compares with what was acknowledged.
//!
//! `writers -> file system -> loop device -> recorder (FUSE) -> crash image -> readers, recovery, compare`
//!
//! A `Round` makes a `Recording` of a disk and its writers. Each writer keeps a `Model` of what was acknowledged. At
//! each chosen point the round makes a crash image, and an `Examination` compares it with the models.
//!
//! The modules, in reading order:
//!
//! - `blocks`, `recorder`: the content of a disk, and a disk that records writes and flushes.
//! - `bench`, `filesystem`, `machine`, `program`: mounts the disk; the file systems; checks and cleans the machine.
//! - `everturn`, `formats`, `model`, `streams`, `trees`: the processes, the formats, what was acknowledged, the
//!   writers.
//! - `recording`, `round`, `verify`: crash points and images, one round, the comparison.
//! - `report`, `saved`: the counts, and recordings in files.
//! - `cli`, `error`: the command line and the errors.
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
            // If standard error is gone as well, the error cannot be reported.
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

/// Returns the message of `error`, followed by its causes, on one line.
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
