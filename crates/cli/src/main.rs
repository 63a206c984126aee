//! The `everturn` command.
//!
//! `arguments -> args -> commands -> output`; every outcome is an exit code in `exit`.

mod agent_homes;
mod app;
mod args;
mod atomic_file;
mod browse;
mod campaigns;
mod catalog;
mod changes;
mod commands;
mod completion;
mod confirm;
mod error;
mod exit;
mod exports;
mod games;
mod input;
mod json;
mod lifecycle;
mod linggen;
mod narrator;
mod output;
mod overview;
mod panics;
mod play;
mod progress;
mod recovered;
mod replay;
mod report;
mod sessions;
mod settings;
mod sources;
mod store_errors;
mod trash_list;
mod turns;
mod unread;

fn main() -> std::process::ExitCode {
    panics::guard(|| app::run(&std::env::args_os().collect::<Vec<_>>())).into()
}
