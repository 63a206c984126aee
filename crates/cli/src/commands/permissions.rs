//! `everturn linggen permissions`: what tools may do in a workspace without asking.

use std::path::PathBuf;

use everturn::linggen::{FORMAT, allow, allowed, revoke};
use serde_json::json;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::linggen::{project_path, require_format, retry_linggen};
use crate::output::{Output, escape_controls};
use crate::{agent_homes, outside};

/// List, allow or revoke tool permissions of a workspace
///
/// Permissions are stored in .linggen/permissions.json of the workspace, where Linggen reads them.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn linggen permissions list
  everturn linggen permissions allow Write Edit
  everturn linggen permissions revoke Write --project ~/site

Output with --json:
  {"tool_allows":["Edit"],"changed":["Write"],"path":"…"}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: PermissionsCommand,

    /// The workspace directory; default: the current directory
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum PermissionsCommand {
    /// List the allowed tools
    #[command(after_help = "\
Examples:
  everturn linggen permissions list
  everturn linggen permissions list --project ~/site")]
    List,
    /// Allow tools
    #[command(after_help = "\
Examples:
  everturn linggen permissions allow Write Edit")]
    Allow {
        /// The names of the tools
        #[arg(required = true)]
        tools: Vec<String>,
    },
    /// Revoke permissions of tools
    #[command(after_help = "\
Examples:
  everturn linggen permissions revoke Write --project ~/site")]
    Revoke {
        /// The names of the tools
        #[arg(required = true)]
        tools: Vec<String>,
    },
}

/// Returns the permissions of a workspace that may have no settings yet.
fn read_allowed(dir: &std::path::Path) -> Result<Vec<String>, Error> {
    match agent_homes::open_if_present(dir)? {
        Some(store) => Ok(allowed(&store)?),
        None => Ok(Vec::new()),
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    require_format(context, FORMAT)?;
    let workspace = PathBuf::from(project_path(args.project.as_deref())?.as_str());
    if !workspace.is_dir() {
        let what = format!("there is no directory {}", workspace.display());
        return Err(Error::new(Exit::Request, what).into());
    }
    let dir = workspace.join(".linggen");
    let mut changed = Vec::new();
    if let PermissionsCommand::Allow { tools } | PermissionsCommand::Revoke { tools } = &args.what {
        let store = outside::open_to_write(&dir)?;
        for tool in tools {
            let is_change = match &args.what {
                PermissionsCommand::Allow { .. } => retry_linggen(|| allow(&store, tool))?,
                _ => retry_linggen(|| revoke(&store, tool))?,
            };
            changed.extend(is_change.then(|| tool.clone()));
        }
        store.checkpoint().map_err(Error::from)?;
    }
    let tools = read_allowed(&dir)?;
    if context.json {
        let path = dir.join("permissions.json").to_string_lossy().into_owned();
        let answer = json!({"tool_allows": tools, "changed": changed, "path": path});
        writeln!(context.out, "{answer}")?;
        return Ok(Exit::Success);
    }
    for tool in &tools {
        writeln!(context.out, "{}", escape_controls(tool))?;
    }
    context.out.flush()?;
    if tools.is_empty() {
        Output::status("no tool is allowed without asking");
    }
    Ok(Exit::Success)
}
