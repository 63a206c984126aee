//! What a shell offers while a command line is being written: commands, options, and the ids of sessions.
//!
//! The script that a shell reads knows nothing itself: it runs `everturn` with a variable set, and the answer is made
//! from the declaration of the command line and from the sessions that there are at that moment.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use everturn_catalog::Detail;

use crate::args::{self, Arguments};
use crate::commands::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::{self, Output, harmless};
use crate::settings;

/// The variable by which the script of a shell says that it asks.
const ASKED: &str = "EVERTURN_COMPLETE";

/// How arguments are called that stand for a session.
const SESSION: &str = "SESSION";

/// The script that a shell reads.
pub(crate) fn script(shell: &str) -> Result<Vec<u8>, Error> {
    let shells = Shells::builtins();
    let missing = || Error::new(Exit::Request, format!("there is no script for {shell}"));
    let completer = shells.completer(shell).ok_or_else(missing)?;
    let mut script = Vec::new();
    completer
        .write_registration(ASKED, "everturn", "everturn", "everturn", &mut script)
        .map_err(|cause| missing().caused_by(cause))?;
    Ok(script)
}

/// Answers a shell that asks what may come next; says whether one did.
pub(crate) fn answer(words: &[OsString]) -> Result<bool, Error> {
    if settings::variable(ASKED).is_none() {
        return Ok(false);
    }
    // Whatever is said now would stand in the middle of what the user is writing.
    output::be_silent();
    let completing = CompleteEnv::with_factory(|| command(words)).var(ASKED);
    completing
        .try_complete(words, Some(&settings::here()))
        .map_err(|cause| Error::new(Exit::Request, "cannot complete the line").caused_by(cause))
}

/// The command line with the sessions that there are. The words tell where they are.
fn command(words: &[OsString]) -> Command {
    let value = |option: &str| {
        args::values(words.iter().filter_map(|word| word.to_str()), option)
            .last()
            .map(str::to_owned)
    };
    let root = value("--root").or_else(|| settings::variable("EVERTURN_ROOT")).map(PathBuf::from);
    let layout = value("--layout");
    let sessions = ArgValueCandidates::new(move || {
        let (root, layout) = (root.clone(), layout.clone());
        sessions(&Context { root, layout, json: false, out: Output::stdout() })
    });
    offering(Arguments::command(), &sessions)
}

/// A command whose arguments that stand for sessions, and those of its commands, offer them.
fn offering(command: Command, sessions: &ArgValueCandidates) -> Command {
    let is_session = |arg: &Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        names.iter().any(|name| name.as_str() == SESSION)
    };
    command
        .mut_args(|arg| if is_session(&arg) { arg.add(sessions.clone()) } else { arg })
        .mut_subcommands(|command| offering(command, sessions))
}

/// The ids of the sessions, each with its title. What cannot be read is not offered.
fn sessions(context: &Context) -> Vec<CompletionCandidate> {
    let listed = || context.collection()?.sessions(Detail::Names);
    let Ok(found) = listed() else { return Vec::new() };
    let candidate = |summary: everturn::view::Summary| {
        let title = harmless(&summary.title).replace(['\n', '\t'], " ");
        CompletionCandidate::new(summary.place.id).help(Some(title.into()))
    };
    found.sessions.into_iter().map(|session| candidate(session.summary)).collect()
}
