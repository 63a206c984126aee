//! `everturn codelia`: the commands that only Codelia's home has.

use super::{Context, run};
use crate::error::EarlyExit;
use crate::exit::Exit;

/// Runs and tool outputs in Codelia's home
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn codelia run list
  everturn codelia run evict --most 100000000")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: CodeliaCommand,
}

#[derive(Debug, clap::Subcommand)]
enum CodeliaCommand {
    Run(run::Args),
}

pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    context.layout = Some("codelia".to_owned());
    match &args.command {
        CodeliaCommand::Run(args) => run::run(args, context),
    }
}
