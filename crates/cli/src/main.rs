//! The `everturn` command.
//!
//! `arguments -> args -> commands -> output`, and every way it can end is an `exit` code.

mod answer;
mod app;
mod args;
mod browse;
mod campaigns;
mod catalog;
mod changes;
mod commands;
mod completing;
mod consent;
mod error;
mod exit;
mod faults;
mod games;
mod homes;
mod input;
mod json;
mod linggen;
mod narrator;
mod output;
mod overview;
mod panics;
mod play;
mod progress;
mod recovered;
mod replay;
mod sessions;
mod settings;
mod sources;
mod stages;
mod stories;
mod target;
mod turns;

fn main() -> std::process::ExitCode {
    panics::guard(|| app::run(&std::env::args_os().collect::<Vec<_>>())).into()
}
