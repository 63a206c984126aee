//! `everturn codelia log`: the plain text logs of the home.

use std::sync::Arc;

use everturn::codelia::{append_text_log, read_text_log, text_logs};
use serde_json::json;

use crate::agent_homes::home_of;
use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::escape_controls;
use crate::{input, store_errors};

/// List, show or write plain text logs
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn codelia log list
  everturn codelia log show codelia.log
  everturn codelia log add < lines.txt

A line of the list with --json:
  {"name":"codelia.log","bytes":1234}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: TextLogCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TextLogCommand {
    /// List the logs
    #[command(after_help = "\
Examples:
  everturn codelia log list")]
    List,
    /// Print a log
    #[command(after_help = "\
Examples:
  everturn codelia log show
  everturn codelia log show provider.log")]
    Show {
        /// The name of the log
        #[arg(default_value = "codelia.log")]
        name: String,
    },
    /// Append the lines on stdin to a log
    #[command(after_help = "\
Examples:
  everturn codelia log add < lines.txt")]
    Add {
        /// The name of the log
        #[arg(default_value = "codelia.log")]
        name: String,
    },
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let home = home_of(context)?;
    match &args.what {
        TextLogCommand::List => {
            let Some(store) = home.state_store_if_present()? else { return Ok(Exit::Success) };
            for (name, bytes) in text_logs(&store).map_err(Error::from)? {
                match context.json {
                    true => writeln!(context.out, "{}", json!({"name": name, "bytes": bytes}))?,
                    false => writeln!(context.out, "{}  {bytes} bytes", escape_controls(&name))?,
                }
            }
        }
        TextLogCommand::Show { name } => {
            let store = home.state_store_if_present()?;
            let found = store.map(|store| read_text_log(&store, name)).transpose();
            let Some(bytes) = found.map_err(Error::from)?.flatten() else {
                let what = format!("there is no log {name:?}");
                return Err(Error::new(Exit::Request, what)
                    .hint("everturn codelia log list")
                    .into());
            };
            write!(context.out, "{}", escape_controls(&String::from_utf8_lossy(&bytes)))?;
        }
        TextLogCommand::Add { name } => {
            let text = input::text("the lines of the log")?;
            let store = store_errors::open_store(&home.dirs.state_dir)?;
            let shared = Arc::clone(&store);
            append_text_log(&shared, name, &text).map_err(Error::from)?;
            drop(shared);
            store.checkpoint().map_err(Error::from)?;
        }
    }
    Ok(Exit::Success)
}
