//! `everturn stats`: prints the token usage and cost of sessions.

use everturn::format::{ListedSession, open_listed};
use everturn::model::{RecordCounts, SessionUsage, TokenUsage};
use everturn_catalog::{ReadProblem, lost_file};

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::open_root::RootAccess;
use crate::output::{Output, escape_controls};
use crate::overview;
use crate::sessions::candidates;
use crate::sources::open_existing_sources;
use crate::unread::UnreadSessions;

/// Count tokens and cost by model
///
/// Each answer of a model is counted once, even if several lines repeat its usage. Without a
/// session, all sessions of all sources are counted. Missing usage is not estimated. Sessions that
/// cannot be read are not counted but reported on stderr, and the exit status is then 4, or 5 if
/// other processes are writing them.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn stats latest
  everturn stats
  everturn stats --layout codex --json

With --json, one document:
  {"sessions":1,"told":1,"answers":7,"input":12,"output":953,"cache_read":0,"cache_write":0,
   "reasoning":0,"cost":null,"models":[{"model":"…","answers":7,…}]}
  `told` is the number of sessions that record their usage."#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`
    session: Option<String>,
}

fn usage_fields(object: JsonObject, spent: &TokenUsage) -> JsonObject {
    let object = object
        .number("answers", spent.answers)
        .number("input", spent.input)
        .number("output", spent.output)
        .number("cache_read", spent.cache_read)
        .number("cache_write", spent.cache_write)
        .number("reasoning", spent.reasoning);
    match spent.cost {
        Some(cost) => object.raw("cost", &cost.to_string()),
        None => object.raw("cost", "null"),
    }
}

/// Formats a token usage as a line of text.
fn line(name: &str, width: usize, spent: &TokenUsage) -> String {
    let cost = spent.cost.map_or_else(String::new, |cost| format!("  ${cost:.4}"));
    let line = format!(
        "{name:width$}  answers {}  input {}  output {}  cache read {}  cache write {}  reasoning {}{cost}",
        spent.answers,
        spent.input,
        spent.output,
        spent.cache_read,
        spent.cache_write,
        spent.reasoning,
    );
    escape_controls(&line).replace('\n', " ")
}

/// Formats record counts as a line of text.
pub(super) fn counts_line(counts: RecordCounts) -> String {
    let RecordCounts { read, kept, repaired, quarantined, hidden } = counts;
    format!(
        "records: {read} read = {kept} kept + {repaired} repaired + {quarantined} quarantined; \
         {hidden} aside"
    )
}

/// The usage of some sessions.
struct UsageSum {
    usage: SessionUsage,
    /// The number of sessions that report their usage, and of all sessions.
    recorded: u64,
    sessions: u64,
    unread: UnreadSessions,
}

/// Returns the usage of all sessions.
fn everything(context: &mut Context) -> Result<UsageSum, Error> {
    let (mut usage, mut recorded, mut sessions) = (SessionUsage::default(), 0, 0);
    let mut unread = UnreadSessions::new("counted");
    let roots = open_existing_sources(context, RootAccess::Read)?;
    for (root, layout, place) in candidates(context, &roots)? {
        sessions += 1;
        let path = root.shown(&place.path);
        match open_listed(layout, &root.store(), &place) {
            Ok(ListedSession::Open(_, reader)) => {
                if let Some(found) = reader.usage() {
                    recorded += 1;
                    usage.add(&found);
                }
                // Some formats open their log only when entries are requested.
                let problem = reader.entries(0..=0).err().map(|error| ReadProblem::from(&error));
                let lost = || lost_file(&reader.findings()).map(ReadProblem::from);
                if let Some(reason) = problem.or_else(lost) {
                    unread.add(path, reason);
                }
            }
            // It was removed since it was listed.
            Ok(ListedSession::Gone) => sessions -= 1,
            Err(error) => {
                sessions -= 1;
                unread.add(path, ReadProblem::from(&error));
            }
        }
    }
    Ok(UsageSum { usage, recorded, sessions, unread })
}

/// Returns the usage of one session.
fn one_session(context: &Context, name: &str) -> Result<UsageSum, Error> {
    let (_, reader) = context.read(name)?;
    let usage = reader.usage();
    let recorded = u64::from(usage.is_some());
    let unread = UnreadSessions::new("counted");
    Ok(UsageSum { usage: usage.unwrap_or_default(), recorded, sessions: 1, unread })
}

fn print(context: &mut Context, sum: &UsageSum) -> Result<(), EarlyExit> {
    let UsageSum { usage, recorded, sessions, .. } = sum;
    if context.json {
        let models: Vec<String> = usage
            .models
            .iter()
            .map(|(model, cost)| usage_fields(JsonObject::new().text("model", model), cost).close())
            .collect();
        let object = JsonObject::new().number("sessions", *sessions).number("told", *recorded);
        let object = usage_fields(object, &usage.total());
        let line = object.raw("models", &format!("[{}]", models.join(","))).close();
        writeln!(context.out, "{line}")?;
        return context.out.flush();
    }
    let width =
        usage.models.iter().map(|(model, _)| model.chars().count()).max().unwrap_or(0).max(5);
    for (model, spent) in &usage.models {
        writeln!(context.out, "{}", line(model, width, spent))?;
    }
    if usage.models.len() > 1 {
        writeln!(context.out, "{}", line("total", width, &usage.total()))?;
    }
    context.out.flush()?;
    if *recorded == 0 {
        Output::status(match sessions {
            1 => "the session does not record its usage",
            _ => "no session records its usage",
        });
    } else if *sessions > 1 {
        Output::status(&format!("{recorded} of {sessions} sessions record their usage"));
    }
    Ok(())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let sum = match &args.session {
        None => everything(context)?,
        Some(name) => one_session(context, name)?,
    };
    if sum.sessions == 0 && context.root.is_none() && !context.json {
        return Ok(overview::first_steps());
    }
    print(context, &sum)?;
    Ok(sum.unread.report().unwrap_or(Exit::Success))
}
