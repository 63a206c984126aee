//! `everturn linggen project`: which directory of Linggen's home belongs to which project.

use std::path::PathBuf;

use everturn::linggen::{Project, ProjectPath, RehomePlan, plan_rehome, projects, rehome};
use serde_json::json;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::json::JsonObject;
use crate::linggen::{
    open_home, open_home_if_present, open_home_to_change, project_path, retry_linggen,
};
use crate::open_root::OpenRoot;
use crate::output::{Output, escape_controls};
use crate::settings;

/// List projects in Linggen's home, or update the path of a moved project
///
/// The name of a project's directory is derived from its path. If two projects would get the same
/// name, the second gets a number, so that their data stays separate.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn linggen project list
  everturn linggen project rehome --dry-run /old/site ~/site
  everturn linggen project rehome /old/site ~/site

A line of the list with --json:
  {"path":"/srv/site","name":"site","opened":"2023-11-14T22:13:20Z","dir":"…","formerly":[]}
Output of `project rehome` with --json:
  {"from":"/old/site","to":"/srv/site","dir":"…","dryRun":false,"moves":2,"stays":[]}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: ProjectCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ProjectCommand {
    /// List the projects
    #[command(after_help = "\
Examples:
  everturn linggen project list
  everturn linggen project list --json")]
    List,
    /// Change the path of a project and move its sessions, runs and missions
    #[command(after_help = "\
Examples:
  everturn linggen project rehome --dry-run /old/site ~/site
  everturn linggen project rehome /old/site ~/site")]
    Rehome {
        /// The old path
        from: PathBuf,

        /// The new path
        to: PathBuf,

        /// Print the moves and change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

fn line(project: &Project, root: &OpenRoot, context: &mut Context) -> Result<(), EarlyExit> {
    let path = project.path.as_ref().map(ProjectPath::as_str);
    if context.json {
        let object = match path {
            Some(path) => JsonObject::new().text("path", path),
            None => JsonObject::new().raw("path", "null"),
        };
        let object = object
            .text("name", &project.name)
            .time("opened", project.opened)
            .text("dir", &root.shown(&project.dir))
            .raw("formerly", &json!(project.formerly).to_string());
        return writeln!(context.out, "{}", object.close());
    }
    let opened = project.opened.map_or_else(|| "?".to_owned(), |time| time.to_string());
    let line = format!("{}  {opened}  {}", path.unwrap_or("?"), project.dir);
    writeln!(context.out, "{}", escape_controls(&line))
}

fn print(
    done: &RehomePlan,
    dry_run: bool,
    root: &OpenRoot,
    context: &mut Context,
) -> Result<(), EarlyExit> {
    let stays: Vec<&str> = done.stays.iter().map(|file| file.as_str()).collect();
    if context.json {
        let answer = json!({
            "from": done.from.path.as_ref().map(ProjectPath::as_str), "to": done.to.as_str(),
            "dir": root.shown(&done.dir), "dryRun": dry_run, "moves": done.moves.len(), "stays": stays,
        });
        return writeln!(context.out, "{answer}");
    }
    for (from, to) in &done.moves {
        writeln!(context.out, "{from} -> {to}")?;
    }
    context.out.flush()?;
    for file in stays {
        Output::status(&format!("{file} is not moved: a file of that name already exists"));
    }
    if dry_run {
        Output::status("nothing was changed");
    }
    Ok(())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    match &args.what {
        ProjectCommand::List => {
            let Some(root) = open_home_if_present(context)? else { return Ok(Exit::Success) };
            let found = projects(&root.store()).map_err(Error::from)?;
            for project in &found.projects {
                line(project, &root, context)?;
            }
            context.out.flush()?;
            print_findings(&found.findings);
        }
        ProjectCommand::Rehome { from, to, dry_run } => {
            let (from, to) = (project_path(Some(from))?, project_path(Some(to))?);
            if *dry_run {
                let root = open_home(context)?;
                let plan = plan_rehome(&root.store(), &from, &to).map_err(Error::from)?;
                print(&plan, true, &root, context)?;
                return Ok(Exit::Success);
            }
            let root = open_home_to_change(context)?;
            let done = retry_linggen(|| rehome(&root.store(), &from, &to, settings::now()))?;
            print(&done, false, &root, context)?;
            root.close()?;
        }
    }
    Ok(Exit::Success)
}
