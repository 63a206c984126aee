//! `everturn run`: shows the recorded runs of an agent.

use std::sync::Arc;

use everturn::codelia::{CodeliaHome, RunLogs, RunSummary, ToolOutputs};
use everturn::store::Store;
use serde_json::json;

use super::Context;
use crate::agent_homes::{AgentHome, AgentKind, home_of};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::{exit_after, print_findings};
use crate::json::JsonObject;
use crate::linggen;
use crate::output::{Output, escape_controls};

/// List and show the runs of an agent
///
/// A run is one unit of work of an agent in a session. Tool outputs are kept in a cache, which can
/// be cleared. Requires `--layout`, because not every home has runs.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn run list --layout codelia
  everturn run list --session 3f2a --layout codelia --json
  everturn run show 0b1c --layout codelia
  everturn run list --layout linggen
  everturn run evict --most 100000000 --layout codelia

A line of the list with --json:
  {"id":"0b1c…","session":"3f2a…","started":"2026-01-01T10:00:00Z","status":"completed","path":"…"}
The records of `run show` are printed as they are stored, one per line."#)]
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
        /// Only runs of this session
        #[arg(long, value_name = "ID")]
        session: Option<String>,

        /// The maximum number of runs
        #[arg(long, value_name = "N", default_value_t = 50)]
        most: usize,
    },
    /// Print the records of a run
    #[command(after_help = "\
Examples:
  everturn run show 0b1c --layout codelia")]
    Show {
        /// The run: its ID or a prefix of it
        run: String,
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

/// Returns the status of a run. A run without an end may be active, or was aborted.
fn status(run: &RunSummary) -> &str {
    run.outcome.as_deref().unwrap_or("unfinished")
}

fn list(
    home: &AgentHome,
    context: &mut Context,
    session: Option<&str>,
    most: usize,
) -> Result<(), EarlyExit> {
    let codelia = CodeliaHome::new(home.state_store()?);
    for run in RunLogs::new(&codelia).list(session, most).map_err(Error::from)? {
        let path = home.dirs.state_dir.join(run.path.as_str());
        if context.json {
            let session = run.session.as_deref();
            let mut line = JsonObject::new().text("id", &run.id);
            line = match session {
                Some(session) => line.text("session", session),
                None => line.raw("session", "null"),
            };
            line = line.time("started", run.started).text("status", status(&run));
            let line = line.text("path", &path.to_string_lossy());
            writeln!(context.out, "{}", line.close())?;
        } else {
            let started = run.started.map_or_else(|| "?".to_owned(), |time| time.to_string());
            let session = run.session.as_deref().unwrap_or("?");
            let line = format!("{}  {started}  {}  session {session}", run.id, status(&run));
            writeln!(context.out, "{}", escape_controls(&line))?;
        }
    }
    Ok(())
}

fn show(home: &AgentHome, context: &mut Context, run: &str) -> Result<Exit, EarlyExit> {
    let codelia = CodeliaHome::new(home.state_store()?);
    let runs = RunLogs::new(&codelia);
    let run = runs.find(run).map_err(Error::from)?;
    let mut records = runs.records(&run).map_err(Error::from)?;
    for record in &mut records {
        let record = record.map_err(Error::from)?;
        let line = record.message.to_line();
        writeln!(context.out, "{}", if context.json { line } else { escape_controls(&line) })?;
    }
    context.out.flush()?;
    print_findings(&records.findings);
    if run.outcome.is_none() {
        let last = run.last.unwrap_or_else(|| "nothing".to_owned());
        Output::status(&format!("the run has no end record; its last record is {last}"));
    }
    Ok(exit_after(&records.findings))
}

fn evict(home: &AgentHome, context: &mut Context, most: u64, yes: bool) -> Result<(), EarlyExit> {
    let codelia = CodeliaHome::new(home.state_store()?);
    let (store, cache_alone) = home.cache_store()?;
    let shared: Arc<dyn Store> = Arc::new(store.clone());
    let outputs = match cache_alone {
        true => ToolOutputs::in_cache(shared).map_err(Error::from)?,
        false => ToolOutputs::in_home(shared),
    };
    let plan = outputs.plan(&codelia, most).map_err(Error::from)?;
    for (file, bytes, why) in &plan.files {
        if context.json {
            let line = json!({"file": file.as_str(), "bytes": bytes, "why": why});
            writeln!(context.out, "{line}")?;
        } else {
            writeln!(context.out, "{file}: {bytes} bytes; {why}")?;
        }
    }
    context.out.flush()?;
    if yes {
        outputs.evict(&plan).map_err(Error::from)?;
    }
    let count = plan.files.len();
    let done = if yes { "were removed" } else { "would be removed; re-run with --yes to apply" };
    Output::status(&format!("{} bytes are stored; {count} outputs {done}", plan.before));
    drop(outputs);
    store.close().map_err(Error::from)?;
    Ok(())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let home = home_of(context)?;
    match home.agent {
        AgentKind::Codelia => {}
        AgentKind::Linggen => {
            return match &args.what {
                RunCommand::List { session, most } => {
                    linggen::runs::list(context, session.as_deref(), *most)
                }
                RunCommand::Show { run } => linggen::runs::show(context, run),
                RunCommand::Evict { .. } => {
                    let what = "Linggen does not store tool outputs separately";
                    Err(Error::new(Exit::Request, what).into())
                }
            };
        }
        AgentKind::Everturn => {
            let what = "Everturn's own home has no runs";
            return Err(Error::new(Exit::Request, what)
                .hint("choose a home with runs, such as --layout codelia")
                .into());
        }
    }
    match &args.what {
        RunCommand::List { session, most } => list(&home, context, session.as_deref(), *most)?,
        RunCommand::Show { run } => return show(&home, context, run),
        RunCommand::Evict { most, yes } => evict(&home, context, *most, *yes)?,
    }
    Ok(Exit::Success)
}
