//! `everturn completions`: prints a completion script for a shell.

use clap_complete::Shell;

use super::Context;
use crate::completion;
use crate::error::EarlyExit;
use crate::exit::Exit;

/// Print the completion script for a shell
///
/// Completes commands, options, option values and session IDs. The script gets them from this
/// program, so it stays valid after an update.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn completions fish > ~/.config/fish/completions/everturn.fish
  everturn completions zsh > ~/.zfunc/_everturn
  eval "$(everturn completions bash)""#)]
pub(crate) struct Args {
    /// The shell that will read the script
    shell: Shell,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    context.out.write_own(&completion::script(&args.shell.to_string())?)?;
    Ok(Exit::Success)
}
