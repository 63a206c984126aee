//! `everturn linggen workspace`: the state files of a workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn::linggen::{
    StateFile, read_state_file, remove_state_file, state_files, write_state_file,
};
use everturn::store::Store;
use serde_json::json;

use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::linggen::{existing_project_path, retry_linggen};
use crate::output::escape_controls;
use crate::{agent_homes, input, outside};

/// List, show or change the state files of a workspace
///
/// State files are tasks, user stories and messages: Markdown with front matter, in
/// .linggen/workspace of the workspace.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn linggen workspace list
  everturn linggen workspace show task-7
  everturn linggen workspace set task-7 < task.md
  everturn linggen workspace remove task-7 --project ~/site

A line of the list with --json:
  {"name":"task-7","type":"pm_task","fields":{…},"path":"…"}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: WorkspaceCommand,

    /// The workspace directory; default: the current directory
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum WorkspaceCommand {
    /// List the state files
    #[command(after_help = "\
Examples:
  everturn linggen workspace list")]
    List,
    /// Print a state file
    #[command(after_help = "\
Examples:
  everturn linggen workspace show task-7")]
    Show {
        /// The name of the file, with or without .md
        name: String,
    },
    /// Write a state file from stdin; its front matter must have a type
    #[command(after_help = "\
Examples:
  everturn linggen workspace set task-7 < task.md")]
    Set {
        /// The name of the file, with or without .md
        name: String,
    },
    /// Remove a state file
    #[command(after_help = "\
Examples:
  everturn linggen workspace remove task-7")]
    Remove {
        /// The name of the file, with or without .md
        name: String,
    },
}

fn missing(name: &str) -> Error {
    Error::new(Exit::Request, format!("there is no state file {name:?}"))
        .hint("everturn linggen workspace list")
}

fn print(state: &StateFile, dir: &Path, context: &mut Context) -> Result<(), EarlyExit> {
    let path = dir.join(state.file.as_str());
    if context.json {
        let line = json!({
            "name": state.name, "type": state.kind, "fields": state.fields,
            "path": path.to_string_lossy(),
        });
        return writeln!(context.out, "{line}");
    }
    let kind = state.kind.as_deref().unwrap_or("?");
    let first = state.text.lines().next().unwrap_or_default();
    let line = format!("{kind:12}  {}  {first}", state.name);
    writeln!(context.out, "{}", escape_controls(line.trim_end()))
}

/// Changes the files of a workspace.
fn change<T>(
    dir: &Path,
    mut change: impl FnMut(&Arc<dyn Store>) -> Result<T, everturn::linggen::LinggenError>,
) -> Result<T, Error> {
    let store = outside::open_to_write(dir)?;
    let changed = retry_linggen(|| change(&store))?;
    store.checkpoint()?;
    Ok(changed)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let workspace = existing_project_path(args.project.as_deref())?;
    let dir = PathBuf::from(workspace.as_str()).join(".linggen");
    match &args.what {
        WorkspaceCommand::List => {
            let Some(store) = agent_homes::open_if_present(&dir)? else {
                return Ok(Exit::Success);
            };
            let (files, findings) = state_files(&store).map_err(Error::from)?;
            for state in &files {
                print(state, &dir, context)?;
            }
            context.out.flush()?;
            print_findings(&findings);
        }
        WorkspaceCommand::Show { name } => {
            let store = agent_homes::open_if_present(&dir)?.ok_or_else(|| missing(name))?;
            let bytes = read_state_file(&store, name).map_err(Error::from)?;
            let bytes = bytes.ok_or_else(|| missing(name))?;
            write!(context.out, "{}", escape_controls(&String::from_utf8_lossy(&bytes)))?;
        }
        WorkspaceCommand::Set { name } => {
            let text = input::text("a Markdown file with front matter")?;
            let state = change(&dir, |store| write_state_file(store, name, &text))?;
            print(&state, &dir, context)?;
        }
        WorkspaceCommand::Remove { name } => {
            if !dir.is_dir() || !change(&dir, |store| remove_state_file(store, name))? {
                return Err(missing(name).into());
            }
        }
    }
    Ok(Exit::Success)
}
