//! Runs and tool outputs of Codelia, for `everturn run`.

use std::sync::Arc;

use everturn::codelia::{CodeliaHome, MessageReader, RunLogs, RunSummary, RunWriter};
use everturn::names::SessionId;
use everturn::store::Durability;
use everturn::tree::JsonTree;
use serde_json::{Value, json};

use crate::agent_homes::AgentHome;
use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::{exit_after, print_findings};
use crate::json::JsonObject;
use crate::output::{Output, escape_controls};
use crate::{settings, store_errors};

/// Returns the status of a run. A run without an end may be active, or was aborted.
fn status(run: &RunSummary) -> &str {
    run.outcome.as_deref().unwrap_or("unfinished")
}

pub(crate) fn list(
    home: &AgentHome,
    context: &mut Context,
    session: Option<&str>,
    most: usize,
) -> Result<(), EarlyExit> {
    // A home that does not exist yet has no runs.
    let store = match context.named_root() {
        Some(_) => home.state_store()?,
        None => match home.state_store_if_present()? {
            Some(store) => store,
            None => return Ok(()),
        },
    };
    let codelia = CodeliaHome::new(store);
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

/// Prints the records of a run, as text or as they are stored.
pub(crate) fn show(
    home: &AgentHome,
    context: &mut Context,
    run: &str,
    raw: bool,
) -> Result<Exit, EarlyExit> {
    let codelia = CodeliaHome::new(home.state_store()?);
    let runs = RunLogs::new(&codelia);
    let run = runs.find(run).map_err(Error::from)?;
    let mut records = runs.records(&run).map_err(Error::from)?;
    match raw || context.json {
        true => print_records(&mut records, context)?,
        false => print_transcript(&mut records, context)?,
    }
    context.out.flush()?;
    print_findings(&records.findings);
    if run.outcome.is_none() {
        let last = run.last.unwrap_or_else(|| "nothing".to_owned());
        Output::status(&format!("the run has no end record; its last record is {last}"));
    }
    Ok(exit_after(&records.findings))
}

fn print_records(records: &mut MessageReader, context: &mut Context) -> Result<(), EarlyExit> {
    for record in records {
        let line = record.map_err(Error::from)?.message.to_line();
        writeln!(context.out, "{}", if context.json { line } else { escape_controls(&line) })?;
    }
    Ok(())
}

/// Prints the messages and tool calls of a run in order. Requests are omitted because they repeat the history.
fn print_transcript(records: &mut MessageReader, context: &mut Context) -> Result<(), EarlyExit> {
    let mut first = true;
    for record in records {
        let record = record.map_err(Error::from)?.message;
        let time = record.string_at(&["ts"]).or_else(|| record.string_at(&["started_at"]));
        for (speaker, text) in said_in(&record) {
            let gap = if std::mem::take(&mut first) { "" } else { "\n" };
            let time = time.as_deref().unwrap_or("?");
            let heading = escape_controls(&format!("{speaker}  {time}")).replace('\n', " ");
            let text = escape_controls(text.trim_end());
            let text = if text.is_empty() { String::new() } else { format!("{text}\n") };
            write!(context.out, "{gap}{heading}\n{text}")?;
        }
    }
    Ok(())
}

/// Returns what a record of a run says: each speaker with the text.
fn said_in(record: &JsonTree) -> Vec<(String, String)> {
    let text = |path: &[&str]| record.string_at(path).unwrap_or_default();
    let one = |speaker: &str, text: String| vec![(speaker.to_owned(), text)];
    match text(&["type"]).as_str() {
        "header" => {
            let model = format!("{} {}", text(&["model", "provider"]), text(&["model", "name"]));
            let session = text(&["session_id"]);
            let model = match model.trim() {
                "" => String::new(),
                model => format!(", model {model}"),
            };
            one("run", format!("session {session}{model}"))
        }
        "run.start" => {
            let input = record.string_at(&["input", "text"]);
            let parts = || record.text_at(&["input", "parts"]).unwrap_or_default();
            one("user", input.unwrap_or_else(parts))
        }
        "llm.response" => {
            let messages = record.value_at(&["output", "messages"]);
            let messages = messages.map(|list| list.children()).unwrap_or_default();
            messages.into_iter().flat_map(|(_, message)| spoken(&message)).collect()
        }
        "tool.output" => one(&format!("tool {}", text(&["tool"])), text(&["result_raw"])),
        "run.error" => {
            one("error", format!("{}: {}", text(&["error", "name"]), text(&["error", "message"])))
        }
        "run.status" => match text(&["status"]).as_str() {
            "running" | "completed" => Vec::new(),
            status => one("status", format!("{status} {}", text(&["message"]))),
        },
        "run.end" => one("end", text(&["outcome"])),
        _ => Vec::new(),
    }
}

/// Returns the texts and the tool calls of a message.
fn spoken(message: &JsonTree) -> Vec<(String, String)> {
    let role = message.string_at(&["role"]).unwrap_or_else(|| "?".to_owned());
    let mut said = Vec::new();
    match message.string_at(&["content"]) {
        Some(text) => said.push((role, text)),
        None => {
            let parts = message.value_at(&["content"]);
            let parts = parts.map(|parts| parts.children()).unwrap_or_default();
            let texts: Vec<String> =
                parts.iter().filter_map(|(_, part)| part.string_at(&["text"])).collect();
            said.extend((!texts.is_empty()).then(|| (role, texts.concat())));
        }
    }
    let calls = message.value_at(&["tool_calls"]).map(|calls| calls.children()).unwrap_or_default();
    for (_, call) in calls {
        let field = |key: &str| call.string_at(&["function", key]).unwrap_or_default();
        said.push(("call".to_owned(), format!("{} {}", field("name"), field("arguments"))));
    }
    said
}

fn tree(value: &Value) -> JsonTree {
    JsonTree::from_value(value).unwrap_or_else(|_| JsonTree::null())
}

/// Starts the log of a run, and returns its ID.
pub(crate) fn begin(
    home: &AgentHome,
    session: Option<&str>,
    text: Option<&str>,
) -> Result<String, Error> {
    let store = store_errors::open_store(&home.dirs.state_dir)?;
    let codelia = CodeliaHome::new(Arc::clone(&store));
    let now = settings::now();
    let time = now.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
    let id = format!("run-{}-{}", now.as_millisecond(), std::process::id());
    let id = SessionId::parse(&id)?.to_string();
    let workspace = settings::project()?;
    let header = json!({
        "type": "header", "schema_version": 1, "run_id": id, "session_id": session,
        "started_at": time, "client": {"name": "everturn", "version": env!("CARGO_PKG_VERSION")},
        "runtime": {"cwd": workspace},
    });
    let run = RunWriter::start(&codelia, &tree(&header), now)?;
    let start = json!({
        "type": "run.start", "run_id": id, "session_id": session, "ts": time,
        "input": {"type": "text", "text": text.unwrap_or_default()},
    });
    let status = json!({"type": "run.status", "run_id": id, "ts": time, "status": "running"});
    run.append_all(&[tree(&start), tree(&status)], Durability::Synced)?;
    run.release()?;
    store.checkpoint()?;
    Ok(id)
}

/// Ends a run that has no end yet.
pub(crate) fn end(
    home: &AgentHome,
    run: &str,
    outcome: &str,
    message: Option<&str>,
) -> Result<String, Error> {
    let store = store_errors::open_store(&home.dirs.state_dir)?;
    let codelia = CodeliaHome::new(Arc::clone(&store));
    let found = RunLogs::new(&codelia).find(run)?;
    if let Some(ended) = &found.outcome {
        let what = format!("the run {} has already ended: {ended}", found.id);
        return Err(Error::new(Exit::Request, what));
    }
    let time = settings::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
    let writer = RunWriter::open(&codelia, &found)?;
    let id = &found.id;
    let mut records = Vec::new();
    if outcome == "error" {
        let error = json!({"name": "Error", "message": message.unwrap_or("ended by hand")});
        records.push(json!({"type": "run.error", "run_id": id, "ts": time, "error": error}));
    }
    records.push(json!({
        "type": "run.status", "run_id": id, "ts": time, "status": outcome, "message": message,
    }));
    records.push(json!({"type": "run.end", "run_id": id, "ts": time, "outcome": outcome}));
    let records: Vec<JsonTree> = records.iter().map(tree).collect();
    writer.append_all(&records, Durability::Synced)?;
    writer.release()?;
    store.checkpoint()?;
    Ok(found.id)
}

pub(crate) fn evict(
    home: &AgentHome,
    context: &mut Context,
    most: u64,
    yes: bool,
) -> Result<(), EarlyExit> {
    let codelia = CodeliaHome::new(home.state_store()?);
    let (store, cache_alone) = home.cache_store()?;
    let shared = Arc::clone(&store);
    let outputs = super::outputs_of(shared, cache_alone)?;
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
    store.checkpoint().map_err(Error::from)?;
    Ok(())
}
