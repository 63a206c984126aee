//! `everturn ls`: which sessions there are.

use std::io::IsTerminal;

use clap::ValueEnum;
use everturn::finding::{Code, Finding};
use everturn_catalog::{Detail, Session};
use everturn_export::columns::cut;
use jiff::Timestamp;

use super::Context;
use crate::catalog::{Collection, age, date};

use crate::error::{Error, Stop};
use crate::exit::Exit;
use crate::json::Object;
use crate::output::{Output, counted, harmless};
use crate::sessions::report;
use crate::settings;

/// List the sessions of a root, the last one to be changed first
///
/// Only the metadata of the sessions are read, and those only if they have changed since the last time. A session
/// whose metadata are damaged is listed all the same, and what is wrong with it is said on stderr.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn ls
  everturn ls --status paused
  everturn ls dragon --since 2w --sort turns
  everturn ls --layout linggen --project site
  everturn ls --json | jq -r 'select(.turns > 100) | .id'")]
pub(crate) struct Args {
    /// Only sessions whose titles or ids contain this
    #[arg(value_name = "TEXT")]
    text: Option<String>,

    /// Only sessions with this status, such as active, paused or completed
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,

    /// Only sessions whose project has this in its path
    #[arg(long, value_name = "TEXT")]
    project: Option<String>,

    /// Only sessions that were changed since: a date, or how long ago, such as 2026-01-03 or 3d
    #[arg(long, value_name = "DATE")]
    since: Option<String>,

    /// Only sessions that were not changed after this date
    #[arg(long, value_name = "DATE")]
    until: Option<String>,

    /// What comes first
    #[arg(long, value_name = "ORDER", default_value = "updated")]
    sort: Order,

    /// No more than so many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Order {
    /// The last one to be changed
    Updated,
    /// The last one to be made
    Created,
    /// The longest
    Turns,
    /// By title
    Title,
}

impl Args {
    /// Whether names alone can tell which sessions are shown.
    fn detail(&self) -> Detail {
        let filtered = [&self.text, &self.status, &self.project, &self.since, &self.until];
        let by_name = self.sort == Order::Updated && filtered.iter().all(|filter| filter.is_none());
        if by_name && self.limit.is_some() { Detail::Names } else { Detail::All }
    }

    /// Drops what was not asked for, and puts the rest in order.
    fn apply(&self, sessions: &mut Vec<Session>) -> Result<(), Error> {
        let now = settings::now();
        let since = self.since.as_deref().map(|text| date(text, "--since", now)).transpose()?;
        let until = self.until.as_deref().map(|text| date(text, "--until", now)).transpose()?;
        let lower = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
        let (text, project) = (lower(&self.text), lower(&self.project));
        sessions.retain(|session| {
            let summary = &session.summary;
            let has = |text: &str, part: &str| text.to_lowercase().contains(part);
            let updated = |fits: &dyn Fn(Timestamp) -> bool| summary.updated.is_some_and(fits);
            self.status.as_ref().is_none_or(|wanted| *wanted == summary.status)
                && text
                    .as_ref()
                    .is_none_or(|text| has(&summary.title, text) || has(&summary.place.id, text))
                && project.as_ref().is_none_or(|part| {
                    session.project.as_ref().is_some_and(|project| has(project, part))
                })
                && since.is_none_or(|since| updated(&|time| time >= since.start))
                && until.is_none_or(|until| updated(&|time| time < until.end))
        });
        // They come with the last one to be changed first, which stays the order of equals.
        match self.sort {
            Order::Updated => {}
            Order::Created => sessions.sort_by_key(|one| std::cmp::Reverse(one.summary.created)),
            Order::Turns => sessions.sort_by_key(|one| std::cmp::Reverse(one.summary.turns)),
            Order::Title => sessions.sort_by_cached_key(|one| one.summary.title.to_lowercase()),
        }
        sessions.truncate(self.limit.unwrap_or(usize::MAX));
        Ok(())
    }
}

fn json(session: &Session, collection: &Collection) -> String {
    let summary = &session.summary;
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
    object = object.text("path", &collection.shown(session));
    if let Some(project) = &session.project {
        object = object.text("project", project);
    }
    if let Some(parent) = &summary.parent {
        object = object.text("parent", parent);
    }
    object.close()
}

/// A line for people; `width` is that of the longest id. On a terminal times are ages, and lines fit on it.
pub(crate) fn line(
    session: &Session,
    width: usize,
    terminal: Option<(usize, Timestamp)>,
) -> String {
    let summary = &session.summary;
    let turns = match summary.turns {
        Some(turns) => counted(turns, "turn", "turns"),
        None => "? turns".to_owned(),
    };
    let updated = match terminal {
        Some((_, now)) => format!("{:>5}", age(summary.updated, now)),
        None => summary.updated.map_or_else(|| "?".to_owned(), |time| time.to_string()),
    };
    let (id, layout, status, title) =
        (&summary.place.id, summary.layout, &summary.status, &summary.title);
    let text = format!("{id:width$}  {layout}  {status:9}  {turns:>10}  {updated}  {title}");
    let text = harmless(&text).replace(['\n', '\t'], " ");
    match terminal {
        Some((columns, _)) => cut(&text, columns),
        None => text,
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    let mut collection = context.collection()?;
    let detail = args.detail();
    let everturn_catalog::Sessions { mut sessions, findings, .. } = collection.sessions(detail)?;
    args.apply(&mut sessions)?;
    if detail == Detail::Names {
        collection.catalog.complete(&collection.sources, &mut sessions);
    }
    let terminal = std::io::stdout().is_terminal().then(|| (settings::width(), settings::now()));
    let width = sessions.iter().map(|session| session.summary.place.id.chars().count()).max();
    for session in &sessions {
        let text = match context.json {
            true => json(session, &collection),
            false => line(session, width.unwrap_or(0), terminal),
        };
        writeln!(context.out, "{text}")?;
    }
    context.out.flush()?;
    collection.mention_notes();
    for session in &sessions {
        report(&session.summary.findings);
    }
    report(&findings);
    if sessions.is_empty() && !context.json {
        let status = args.status.as_ref().map_or_else(String::new, |status| format!("{status} "));
        let like = if args.text.is_some() { " like that" } else { "" };
        Output::status(&format!("there are no {status}sessions{like} in {}", collection.place()));
    }
    // A list that lacks what could not be looked at is not what was asked for.
    let unreadable = |finding: &Finding| finding.code == Code::Unreadable;
    let incomplete = collection.is_incomplete || findings.iter().any(unreadable);
    Ok(if incomplete { Exit::Request } else { Exit::Fine })
}
