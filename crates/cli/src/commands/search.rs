//! `everturn search`: searches the text of all sessions.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use everturn::finding::{Finding, FindingCode};
use everturn::format::{SessionError, SessionReader};
use everturn::model::Entry;
use everturn_catalog::{
    CatalogListing, CatalogSession, LeftOut, Query, ReadProblem, SearchHit, SearchResults, Snippet,
    SortOrder, SummaryDetail, UpdateReport, hit_branch, hit_entry, open_session,
};

use super::Context;
use crate::catalog::{SessionNames, SourceCollection, collection, date};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::json::JsonObject;
use crate::output::{Output, coloured};
use crate::printable::Printable;
use crate::progress::Progress;
use crate::unread::UnreadSessions;
use crate::{overview, settings};

/// How many characters of an entry are shown.
const WIDTH: usize = 160;

/// How long to wait for another process that updates the index, and the time between two attempts.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// Search the text of all sessions
///
/// All words must match. The index of all sessions is updated first; it can be deleted at any time.
/// If it cannot be updated, the sessions themselves are read. Results are printed as references for
/// `everturn show`. Archived sessions are not searched. Sessions that cannot be read are reported on
/// stderr, and the exit status is then 4. If another process is still updating the index after five
/// seconds, the exit status is 5.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn search dragon tower
  everturn search '"old tower"' speaker:narrator
  everturn search 'parse_* OR HttpRequest' kind:tool_call --since 2w
  everturn search dragn~ layout:game --sort date --limit 5
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

/// Returns the sessions that were not fully searched.
fn unread_sessions<'a>(
    left_out: impl Iterator<Item = &'a LeftOut>,
    sessions: &CatalogListing,
    collection: &SourceCollection,
) -> UnreadSessions {
    let mut unread = UnreadSessions::new("searched");
    for LeftOut { session, reason } in left_out {
        if let Some(session) = sessions.sessions.get(*session) {
            unread.add(collection.shown(session), reason.clone());
        }
    }
    unread
}

/// A hit with everything that is printed about it.
struct PrintedHit<'a> {
    reference: String,
    /// The branch that contains it, unless it is in the main line.
    branch: Option<String>,
    session: &'a CatalogSession,
    hit: &'a SearchHit,
    entry: Entry,
    snippet: Snippet,
}

fn json(printed: &PrintedHit<'_>, collection: &SourceCollection) -> String {
    let PrintedHit { reference, branch, session, hit, entry, snippet } = printed;
    let characters = |byte: usize| snippet.text.get(..byte).unwrap_or_default().chars().count();
    let highlights = snippet.highlights.iter();
    let highlights: Vec<String> = highlights
        .map(|range| format!("[{},{}]", characters(range.start), characters(range.end)))
        .collect();
    let object = JsonObject::new()
        .text("ref", reference)
        .text("session", &session.summary.session.id)
        .text("layout", session.summary.layout)
        .text("title", &session.summary.title)
        .text("path", &collection.shown(session))
        .number("turn", entry.turn)
        .number("seq", entry.seq)
        .text("id", &entry.id)
        .time("time", entry.time)
        .text("speaker", &entry.speaker)
        .text("kind", entry.kind.as_str())
        .raw("score", &format!("{:.3}", hit.score))
        .text("snippet", &snippet.text)
        .raw("highlights", &format!("[{}]", highlights.join(",")));
    match branch {
        Some(branch) => object.text("branch", branch).close(),
        None => object.close(),
    }
}

/// Formats a hit as text: its position, and the text around the matches.
fn text(printed: &PrintedHit<'_>, colour: bool) -> Printable {
    let PrintedHit { reference, branch, session, entry, snippet, .. } = printed;
    let along = branch.as_ref().map_or_else(String::new, |branch| format!(" --branch {branch}"));
    let layout = session.summary.layout;
    let mut heading = format!("{reference}{along}  {layout}  {}", entry.speaker);
    if let Some(time) = entry.time {
        heading.push_str(&format!("  {time}"));
    }
    if session.summary.title != session.summary.session.id {
        heading.push_str(&format!("  {}", session.summary.title));
    }
    let mut line = Printable::new(&format!("{}\n    ", heading.replace('\n', " ")));
    let mut at = 0;
    let part =
        |from: usize, to: usize| Printable::new(snippet.text.get(from..to).unwrap_or_default());
    for range in &snippet.highlights {
        line.push(&part(at, range.start));
        let found = part(range.start, range.end);
        match colour {
            true => line.push(&found.highlighted()),
            false => line.push(&found),
        }
        at = range.end;
    }
    line.push(&part(at, snippet.text.len()));
    line
}

fn print(
    context: &mut Context,
    (collection, sessions): (&SourceCollection, &CatalogListing),
    query: &Query,
    found: &SearchResults,
) -> Result<Vec<LeftOut>, EarlyExit> {
    let names = SessionNames::new(sessions);
    let colour = coloured();
    let mut readers: HashMap<usize, Option<Box<dyn SessionReader>>> = HashMap::new();
    let mut left_out = Vec::new();
    let mut vanished = 0;
    for hit in &found.hits {
        let Some(session) = sessions.sessions.get(hit.session) else { continue };
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
        let snippet = Snippet::of(&entry.readable_text(), query, WIDTH);
        let reference = format!("{}#{}", names.of(session, collection), entry.turn);
        let printed = PrintedHit { reference, branch, session, hit, entry, snippet };
        match context.json {
            true => writeln!(context.out, "{}", json(&printed, collection))?,
            false => {
                context.out.write_printable(&text(&printed, colour))?;
                writeln!(context.out)?;
            }
        }
    }
    if vanished > 0 {
        context.out.flush()?;
        Output::status(&format!("{vanished} more no longer exist"));
    }
    Ok(left_out)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let query = args.query()?;
    let mut collection = collection(context)?;
    let sessions = collection.sessions(SummaryDetail::All)?;
    if sessions.sessions.is_empty()
        && sessions.findings.is_empty()
        && context.root.is_none()
        && context.layout.is_none()
        && !context.json
    {
        return Ok(overview::first_steps());
    }
    let updated = match args.no_update {
        true => UpdateReport::default(),
        false => update(&mut collection, &sessions),
    };
    let sort = match args.sort {
        HitOrder::Relevance => SortOrder::Relevance,
        HitOrder::Date => SortOrder::Date,
    };
    let SourceCollection { catalog, sources, .. } = &mut collection;
    let found = catalog.search(sources, &sessions, &query, (args.limit.get(), sort));
    collection.mention_notes();
    if found.similar.is_some() {
        Output::status("no exact match; showing similar words");
    }
    let answered = found.similar.as_ref().unwrap_or(&query);
    let left_out = print(context, (&collection, &sessions), answered, &found)?;
    context.out.flush()?;
    print_findings(&sessions.findings);
    let left_out = left_out.iter().chain(&updated.left_out).chain(&found.left_out);
    let unread = unread_sessions(left_out, &sessions, &collection).report();
    if found.more {
        Output::status(&format!("results are limited to {}; show more with --limit", args.limit));
    }
    if found.hits.is_empty() && !context.json {
        Output::status(&format!("no results{}", collection.in_places()));
        if let Some(note) = query.not_fields() {
            Output::status(&note);
        }
    }
    if updated.is_busy && !found.is_current {
        Output::status("another process is updating the index: the newest turns may be missing");
        return Ok(Exit::Busy);
    }
    let is_unreadable = |finding: &Finding| finding.code == FindingCode::Unreadable;
    let is_incomplete = collection.is_incomplete || sessions.findings.iter().any(is_unreadable);
    let is_incomplete = is_incomplete.then_some(Exit::Request);
    Ok(unread.or(is_incomplete).unwrap_or(Exit::Success))
}
