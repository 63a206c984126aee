//! `everturn trust`: trusts the settings of a project.

use serde_json::json;

use super::Context;
use crate::agent_homes::trust::{is_trusted, set_trusted};
use crate::agent_homes::{self, own_home};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::Output;

/// Trust the settings of this project
///
/// The file .everturn/config.json of a project can come from a repository that someone else wrote.
/// Until it is trusted, `root`, `narrator` and `sources` in it are ignored, with a warning. Trust
/// holds for the present content: a changed file must be trusted again. Changes by `everturn config
/// set` to a trusted or new file are trusted. Prints the settings that are trusted.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn trust
  everturn trust --remove

With --json:
  {"file":"/work/project/.everturn/config.json","trusted":true}"#)]
pub(crate) struct Args {
    /// Stop trusting the settings of this project
    #[arg(long)]
    remove: bool,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let none = || Error::new(Exit::Request, "there is no home directory");
    let home = own_home().ok_or_else(none)?;
    let file = home.dirs.project_config_file.clone();
    let Some(content) = agent_homes::read(&file)? else {
        let what = format!("this project has no settings: {} does not exist", file.display());
        return Err(Error::new(Exit::Request, what).into());
    };
    let before = is_trusted(&home, &file, &content)?;
    if before == args.remove {
        set_trusted(&home, &file, (!args.remove).then_some(&*content))?;
    }
    let shown = file.display().to_string();
    if context.json {
        writeln!(context.out, "{}", json!({"file": shown, "trusted": !args.remove}))?;
        return Ok(Exit::Success);
    }
    if !args.remove {
        write!(context.out, "{}", String::from_utf8_lossy(&content))?;
    }
    context.out.flush()?;
    let state = if args.remove { "is not trusted" } else { "is trusted" };
    Output::status(&format!("{shown} {state}"));
    Ok(Exit::Success)
}
