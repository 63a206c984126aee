//! `everturn trash`: moves a session to the trash, or lists the trash.

use std::time::Duration;

use everturn::format::Transition;

use super::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::lifecycle::transition_within;
use crate::output::Output;
use crate::trash_list::list_trash;

/// Move a session to the trash, or list the trash
///
/// Nothing is deleted: the session or its archive is moved to the trash of its root, and `everturn
/// restore` restores it. Only `everturn purge` deletes. The list has the trash of all roots with
/// sessions that can be changed.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn trash session-abc123
  everturn trash

Items in the trash with --json, one per line:
  {"name":"20260101T100000Z-session-abc123","session":"session-abc123","path":"…","time":"…","bytes":1234}"#)]
pub(crate) struct Args {
    /// The session to move to the trash; without it, list the trash
    session: Option<String>,

    /// The time to wait for another process that is writing to the session
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    wait: u16,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    if let Some(session) = &args.session {
        let wait = Duration::from_secs(args.wait.into());
        return transition_within(wait, context, session, Transition::Trash);
    }
    let all = list_trash(context)?;
    for item in &all {
        item.print(context)?;
    }
    if all.is_empty() {
        Output::status("the trash is empty");
    }
    Ok(Exit::Success)
}
