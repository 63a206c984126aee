//! `everturn linggen`: commands for Linggen's home only.

mod agent;
mod daemon;
mod log;
pub(super) mod session;
mod skill;
mod specs;
mod workspace;

use everturn::linggen::FORMAT;

use super::{Context, mission, permissions, plan, project, run};
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::linggen::require_format;

/// Manage the home of Linggen: projects, missions, agents, runs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn linggen project list
  everturn linggen plan list
  everturn linggen skill list
  everturn linggen log show")]
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
    Agent(agent::Args),
    Skill(skill::Args),
    Session(session::Args),
    Run(run::Args),
    Log(log::Args),
    Daemon(daemon::Args),
    Workspace(workspace::Args),
}

pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    require_format(context, FORMAT)?;
    match &args.command {
        LinggenCommand::Project(args) => project::run(args, context),
        LinggenCommand::Mission(args) => mission::run(args, context),
        LinggenCommand::Plan(args) => plan::run(args, context),
        LinggenCommand::Permissions(args) => permissions::run(args, context),
        LinggenCommand::Agent(args) => agent::run(args, context),
        LinggenCommand::Skill(args) => skill::run(args, context),
        LinggenCommand::Session(args) => session::run(args, context),
        LinggenCommand::Run(args) => run::run(args, context),
        LinggenCommand::Log(args) => log::run(args, context),
        LinggenCommand::Daemon(args) => daemon::run(args, context),
        LinggenCommand::Workspace(args) => workspace::run(args, context),
    }
}
