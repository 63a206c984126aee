//! `everturn ls`: lists sessions.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::num::NonZeroUsize;

use clap::ValueEnum;
use everturn::finding::{Finding, FindingCode};
use everturn_catalog::{CatalogSession, SummaryDetail};
use jiff::Timestamp;

use super::Context;
use crate::catalog::{SourceCollection, collection, date};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::json::JsonObject;
use crate::output::Output;
use crate::session_line::{ColumnWidths, session_line};
use crate::{overview, settings};

/// All statuses that a session can have.
const STATUSES: [&str; 6] = ["active", "paused", "completed", "archived", "helper", "unknown"];

/// List sessions, most recently changed first
///
/// Only the metadata of the sessions is read, and only if it has changed since the last run. A
/// session with damaged metadata is still listed, and the damage is reported on stderr. A session
/// that is locked by another process, or whose latest commits cannot be read, is listed with the
/// status unknown, and the exit status is then 5 or 4.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn ls
  everturn ls --status paused
  everturn ls dragon --since 2w --sort turns
  everturn ls --layout linggen --project site
  everturn ls --json | jq -r 'select(.turns > 100) | .id'")]
pub(crate) struct Args {
    /// Only sessions whose title or ID contains this text
    #[arg(value_name = "TEXT")]
    text: Option<String>,

    /// Only sessions with this status, such as active, paused or completed
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,

    /// Only sessions whose project path contains this text
    #[arg(long, value_name = "TEXT")]
    project: Option<String>,

    /// Only sessions changed since this date or age, such as 2026-01-03 or 3d
    #[arg(long, value_name = "DATE")]
    since: Option<String>,

    /// Only sessions not changed after this date
    #[arg(long, value_name = "DATE")]
    until: Option<String>,

    /// The sort order
    #[arg(long, value_name = "ORDER", default_value = "updated")]
    sort: ListOrder,

    /// The maximum number of sessions
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroUsize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListOrder {
    /// Most recently changed first
    Updated,
    /// Most recently created first
    Created,
    /// Most turns first
    Turns,
    /// By title
    Title,
}

impl Args {
    /// Returns whether file names are enough to select and show the sessions.
    fn detail(&self) -> SummaryDetail {
        let filtered = [&self.text, &self.status, &self.project, &self.since, &self.until];
        let by_name =
            self.sort == ListOrder::Updated && filtered.iter().all(|filter| filter.is_none());
        if by_name && self.limit.is_some() { SummaryDetail::Names } else { SummaryDetail::All }
    }

    /// Rejects a status that no session has or can have: it is a typo.
    fn check_status(&self, sessions: &[CatalogSession]) -> Result<(), Error> {
        let Some(wanted) = &self.status else { return Ok(()) };
        let there = sessions.iter().map(|session| session.summary.status.as_str());
        let known: BTreeSet<&str> = STATUSES.into_iter().chain(there).collect();
        if known.contains(wanted.as_str()) {
            return Ok(());
        }
        let known: Vec<&str> = known.into_iter().collect();
        Err(Error::new(Exit::Request, format!("unknown status {wanted:?}"))
            .hint(format!("known statuses: {}", known.join(", "))))
    }

    /// Describes a search without results.
    fn sought(&self, layout: Option<&str>) -> String {
        let word = |word: Option<&str>| word.map_or_else(String::new, |word| format!("{word} "));
        let filters = [&self.text, &self.project, &self.since, &self.until];
        let like = if filters.iter().any(|filter| filter.is_some()) { " that match" } else { "" };
        format!("{}{}sessions{like}", word(self.status.as_deref()), word(layout))
    }

    /// Applies the filters and the sort order.
    fn apply(&self, sessions: &mut Vec<CatalogSession>) -> Result<(), Error> {
        let now = settings::now();
        let since = self.since.as_deref().map(|text| date(text, "--since", now)).transpose()?;
        let until = self.until.as_deref().map(|text| date(text, "--until", now)).transpose()?;
        let lower = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
        let (text, project) = (lower(&self.text), lower(&self.project));
        sessions.retain(|session| {
            let summary = &session.summary;
            let has = |text: &str, part: &str| text.to_lowercase().contains(part);
            let updated = |fits: &dyn Fn(Timestamp) -> bool| summary.updated.is_some_and(fits);
            self.status.as_ref().is_none_or(|wanted| wanted == summary.status.as_str())
                && text
                    .as_ref()
                    .is_none_or(|text| has(&summary.title, text) || has(&summary.session.id, text))
                && project.as_ref().is_none_or(|part| {
                    session.project.as_ref().is_some_and(|project| has(project, part))
                })
                && since.is_none_or(|since| updated(&|time| time >= since.start))
                && until.is_none_or(|until| updated(&|time| time < until.end))
        });
        // The input is sorted by last change, which remains the order of equal sessions.
        match self.sort {
            ListOrder::Updated => {}
            ListOrder::Created => {
                sessions.sort_by_key(|one| std::cmp::Reverse(one.summary.created));
            }
            ListOrder::Turns => sessions.sort_by_key(|one| std::cmp::Reverse(one.summary.turns)),
            ListOrder::Title => sessions.sort_by_cached_key(|one| one.summary.title.to_lowercase()),
        }
        sessions.truncate(self.limit.map_or(usize::MAX, NonZeroUsize::get));
        Ok(())
    }
}

fn json(session: &CatalogSession, collection: &SourceCollection) -> String {
    let summary = &session.summary;
    let mut object = JsonObject::new()
        .text("id", &summary.session.id)
        .text("layout", summary.layout)
        .text("title", &summary.title)
        .text("status", summary.status.as_str())
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

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let mut collection = collection(context)?;
    let detail = args.detail();
    let everturn_catalog::CatalogListing { mut sessions, findings, .. } =
        collection.sessions(detail)?;
    let is_anywhere = context.root.is_none() && context.layout.is_none();
    if sessions.is_empty() && findings.is_empty() && is_anywhere && !context.json {
        return Ok(overview::first_steps());
    }
    args.check_status(&sessions)?;
    args.apply(&mut sessions)?;
    if detail == SummaryDetail::Names {
        collection.catalog.complete_summaries(&collection.sources, &mut sessions);
    }
    let terminal = std::io::stdout().is_terminal().then(|| (settings::width(), settings::now()));
    let widths = ColumnWidths::of(&sessions);
    for session in &sessions {
        let text = match context.json {
            true => json(session, &collection),
            false => session_line(session, &widths, terminal),
        };
        writeln!(context.out, "{text}")?;
    }
    context.out.flush()?;
    collection.mention_notes();
    let with_quarantine = collection.sources_with_quarantine();
    for session in &sessions {
        print_findings(&session.summary.findings);
        if with_quarantine.contains(&session.source)
            && let Some(line) = collection.quarantine_line(session)
        {
            Output::status(&line);
        }
    }
    print_findings(&findings);
    if sessions.is_empty() && !context.json && findings.is_empty() {
        let sought = args.sought(context.layout.as_deref());
        Output::status(&format!("there are no {sought}{}", collection.in_places()));
    }
    let listed = sessions.iter().flat_map(|session| &session.summary.findings);
    let codes: BTreeSet<FindingCode> = findings.iter().chain(listed).map(|one| one.code).collect();
    // A list that lacks unreadable sessions is incomplete.
    let unreadable = |finding: &Finding| finding.code == FindingCode::Unreadable;
    let incomplete = collection.is_incomplete || findings.iter().any(unreadable);
    Ok(match incomplete {
        _ if codes.contains(&FindingCode::CannotReplay) => Exit::Damaged,
        true => Exit::Request,
        false if codes.contains(&FindingCode::Busy) => Exit::Busy,
        false => Exit::Success,
    })
}
