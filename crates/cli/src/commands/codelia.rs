//! `everturn codelia`: commands for Codelia's home only.

mod output;
mod policy;

use everturn::codelia::FORMAT;

use super::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::linggen::require_format;

/// Tool outputs and project policies in Codelia's home
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn codelia output list
  everturn codelia policy list")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: CodeliaCommand,
}

#[derive(Debug, clap::Subcommand)]
enum CodeliaCommand {
    Output(output::Args),
    Policy(policy::Args),
}

pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    require_format(context, FORMAT)?;
    match &args.command {
        CodeliaCommand::Output(args) => output::run(args, context),
        CodeliaCommand::Policy(args) => policy::run(args, context),
    }
}
