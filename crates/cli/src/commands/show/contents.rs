//! `everturn show --toc`, `--events` and `--stats`: what a session contains besides its entries.

use std::collections::BTreeMap;

use everturn::format::SessionReader;
use everturn::model::{
    Mark, MarkKind, SceneOutline, SessionEvent, SessionOutline, SnapshotOutline,
};

use super::super::{Context, mark};
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::findings::{exit_after, print_findings};
use crate::json::JsonObject;
use crate::output::{Output, escape_controls};
use crate::sessions::FoundSession;

/// The type that stands for all significant events.
const SIGNIFICANT: &str = "significant";

/// A line of the table of contents.
enum ContentsLine<'a> {
    Scene(&'a SceneOutline),
    Mark(&'a Mark),
    Snapshot(&'a SnapshotOutline),
}

impl ContentsLine<'_> {
    /// Lines are ordered by turn; within a turn a scene comes first and a snapshot last.
    fn order(&self) -> (u64, u8) {
        match self {
            ContentsLine::Scene(scene) => (scene.first, 0),
            ContentsLine::Mark(mark) => (mark.turn, 1),
            ContentsLine::Snapshot(snapshot) => (snapshot.turn, 2),
        }
    }

    fn text(&self) -> String {
        match self {
            ContentsLine::Scene(scene) => {
                let end = if scene.is_open { String::new() } else { scene.last.to_string() };
                let about = [scene.kind.as_str(), &scene.location];
                let about: Vec<&str> = about.into_iter().filter(|text| !text.is_empty()).collect();
                let about = about.join(", ");
                let text = format!("  {}  [{}..{end}] scene {about}", scene.id, scene.first);
                text.trim_end().to_owned()
            }
            ContentsLine::Mark(mark) => {
                let indent = match mark.kind {
                    MarkKind::Chapter => "",
                    MarkKind::Scene => "  ",
                    _ => "    ",
                };
                format!("{indent}{}  [{}] {}", mark.name, mark.turn, mark.kind)
            }
            ContentsLine::Snapshot(snapshot) => {
                let SnapshotOutline { id, turn, reason } = snapshot;
                format!("    {id}  [{turn}] snapshot {reason}").trim_end().to_owned()
            }
        }
    }
}

/// Returns a scene as JSON.
fn scene_json(session: &str, scene: &SceneOutline) -> String {
    let object = JsonObject::new().text("session", session).text("scene", &scene.id);
    let object = object.text("type", &scene.kind).text("location", &scene.location);
    let object = object.number("turn", scene.first).number("last", scene.last);
    object.raw("open", if scene.is_open { "true" } else { "false" }).close()
}

/// Prints marks, scenes and snapshots as a table of contents.
pub(super) fn print_contents(
    found: &FoundSession,
    reader: &dyn SessionReader,
    context: &mut Context,
) -> Result<Exit, EarlyExit> {
    let marks = reader.marks().map_err(|error| found.failed(error))?;
    let (outline, findings) = reader.outline().map_err(|error| found.failed(error))?;
    let mut lines: Vec<ContentsLine<'_>> = Vec::new();
    lines.extend(outline.scenes.iter().map(ContentsLine::Scene));
    lines.extend(marks.iter().map(ContentsLine::Mark));
    lines.extend(outline.snapshots.iter().map(ContentsLine::Snapshot));
    lines.sort_by_key(ContentsLine::order);
    let id = &found.place.id;
    if lines.is_empty() && !context.json {
        mark::mention_none(id, None);
    }
    for line in &lines {
        match line {
            ContentsLine::Mark(mark) if context.json => mark::print(context, id, mark)?,
            ContentsLine::Scene(scene) if context.json => {
                writeln!(context.out, "{}", scene_json(id, scene))?;
            }
            ContentsLine::Snapshot(snapshot) if context.json => {
                let object = JsonObject::new().text("session", id).text("snapshot", &snapshot.id);
                let object = object.number("turn", snapshot.turn);
                writeln!(context.out, "{}", object.text("reason", &snapshot.reason).close())?;
            }
            line => {
                let text = escape_controls(&line.text()).replace('\n', " ");
                writeln!(context.out, "{text}")?;
            }
        }
    }
    context.out.flush()?;
    print_findings(&findings);
    Ok(exit_after(&findings))
}

/// Prints the events of a type.
pub(super) fn print_events(
    found: &FoundSession,
    reader: &dyn SessionReader,
    kind: &str,
    context: &mut Context,
) -> Result<Exit, EarlyExit> {
    let wanted =
        |event: &SessionEvent| event.kind == kind || kind == SIGNIFICANT && event.is_significant;
    let (events, findings) = reader.events(&wanted).map_err(|error| found.failed(error))?;
    for event in &events {
        let SessionEvent { turn, id, kind, text, is_significant } = event;
        if context.json {
            let object = JsonObject::new().number("turn", *turn).text("id", id);
            let object = object.text("type", kind).text("text", text);
            let flag = if *is_significant { "true" } else { "false" };
            writeln!(context.out, "{}", object.raw("significant", flag).close())?;
        } else {
            let line = escape_controls(&format!("[{turn}] {kind}  {text}")).replace('\n', " ");
            writeln!(context.out, "{}", line.trim_end())?;
        }
    }
    context.out.flush()?;
    if events.is_empty() && !context.json {
        let (outline, _) = reader.outline().map_err(|error| found.failed(error))?;
        let known: Vec<&str> = outline.events.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Output::status(&format!("no events of type {kind:?}; known types: {known}"));
    }
    print_findings(&findings);
    Ok(exit_after(&findings))
}

/// Adds scenes, snapshots, events, changes and the play time, if the session has any.
fn outline_json(object: JsonObject, outline: &SessionOutline) -> JsonObject {
    let counts = |counts: &BTreeMap<String, u64>| {
        let add = |object: JsonObject, (kind, count): (&String, &u64)| object.number(kind, *count);
        counts.iter().fold(JsonObject::new(), add).close()
    };
    let counted = [outline.scenes.len(), outline.snapshots.len(), outline.events.len()];
    if counted.iter().all(|count| *count == 0) && outline.play_time.is_none() {
        return object;
    }
    let object = object
        .number("scenes", outline.scenes.len() as u64)
        .number("snapshots", outline.snapshots.len() as u64)
        .raw("events", &counts(&outline.events))
        .raw("changes", &counts(&outline.changes));
    match outline.play_time {
        Some(time) => object.number("playTimeMs", time),
        None => object,
    }
}

/// Prints scenes, snapshots, events, changes and the play time, if the session has any.
fn print_outline(outline: &SessionOutline, context: &mut Context) -> Result<(), EarlyExit> {
    if !outline.scenes.is_empty() || !outline.snapshots.is_empty() {
        let (scenes, snapshots) = (outline.scenes.len(), outline.snapshots.len());
        writeln!(context.out, "scenes: {scenes}; snapshots: {snapshots}")?;
    }
    for (name, counts) in [("events", &outline.events), ("changes", &outline.changes)] {
        if !counts.is_empty() {
            let total: u64 = counts.values().sum();
            let each: Vec<String> =
                counts.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
            let line = format!("{name}: {total} ({})", each.join(", "));
            writeln!(context.out, "{}", escape_controls(&line).replace('\n', " "))?;
        }
    }
    if let Some(time) = outline.play_time {
        let minutes = time / 60_000;
        writeln!(context.out, "play time: {} h {:02} min", minutes / 60, minutes % 60)?;
    }
    Ok(())
}

/// Prints the number of entries by kind, and the record counts.
pub(super) fn print_stats(
    found: &FoundSession,
    reader: &dyn SessionReader,
    context: &mut Context,
) -> Result<Exit, EarlyExit> {
    let turns = reader.turns().map_err(|error| found.failed(error))?;
    let last = *turns.end();
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let mut findings = reader.findings();
    let mut entries = reader.entries(turns).map_err(|error| found.failed(error))?;
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(|error| found.failed(error))?;
        *kinds.entry(entry.kind.as_str().to_owned()).or_default() += 1;
    }
    let noticed = entries.take_findings();
    print_findings(&noticed);
    findings.extend(noticed);
    let branches = reader.branches().map_err(|error| found.failed(error))?.len() as u64;
    let total: u64 = kinds.values().sum();
    let (outline, noticed) = reader.outline().map_err(|error| found.failed(error))?;
    findings.extend(noticed);
    if context.json {
        let of_kind =
            |object: JsonObject, (kind, count): (&String, &u64)| object.number(kind, *count);
        let by_kind = kinds.iter().fold(JsonObject::new(), of_kind).close();
        let mut object = JsonObject::new()
            .text("id", &found.place.id)
            .text("layout", found.layout.name())
            .number("turns", last)
            .number("entries", total)
            .raw("kinds", &by_kind)
            .number("branches", branches);
        object = match reader.record_counts() {
            Some(counts) => object.raw("records", &super::super::import::counts(counts)),
            None => object.raw("records", "null"),
        };
        object = outline_json(object, &outline);
        writeln!(context.out, "{}", object.close())?;
        return Ok(exit_after(&findings));
    }
    let shown: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    writeln!(context.out, "turns: {last}; branches: {branches}")?;
    let shown = if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) };
    let line = escape_controls(&format!("entries: {total}{shown}")).replace('\n', " ");
    writeln!(context.out, "{line}")?;
    if let Some(counts) = reader.record_counts() {
        writeln!(context.out, "{}", super::super::stats::counts_line(counts))?;
    }
    print_outline(&outline, context)?;
    Ok(exit_after(&findings))
}
