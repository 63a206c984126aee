//! The commands, one file each and all of the same shape: what `--help` says about it stands on its
//! `Args`, what it does in its `run`.
//!
//! A new command is a file, its `mod` line, and its line in the registry.

mod check;
mod commit;
mod completions;
mod import;
mod man;
mod repair;

use std::path::PathBuf;

use crate::error::Stop;
use crate::exit::Exit;
use crate::output::Output;

/// What every command gets besides its own arguments.
pub(crate) struct Context {
    /// The data root, if the user named one.
    pub(crate) root: Option<PathBuf>,
    /// Whether data is printed as JSON.
    pub(crate) json: bool,
    /// Where data goes.
    pub(crate) out: Output,
}

macro_rules! registry {
    ($($command:ident => $module:ident,)*) => {
        /// A command with its arguments.
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum Command {
            $($command($module::Args),)*
        }

        impl Command {
            /// Does what the command is for.
            pub(crate) fn run(&self, context: &mut Context) -> Result<Exit, Stop> {
                match self {
                    $(Command::$command(args) => $module::run(args, context),)*
                }
            }
        }
    };
}

// The order is that of `--help`.
registry! {
    Check => check,
    Repair => repair,
    Import => import,
    Commit => commit,
    Completions => completions,
    Man => man,
}
