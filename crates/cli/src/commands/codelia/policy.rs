//! `everturn codelia policy`: how much Codelia may do in each project without asking.

use std::path::{Path, PathBuf};

use everturn::codelia::{ApprovalMode, ProjectPolicies};
use serde_json::json;

use crate::agent_homes::{AgentHome, home_of};
use crate::codelia::change_policy;
use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::{Output, escape_controls};
use crate::settings;

/// List, set or revoke the approval modes of projects
///
/// The modes are minimal, trusted and full-access. The mode of a project takes precedence over the
/// default.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn codelia policy list
  everturn codelia policy set trusted --project /srv/app
  everturn codelia policy revoke --project /srv/app
  everturn codelia policy revoke --default

A line of the list with --json; "project" is null for the default:
  {"project":"/srv/app","approval_mode":"trusted"}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: PolicyCommand,
}

#[derive(Debug, clap::Args)]
struct PolicyTarget {
    /// The project directory; default: the current directory
    #[arg(long, value_name = "DIR", conflicts_with = "default")]
    project: Option<PathBuf>,

    /// The default for projects without a mode of their own
    #[arg(long)]
    default: bool,
}

#[derive(Debug, clap::Subcommand)]
enum PolicyCommand {
    /// List the default and the modes of all projects
    #[command(after_help = "\
Examples:
  everturn codelia policy list")]
    List,
    /// Set the mode of a project
    #[command(after_help = "\
Examples:
  everturn codelia policy set trusted
  everturn codelia policy set minimal --default")]
    Set {
        /// The mode: minimal, trusted or full-access
        mode: String,

        #[command(flatten)]
        target: PolicyTarget,
    },
    /// Remove the mode of a project
    #[command(after_help = "\
Examples:
  everturn codelia policy revoke --project /srv/app
  everturn codelia policy revoke --default")]
    Revoke {
        #[command(flatten)]
        target: PolicyTarget,
    },
}

/// Returns the key of a project in the file: its path without links. A directory that no longer exists has none.
fn project_key(named: Option<&Path>) -> Result<String, Error> {
    let here = PathBuf::from(settings::project()?);
    let path = named.map_or_else(|| here.clone(), |named| here.join(named));
    let path = path.canonicalize().unwrap_or(path);
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Error::new(Exit::Request, format!("{} is not Unicode", path.display())))
}

impl PolicyTarget {
    fn key(&self) -> Result<Option<String>, Error> {
        (!self.default).then(|| project_key(self.project.as_deref())).transpose()
    }
}

fn list(home: &AgentHome, context: &mut Context) -> Result<(), EarlyExit> {
    let Some(store) = home.config_store()? else { return Ok(()) };
    let policies = ProjectPolicies::read(&store).map_err(Error::from)?;
    let default = policies.default.map(|mode| (None, mode));
    let projects = policies.projects.iter().map(|(path, mode)| (Some(path), *mode));
    for (project, mode) in default.into_iter().chain(projects) {
        let mode = mode.as_str();
        if context.json {
            writeln!(context.out, "{}", json!({"project": project, "approval_mode": mode}))?;
        } else {
            let project = project.map_or("(default)", String::as_str);
            writeln!(context.out, "{mode:11}  {}", escape_controls(project))?;
        }
    }
    Ok(())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let home = home_of(context)?;
    let named = |key: &Option<String>| key.clone().unwrap_or_else(|| "the default".to_owned());
    match &args.what {
        PolicyCommand::List => list(&home, context)?,
        PolicyCommand::Set { mode, target } => {
            let mode = ApprovalMode::parse(mode).map_err(Error::from)?;
            let key = target.key()?;
            change_policy(&home, key.as_deref(), Some(mode))?;
            Output::status(&format!("the mode of {} is {}", named(&key), mode.as_str()));
        }
        PolicyCommand::Revoke { target } => {
            let key = target.key()?;
            if !change_policy(&home, key.as_deref(), None)? {
                let what = format!("no approval mode is set for {}", named(&key));
                return Err(Error::new(Exit::Request, what)
                    .hint("everturn codelia policy list")
                    .into());
            }
            Output::status(&format!("the mode of {} was removed", named(&key)));
        }
    }
    Ok(Exit::Success)
}
