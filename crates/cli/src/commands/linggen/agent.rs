//! `everturn linggen agent`: the agents, and how they differ in a project.

use std::path::PathBuf;

use everturn::linggen::{
    AgentOverride, SpecKind, SpecShape, find_project, read_override, remove_override, set_override,
};
use serde_json::json;

use super::specs;
use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::linggen::{
    open_home_if_present, open_home_to_change, open_home_to_write, project, project_path,
    project_to_write, retry_linggen,
};
use crate::output::{Output, escape_controls};

/// List and show agents, and change how they behave in a project
///
/// Agents are in the home and in agents/ of the workspace; of two with the same name, the one in the
/// workspace takes precedence.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn linggen agent list --all
  everturn linggen agent show ling
  everturn linggen agent override ling --interval 120 --prompt 'Check status'
  everturn linggen agent override ling --remove

A line of the list with --json:
  {"id":"ling","name":"Ling","description":"…","source":"home","path":"…","counts":true}
Output of `agent override` with --json:
  {"agent_id":"ling","idle_prompt":"…","idle_interval_secs":120}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: AgentCommand,

    /// The project directory; default: the current directory
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum AgentCommand {
    /// List the agents
    #[command(after_help = "\
Examples:
  everturn linggen agent list
  everturn linggen agent list --all")]
    List {
        /// Also list agents that are hidden by others
        #[arg(long)]
        all: bool,
    },
    /// Add an agent to the home: a Markdown file with front matter, on stdin
    #[command(after_help = "\
Examples:
  everturn linggen agent add < ling.md")]
    Add,
    /// Move an agent of the home to the trash
    #[command(after_help = "\
Examples:
  everturn linggen agent remove ling")]
    Remove {
        /// The name of the agent
        #[arg(value_name = "AGENT")]
        name: String,
    },
    /// Print the file of an agent, and list those it overrides
    #[command(after_help = "\
Examples:
  everturn linggen agent show ling")]
    Show {
        /// The name of the agent
        #[arg(value_name = "AGENT")]
        name: String,
    },
    /// Print or change what an agent does in the project when it is idle
    #[command(after_help = "\
Examples:
  everturn linggen agent override ling
  everturn linggen agent override ling --interval 120 --prompt 'Check status'
  everturn linggen agent override ling --remove")]
    Override {
        /// The name of the agent
        #[arg(value_name = "AGENT")]
        name: String,

        /// The prompt that it gets when it is idle
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,

        /// The idle time before that prompt, in seconds
        #[arg(long, value_name = "SECONDS")]
        interval: Option<u64>,

        /// Remove the override
        #[arg(long, conflicts_with_all = ["prompt", "interval"])]
        remove: bool,
    },
}

fn print(found: &AgentOverride, context: &mut Context) -> Result<(), EarlyExit> {
    let AgentOverride { agent_id, idle_prompt, idle_interval_secs } = found;
    if context.json {
        let line = json!({
            "agent_id": agent_id, "idle_prompt": idle_prompt, "idle_interval_secs": idle_interval_secs,
        });
        return writeln!(context.out, "{line}");
    }
    let interval = idle_interval_secs.map_or_else(|| "-".to_owned(), |secs| format!("{secs}s"));
    let line = format!("{agent_id}  {interval}  {}", idle_prompt.as_deref().unwrap_or("-"));
    writeln!(context.out, "{}", escape_controls(&line.replace('\n', " ")))
}

fn change_override(
    args: &Args,
    context: &mut Context,
    new: &AgentOverride,
) -> Result<(), EarlyExit> {
    let root = open_home_to_write(context)?;
    let dir = project_to_write(&root, args.project.as_deref())?.dir;
    let before = read_override(&root.store(), &dir, &new.agent_id).map_err(Error::from)?;
    // What is not given stays.
    let new = AgentOverride {
        agent_id: new.agent_id.clone(),
        idle_prompt: new
            .idle_prompt
            .clone()
            .or_else(|| before.as_ref().and_then(|before| before.idle_prompt.clone())),
        idle_interval_secs: new
            .idle_interval_secs
            .or_else(|| before.as_ref().and_then(|before| before.idle_interval_secs)),
    };
    retry_linggen(|| set_override(&root.store(), &dir, &new))?;
    print(&new, context)?;
    root.close()?;
    Ok(())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let workspace = args.project.as_deref();
    match &args.what {
        AgentCommand::List { all } => {
            return specs::list(SpecKind::Agent, *all, workspace, context);
        }
        AgentCommand::Add => {
            return specs::add(SpecKind::Agent, SpecShape::Flat, workspace, context);
        }
        AgentCommand::Remove { name } => return specs::remove(SpecKind::Agent, name, context),
        AgentCommand::Show { name } => {
            return specs::show(SpecKind::Agent, name, workspace, context);
        }
        AgentCommand::Override { name, remove: true, .. } => {
            let root = open_home_to_change(context)?;
            let dir = project(&root, workspace)?.dir;
            if !retry_linggen(|| remove_override(&root.store(), &dir, name))? {
                let what = format!("{name} has no override in this project");
                return Err(Error::new(Exit::Request, what).into());
            }
            root.close()?;
        }
        AgentCommand::Override { name, prompt: None, interval: None, .. } => {
            let Some(root) = open_home_if_present(context)? else { return Ok(Exit::Success) };
            let found = find_project(&root.store(), &project_path(workspace)?);
            let found = match found.map_err(Error::from)? {
                Some(project) => read_override(&root.store(), &project.dir, name),
                None => Ok(None),
            };
            match found.map_err(Error::from)? {
                Some(found) => print(&found, context)?,
                None => Output::status(&format!("{name} has no override in this project")),
            }
        }
        AgentCommand::Override { name, prompt, interval, .. } => {
            let new = AgentOverride {
                agent_id: name.clone(),
                idle_prompt: prompt.clone(),
                idle_interval_secs: *interval,
            };
            change_override(args, context, &new)?;
        }
    }
    Ok(Exit::Success)
}
