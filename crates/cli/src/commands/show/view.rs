//! How `everturn show` prints entries for people: a header, the conversation, and tool output in a few lines.

use std::io::IsTerminal;

use everturn::format::SessionReader;
use everturn::model::{Entry, EntryKind};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Args;
use crate::context::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::escape_controls;
use crate::prices::PriceTable;
use crate::sessions::FoundSession;
use crate::spending::{
    RowCost, Spending, SpendingKey, SpendingPeriod, SpendingSession, grouped, tokens,
};
use crate::titles::GivenTitles;

/// How many lines of the output of a tool are shown.
const FOLDED: usize = 3;

/// How many characters of each of them.
const FOLDED_LINE: usize = 200;

/// A group of kinds that can be chosen by one word.
const GROUPS: [(&str, &[&str]); 1] = [("tools", &["tool_call", "tool_result"])];

/// What is printed of a session, and how.
pub(super) struct EntryView {
    /// The kinds of entries to print; all if there are none.
    only: Vec<String>,
    /// Whether tool output is shortened.
    folds: bool,
    /// The time zone of times; times are RFC 3339 without one.
    zone: Option<TimeZone>,
}

impl EntryView {
    pub(super) fn new(args: &Args, context: &Context) -> Result<EntryView, Error> {
        let mut only = Vec::new();
        for word in args.only.iter().map(|word| word.trim()).filter(|word| !word.is_empty()) {
            match GROUPS.iter().find(|(group, _)| *group == word) {
                Some((_, kinds)) => only.extend(kinds.iter().map(|kind| (*kind).to_owned())),
                None => only.push(word.to_owned()),
            }
        }
        if let Some(unknown) = only.iter().find(|word| !is_kind(word)) {
            let known: Vec<&str> = EntryKind::NAMED.iter().map(EntryKind::as_str).collect();
            let known = known.join(", ");
            return Err(Error::new(Exit::Request, format!("--only: {unknown:?} is not a kind"))
                .hint(format!("known kinds: {known}, thinking, record, tools")));
        }
        let is_terminal = !context.json && std::io::stdout().is_terminal();
        let folds = is_terminal && !args.tools && !args.raw;
        Ok(EntryView { only, folds, zone: is_terminal.then(TimeZone::system) })
    }

    /// Returns whether an entry is printed.
    pub(super) fn has(&self, entry: &Entry) -> bool {
        self.only.is_empty() || self.only.iter().any(|kind| kind == entry.kind.as_str())
    }

    /// Returns whether entries of this kind were asked for by name.
    pub(super) fn names(&self, entry: &Entry) -> bool {
        self.only.iter().any(|kind| kind == entry.kind.as_str())
    }

    fn time(&self, time: Timestamp) -> String {
        match &self.zone {
            Some(zone) => time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
            None => time.to_string(),
        }
    }

    /// Formats an entry as text: speaker and time, then the text.
    pub(super) fn text(&self, entry: &Entry) -> String {
        let mut heading = format!("[{}] {}", entry.turn, entry.speaker);
        if let Some(time) = entry.time {
            heading.push_str(&format!("  {}", self.time(time)));
        }
        let heading = escape_controls(&heading).replace('\n', " ");
        let text = entry.readable_text();
        let text = match self.folds && is_tool(entry) {
            true => folded(text.trim_end()),
            false => text.trim_end().to_owned(),
        };
        let text = escape_controls(&text);
        if text.is_empty() { format!("{heading}\n") } else { format!("{heading}\n{text}\n") }
    }

    /// Returns the header of a session for a terminal; `None` elsewhere.
    pub(super) fn header(
        &self,
        found: &FoundSession,
        reader: &dyn SessionReader,
    ) -> Result<Option<String>, Error> {
        if self.zone.is_none() {
            return Ok(None);
        }
        let store = found.root.store();
        let summary = found.layout.summary(&store, &found.place)?;
        let project = found.layout.project(&store, &found.place).unwrap_or_default();
        let given = GivenTitles::load()?;
        let given = given.of(found.layout.name(), &found.place.id);
        let mut lines = Vec::new();
        if given.is_some() || summary.title != found.place.id {
            lines.push(given.unwrap_or(&summary.title).to_owned());
        }
        lines.push(format!("{}  {}", found.place.id, found.layout.name()));
        if let Some(project) = project {
            lines.push(format!("project  {project}"));
        }
        let ends = [summary.created, summary.updated].map(|time| time.map(|time| self.time(time)));
        let times: Vec<String> = ends.into_iter().flatten().collect();
        if !times.is_empty() {
            lines.push(format!("time     {}", times.join(" to ")));
        }
        lines.extend(self.spent(found, reader)?);
        let lines = lines.iter().map(|line| escape_controls(line).replace('\n', " ") + "\n");
        Ok(Some(lines.collect::<String>() + "\n"))
    }

    /// Returns a line with the models, the tokens and the cost, if the session records its usage.
    fn spent(
        &self,
        found: &FoundSession,
        reader: &dyn SessionReader,
    ) -> Result<Option<String>, Error> {
        let Some(usage) = reader.usage() else { return Ok(None) };
        let mut spending = Spending::new(SpendingKey::Model, SpendingPeriod::default());
        let session = SpendingSession { id: found.place.id.clone(), project: None, day: None };
        spending.add(&session, Some(&usage));
        let total = spending.total();
        let models: Vec<&str> = total.keys().map(String::as_str).collect();
        let (spent, cost) = (tokens(&total), RowCost::of(&total, &PriceTable::load()?));
        let sum = grouped(spent.total_tokens());
        Ok(Some(format!("model    {}  {sum} tokens  {}", models.join(", "), cost.text())))
    }
}

fn is_kind(word: &str) -> bool {
    let is_named = |kind: &EntryKind| kind.as_str() == word;
    EntryKind::NAMED.iter().any(is_named)
        || is_named(&EntryKind::thinking())
        || is_named(&EntryKind::bookkeeping())
}

fn is_tool(entry: &Entry) -> bool {
    matches!(entry.kind, EntryKind::ToolCall | EntryKind::ToolResult)
}

/// Returns the first lines of a text, and how many are left out.
fn folded(text: &str) -> String {
    let mut lines = text.lines();
    let short = |line: &str| match line.char_indices().nth(FOLDED_LINE) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
    };
    let mut shown: Vec<String> = lines.by_ref().take(FOLDED).map(short).collect();
    let more = lines.count();
    if more > 0 {
        let lines = if more == 1 { "line" } else { "lines" };
        shown.push(format!("… {more} more {lines}; --tools prints them"));
    }
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_tool_output_is_folded() {
        assert_eq!(folded("a\nb\nc"), "a\nb\nc");
        assert_eq!(folded("a\nb\nc\nd"), "a\nb\nc\n… 1 more line; --tools prints them");
        let long = "x".repeat(300);
        assert_eq!(folded(&long), format!("{}…", "x".repeat(200)));
    }

    #[test]
    fn kinds_are_known_by_name() {
        for word in ["user", "assistant", "tool_call", "thinking", "record"] {
            assert!(is_kind(word), "{word}");
        }
        assert!(!is_kind("usr"));
    }
}
