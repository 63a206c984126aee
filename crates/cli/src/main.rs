//! The `everturn` command.
//!
//! `arguments -> args -> commands -> output`, and every way it can end is an `exit` code.

mod app;
mod args;
mod commands;
mod error;
mod exit;
mod faults;
mod games;
mod output;
mod panics;
mod progress;
mod settings;

fn main() -> std::process::ExitCode {
    panics::guard(|| app::run(std::env::args_os().collect())).into()
}
