//! The commands, one file each, all of the same form: `Args` has the arguments and the help, `run` the behaviour.
//!
//! A new command is a file, its `mod` line, and its line in the registry.

mod adopt;
mod append;
mod archive;
mod branches;
mod browse;
mod campaign;
mod check;
mod codelia;
mod commit;
mod complete;
mod completions;
mod config;
mod context;
mod convert;
mod copy;
mod credentials;
mod diff;
mod edit;
mod export;
mod fork;
mod import;
mod linggen;
mod ls;
mod man;
mod mark;
mod mcp;
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
mod serve;
mod session;
mod settings;
mod show;
mod snapshot;
mod sources;
mod state;
mod stats;
mod tool;
mod trash;
mod trust;
mod unarchive;
mod undo;
mod unpin;
mod verify;

pub(crate) use crate::context::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;

macro_rules! registry {
    ($($heading:literal { $($(#[$attribute:meta])* $command:ident => $module:ident,)* })*) => {
        /// A command with its arguments.
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum Command {
            $($($(#[$attribute])* $command($module::Args),)*)*
        }

        impl Command {
            /// Runs the command.
            pub(crate) fn run(&self, context: &mut Context) -> Result<Exit, EarlyExit> {
                match self {
                    $($(Command::$command(args) => $module::run(args, context),)*)*
                }
            }
        }

        /// The headings of `--help`, with the commands below each.
        pub(crate) const GROUPS: &[(&str, &[&str])] = &[$(($heading, &[$(stringify!($module),)*]),)*];
    };
}

// In the order of `--help`. Hidden commands are old spellings.
registry! {
    "Play" {
        Play => play,
        New => new,
        Append => append,
        Session => session,
        Edit => edit,
        Regenerate => regenerate,
        Scene => scene,
        Campaign => campaign,
        Settings => settings,
        Tool => tool,
    }
    "Sessions" {
        Ls => ls,
        Pause => pause,
        Resume => resume,
        Complete => complete,
        Archive => archive,
        Unarchive => unarchive,
        Trash => trash,
        Restore => restore,
        Purge => purge,
        Pin => pin,
        Unpin => unpin,
        Retention => retention,
    }
    "View and search" {
        Show => show,
        State => state,
        Search => search,
        Browse => browse,
        Stats => stats,
        Context => context,
        Sources => sources,
        Serve => serve,
        Mcp => mcp,
    }
    "Time travel" {
        Replay => replay,
        Diff => diff,
        Branches => branches,
        Undo => undo,
        Rewind => rewind,
        Fork => fork,
        Mark => mark,
        Snapshot => snapshot,
    }
    "Share and convert" {
        Export => export,
        Import => import,
        Convert => convert,
        Copy => copy,
    }
    "Keep safe" {
        Check => check,
        Repair => repair,
        Adopt => adopt,
        Scan => scan,
        Scrub => scrub,
        Seal => seal,
        Verify => verify,
        Commit => commit,
    }
    "Agent homes" {
        Codelia => codelia,
        Linggen => linggen,
        #[command(hide = true)]
        Run => run,
        #[command(hide = true)]
        Project => project,
        #[command(hide = true)]
        Mission => mission,
        #[command(hide = true)]
        Plan => plan,
        #[command(hide = true)]
        Permissions => permissions,
    }
    "Setup" {
        Config => config,
        Trust => trust,
        Credentials => credentials,
        Completions => completions,
        Man => man,
    }
}
