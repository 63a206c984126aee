//! `everturn linggen daemon`: whether the daemon is running.

use everturn::linggen::{PidFile, pid_file, read_pid};
use serde_json::json;

use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::linggen::open_home_if_present;
use crate::settings;

/// Print whether Linggen's daemon is running, according to ling.pid
///
/// A process that has the number but is not Linggen is not the daemon.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn linggen daemon

Output with --json:
  {"state":"running","pid":4711,"path":"…"}
  where state is running, stopped, stale or damaged"#)]
pub(crate) struct Args {}

pub(super) fn run(_: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let Some(root) = open_home_if_present(context)? else {
        writeln!(context.out, "stopped")?;
        return Ok(Exit::Success);
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
        writeln!(context.out, "{answer}")?;
    } else {
        let pid = pid.map_or_else(String::new, |pid| format!("  {pid}"));
        writeln!(context.out, "{state}{pid}")?;
    }
    Ok(Exit::Success)
}
