//! The commands, one file each and all of the same shape: what `--help` says about it stands on its
//! `Args`, what it does in its `run`.
//!
//! A new command is a file, its `mod` line, and its line in the registry.

mod append;
mod archive;
mod branches;
mod browse;
mod campaign;
mod check;
mod commit;
mod complete;
mod completions;
mod config;
mod context;
mod convert;
mod credentials;
mod diff;
mod edit;
mod export;
mod fork;
mod import;
mod ls;
mod man;
mod mark;
mod mission;
mod new;
mod pause;
mod permissions;
mod pin;
mod plan;
mod play;
mod project;
mod purge;
mod regenerate;
mod repair;
mod replay;
mod restore;
mod resume;
mod retention;
mod rewind;
mod run;
mod scan;
mod scene;
mod scrub;
mod seal;
mod search;
mod settings;
mod show;
mod snapshot;
mod sources;
mod state;
mod stats;
mod trash;
mod unarchive;
mod undo;
mod unpin;
mod verify;

use std::path::PathBuf;

pub(crate) use ls::{ColumnWidths, line as session_line};

use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::output::Output;

/// What every command gets besides its own arguments.
pub(crate) struct Context {
    /// The data root, if the user named one.
    pub(crate) root: Option<PathBuf>,
    /// The only layout to look at, if the user named one.
    pub(crate) layout: Option<String>,
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
            pub(crate) fn run(&self, context: &mut Context) -> Result<Exit, EarlyExit> {
                match self {
                    $(Command::$command(args) => $module::run(args, context),)*
                }
            }
        }
    };
}

// The order is that of `--help`.
registry! {
    Play => play,
    New => new,
    Append => append,
    Edit => edit,
    Regenerate => regenerate,
    Sources => sources,
    Ls => ls,
    Search => search,
    Browse => browse,
    Show => show,
    State => state,
    Diff => diff,
    Replay => replay,
    Branches => branches,
    Stats => stats,
    Export => export,
    Context => context,
    Scene => scene,
    Campaign => campaign,
    Settings => settings,
    Mark => mark,
    Snapshot => snapshot,
    Undo => undo,
    Rewind => rewind,
    Fork => fork,
    Pause => pause,
    Resume => resume,
    Complete => complete,
    Archive => archive,
    Unarchive => unarchive,
    Trash => trash,
    Restore => restore,
    Purge => purge,
    Retention => retention,
    Pin => pin,
    Unpin => unpin,
    Config => config,
    Credentials => credentials,
    Run => run,
    Project => project,
    Mission => mission,
    Plan => plan,
    Permissions => permissions,
    Check => check,
    Repair => repair,
    Scan => scan,
    Scrub => scrub,
    Seal => seal,
    Verify => verify,
    Import => import,
    Convert => convert,
    Commit => commit,
    Completions => completions,
    Man => man,
}
