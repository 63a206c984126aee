//! Agents and skills from several directories: which one counts, and which ones it hides.

use std::path::Path;

use everturn::linggen::{SpecKind, SpecShape, SpecSource, add_spec, remove_spec};
use serde_json::{Value, json};

use crate::agent_homes;
use crate::context::{Context, next_command};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::linggen::specs::{FoundSpec, find_all};
use crate::linggen::{open_home_to_change, open_home_to_write, retry_linggen};
use crate::output::{Output, escape_controls};
use crate::{input, settings};

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

fn missing(kind: SpecKind, name: &str) -> Error {
    let what = match kind {
        SpecKind::Agent => "agent",
        SpecKind::Skill => "skill",
    };
    Error::new(Exit::Request, format!("there is no {what} {name:?}"))
        .hint(next_command(&format!("linggen {what} list")))
}

/// Adds an agent or skill to the home, from stdin. Says which other one counts instead, if one does.
pub(super) fn add(
    kind: SpecKind,
    shape: SpecShape,
    workspace: Option<&Path>,
    context: &mut Context,
) -> Result<Exit, EarlyExit> {
    let text = input::text("a Markdown file with front matter")?;
    let root = open_home_to_write(context)?;
    let spec = retry_linggen(|| add_spec(&root.store(), kind, shape, &text))?;
    let path = root.shown(&spec.file);
    root.close()?;
    match context.json {
        true => writeln!(context.out, "{}", json!({"id": spec.id, "path": path}))?,
        false => writeln!(context.out, "{path}")?,
    }
    context.out.flush()?;
    let all = find_all(kind, context, workspace)?;
    let counts = |one: &&FoundSpec| one.spec.id == spec.id && one.counts;
    if let Some(other) = all.iter().find(counts).filter(|one| one.spec.source != SpecSource::Global)
    {
        Output::status(&format!("it is hidden by {}", other.path.display()));
    }
    Ok(Exit::Success)
}

/// Moves an agent or skill of the home to the trash.
pub(super) fn remove(kind: SpecKind, name: &str, context: &mut Context) -> Result<Exit, EarlyExit> {
    let root = open_home_to_change(context)?;
    let moved = retry_linggen(|| remove_spec(&root.store(), kind, name, settings::now()))?;
    let Some(moved) = moved else { return Err(missing(kind, name).into()) };
    let path = root.shown(&moved);
    root.close()?;
    match context.json {
        true => writeln!(context.out, "{}", json!({"id": name.to_lowercase(), "kept": path}))?,
        false => Output::status(&format!("moved to {path}")),
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
        return Err(missing(kind, name).into());
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
    Output::status(&format!("from {}", chosen.path.display()));
    for hidden in found.iter().filter(|one| !one.counts) {
        Output::status(&format!("hides {}", hidden.path.display()));
    }
    Ok(Exit::Success)
}
