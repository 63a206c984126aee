//! `everturn search --regex`: reads the selected sessions and compares every entry with a regular expression.

use std::ops::Range;

use everturn::format::{SessionError, SessionReader};
use everturn_catalog::{
    CatalogListing, CatalogSession, LeftOut, ReadProblem, SearchHit, Snippet, lost_file,
    open_session,
};
use jiff::Timestamp;
use regex::{Regex, RegexBuilder};

use super::printed::{HitPrinter, PrintedHit, is_grouped, lines_around};
use super::{Args, WIDTH, add_unread, incomplete, report_coverage, selected};
use crate::catalog::{SourceCollection, date};
use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::output::Output;
use crate::progress::Progress;
use crate::selection::SessionSelection;
use crate::settings;
use crate::unread::UnreadSessions;

/// The size to which a compiled expression may grow, in bytes.
const LARGEST: usize = 10 << 20;

/// An expression and the period of the entries to compare.
struct PatternQuery {
    regex: Regex,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl PatternQuery {
    /// Compiles the expression. Without upper-case letters it ignores case.
    fn new(args: &Args) -> Result<PatternQuery, Error> {
        let text = args.query.join(" ");
        let ignores_case = !text.chars().any(char::is_uppercase);
        let built = RegexBuilder::new(&text)
            .case_insensitive(ignores_case)
            .multi_line(true)
            .size_limit(LARGEST)
            .build();
        let regex = built.map_err(|cause| {
            Error::new(Exit::Request, "invalid regular expression").caused_by(cause)
        })?;
        let now = settings::now();
        let parse = |text: &Option<String>, flag: &str| {
            text.as_deref().map(|text| date(text, flag, now)).transpose()
        };
        Ok(PatternQuery {
            regex,
            since: parse(&args.since, "--since")?.map(|period| period.start),
            until: parse(&args.until, "--until")?.map(|period| period.end),
        })
    }

    fn has_time(&self, time: Option<Timestamp>) -> bool {
        self.since.is_none_or(|since| time.is_some_and(|time| time >= since))
            && self.until.is_none_or(|until| time.is_some_and(|time| time < until))
    }

    fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let found = self.regex.find_iter(text).map(|one| one.range());
        found.filter(|range| !range.is_empty()).collect()
    }

    /// Returns the line of the first match, shortened around it.
    fn snippet(&self, text: &str) -> Snippet {
        let first = self.regex.find(text).map_or(0..0, |found| found.range());
        let start = text.get(..first.start).and_then(|before| before.rfind('\n'));
        let start = start.map_or(0, |at| at + 1);
        let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let before = line.get(..first.start - start).unwrap_or_default();
        let skipped = before.chars().count().saturating_sub(WIDTH / 3);
        let shown: String = line.chars().skip(skipped).take(WIDTH).collect();
        let text = shown.trim_end().to_owned();
        let highlights = self.ranges(&text);
        Snippet { text, highlights }
    }
}

/// The matches of all sessions.
struct PatternSearch<'a> {
    query: PatternQuery,
    args: &'a Args,
    hits: Vec<(SearchHit, PrintedHit)>,
    most: usize,
    left_out: Vec<LeftOut>,
}

impl PatternSearch<'_> {
    /// Compares the entries of a session.
    fn session(&mut self, at: usize, session: &CatalogSession, reader: &dyn SessionReader) {
        let mut read = || -> Result<Option<String>, SessionError> {
            let mut time = session.summary.created.or(session.summary.updated);
            let mut entries = reader.entries(0..=u64::MAX)?;
            while let Some(entry) = entries.next() {
                drop(entries.take_findings());
                let entry = entry?;
                time = entry.time.or(time);
                let text = entry.readable_text();
                if !self.query.has_time(time) || !self.query.regex.is_match(&text) {
                    continue;
                }
                let lines = match self.args.context {
                    Some(around) => lines_around(&text, around, &|line| {
                        (line.to_owned(), self.query.ranges(line))
                    }),
                    None => Vec::new(),
                };
                let snippet = self.query.snippet(&text);
                let (turn, seq, score) = (entry.turn, entry.seq, 0.0);
                let hit = SearchHit { session: at, branch: 0, turn, seq, time, score };
                let printed =
                    PrintedHit { branch: None, session: at, score, snippet, lines, entry };
                self.hits.push((hit, printed));
                if self.hits.len() > self.most {
                    break;
                }
            }
            Ok(lost_file(&reader.findings()))
        };
        let reason = match read() {
            Ok(lost) => lost.map(ReadProblem::from),
            Err(error) => Some(ReadProblem::from(&error)),
        };
        self.left_out.extend(reason.map(|reason| LeftOut { session: at, reason }));
    }
}

pub(super) fn run(
    args: &Args,
    context: &mut Context,
    (collection, all): (&mut SourceCollection, &CatalogListing),
    selection: &SessionSelection,
) -> Result<Exit, EarlyExit> {
    let sessions = selected(all, selection);
    let is_grouped = is_grouped(args, context);
    let most = super::wanted(args, is_grouped);
    let query = PatternQuery::new(args)?;
    let mut search = PatternSearch { query, args, hits: Vec::new(), most, left_out: Vec::new() };
    let progress = Progress::new("searching");
    for (at, session) in sessions.sessions.iter().enumerate() {
        progress.step(&session.summary.session.id);
        match open_session(&collection.sources, session) {
            Ok(Some(reader)) => search.session(at, session, &*reader),
            Ok(None) => {}
            Err(error) => {
                let reason = ReadProblem::from(&error);
                search.left_out.push(LeftOut { session: at, reason });
            }
        }
        if search.hits.len() > most {
            break;
        }
    }
    progress.finish();
    let is_limited = search.hits.len() > most;
    search.hits.truncate(most);
    let mut printer = HitPrinter::new(args, context, (&*collection, &sessions));
    let found: Vec<SearchHit> = search.hits.iter().map(|(hit, _)| hit.clone()).collect();
    for hit in printer.in_order(&found) {
        let printed = search.hits.iter().find(|(one, _)| one == hit);
        if let Some((_, printed)) = printed.filter(|_| !printer.is_counted_only(hit.session)) {
            printer.print(context, printed)?;
        }
    }
    printer.finish(context)?;
    context.out.flush()?;
    print_findings(&all.findings);
    let mut unread = UnreadSessions::new("searched");
    add_unread(&mut unread, search.left_out.iter(), &sessions, collection);
    let unread = unread.report();
    if is_limited {
        Output::status(&format!("results are limited to {}; show more with --limit", args.limit));
    }
    if search.hits.is_empty() && !context.json {
        Output::status(&format!("no results{}", collection.in_places()));
    }
    let filtered = all.sessions.len() - sessions.sessions.len();
    report_coverage(context, collection, (&sessions, &all.findings), filtered, is_grouped);
    Ok(unread.or(incomplete(collection, all)).unwrap_or(Exit::Success))
}
