//! `everturn ls`: which sessions there are.

use everturn::view::Summary;

use super::Context;
use crate::error::Stop;
use crate::exit::Exit;
use crate::json::Object;
use crate::output::{Output, harmless};
use crate::sessions::{Access, Listed, Root, report};

/// List the sessions of a root, the last one to be changed first
///
/// Only the metadata of the sessions are read. A session whose metadata are damaged is listed all the
/// same, and what is wrong with it is said on stderr.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn ls
  everturn ls --status paused
  everturn ls --json | jq -r 'select(.turns > 100) | .id'")]
pub(crate) struct Args {
    /// Only sessions with this status, such as active, paused or completed
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,

    /// No more than so many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

fn json(summary: &Summary, root: &Root) -> String {
    let mut object = Object::new()
        .text("id", &summary.place.id)
        .text("layout", summary.layout)
        .text("title", &summary.title)
        .text("status", &summary.status)
        .time("created", summary.created)
        .time("updated", summary.updated);
    object = match summary.turns {
        Some(turns) => object.number("turns", turns),
        None => object.raw("turns", "null"),
    };
    object = object.text("path", &root.shown(&summary.place.path));
    if let Some(parent) = &summary.parent {
        object = object.text("parent", parent);
    }
    object.close()
}

/// A line for people; `width` is that of the longest id.
fn line(summary: &Summary, width: usize) -> String {
    let turns = match summary.turns {
        Some(1) => "1 turn".to_owned(),
        Some(turns) => format!("{turns} turns"),
        None => "? turns".to_owned(),
    };
    let updated = summary.updated.map_or_else(|| "?".to_owned(), |time| time.to_string());
    let Summary { place, layout, status, title, .. } = summary;
    let text =
        format!("{:width$}  {layout}  {status:9}  {turns:>10}  {updated}  {title}", place.id);
    harmless(&text).replace('\n', " ")
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    let roots = context.open_sources(Access::Read)?;
    roots.iter().for_each(|(_, root)| root.mention_waiting());
    let Listed { mut summaries, findings, is_incomplete } = context.summaries(&roots)?;
    let wanted = |status: &str| args.status.as_ref().is_none_or(|wanted| wanted == status);
    summaries.retain(|(_, summary)| wanted(&summary.status));
    summaries.truncate(args.limit.unwrap_or(usize::MAX));
    context.complete(&mut summaries);
    let width = summaries.iter().map(|(_, summary)| summary.place.id.chars().count()).max();
    for (root, summary) in &summaries {
        let text = match context.json {
            true => json(summary, root),
            false => line(summary, width.unwrap_or(0)),
        };
        writeln!(context.out, "{text}")?;
    }
    context.out.flush()?;
    for (_, summary) in &summaries {
        report(&summary.findings);
    }
    report(&findings);
    if summaries.is_empty() && !context.json {
        let status = args.status.as_ref().map_or_else(String::new, |status| format!("{status} "));
        let places: Vec<String> =
            roots.iter().map(|(_, root)| root.path.display().to_string()).collect();
        Output::status(&format!("there are no {status}sessions in {}", places.join(", ")));
    }
    // A list that lacks what could not be looked at is not what was asked for.
    let incomplete =
        findings.iter().any(|finding| finding.code == everturn::finding::Code::Unreadable);
    Ok(if incomplete || is_incomplete { Exit::Request } else { Exit::Fine })
}
