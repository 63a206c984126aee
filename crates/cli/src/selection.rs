//! What "all sessions" means: the options that select sessions ([`SelectionArgs`], [`ChangedArgs`]), the selection that
//! they make ([`SessionSelection`]), and what a command has covered of it ([`Coverage`]).

use std::collections::{BTreeMap, BTreeSet};

use everturn::finding::{Finding, FindingCode};
use everturn_catalog::{CatalogListing, CatalogSession, SummaryDetail};
use jiff::Timestamp;

use crate::catalog::{SourceCollection, date};
use crate::error::Error;
use crate::exit::Exit;
use crate::output::{Output, count_noun};
use crate::settings;

/// All statuses that a session can have.
const STATUSES: [&str; 6] = ["active", "paused", "completed", "archived", "helper", "unknown"];

/// The options that select sessions by what they are.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct SelectionArgs {
    /// Only sessions with this status, such as active, paused or completed
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,

    /// Only sessions whose project path contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) project: Option<String>,
}

/// The options that select sessions by their last change.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ChangedArgs {
    /// Only sessions changed since this date or age, such as 2026-01-03 or 3d
    #[arg(long, value_name = "DATE")]
    pub(crate) since: Option<String>,

    /// Only sessions not changed after this date
    #[arg(long, value_name = "DATE")]
    pub(crate) until: Option<String>,
}

/// A selection of sessions: those that pass all filters.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionSelection {
    status: Option<String>,
    /// In lower case.
    project: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl SessionSelection {
    pub(crate) fn new(
        what: &SelectionArgs,
        changed: &ChangedArgs,
    ) -> Result<SessionSelection, Error> {
        let now = settings::now();
        let parse = |text: &Option<String>, flag: &str| {
            text.as_deref().map(|text| date(text, flag, now)).transpose()
        };
        Ok(SessionSelection {
            status: what.status.clone(),
            project: what.project.as_ref().map(|text| text.to_lowercase()),
            since: parse(&changed.since, "--since")?.map(|period| period.start),
            until: parse(&changed.until, "--until")?.map(|period| period.end),
        })
    }

    /// Returns whether it selects every session.
    pub(crate) fn is_everything(&self) -> bool {
        self.status.is_none() && !self.has_text_filters()
    }

    /// Returns whether it has filters other than the status.
    pub(crate) fn has_text_filters(&self) -> bool {
        self.project.is_some() || self.since.is_some() || self.until.is_some()
    }

    pub(crate) fn selects(&self, session: &CatalogSession) -> bool {
        let summary = &session.summary;
        let changed = |fits: &dyn Fn(Timestamp) -> bool| summary.updated.is_some_and(fits);
        self.status.as_ref().is_none_or(|wanted| wanted == summary.status.as_str())
            && self.project.as_ref().is_none_or(|part| {
                let project = session.project.as_ref().map(|project| project.to_lowercase());
                project.is_some_and(|project| project.contains(part))
            })
            && self.since.is_none_or(|since| changed(&|time| time >= since))
            && self.until.is_none_or(|until| changed(&|time| time < until))
    }

    /// Rejects a status that no session has or can have: it is a typo.
    pub(crate) fn check_status(&self, sessions: &[CatalogSession]) -> Result<(), Error> {
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
}

/// How many sessions of which sources a command has covered, and why not the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Coverage {
    /// The number of covered sessions by source.
    covered: BTreeMap<String, u64>,
    /// Numbers of sessions that were left out, each with the reason.
    left_out: Vec<(u64, String)>,
    /// The places that were searched, if there are no sessions at all.
    places: String,
    /// Why the number of sessions is not certain.
    gaps: Vec<String>,
}

impl Coverage {
    /// Adds a covered session of a source.
    pub(crate) fn add(&mut self, source: &str) {
        *self.covered.entry(source.to_owned()).or_default() += 1;
    }

    /// Adds a number of sessions that are left out for a reason.
    pub(crate) fn leave_out(&mut self, count: u64, reason: impl Into<String>) {
        if count > 0 {
            self.left_out.push((count, reason.into()));
        }
    }

    /// Names the places that were searched.
    pub(crate) fn searched(&mut self, places: String) {
        self.places = places;
    }

    /// Adds a reason why there may be more sessions.
    pub(crate) fn add_gap(&mut self, gap: impl Into<String>) {
        self.gaps.push(gap.into());
    }

    /// Returns the number of covered sessions.
    pub(crate) fn total(&self) -> u64 {
        self.covered.values().sum()
    }

    /// Returns the line for the end of a command that has done something with the sessions, such as `checked`.
    pub(crate) fn line(&self, done: &str) -> String {
        let total = self.total();
        let left: u64 = self.left_out.iter().map(|(count, _)| count).sum();
        let mut line = match left {
            0 if total == 0 => format!("there are no sessions to be {done}"),
            0 => format!("{} {done}", count_noun(total, "session", "sessions")),
            left => {
                let all = count_noun(total + left, "session", "sessions");
                format!("{total} of {all} {done}")
            }
        };
        if total == 0 && left == 0 && !self.places.is_empty() {
            line.push_str(&format!(" in {}", self.places));
        }
        let sources = self.covered.iter().map(|(source, count)| match self.covered.len() {
            1 => source.clone(),
            _ => format!("{source} {count}"),
        });
        let sources: Vec<String> = sources.collect();
        if !sources.is_empty() {
            line.push_str(&format!(" ({})", sources.join(", ")));
        }
        for (count, reason) in &self.left_out {
            line.push_str(&format!("; {count} not: {reason}"));
        }
        for gap in &self.gaps {
            line.push_str(&format!("; {gap}"));
        }
        line
    }

    /// Prints the line on stderr.
    pub(crate) fn report(&self, done: &str) {
        Output::status(&self.line(done));
    }
}

impl SourceCollection {
    /// Returns the selected sessions of all sources, most recently changed first, and what they cover.
    pub(crate) fn select(
        &mut self,
        selection: &SessionSelection,
        detail: SummaryDetail,
    ) -> Result<(CatalogListing, Coverage), Error> {
        let mut listing = self.sessions(detail)?;
        selection.check_status(&listing.sessions)?;
        let all = listing.sessions.len();
        listing.sessions.retain(|session| selection.selects(session));
        let filtered = all - listing.sessions.len();
        let coverage = self.coverage(listing.sessions.iter(), &listing.findings, filtered);
        Ok((listing, coverage))
    }

    /// Returns what a list with these findings covers, apart from a number of sessions that filters left out.
    pub(crate) fn coverage<'s>(
        &self,
        sessions: impl Iterator<Item = &'s CatalogSession>,
        findings: &[Finding],
        filtered: usize,
    ) -> Coverage {
        let mut coverage = Coverage::default();
        for session in sessions {
            coverage.add(self.named(session.source).0);
        }
        coverage.leave_out(filtered as u64, "they do not match the filters");
        coverage.searched(self.place());
        if self.is_incomplete || self.unopened > 0 {
            coverage.add_gap("a source could not be read");
        }
        if findings.iter().any(|finding| finding.code == FindingCode::Unreadable) {
            coverage.add_gap("a folder could not be read");
        }
        coverage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_was_covered_and_why_not_the_rest() {
        let mut coverage = Coverage::default();
        coverage.searched("/srv/saves".to_owned());
        assert_eq!(coverage.line("checked"), "there are no sessions to be checked in /srv/saves");
        coverage.add("root");
        assert_eq!(coverage.line("checked"), "1 session checked (root)");
        coverage.add("codex");
        coverage.add("codex");
        assert_eq!(coverage.line("checked"), "3 sessions checked (codex 2, root 1)");
        coverage.leave_out(0, "no reason");
        coverage.leave_out(7, "they do not match the filters");
        coverage.add_gap("a source could not be read");
        assert_eq!(
            coverage.line("counted"),
            "3 of 10 sessions counted (codex 2, root 1); 7 not: they do not match the filters; \
             a source could not be read"
        );
        let mut none = Coverage::default();
        none.leave_out(2, "they belong to other programs");
        assert_eq!(
            none.line("planned"),
            "0 of 2 sessions planned; 2 not: they belong to other programs"
        );
    }
}
