//! `everturn run`: shows and records the runs of an agent.

use super::Context;
use crate::agent_homes::{AgentKind, home_of};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::{codelia, linggen};

/// List, show and record the runs of an agent
///
/// A run is one unit of work of an agent in a session. Tool outputs are kept in a cache, which can
/// be cleared. Requires `--layout`, because not every home has runs.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn run list --layout codelia
  everturn run list --session 3f2a --layout codelia --json
  everturn run show 0b1c --layout codelia
  everturn run end 0b1c --layout codelia
  everturn run list --layout linggen
  everturn run evict --most 100000000 --layout codelia

A line of the list with --json:
  {"id":"0b1c…","session":"3f2a…","started":"2026-01-01T10:00:00Z","status":"completed","path":"…"}
Output of begin, end and fail with --json:
  {"run":"0b1c…"}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: RunCommand,
}

#[derive(Debug, clap::Subcommand)]
enum RunCommand {
    /// List the newest runs
    #[command(after_help = "\
Examples:
  everturn run list --layout codelia
  everturn run list --session 3f2a --layout codelia --json")]
    List {
        /// Only runs of this session: its ID or a unique prefix, a path, or `latest`
        #[arg(long, value_name = "SESSION")]
        session: Option<String>,

        /// The maximum number of runs
        #[arg(long, visible_alias = "most", value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Print a run as a transcript
    #[command(after_help = "\
Examples:
  everturn run show 0b1c --layout codelia
  everturn run show 0b1c --raw --layout codelia")]
    Show {
        /// The run: its ID or a prefix of it
        #[arg(value_name = "RUN")]
        run: String,

        /// Print the records as they are stored, one per line
        #[arg(long)]
        raw: bool,
    },
    /// Record the start of a run, and print its ID
    #[command(after_help = "\
Examples:
  everturn run begin --session 3f2a --text 'List the files' --layout codelia
  everturn run begin --agent ling --layout linggen")]
    Begin {
        /// The session: its ID or a unique prefix, a path, or `latest`
        #[arg(long, value_name = "SESSION")]
        session: Option<String>,

        /// What the user asked for, or a short description
        #[arg(long, value_name = "TEXT")]
        text: Option<String>,

        /// The agent of a Linggen run
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
    },
    /// Record that a run has ended, even if its process has died
    #[command(after_help = "\
Examples:
  everturn run end 0b1c --layout codelia
  everturn run end 0b1c --cancelled --layout linggen
  everturn run end --stale --layout linggen")]
    End {
        /// The run: its ID or a prefix of it
        #[arg(value_name = "RUN", required_unless_present = "stale")]
        run: Option<String>,

        /// It was cancelled
        #[arg(long)]
        cancelled: bool,

        /// Mark runs of Linggen whose process no longer exists as failed
        #[arg(long, conflicts_with_all = ["run", "cancelled"])]
        stale: bool,
    },
    /// Record that a run has failed
    #[command(after_help = "\
Examples:
  everturn run fail 0b1c --text 'out of memory' --layout codelia")]
    Fail {
        /// The run: its ID or a prefix of it
        #[arg(value_name = "RUN")]
        run: String,

        /// The reason
        #[arg(long, value_name = "TEXT")]
        text: Option<String>,
    },
    /// List the tool outputs to remove to meet a size limit, and remove them with --yes
    #[command(after_help = "\
Examples:
  everturn run evict --most 100000000 --layout codelia
  everturn run evict --most 100000000 --yes --layout codelia")]
    Evict {
        /// The maximum number of bytes to keep
        #[arg(long, value_name = "BYTES")]
        most: u64,

        /// Remove the listed outputs
        #[arg(long)]
        yes: bool,
    },
}

/// Returns the ID of the session that the user named.
fn session_id(context: &Context, named: Option<&str>) -> Result<Option<String>, Error> {
    named.map(|name| Ok(context.find_to_read(name)?.place.id)).transpose()
}

fn print_run(context: &mut Context, run: &str) -> Result<(), EarlyExit> {
    match context.json {
        true => writeln!(context.out, "{}", JsonObject::new().text("run", run).close()),
        false => writeln!(context.out, "{run}"),
    }
}

fn has_codelia_runs(agent: AgentKind) -> Result<bool, EarlyExit> {
    match agent {
        AgentKind::Codelia => Ok(true),
        AgentKind::Linggen => Ok(false),
        AgentKind::Everturn => {
            let what = "`run` needs --layout codelia or --layout linggen";
            Err(Error::new(Exit::Request, what).hint("Everturn's own home has no runs").into())
        }
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let home = home_of(context)?;
    let is_codelia = has_codelia_runs(home.agent)?;
    match &args.what {
        RunCommand::List { session, limit } => {
            let session = session_id(context, session.as_deref())?;
            match is_codelia {
                true => codelia::runs::list(&home, context, session.as_deref(), *limit)?,
                false => return linggen::runs::list(context, session.as_deref(), *limit),
            }
        }
        RunCommand::Show { run, raw } => {
            return match is_codelia {
                true => codelia::runs::show(&home, context, run, *raw),
                false => linggen::runs::show(context, run),
            };
        }
        RunCommand::Begin { session, text, agent } => {
            let session = match session {
                Some(name) => Some(context.find_to_write(name)?.place.id),
                None => None,
            };
            let (session, text) = (session.as_deref(), text.as_deref());
            let id = match (is_codelia, agent) {
                (true, None) => codelia::runs::begin(&home, session, text)?,
                (true, Some(_)) => {
                    let what = "--agent is not supported for codelia";
                    return Err(Error::new(Exit::Request, what).hint("omit --agent").into());
                }
                (false, agent) => {
                    let agent = agent.as_deref().unwrap_or("ling");
                    linggen::runs::begin(context, session, agent, text)?
                }
            };
            print_run(context, &id)?;
        }
        RunCommand::End { stale: true, .. } => match is_codelia {
            false => return linggen::runs::end_stale(context),
            true => {
                let what = "it is not known which runs of Codelia are active";
                return Err(Error::new(Exit::Request, what).hint("name the run").into());
            }
        },
        RunCommand::End { run, cancelled, .. } => {
            let run = run.as_deref().unwrap_or_default();
            let outcome = if *cancelled { "cancelled" } else { "completed" };
            let id = match is_codelia {
                true => codelia::runs::end(&home, run, outcome, None)?,
                false => linggen::runs::end(context, run, outcome)?,
            };
            print_run(context, &id)?;
        }
        RunCommand::Fail { run, text } => {
            let id = match is_codelia {
                true => codelia::runs::end(&home, run, "error", text.as_deref())?,
                false => linggen::runs::end(context, run, "failed")?,
            };
            print_run(context, &id)?;
        }
        RunCommand::Evict { most, yes } if is_codelia => {
            codelia::runs::evict(&home, context, *most, *yes)?;
        }
        RunCommand::Evict { .. } => {
            let what = "Linggen does not store tool outputs separately";
            return Err(Error::new(Exit::Request, what).into());
        }
    }
    Ok(Exit::Success)
}
