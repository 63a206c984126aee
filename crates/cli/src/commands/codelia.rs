//! `everturn codelia`: commands for Codelia's home only.

mod log;
mod output;
mod policy;
mod session;

use everturn::codelia::FORMAT;

use super::{Context, run};
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::linggen::require_format;

/// Manage the home of Codelia: runs, tool outputs, logs and policies
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn codelia run list
  everturn codelia run show 01JABCDE
  everturn codelia output list
  everturn codelia policy list")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: CodeliaCommand,
}

#[derive(Debug, clap::Subcommand)]
enum CodeliaCommand {
    Run(run::Args),
    Output(output::Args),
    Policy(policy::Args),
    Log(log::Args),
    Session(session::Args),
}

pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    require_format(context, FORMAT)?;
    match &args.command {
        CodeliaCommand::Run(args) => run::run(args, context),
        CodeliaCommand::Output(args) => output::run(args, context),
        CodeliaCommand::Policy(args) => policy::run(args, context),
        CodeliaCommand::Log(args) => log::run(args, context),
        CodeliaCommand::Session(args) => session::run(args, context),
    }
}
