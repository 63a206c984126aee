//! Which sessions a check of all sources has covered, and which of them are damaged.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use everturn::format;
use everturn_catalog::{CatalogListing, CatalogSession, SummaryDetail};
use everturn_export::columns::shorten_width;

use super::{CheckOutcome, check_at, locate};
use crate::catalog::{SourceCollection, collection};
use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::output::{Output, count_noun, escape_controls};
use crate::selection::SessionSelection;
use crate::session_line::ShortIds;
use crate::settings;

/// The maximum number of damaged sessions that are named.
const NAMED: usize = 20;

/// Returns whether the files of a session are JSON, which are the files that a check reads.
fn has_json_files(session: &CatalogSession) -> bool {
    let is_own = format::find(session.summary.layout).is_some_and(|format| !format.is_external());
    let is_json =
        |name: &str| [".json", ".jsonl", ".ndjson"].iter().any(|suffix| name.ends_with(suffix));
    is_own || session.summary.session.path.as_str().split('/').any(is_json)
}

fn select(
    context: &Context,
    selection: &SessionSelection,
) -> Result<(SourceCollection, CatalogListing, u64, usize), Error> {
    let mut collection = collection(context)?;
    let mut listing = collection.sessions(SummaryDetail::All)?;
    selection.check_status(&listing.sessions)?;
    let all = listing.sessions.len();
    listing.sessions.retain(|session| selection.selects(session));
    let filtered = all - listing.sessions.len();
    let selected = listing.sessions.len();
    listing.sessions.retain(has_json_files);
    let others = selected - listing.sessions.len();
    Ok((collection, listing, others as u64, filtered))
}

/// Checks the selected sessions of all sources.
pub(super) fn check(
    selection: &SessionSelection,
    context: &mut Context,
) -> Result<CheckOutcome, EarlyExit> {
    let (collection, listing, ..) = select(context, selection)?;
    let mut outcome = CheckOutcome::default();
    for session in &listing.sessions {
        let path = collection.shown(session);
        if let Some(checked) = check_at(locate(Path::new(&path))?, false, context)? {
            outcome.add(checked);
        }
    }
    Ok(outcome)
}

/// Says which sessions are damaged, worst first, and how many sessions were checked.
pub(super) fn report(
    context: &Context,
    selection: &SessionSelection,
    files: &BTreeMap<String, (u64, u64)>,
) -> Result<(), Error> {
    let (collection, listing, others, filtered) = select(context, selection)?;
    let ids = ShortIds::new(&listing);
    let mut damaged: Vec<(u64, u64, &CatalogSession)> = Vec::new();
    for session in &listing.sessions {
        let path = collection.shown(session);
        let below = format!("{path}/");
        let is_part = |file: &&String| **file == path || file.starts_with(&below);
        let of_session = files.keys().filter(is_part).filter_map(|file| files.get(file));
        let (findings, warnings) =
            of_session.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if findings > 0 {
            damaged.push((findings, warnings, session));
        }
    }
    damaged.sort_by_key(|(findings, warnings, session)| {
        (Reverse((*findings, *warnings)), session.summary.session.id.clone())
    });
    if !damaged.is_empty() {
        let count = count_noun(damaged.len() as u64, "session has", "sessions have");
        Output::status(&format!("{count} findings:"));
    }
    for (findings, warnings, session) in damaged.iter().take(NAMED) {
        let id = ids.short(&session.summary.session.id);
        let warned = match warnings {
            0 => String::new(),
            count => format!(", {}", count_noun(*count, "warning", "warnings")),
        };
        let findings = count_noun(*findings, "finding", "findings");
        let line = format!("  {id}  {findings}{warned}  {}", session.summary.title);
        let line = escape_controls(&line).replace('\n', " ");
        Output::status(&shorten_width(&line, settings::width()));
    }
    if damaged.len() > NAMED {
        Output::status(&format!("  and {} more", damaged.len() - NAMED));
    }
    let mut coverage = collection.coverage(listing.sessions.iter(), &listing.findings, filtered);
    coverage.leave_out(others, "they are not in JSON files; `everturn show` reports their damage");
    coverage.report("checked");
    Ok(())
}
