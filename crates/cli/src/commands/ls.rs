//! `everturn ls`: lists sessions.

use std::cmp::Reverse;
use std::io::IsTerminal;
use std::num::NonZeroUsize;

use clap::ValueEnum;
use everturn::finding::{Finding, FindingCode};
use everturn_catalog::{CatalogListing, CatalogSession, SummaryDetail};

use super::Context;
use crate::catalog::{SourceCollection, collection};
use crate::context::next_command;
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::json::JsonObject;
use crate::output::{Output, count_noun};
use crate::overview;
use crate::selection::{ChangedArgs, SelectionArgs, SessionSelection};
use crate::session_line::SessionLines;
use crate::spending::session_costs;

/// More findings than this are not listed but counted.
const FINDINGS: usize = 3;

/// List sessions, most recently changed first
///
/// Only the metadata of the sessions is read, and only if it has changed since the last run. On a
/// terminal, a line has the beginning of the ID, the age, the project (else the format), the turns
/// and the title; otherwise the whole ID, the format, the status, the turns, the time and the
/// title. A session with damaged metadata is still listed, and the damage is reported on stderr. A
/// session that is locked by another process, or whose latest commits cannot be read, is listed
/// with the status unknown, and the exit status is then 5 or 4.
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

    #[command(flatten)]
    selection: SelectionArgs,

    #[command(flatten)]
    changed: ChangedArgs,

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
    /// Largest files first
    Size,
    /// Most expensive first, as `everturn stats` counts
    Cost,
    /// By title
    Title,
}

impl Args {
    /// Returns whether file names are enough to select and show the sessions.
    fn detail(&self, selection: &SessionSelection) -> SummaryDetail {
        let is_plain = self.sort == ListOrder::Updated && self.text.is_none();
        let by_name = is_plain && selection.is_everything() && self.limit.is_some();
        if by_name { SummaryDetail::Names } else { SummaryDetail::All }
    }

    /// Describes a search without results.
    fn sought(&self, layout: Option<&str>, selection: &SessionSelection) -> String {
        let word = |word: Option<&str>| word.map_or_else(String::new, |word| format!("{word} "));
        let is_filtered = self.text.is_some() || selection.has_text_filters();
        let like = if is_filtered { " that match" } else { "" };
        let status = self.selection.status.as_deref();
        format!("{}{}sessions{like}", word(status), word(layout))
    }

    /// Keeps the sessions with the text.
    fn keep_text(&self, sessions: &mut Vec<CatalogSession>) {
        let Some(text) = self.text.as_ref().map(|text| text.to_lowercase()) else { return };
        let has = |part: &str| part.to_lowercase().contains(&text);
        sessions.retain(|one| has(&one.summary.title) || has(&one.summary.session.id));
    }

    /// Sorts the sessions, which are sorted by last change before; equal ones stay so.
    fn sort(
        &self,
        rows: &mut [ListedRow],
        collection: &mut SourceCollection,
    ) -> Result<(), EarlyExit> {
        match self.sort {
            ListOrder::Updated => {}
            ListOrder::Created => rows.sort_by_key(|row| Reverse(row.session.summary.created)),
            ListOrder::Turns => rows.sort_by_key(|row| Reverse(row.session.summary.turns)),
            ListOrder::Title => {
                rows.sort_by_cached_key(|row| row.session.summary.title.to_lowercase());
            }
            ListOrder::Size => {
                for row in rows.iter_mut() {
                    row.bytes = collection.stored_bytes(&row.session);
                }
                rows.sort_by_key(|row| Reverse(row.bytes));
            }
            ListOrder::Cost => {
                let sessions: Vec<CatalogSession> =
                    rows.iter().map(|row| row.session.clone()).collect();
                let costs = session_costs(collection, &sessions)?;
                rows.iter_mut().zip(costs).for_each(|(row, cost)| row.cost = cost);
                let cost = |row: &ListedRow| row.cost.unwrap_or(-1.0);
                rows.sort_by(|one, other| cost(other).total_cmp(&cost(one)));
            }
        }
        Ok(())
    }
}

/// A session of the list, and what it is sorted by, if that is not part of its summary.
struct ListedRow {
    session: CatalogSession,
    bytes: Option<u64>,
    cost: Option<f64>,
}

impl ListedRow {
    /// Returns what it is sorted by as a column.
    fn column(&self) -> Option<String> {
        let bytes = self.bytes.map(short_bytes);
        bytes.or_else(|| self.cost.map(|cost| format!("${cost:.2}")))
    }
}

/// Formats a size in few characters.
fn short_bytes(bytes: u64) -> String {
    let (mut size, mut unit) = (bytes, "B");
    for larger in ["KB", "MB", "GB"] {
        if size < 10_000 {
            break;
        }
        (size, unit) = (size / 1000, larger);
    }
    format!("{size} {unit}")
}

fn json(row: &ListedRow, collection: &SourceCollection) -> String {
    let session = &row.session;
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
    if let Some(bytes) = row.bytes {
        object = object.number("bytes", bytes);
    }
    if let Some(cost) = row.cost {
        object = object.raw("cost", &cost.to_string());
    }
    object.close()
}

/// Prints the findings, or how many there are if they are many.
fn mention_findings(findings: &[&Finding], damaged: usize) {
    if findings.len() <= FINDINGS {
        findings.iter().for_each(|finding| print_findings(&[(*finding).clone()]));
        return;
    }
    let count = count_noun(findings.len() as u64, "finding", "findings");
    let sessions = count_noun(damaged as u64, "session", "sessions");
    Output::status(&format!("{count} in {sessions}; see: {}", next_command("check")));
}

/// Returns the exit status after a list with these findings.
fn exit_after(findings: &[&Finding], is_incomplete: bool) -> Exit {
    let has = |code: FindingCode| findings.iter().any(|finding| finding.code == code);
    match is_incomplete {
        _ if has(FindingCode::CannotReplay) => Exit::Damaged,
        true => Exit::Request,
        false if has(FindingCode::Busy) => Exit::Busy,
        false => Exit::Success,
    }
}

/// Prints the rows. Returns whether they are printed for a terminal.
fn print(
    context: &mut Context,
    rows: &[ListedRow],
    (collection, ids): (&SourceCollection, &CatalogListing),
) -> Result<bool, EarlyExit> {
    let is_terminal = std::io::stdout().is_terminal();
    let lines = SessionLines::of(rows.iter().map(|row| &row.session), ids, is_terminal);
    for row in rows {
        let text = match context.json {
            true => json(row, collection),
            false => lines.line(&row.session, row.column().as_deref()),
        };
        writeln!(context.out, "{text}")?;
    }
    context.out.flush()?;
    Ok(is_terminal)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let selection = SessionSelection::new(&args.selection, &args.changed)?;
    let mut collection = collection(context)?;
    let detail = args.detail(&selection);
    let all = collection.sessions(detail)?;
    let is_anywhere = context.root.is_none() && context.layout.is_none();
    if all.sessions.is_empty() && all.findings.is_empty() && is_anywhere && !context.json {
        return Ok(overview::first_steps());
    }
    selection.check_status(&all.sessions)?;
    let mut sessions: Vec<CatalogSession> =
        all.sessions.iter().filter(|one| selection.selects(one)).cloned().collect();
    args.keep_text(&mut sessions);
    let left_out = all.sessions.len() - sessions.len();
    collection.catalog.add_indexed_turns(&collection.sources, &mut sessions);
    let row = |session| ListedRow { session, bytes: None, cost: None };
    let mut rows: Vec<ListedRow> = sessions.into_iter().map(row).collect();
    args.sort(&mut rows, &mut collection)?;
    rows.truncate(args.limit.map_or(usize::MAX, NonZeroUsize::get));
    if detail == SummaryDetail::Names {
        let mut sessions: Vec<CatalogSession> = rows.into_iter().map(|row| row.session).collect();
        collection.complete(&mut sessions);
        collection.catalog.add_indexed_turns(&collection.sources, &mut sessions);
        rows = sessions.into_iter().map(row).collect();
    }
    let is_terminal = print(context, &rows, (&collection, &all))?;
    collection.mention_notes();
    let with_quarantine = collection.sources_with_quarantine();
    for ListedRow { session, .. } in &rows {
        if with_quarantine.contains(&session.source)
            && let Some(line) = collection.quarantine_line(session)
        {
            Output::status(&line);
        }
    }
    let of_rows = rows.iter().flat_map(|row| &row.session.summary.findings);
    let findings: Vec<&Finding> = of_rows.chain(&all.findings).collect();
    let damaged = rows.iter().filter(|row| !row.session.summary.findings.is_empty()).count();
    mention_findings(&findings, damaged);
    if rows.is_empty() && !context.json && all.findings.is_empty() {
        let sought = args.sought(context.layout.as_deref(), &selection);
        Output::status(&format!("there are no {sought}{}", collection.in_places()));
    } else if is_terminal && !context.json {
        let shown = rows.iter().map(|row| &row.session);
        let mut coverage = collection.coverage(shown, &all.findings, left_out);
        let limited = all.sessions.len() - left_out - rows.len();
        coverage.leave_out(limited as u64, "--limit");
        coverage.report("listed");
    }
    // A list that lacks unreadable sessions is incomplete.
    let unreadable = |finding: &Finding| finding.code == FindingCode::Unreadable;
    let is_incomplete = collection.is_incomplete || all.findings.iter().any(unreadable);
    Ok(exit_after(&findings, is_incomplete))
}
