//! `everturn linggen`: commands for Linggen's home only.

use super::{Context, mission, permissions, plan, project};
use crate::error::EarlyExit;
use crate::exit::Exit;

/// Projects, missions, plans and permissions in Linggen's home
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn linggen project list
  everturn linggen plan list")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: LinggenCommand,
}

#[derive(Debug, clap::Subcommand)]
enum LinggenCommand {
    Project(project::Args),
    Mission(mission::Args),
    Plan(plan::Args),
    Permissions(permissions::Args),
}

pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    context.layout = Some(everturn::linggen::FORMAT.name().to_owned());
    match &args.command {
        LinggenCommand::Project(args) => project::run(args, context),
        LinggenCommand::Mission(args) => mission::run(args, context),
        LinggenCommand::Plan(args) => plan::run(args, context),
        LinggenCommand::Permissions(args) => permissions::run(args, context),
    }
}
