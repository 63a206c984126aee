//! `everturn linggen skill`: the skills that agents have.

use std::path::PathBuf;

use everturn::linggen::{SpecKind, SpecShape};

use super::specs;
use crate::context::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;

/// List and show skills, and which one is used
///
/// Skills are in the home, in the homes of Claude Code and Codex, and in .linggen/skills of the
/// workspace, as NAME.md or NAME/SKILL.md. Of several with the same name, the last one takes
/// precedence.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn linggen skill list --all
  everturn linggen skill show review

A line of the list with --json:
  {"id":"review","name":"review","description":"…","source":"workspace","path":"…","counts":true}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: SkillCommand,

    /// The workspace directory; default: the current directory
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum SkillCommand {
    /// List the skills
    #[command(after_help = "\
Examples:
  everturn linggen skill list
  everturn linggen skill list --all")]
    List {
        /// Also list skills that are hidden by others
        #[arg(long)]
        all: bool,
    },
    /// Add a skill to the home: a Markdown file with front matter, on stdin
    #[command(after_help = "\
Examples:
  everturn linggen skill add < review.md
  everturn linggen skill add --nested < review.md")]
    Add {
        /// Write it as SKILL.md in a directory of its own
        #[arg(long)]
        nested: bool,
    },
    /// Move a skill of the home to the trash
    #[command(after_help = "\
Examples:
  everturn linggen skill remove review")]
    Remove {
        /// The name of the skill
        #[arg(value_name = "SKILL")]
        name: String,
    },
    /// Print the file of a skill, and list those it overrides
    #[command(after_help = "\
Examples:
  everturn linggen skill show review")]
    Show {
        /// The name of the skill
        #[arg(value_name = "SKILL")]
        name: String,
    },
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let workspace = args.project.as_deref();
    match &args.what {
        SkillCommand::List { all } => specs::list(SpecKind::Skill, *all, workspace, context),
        SkillCommand::Add { nested } => {
            let shape = if *nested { SpecShape::Nested } else { SpecShape::Flat };
            specs::add(SpecKind::Skill, shape, workspace, context)
        }
        SkillCommand::Remove { name } => specs::remove(SpecKind::Skill, name, context),
        SkillCommand::Show { name } => specs::show(SpecKind::Skill, name, workspace, context),
    }
}
