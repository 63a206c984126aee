//! `everturn linggen daemon`: whether the daemon is running.

use everturn::linggen::{PidFile, daemon_log, forget_daemon, pid_file, read_pid, record_daemon};
use everturn::store::read_optional;
use serde_json::json;

use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::linggen::{
    open_home, open_home_if_present, open_home_to_change, open_home_to_write, retry_linggen,
};
use crate::output::{Output, escape_controls};
use crate::settings;

/// Print whether Linggen's daemon is running, according to ling.pid
///
/// A process that has the number but is not Linggen is not the daemon.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn linggen daemon
  everturn linggen daemon log
  everturn linggen daemon forget

Output with --json:
  {"state":"running","pid":4711,"path":"…"}
  where state is running, stopped, stale or damaged"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<DaemonCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum DaemonCommand {
    /// Print the output of the daemon, ling.log
    #[command(after_help = "\
Examples:
  everturn linggen daemon log")]
    Log,
    /// Record the process of a daemon that was started
    #[command(after_help = "\
Examples:
  everturn linggen daemon record 4711")]
    Record {
        /// The ID of the process
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        pid: u32,
    },
    /// Remove the ling.pid of a daemon that is gone
    #[command(after_help = "\
Examples:
  everturn linggen daemon forget")]
    Forget,
}

fn status(context: &mut Context) -> Result<(), EarlyExit> {
    let Some(root) = open_home_if_present(context)? else {
        return writeln!(context.out, "stopped");
    };
    let file = read_pid(&root.store(), settings::is_linggen).map_err(Error::from)?;
    let (state, pid) = match file {
        PidFile::Missing => ("stopped", None),
        PidFile::Alive(pid) => ("running", Some(pid)),
        PidFile::Stale(pid) => ("stale", Some(pid)),
        PidFile::Damaged(_) => ("damaged", None),
    };
    if context.json {
        let answer = json!({"state": state, "pid": pid, "path": root.shown(&pid_file())});
        return writeln!(context.out, "{answer}");
    }
    let pid = pid.map_or_else(String::new, |pid| format!("  {pid}"));
    writeln!(context.out, "{state}{pid}")
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    match args.what {
        None => status(context)?,
        Some(DaemonCommand::Log) => {
            let root = open_home(context)?;
            let found = read_optional(&root.store(), &daemon_log()).map_err(Error::from)?;
            let Some(bytes) = found else {
                return Err(Error::new(Exit::Request, "there is no ling.log").into());
            };
            write!(context.out, "{}", escape_controls(&String::from_utf8_lossy(&bytes)))?;
        }
        Some(DaemonCommand::Record { pid }) => {
            let root = open_home_to_write(context)?;
            retry_linggen(|| record_daemon(&root.store(), pid, settings::is_linggen))?;
            root.close()?;
        }
        Some(DaemonCommand::Forget) => {
            let root = open_home_to_change(context)?;
            if !retry_linggen(|| forget_daemon(&root.store(), settings::is_linggen))? {
                Output::status("there is no ling.pid");
            }
            root.close()?;
        }
    }
    Ok(Exit::Success)
}
