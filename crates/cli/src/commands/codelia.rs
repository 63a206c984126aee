//! `everturn codelia`: commands for Codelia's home only.

use everturn::codelia::FORMAT;

use super::{Context, run};
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::linggen::require_format;

/// Manage the home of Codelia: runs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn codelia run list
  everturn codelia run show 01JABCDE")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: CodeliaCommand,
}

#[derive(Debug, clap::Subcommand)]
enum CodeliaCommand {
    Run(run::Args),
}

pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    require_format(context, FORMAT)?;
    match &args.command {
        CodeliaCommand::Run(args) => run::run(args, context),
    }
}
