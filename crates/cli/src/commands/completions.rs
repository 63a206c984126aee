//! `everturn completions`: lets a shell complete the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use super::Context;
use crate::args::Arguments;
use crate::error::Stop;
use crate::exit::Exit;

/// Print the completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn completions fish > ~/.config/fish/completions/everturn.fish
  everturn completions zsh > ~/.zfunc/_everturn
  eval "$(everturn completions bash)""#)]
pub(crate) struct Args {
    /// The shell that will read the script
    shell: Shell,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    // The generator panics when its writer fails, and a vector never does.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "everturn", &mut script);
    context.out.write_all(&script)?;
    Ok(Exit::Fine)
}
