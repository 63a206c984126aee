//! `everturn search`: searches the text of all sessions.

mod patterns;
mod printed;

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use everturn::finding::{Finding, FindingCode};
use everturn::format::{SessionError, SessionReader};
use everturn_catalog::{
    CatalogListing, LeftOut, Query, ReadProblem, SearchResults, Snippet, SortOrder, SummaryDetail,
    UpdateReport, hit_branch, hit_entry, open_session,
};

use super::Context;
use crate::catalog::{SourceCollection, collection, date};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::output::Output;
use crate::progress::Progress;
use crate::selection::{ChangedArgs, SelectionArgs, SessionSelection};
use crate::unread::UnreadSessions;
use crate::{overview, settings};

use printed::{HitPrinter, PrintedHit};

/// How many characters of an entry are shown.
const WIDTH: usize = 160;

/// How many characters of a line are shown with `--context`.
const LINE: usize = 1000;

/// How many hits are looked for, for each session that may be shown, so that the hits of a session can be counted.
const GROUPED: usize = 10;

/// How long to wait for another process that updates the index, and the time between two attempts.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// Search the text of all sessions
///
/// All words must match. The index of all sessions is updated first; it can be deleted at any time.
/// If it cannot be updated, the sessions themselves are read. Results are printed as references for
/// `everturn show`. On a terminal they are grouped by session, with the number of results in each.
/// Sessions that cannot be read are reported on stderr, and the exit status is then 4. If another
/// process is still updating the index after five seconds, the exit status is 5.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn search dragon tower
  everturn search '"old tower"' speaker:narrator
  everturn search 'parse_* OR HttpRequest' kind:tool_call --since 2w
  everturn search dragn~ layout:game --sort date --limit 5
  everturn search timeout --project site --context 2
  everturn search --regex 'fn \w+_at\(' --layout codex
  everturn show "$(everturn search dragon --limit 1 --json | jq -r .ref)"

In a query:
  word          the word, ignoring case and accents; also parts of identifiers
  "two words"   a phrase
  wor*  wrod~   words with this prefix; words with a typo
  a OR b  -c    either word; exclude a word
  speaker: kind: session: layout: project: status: title: since: until:
                with a value after the colon, such as since:2026-01-03 or since:3d
Quote a query that has a word with a leading minus sign, and write -- before a query that starts with one."#)]
pub(crate) struct Args {
    /// The query
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,

    /// Only entries since this date or age, such as 2026-01-03 or 3d
    #[arg(long, value_name = "DATE")]
    since: Option<String>,

    /// Only entries up to this date, inclusive
    #[arg(long, value_name = "DATE")]
    until: Option<String>,

    /// The maximum number of results
    #[arg(long, value_name = "N", default_value = "20")]
    limit: NonZeroUsize,

    /// The sort order
    #[arg(long, value_name = "ORDER", default_value = "relevance")]
    sort: HitOrder,

    /// Only sessions with this status, such as active, paused or completed
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,

    /// Only sessions whose project path contains this text
    #[arg(long, value_name = "TEXT")]
    project: Option<String>,

    /// The query is a regular expression; all sessions are read, without the index
    #[arg(long, conflicts_with_all = ["sort", "no_update"])]
    regex: bool,

    /// Print the lines that match, with N lines before and after each
    #[arg(short = 'C', long, value_name = "N")]
    context: Option<usize>,

    /// Print a list of results also on a terminal, not grouped by session
    #[arg(long)]
    flat: bool,

    /// Search the index as it is, without updating it
    #[arg(long)]
    no_update: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum HitOrder {
    /// Best match first
    Relevance,
    /// Newest first
    Date,
}

impl Args {
    fn query(&self) -> Result<Query, Error> {
        let now = settings::now();
        let since = self.since.as_deref().map(|text| date(text, "--since", now)).transpose()?;
        let until = self.until.as_deref().map(|text| date(text, "--until", now)).transpose()?;
        let query = Query::parse(&self.query.join(" "), now).map_err(|error| {
            Error::new(Exit::Request, format!("invalid query: {error}"))
                .hint("everturn search --help describes the query syntax")
        })?;
        Ok(query.within(since.map(|period| period.start), until.map(|period| period.end)))
    }
}

/// Updates the index and shows the progress. Waits for another process that is updating it, so that its new entries
/// are found, too.
fn update(collection: &mut SourceCollection, sessions: &CatalogListing) -> UpdateReport {
    let progress = Progress::new("reading sessions");
    let SourceCollection { catalog, sources, .. } = collection;
    let start = Instant::now();
    let updated = loop {
        let updated = catalog.update(sources, sessions, settings::clock(), &mut |at| {
            progress.bytes(at.bytes.0, at.bytes.1);
        });
        if !updated.is_busy || start.elapsed() >= PATIENCE {
            break updated;
        }
        thread::sleep(PAUSE);
    };
    progress.finish();
    updated
}

/// Adds the sessions of a list that were not fully searched.
fn add_unread<'a>(
    unread: &mut UnreadSessions,
    left_out: impl Iterator<Item = &'a LeftOut>,
    sessions: &CatalogListing,
    collection: &SourceCollection,
) {
    for LeftOut { session, reason } in left_out {
        if let Some(session) = sessions.sessions.get(*session) {
            unread.add(collection.shown(session), reason.clone());
        }
    }
}

/// Reads the hits of a search and prints them. Returns the sessions that could not be read.
fn print(
    args: &Args,
    context: &mut Context,
    (collection, sessions): (&SourceCollection, &CatalogListing),
    query: &Query,
    found: &SearchResults,
) -> Result<Vec<LeftOut>, EarlyExit> {
    let mut printer = HitPrinter::new(args, context, (collection, sessions));
    let mut readers: HashMap<usize, Option<Box<dyn SessionReader>>> = HashMap::new();
    let mut left_out = Vec::new();
    let mut vanished = 0;
    for hit in printer.in_order(&found.hits) {
        let Some(session) = sessions.sessions.get(hit.session) else { continue };
        if printer.is_counted_only(hit.session) {
            continue;
        }
        let mut leave_out = |error: &SessionError| {
            left_out.push(LeftOut { session: hit.session, reason: ReadProblem::from(error) });
        };
        let reader = readers.entry(hit.session).or_insert_with(|| {
            open_session(&collection.sources, session).inspect_err(&mut leave_out).ok().flatten()
        });
        let Some(reader) = reader.as_deref() else {
            vanished += usize::from(!left_out.iter().any(|one| one.session == hit.session));
            continue;
        };
        let mut read = (hit_entry(reader, hit), hit_branch(reader, hit));
        if matches!(read, (Ok(None), Ok(_))) {
            // The session may have been moved while it was read.
            let again = open_session(&collection.sources, session).ok().flatten();
            read = again.map_or(read, |again| (hit_entry(&*again, hit), hit_branch(&*again, hit)));
        }
        let (entry, branch) = match read {
            (Ok(Some(entry)), Ok(branch)) => (entry, branch),
            // A turn that was removed since is skipped.
            (Ok(_), Ok(_)) => {
                vanished += 1;
                continue;
            }
            (Err(error), _) | (_, Err(error)) => {
                leave_out(&error);
                continue;
            }
        };
        let text = entry.readable_text();
        let matched = |line: &str| {
            let Snippet { text, highlights } = Snippet::of(line, query, LINE);
            if highlights.is_empty() { (line.to_owned(), highlights) } else { (text, highlights) }
        };
        let lines = args.context.map(|around| printed::lines_around(&text, around, &matched));
        let lines = lines.unwrap_or_default();
        let snippet = Snippet::of(&text, query, WIDTH);
        let hit =
            PrintedHit { branch, session: hit.session, score: hit.score, entry, snippet, lines };
        printer.print(context, &hit)?;
    }
    printer.finish(context)?;
    if vanished > 0 {
        Output::status(&format!("{vanished} more no longer exist"));
    }
    Ok(left_out)
}

/// The number of hits to look for: enough to count those of each session, where they are grouped.
fn wanted(args: &Args, is_grouped: bool) -> usize {
    let limit = args.limit.get();
    if is_grouped { limit.saturating_mul(GROUPED).max(limit) } else { limit }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let selection = SessionSelection::new(
        &SelectionArgs { status: args.status.clone(), project: args.project.clone() },
        &ChangedArgs::default(),
    )?;
    let query = if args.regex { None } else { Some(args.query()?) };
    let mut collection = collection(context)?;
    let all = collection.sessions(SummaryDetail::All)?;
    if all.sessions.is_empty()
        && all.findings.is_empty()
        && context.root.is_none()
        && context.layout.is_none()
        && !context.json
    {
        return Ok(overview::first_steps());
    }
    selection.check_status(&all.sessions)?;
    let Some(query) = query else {
        return patterns::run(args, context, (&mut collection, &all), &selection);
    };
    let updated = match args.no_update {
        true => UpdateReport::default(),
        false => update(&mut collection, &all),
    };
    let sort = match args.sort {
        HitOrder::Relevance => SortOrder::Relevance,
        HitOrder::Date => SortOrder::Date,
    };
    let is_grouped = printed::is_grouped(args, context);
    let sessions = selected(&all, &selection);
    let SourceCollection { catalog, sources, .. } = &mut collection;
    let found = catalog.search(sources, &sessions, &query, (wanted(args, is_grouped), sort));
    collection.mention_notes();
    if found.similar.is_some() {
        Output::status("no exact match; showing similar words");
    }
    let answered = found.similar.as_ref().unwrap_or(&query);
    let left_out = print(args, context, (&collection, &sessions), answered, &found)?;
    context.out.flush()?;
    print_findings(&all.findings);
    let mut unread = UnreadSessions::new("searched");
    add_unread(&mut unread, left_out.iter().chain(&found.left_out), &sessions, &collection);
    add_unread(&mut unread, updated.left_out.iter(), &all, &collection);
    let unread = unread.report();
    if found.more && !is_grouped {
        Output::status(&format!("results are limited to {}; show more with --limit", args.limit));
    }
    if found.hits.is_empty() && !context.json {
        Output::status(&format!("no results{}", collection.in_places()));
        if let Some(note) = query.not_fields() {
            Output::status(&note);
        }
    }
    let filtered = all.sessions.len() - sessions.sessions.len();
    report_coverage(context, &collection, (&sessions, &all.findings), filtered, is_grouped);
    if updated.is_busy && !found.is_current {
        Output::status("another process is updating the index: the newest turns may be missing");
        return Ok(Exit::Busy);
    }
    Ok(unread.or(incomplete(&collection, &all)).unwrap_or(Exit::Success))
}

/// Returns the sessions of a list that are selected.
fn selected(all: &CatalogListing, selection: &SessionSelection) -> CatalogListing {
    let sessions = all.sessions.iter().filter(|session| selection.selects(session));
    CatalogListing { sessions: sessions.cloned().collect(), ..CatalogListing::default() }
}

/// Says how many sessions were searched: on a terminal, and if filters left some out.
fn report_coverage(
    context: &Context,
    collection: &SourceCollection,
    (sessions, findings): (&CatalogListing, &[Finding]),
    filtered: usize,
    is_grouped: bool,
) {
    if !context.json && (is_grouped || filtered > 0) {
        collection.coverage(sessions.sessions.iter(), findings, filtered).report("searched");
    }
}

/// Returns the exit status if a source or a folder could not be read.
fn incomplete(collection: &SourceCollection, all: &CatalogListing) -> Option<Exit> {
    let is_unreadable = |finding: &Finding| finding.code == FindingCode::Unreadable;
    let is_incomplete = collection.is_incomplete || all.findings.iter().any(is_unreadable);
    is_incomplete.then_some(Exit::Request)
}
