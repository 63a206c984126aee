//! Search hits as text and as JSON: a list, or on a terminal grouped by session ([`HitPrinter`]).

use std::collections::HashMap;
use std::io::IsTerminal;
use std::ops::Range;

use everturn::model::Entry;
use everturn_catalog::{CatalogListing, CatalogSession, SearchHit, Snippet};
use everturn_export::columns::shorten_width;
use jiff::Timestamp;

use super::Args;
use crate::catalog::{SessionNames, SourceCollection, age};
use crate::context::Context;
use crate::error::EarlyExit;
use crate::json::JsonObject;
use crate::output::{coloured, count_noun, escape_controls};
use crate::session_line::{ShortIds, project_word, titled};
use crate::settings;

/// How many hits of a session are shown in its group.
const IN_GROUP: usize = 3;

/// A line of an entry, with the matches in it.
pub(super) type MatchedLine = (String, Vec<Range<usize>>);

/// A hit with everything that is printed about it.
pub(super) struct PrintedHit {
    /// The branch that contains it, unless it is in the main line.
    pub(super) branch: Option<String>,
    /// The index of its session in the listing.
    pub(super) session: usize,
    pub(super) score: f32,
    pub(super) entry: Entry,
    pub(super) snippet: Snippet,
    /// The lines around the matches, if they were asked for.
    pub(super) lines: Vec<MatchedLine>,
}

/// Returns whether hits are grouped by session.
pub(super) fn is_grouped(args: &Args, context: &Context) -> bool {
    !args.flat && !context.json && std::io::stdout().is_terminal()
}

/// Returns the lines of a text with matches, and as many lines around each as wanted. A gap is an empty line.
pub(super) fn lines_around(
    text: &str,
    around: usize,
    matches: &dyn Fn(&str) -> MatchedLine,
) -> Vec<MatchedLine> {
    let found: Vec<MatchedLine> = text.lines().map(matches).collect();
    let is_near = |at: usize| {
        let from = at.saturating_sub(around);
        let near = found.iter().skip(from).take((at - from).saturating_add(around + 1));
        near.into_iter().any(|(_, ranges)| !ranges.is_empty())
    };
    let mut shown: Vec<MatchedLine> = Vec::new();
    let mut last = None;
    for (at, line) in found.iter().enumerate() {
        if !is_near(at) {
            continue;
        }
        if last.is_some_and(|last| last + 1 < at) {
            shown.push((String::new(), Vec::new()));
        }
        last = Some(at);
        shown.push(line.clone());
    }
    shown
}

/// Prints hits.
pub(super) struct HitPrinter<'a> {
    collection: &'a SourceCollection,
    sessions: &'a CatalogListing,
    names: SessionNames,
    colour: bool,
    groups: Option<HitGroups>,
}

/// The sessions of the hits, on a terminal.
struct HitGroups {
    ids: ShortIds,
    /// The number of hits in each session, and how many were printed.
    counts: HashMap<usize, (u64, usize)>,
    /// The session whose hits are being printed.
    current: Option<usize>,
    limit: usize,
    width: usize,
    now: Timestamp,
}

impl<'a> HitPrinter<'a> {
    pub(super) fn new(
        args: &Args,
        context: &Context,
        (collection, sessions): (&'a SourceCollection, &'a CatalogListing),
    ) -> HitPrinter<'a> {
        let groups = is_grouped(args, context).then(|| HitGroups {
            ids: ShortIds::new(sessions),
            counts: HashMap::new(),
            current: None,
            limit: args.limit.get(),
            width: settings::width(),
            now: settings::now(),
        });
        let names = SessionNames::new(sessions);
        HitPrinter { collection, sessions, names, colour: coloured(), groups }
    }

    /// Returns the hits in the order in which they are printed: those of a session together, in the order of the best
    /// of each.
    pub(super) fn in_order<'h>(&mut self, hits: &'h [SearchHit]) -> Vec<&'h SearchHit> {
        let Some(groups) = &mut self.groups else { return hits.iter().collect() };
        let mut order: Vec<usize> = Vec::new();
        for hit in hits {
            let (count, _) = groups.counts.entry(hit.session).or_default();
            if *count == 0 {
                order.push(hit.session);
            }
            *count += 1;
        }
        order.truncate(groups.limit);
        let of = |session: usize| hits.iter().filter(move |hit| hit.session == session);
        order.into_iter().flat_map(of).collect()
    }

    /// Returns whether further hits of a session are only counted.
    pub(super) fn is_counted_only(&self, session: usize) -> bool {
        let counts = self.groups.as_ref().and_then(|groups| groups.counts.get(&session));
        counts.is_some_and(|(_, printed)| *printed >= IN_GROUP)
    }

    pub(super) fn print(
        &mut self,
        context: &mut Context,
        hit: &PrintedHit,
    ) -> Result<(), EarlyExit> {
        let Some(session) = self.sessions.sessions.get(hit.session) else { return Ok(()) };
        if context.json {
            return writeln!(context.out, "{}", self.json(session, hit));
        }
        if self.groups.is_none() {
            return writeln!(context.out, "{}", self.text(session, hit));
        }
        if self.groups.as_ref().is_some_and(|groups| groups.current != Some(hit.session)) {
            self.finish(context)?;
            if let Some(heading) = self.heading(session, hit.session) {
                writeln!(context.out, "{heading}")?;
            }
        }
        let text = self.in_group(hit);
        if let Some(groups) = &mut self.groups {
            groups.current = Some(hit.session);
            if let Some((_, printed)) = groups.counts.get_mut(&hit.session) {
                *printed += 1;
            }
        }
        writeln!(context.out, "{text}")
    }

    /// Ends the group that was printed last.
    pub(super) fn finish(&mut self, context: &mut Context) -> Result<(), EarlyExit> {
        let Some(groups) = &mut self.groups else { return Ok(()) };
        let Some(current) = groups.current.take() else { return Ok(()) };
        let (count, printed) = groups.counts.get(&current).copied().unwrap_or_default();
        let more = count.saturating_sub(printed as u64);
        if more > 0 {
            writeln!(context.out, "    … and {more} more")?;
        }
        writeln!(context.out)
    }

    /// Returns the heading of a session: its short ID, age, project, number of hits and title.
    fn heading(&self, session: &CatalogSession, at: usize) -> Option<String> {
        let groups = self.groups.as_ref()?;
        let id = escape_controls(groups.ids.short(&session.summary.session.id));
        let age = age(session.summary.updated, groups.now);
        let (count, _) = groups.counts.get(&at)?;
        let hits = count_noun(*count, "result", "results");
        let line = format!("{id}  {age}  {}  {hits}  {}", project_word(session), titled(session));
        let line = shorten_width(&line, groups.width);
        Some(if self.colour { format!("\u{1b}[1m{line}\u{1b}[0m") } else { line })
    }

    /// Formats a hit below the heading of its session.
    fn in_group(&self, hit: &PrintedHit) -> String {
        let along =
            hit.branch.as_ref().map_or_else(String::new, |branch| format!(" --branch {branch}"));
        let PrintedHit { entry, snippet, lines, .. } = hit;
        let place = format!("#{}{along} {}: ", entry.turn, entry.speaker);
        let place = escape_controls(&place).replace('\n', " ");
        if lines.is_empty() {
            return format!("    {place}{}", self.marked(&snippet.text, &snippet.highlights));
        }
        let mut text = format!("    {}", place.trim_end());
        for (line, highlights) in lines {
            text.push_str(&format!("\n      {}", self.marked(line, highlights)));
        }
        text
    }

    /// Returns a text with its matches highlighted.
    fn marked(&self, text: &str, highlights: &[Range<usize>]) -> String {
        let mut line = String::new();
        let mut at = 0;
        let part = |from: usize, to: usize| {
            escape_controls(text.get(from..to).unwrap_or_default()).replace('\n', " ")
        };
        for range in highlights {
            line.push_str(&part(at, range.start));
            let found = part(range.start, range.end);
            match self.colour {
                true => line.push_str(&format!("\u{1b}[1;31m{found}\u{1b}[0m")),
                false => line.push_str(&found),
            }
            at = range.end;
        }
        line.push_str(&part(at, text.len()));
        line
    }

    fn reference(&self, session: &CatalogSession, entry: &Entry) -> String {
        format!("{}#{}", self.names.of(session, self.collection), entry.turn)
    }

    fn json(&self, session: &CatalogSession, hit: &PrintedHit) -> String {
        let PrintedHit { branch, score, entry, snippet, lines, .. } = hit;
        let characters = |byte: usize| snippet.text.get(..byte).unwrap_or_default().chars().count();
        let highlights = snippet.highlights.iter();
        let highlights: Vec<String> = highlights
            .map(|range| format!("[{},{}]", characters(range.start), characters(range.end)))
            .collect();
        let mut object = JsonObject::new()
            .text("ref", &self.reference(session, entry))
            .text("session", &session.summary.session.id)
            .text("layout", session.summary.layout)
            .text("title", &session.summary.title)
            .text("path", &self.collection.shown(session))
            .number("turn", entry.turn)
            .number("seq", entry.seq)
            .text("id", &entry.id)
            .time("time", entry.time)
            .text("speaker", &entry.speaker)
            .text("kind", entry.kind.as_str())
            .raw("score", &format!("{score:.3}"))
            .text("snippet", &snippet.text)
            .raw("highlights", &format!("[{}]", highlights.join(",")));
        if !lines.is_empty() {
            let lines: Vec<&str> = lines.iter().map(|(line, _)| line.as_str()).collect();
            object = object.raw("lines", &serde_json::json!(lines).to_string());
        }
        match branch {
            Some(branch) => object.text("branch", branch).close(),
            None => object.close(),
        }
    }

    /// Formats a hit of a list as text: its position, and the text around the matches.
    fn text(&self, session: &CatalogSession, hit: &PrintedHit) -> String {
        let PrintedHit { branch, entry, snippet, lines, .. } = hit;
        let along =
            branch.as_ref().map_or_else(String::new, |branch| format!(" --branch {branch}"));
        let (reference, layout) = (self.reference(session, entry), session.summary.layout);
        let mut heading = format!("{reference}{along}  {layout}  {}", entry.speaker);
        if let Some(time) = entry.time {
            heading.push_str(&format!("  {time}"));
        }
        if session.summary.title != session.summary.session.id {
            heading.push_str(&format!("  {}", session.summary.title));
        }
        let heading = escape_controls(&heading).replace('\n', " ");
        if lines.is_empty() {
            return format!("{heading}\n    {}", self.marked(&snippet.text, &snippet.highlights));
        }
        let lines = lines.iter().map(|(line, found)| format!("\n    {}", self.marked(line, found)));
        format!("{heading}{}", lines.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_around_matches_are_shown_once_with_gaps() {
        let find = |line: &str| {
            (line.to_owned(), line.find('x').map(|at| at..at + 1).into_iter().collect())
        };
        let shown = |around| {
            let lines = lines_around("a\nx\nb\nc\nd\nxx", around, &find);
            lines.into_iter().map(|(line, _)| line).collect::<Vec<_>>()
        };
        assert_eq!(shown(0), ["x", "", "xx"]);
        assert_eq!(shown(1), ["a", "x", "b", "", "d", "xx"]);
        assert_eq!(shown(9), ["a", "x", "b", "c", "d", "xx"]);
        assert!(lines_around("nothing", 1, &find).is_empty());
    }
}
