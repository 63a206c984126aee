//! Runs of agents, for `everturn run`.

use everturn::finding::Finding;
use everturn::linggen::{
    DaemonState, NewRun, PidFile, Project, Run, RunStatus, begin_run, child_runs, end_run,
    projects, read_pid, read_run, run_ids, runs,
};
use everturn::names::FilePath;

use crate::context::{Context, next_command};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::json::JsonObject;
use crate::linggen::{
    open_home, open_home_if_present, open_home_to_change, open_home_to_write, project_to_write,
    retry_linggen,
};
use crate::open_root::OpenRoot;
use crate::output::{Output, escape_controls};
use crate::settings;

fn daemon(root: &OpenRoot) -> Result<DaemonState, Error> {
    let file = read_pid(&root.store(), settings::is_linggen)?;
    match &file {
        PidFile::Stale(pid) => {
            Output::status(&format!("ling.pid contains {pid}, which is not a process of Linggen"));
        }
        PidFile::Damaged(text) => Output::status(&format!("ling.pid is not a number: {text:?}")),
        PidFile::Missing | PidFile::Alive(_) => {}
    }
    Ok(file.daemon())
}

/// Returns the status of a run in one word: a run that can no longer be active is stale.
fn status(run: &Run, daemon: DaemonState) -> String {
    match run.stale(daemon, settings::now()) {
        Some(_) => "stale".to_owned(),
        None => run.status.as_str().to_owned(),
    }
}

fn line(
    run: &Run,
    daemon: DaemonState,
    root: &OpenRoot,
    context: &mut Context,
) -> Result<(), EarlyExit> {
    let status = status(run, daemon);
    if context.json {
        let text = |object: JsonObject, key: &str, text: Option<&str>| match text {
            Some(text) => object.text(key, text),
            None => object.raw(key, "null"),
        };
        let object = JsonObject::new().text("id", &run.id);
        let object = text(object, "session", run.session.as_deref());
        let object = object.time("started", run.started).text("status", &status);
        let object = object.text("path", &root.shown(&run.file));
        let object = text(object, "agent", run.agent.as_deref());
        let object = text(object, "parent", run.parent.as_deref());
        return writeln!(context.out, "{}", object.time("ended", run.ended).close());
    }
    let started = run.started.map_or_else(|| "?".to_owned(), |time| time.to_string());
    let session = run.session.as_deref().unwrap_or("?");
    let parent = run.parent.as_ref().map_or_else(String::new, |parent| format!("  of {parent}"));
    let line = format!("{}  {started}  {status}  session {session}{parent}", run.id);
    writeln!(context.out, "{}", escape_controls(&line))
}

/// Returns the projects of the home; an unreadable project does not hide the others.
fn all(root: &OpenRoot) -> Result<Vec<Project>, Error> {
    let found = projects(&root.store())?;
    print_findings(&found.findings);
    Ok(found.projects)
}

/// Lists the newest runs of all projects. Opens at most `most` runs of each project.
pub(crate) fn list(
    context: &mut Context,
    session: Option<&str>,
    most: usize,
) -> Result<Exit, EarlyExit> {
    let Some(root) = open_home_if_present(context)? else { return Ok(Exit::Success) };
    let (store, daemon) = (root.store(), daemon(&root)?);
    let (mut newest, mut findings): (Vec<Run>, Vec<Finding>) = (Vec::new(), Vec::new());
    for project in all(&root)? {
        if session.is_some() {
            let (found, noticed) = runs(&store, &project.dir).map_err(Error::from)?;
            newest.extend(found.into_iter().filter(|run| run.session.as_deref() == session));
            findings.extend(noticed);
            continue;
        }
        for (id, _) in run_ids(&store, &project.dir).map_err(Error::from)?.into_iter().take(most) {
            match read_run(&store, &project.dir, &id) {
                Ok(run) => newest.extend(run),
                Err(error) => Output::status(&error.to_string()),
            }
        }
    }
    newest.sort_by(|a, b| (b.started, &a.id).cmp(&(a.started, &b.id)));
    for run in newest.iter().take(most) {
        line(run, daemon, &root, context)?;
    }
    context.out.flush()?;
    print_findings(&findings);
    Ok(Exit::Success)
}

/// Finds a run by its ID or a prefix of it; returns the directory of its project, and its ID.
fn find(root: &OpenRoot, wanted: &str) -> Result<(FilePath, String), Error> {
    let mut found = Vec::new();
    for project in all(root)? {
        let ids = run_ids(&root.store(), &project.dir)?.into_iter();
        found.extend(
            ids.filter(|(id, _)| id.starts_with(wanted)).map(|(id, _)| (project.dir.clone(), id)),
        );
    }
    if let Some(exact) = found.iter().position(|(_, id)| id == wanted) {
        return Ok(found.swap_remove(exact));
    }
    match (found.len(), found.pop()) {
        (1, Some(one)) => Ok(one),
        (count, _) => {
            let what = match count {
                0 => format!("there is no run {wanted:?}"),
                count => format!("{wanted:?} matches {count} runs"),
            };
            Err(Error::new(Exit::Request, what).hint(next_command("linggen run list")))
        }
    }
}

/// Records the start of a run in the project of the current directory, and returns its ID.
pub(crate) fn begin(
    context: &mut Context,
    session: Option<&str>,
    agent: &str,
    detail: Option<&str>,
) -> Result<String, Error> {
    let root = open_home_to_write(context)?;
    let project = project_to_write(&root, None)?;
    let new = NewRun {
        repo_path: project.path.as_ref().map(ToString::to_string).unwrap_or_default(),
        session: session.map(str::to_owned),
        agent: agent.to_owned(),
        agent_kind: None,
        parent: None,
        detail: detail.map(str::to_owned),
    };
    let id = retry_linggen(|| begin_run(&root.store(), &project.dir, &new, settings::now()))?;
    root.close()?;
    Ok(id)
}

/// Records the end of a run, and returns its ID.
pub(crate) fn end(context: &mut Context, wanted: &str, status: &str) -> Result<String, Error> {
    let root = open_home_to_change(context)?;
    let (dir, id) = find(&root, wanted)?;
    let run = read_run(&root.store(), &dir, &id)?;
    if let Some(run) = run.filter(|run| run.status != RunStatus::Running) {
        let what = format!("the run {id} has already ended: {}", run.status.as_str());
        return Err(Error::new(Exit::Request, what));
    }
    let status = RunStatus::parse(status);
    retry_linggen(|| end_run(&root.store(), &dir, &id, &status, settings::now()))?;
    root.close()?;
    Ok(id)
}

/// Ends all runs whose program is gone, as failed, and prints their IDs.
pub(crate) fn end_stale(context: &mut Context) -> Result<Exit, EarlyExit> {
    let root = open_home_to_change(context)?;
    let (store, daemon) = (root.store(), daemon(&root)?);
    for project in all(&root)? {
        let (found, findings) = runs(&store, &project.dir).map_err(Error::from)?;
        print_findings(&findings);
        for run in found.iter().filter(|run| run.stale(daemon, settings::now()).is_some()) {
            let end =
                || end_run(&store, &project.dir, &run.id, &RunStatus::Failed, settings::now());
            retry_linggen(end)?;
            writeln!(context.out, "{}", escape_controls(&run.id))?;
        }
    }
    context.out.flush()?;
    root.close()?;
    Ok(Exit::Success)
}

/// Prints a run as stored, and lists the runs it started.
pub(crate) fn show(context: &mut Context, wanted: &str) -> Result<Exit, EarlyExit> {
    let root = open_home(context)?;
    let (store, daemon) = (root.store(), daemon(&root)?);
    let (dir, id) = &find(&root, wanted)?;
    let run = read_run(&store, dir, id).map_err(Error::from)?;
    let Some(run) = run else {
        return Err(Error::new(Exit::Request, format!("there is no run {id}")).into());
    };
    match context.json {
        true => writeln!(context.out, "{}", run.value)?,
        false => {
            let text = serde_json::to_string_pretty(&run.value).unwrap_or_default();
            writeln!(context.out, "{}", escape_controls(&text))?;
        }
    }
    context.out.flush()?;
    for child in child_runs(&store, dir, id).map_err(Error::from)? {
        Output::status(&format!("child run {} ({})", child.id, status(&child, daemon)));
    }
    if let Some(why) = run.stale(daemon, settings::now()) {
        Output::status(&format!("the run is no longer active: {why}"));
    }
    Ok(Exit::Success)
}
