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
mod codelia;
mod commands;
mod completion;
mod confirm;
mod context;
mod error;
mod exit;
mod exports;
mod findings;
mod format_names;
mod games;
mod input;
mod json;
mod lifecycle;
mod linggen;
mod narrator;
mod open_root;
mod output;
mod outside;
mod overview;
mod panics;
mod picture_files;
mod play;
mod printable;
mod progress;
mod recovered;
mod replay;
mod report;
mod retry;
mod root_access;
mod server_roots;
mod session_line;
mod sessions;
mod settings;
mod sources;
mod store_errors;
mod trash_list;
mod turns;
mod unparsed_words;
mod unread;

fn main() -> std::process::ExitCode {
    panics::guard(|| app::run(&std::env::args_os().collect::<Vec<_>>())).into()
}
