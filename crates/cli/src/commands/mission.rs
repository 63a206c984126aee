//! `everturn linggen mission`: what the agents of a project are to do.

use std::path::PathBuf;

use everturn::linggen::{
    Mission, MissionAgent, ProjectPath, clear_mission, find_project, mission_runs, missions,
    scheduled_missions, set_mission,
};
use serde_json::{Value, json};

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::linggen::{
    mission_id, open_home, open_home_if_present, open_home_to_change, open_home_to_write, project,
    project_path, project_to_write, retry_linggen,
};
use crate::open_root::OpenRoot;
use crate::output::{Output, escape_controls};
use crate::settings;

/// Set, end or list the missions of a Linggen project
///
/// At most one mission is active. Setting a mission ends the active one; all past missions are kept.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn linggen mission set 'Watch production and fix what breaks' --agent ling:60
  everturn linggen mission clear
  everturn linggen mission list --project ~/site --json

A line with --json:
  {"text":"…","created":"2023-11-14T22:13:20Z","active":true,"agents":[{"id":"ling",
   "idle_prompt":null,"idle_interval_secs":60}],"path":"…"}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: MissionCommand,

    /// The project directory; default: the current directory
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum MissionCommand {
    /// Set the mission
    #[command(after_help = "\
Examples:
  everturn linggen mission set 'Watch production and fix what breaks' --agent ling:60")]
    Set {
        /// The text of the mission
        text: String,

        /// An agent for the mission, with its idle interval in seconds and its idle prompt
        #[arg(long = "agent", value_name = "ID[:SECONDS[:PROMPT]]")]
        agents: Vec<String>,
    },
    /// End the mission
    #[command(after_help = "\
Examples:
  everturn linggen mission clear")]
    Clear,
    /// List the missions, newest first
    #[command(after_help = "\
Examples:
  everturn linggen mission list
  everturn linggen mission list --project ~/site --json")]
    List,
    /// Print a mission, with the runs of a scheduled one
    #[command(after_help = "\
Examples:
  everturn linggen mission show 1700000000
  everturn linggen mission show nightly")]
    Show {
        /// The mission: its time in seconds, or the ID of a scheduled one
        #[arg(value_name = "MISSION")]
        mission: String,
    },
}

fn agent(text: &str) -> Result<MissionAgent, Error> {
    let mut parts = text.splitn(3, ':');
    let id = parts.next().unwrap_or_default().to_owned();
    let seconds = parts.next().filter(|seconds| !seconds.is_empty()).map(str::parse).transpose();
    let idle_interval_secs = seconds.map_err(|cause| {
        Error::new(Exit::Request, format!("--agent {text}: not a number of seconds"))
            .caused_by(cause)
    })?;
    let idle_prompt = parts.next().map(str::to_owned);
    Ok(MissionAgent { id, idle_prompt, idle_interval_secs })
}

fn value(mission: &Mission, root: &OpenRoot) -> Value {
    let agent = |agent: &MissionAgent| {
        let MissionAgent { id, idle_prompt, idle_interval_secs } = agent;
        json!({"id": id, "idle_prompt": idle_prompt, "idle_interval_secs": idle_interval_secs})
    };
    json!({
        "text": mission.text,
        "created": mission.created.map(|created| created.to_string()),
        "active": mission.active,
        "agents": mission.agents.iter().map(agent).collect::<Vec<_>>(),
        "path": root.shown(&mission.file),
    })
}

fn print(mission: &Mission, root: &OpenRoot, context: &mut Context) -> Result<(), EarlyExit> {
    if context.json {
        return writeln!(context.out, "{}", value(mission, root));
    }
    let mark = if mission.active { "active" } else { "ended " };
    let created = mission.created.map_or_else(|| "?".to_owned(), |time| time.to_string());
    let line = format!("{mark}  {created}  {}", mission.text).replace('\n', " ");
    writeln!(context.out, "{}", escape_controls(&line))
}

/// Prints the missions of newer programs, which have a schedule, as far as they are for this project or for any.
fn list_scheduled(
    root: &OpenRoot,
    project: &ProjectPath,
    context: &mut Context,
) -> Result<(), EarlyExit> {
    let (missions, findings) = scheduled_missions(&root.store()).map_err(Error::from)?;
    for mission in missions {
        let field = |key: &str| mission.fields.get(key).and_then(Value::as_str);
        let of = field("project").or_else(|| field("cwd"));
        if of.is_some_and(|of| of.trim_end_matches('/') != project.as_str()) {
            continue;
        }
        let active = mission.fields.get("enabled").and_then(Value::as_bool).unwrap_or(true);
        if context.json {
            let line = json!({
                "id": mission.id, "text": mission.text, "active": active,
                "schedule": field("schedule"), "path": root.shown(&mission.dir),
            });
            writeln!(context.out, "{line}")?;
            continue;
        }
        let mark = if active { "active" } else { "ended " };
        let schedule = field("schedule").unwrap_or("?");
        let line = format!("{mark}  {schedule}  {}: {}", mission.id, mission.text);
        writeln!(context.out, "{}", escape_controls(&line.replace('\n', " ")))?;
    }
    context.out.flush()?;
    print_findings(&findings);
    Ok(())
}

/// Prints a mission of the project, or a scheduled one.
fn show(
    root: &OpenRoot,
    project: &ProjectPath,
    id: &str,
    context: &mut Context,
) -> Result<(), EarlyExit> {
    let store = root.store();
    if let Some(project) = find_project(&store, project).map_err(Error::from)? {
        let found = missions(&store, &project.dir).map_err(Error::from)?.missions;
        if let Some(mission) = found.iter().find(|mission| mission_id(mission) == id) {
            print(mission, root, context)?;
            if context.json {
                return Ok(());
            }
            for agent in &mission.agents {
                let seconds = agent.idle_interval_secs.map(|seconds| format!(", {seconds} s"));
                let prompt = agent.idle_prompt.as_deref().map(|prompt| format!(": {prompt}"));
                let (seconds, prompt) = (seconds.unwrap_or_default(), prompt.unwrap_or_default());
                let line = format!("  agent {}{seconds}{prompt}", agent.id).replace('\n', " ");
                writeln!(context.out, "{}", escape_controls(&line))?;
            }
            return Ok(());
        }
    }
    let (scheduled, _) = scheduled_missions(&store).map_err(Error::from)?;
    let Some(mission) = scheduled.into_iter().find(|mission| mission.id == id) else {
        let what = format!("there is no mission {id:?}");
        return Err(Error::new(Exit::Request, what).hint("everturn linggen mission list").into());
    };
    let (runs, findings) = mission_runs(&store, &mission).map_err(Error::from)?;
    if context.json {
        let runs: Vec<Value> = runs.iter().filter_map(|run| run.to_value().ok()).collect();
        let line = json!({
            "id": mission.id, "text": mission.text, "fields": mission.fields, "runs": runs,
            "path": root.shown(&mission.dir),
        });
        writeln!(context.out, "{line}")?;
    } else {
        for (key, value) in &mission.fields {
            writeln!(context.out, "{}", escape_controls(&format!("{key}: {value}")))?;
        }
        writeln!(context.out, "\n{}", escape_controls(&mission.text))?;
        for run in &runs {
            writeln!(context.out, "{}", escape_controls(&run.to_line()))?;
        }
    }
    context.out.flush()?;
    print_findings(&findings);
    Ok(())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let named = args.project.as_deref();
    match &args.what {
        MissionCommand::List => {
            let Some(root) = open_home_if_present(context)? else { return Ok(Exit::Success) };
            let path = project_path(named)?;
            if let Some(project) = find_project(&root.store(), &path).map_err(Error::from)? {
                let found = missions(&root.store(), &project.dir).map_err(Error::from)?;
                for mission in &found.missions {
                    print(mission, &root, context)?;
                }
                context.out.flush()?;
                print_findings(&found.findings);
            }
            list_scheduled(&root, &path, context)?;
        }
        MissionCommand::Show { mission } => {
            let root = open_home(context)?;
            show(&root, &project_path(named)?, mission, context)?;
        }
        MissionCommand::Set { text, agents } => {
            let agents: Vec<MissionAgent> =
                agents.iter().map(|text| agent(text)).collect::<Result<_, _>>()?;
            let root = open_home_to_write(context)?;
            let dir = project_to_write(&root, named)?.dir;
            let set = || set_mission(&root.store(), &dir, text, &agents, settings::now());
            let mission = retry_linggen(set)?;
            print(&mission, &root, context)?;
            root.close()?;
        }
        MissionCommand::Clear => {
            let root = open_home_to_change(context)?;
            let dir = project(&root, named)?.dir;
            match retry_linggen(|| clear_mission(&root.store(), &dir))? {
                Some(mission) => print(&Mission { active: false, ..mission }, &root, context)?,
                None => Output::status("there is no active mission"),
            }
            root.close()?;
        }
    }
    Ok(Exit::Success)
}
