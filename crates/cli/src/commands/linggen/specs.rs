//! Agents and skills from several directories: which one counts, and which ones it hides.

use std::path::{Path, PathBuf};

use everturn::linggen::{Spec, SpecDir, SpecKind, SpecSource, specs};
use everturn::names::FilePath;
use serde_json::{Value, json};

use crate::agent_homes;
use crate::context::{Context, next_command};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::linggen::project_path;
use crate::output::escape_controls;
use crate::settings;

/// An agent or a skill, where it is, and whether it counts.
struct FoundSpec {
    spec: Spec,
    path: PathBuf,
    counts: bool,
}

/// Returns the directories to search; later ones win.
fn directories(
    kind: SpecKind,
    context: &Context,
    workspace: Option<&Path>,
) -> Result<Vec<(SpecSource, PathBuf)>, Error> {
    let home = context.root_dir()?;
    let workspace = PathBuf::from(project_path(workspace)?.as_str());
    let mut dirs = Vec::new();
    match kind {
        SpecKind::Agent => {
            dirs.push((SpecSource::Global, home.join("agents")));
            dirs.push((SpecSource::Project, workspace.join("agents")));
        }
        SpecKind::Skill => {
            dirs.push((SpecSource::Global, home.join("skills")));
            let user = settings::variable("HOME").map(PathBuf::from);
            for program in [".claude", ".codex"] {
                let dir = user.as_ref().map(|user| user.join(program).join("skills"));
                dirs.extend(dir.map(|dir| (SpecSource::Compatible, dir)));
            }
            dirs.push((SpecSource::Project, workspace.join(".linggen").join("skills")));
        }
    }
    Ok(dirs)
}

/// Returns all agents or skills, each with the ones that it hides before it.
fn find_all(
    kind: SpecKind,
    context: &Context,
    workspace: Option<&Path>,
) -> Result<Vec<FoundSpec>, Error> {
    let mut all: Vec<FoundSpec> = Vec::new();
    for (source, dir) in directories(kind, context, workspace)? {
        let Some(store) = agent_homes::open_if_present(&dir)? else { continue };
        let found = specs(kind, &[SpecDir { source, store, dir: FilePath::root() }])?;
        print_findings(&found.findings);
        for spec in found.specs.into_values() {
            for hidden in all.iter_mut().filter(|other| other.spec.id == spec.id) {
                hidden.counts = false;
            }
            let path = dir.join(spec.file.as_str());
            all.push(FoundSpec { spec, path, counts: true });
        }
    }
    all.sort_by(|a, b| a.spec.id.cmp(&b.spec.id));
    Ok(all)
}

fn source_name(source: SpecSource) -> &'static str {
    match source {
        SpecSource::Global => "home",
        SpecSource::Compatible => "other program",
        SpecSource::Project => "workspace",
    }
}

fn value(found: &FoundSpec) -> Value {
    json!({
        "id": found.spec.id, "name": found.spec.name, "description": found.spec.description,
        "source": source_name(found.spec.source), "path": found.path.to_string_lossy(),
        "counts": found.counts,
    })
}

/// Lists the agents or skills that count; with `all`, also those that they hide.
pub(super) fn list(
    kind: SpecKind,
    all: bool,
    workspace: Option<&Path>,
    context: &mut Context,
) -> Result<Exit, EarlyExit> {
    for found in find_all(kind, context, workspace)? {
        if !found.counts && !all {
            continue;
        }
        if context.json {
            writeln!(context.out, "{}", value(&found))?;
            continue;
        }
        let hidden = if found.counts { "" } else { "  (hidden)" };
        let (source, description) = (source_name(found.spec.source), &found.spec.description);
        let line = format!("{}  {source}  {description}{hidden}", found.spec.id);
        writeln!(context.out, "{}", escape_controls(&line.replace('\n', " ")))?;
    }
    Ok(Exit::Success)
}

/// Prints the file of an agent or skill. Says on stderr which others it hides.
pub(super) fn show(
    kind: SpecKind,
    name: &str,
    workspace: Option<&Path>,
    context: &mut Context,
) -> Result<Exit, EarlyExit> {
    let id = name.to_lowercase();
    let mut found = find_all(kind, context, workspace)?;
    found.retain(|one| one.spec.id == id);
    let Some(chosen) = found.iter().find(|one| one.counts) else {
        let what = match kind {
            SpecKind::Agent => "agent",
            SpecKind::Skill => "skill",
        };
        return Err(Error::new(Exit::Request, format!("there is no {what} {name:?}"))
            .hint(next_command(&format!("linggen {what} list")))
            .into());
    };
    if context.json {
        let hides: Vec<String> = found
            .iter()
            .filter(|one| !one.counts)
            .map(|one| one.path.to_string_lossy().into_owned())
            .collect();
        let mut answer = value(chosen);
        if let Some(answer) = answer.as_object_mut() {
            answer.insert("fields".to_owned(), Value::Object(chosen.spec.fields.clone()));
            answer.insert("body".to_owned(), chosen.spec.body.as_str().into());
            answer.insert("hides".to_owned(), json!(hides));
        }
        writeln!(context.out, "{answer}")?;
        return Ok(Exit::Success);
    }
    let bytes = agent_homes::read(&chosen.path)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    write!(context.out, "{}", escape_controls(&text))?;
    context.out.flush()?;
    crate::output::Output::status(&format!("from {}", chosen.path.display()));
    for hidden in found.iter().filter(|one| !one.counts) {
        crate::output::Output::status(&format!("hides {}", hidden.path.display()));
    }
    Ok(Exit::Success)
}
