//! The sessions among which a lookup chooses: a [`Candidate`] is a session of a source, and a [`LookupResult`] what
//! was chosen.

use everturn::finding::Finding;
use everturn::format::{self, SessionFormat, sort_newest_first};
use everturn::model::{SessionRef, SessionSummary};
use everturn::names::FilePath;

use crate::context::Context;
use crate::error::Error;
use crate::open_root::OpenRoot;
use crate::output::Output;
use crate::sources::SourceLocation;

/// A session of a source, with its root and format.
pub(crate) type Candidate = (OpenRoot, &'static dyn SessionFormat, SessionRef);

/// The result of a lookup.
pub(crate) enum LookupResult {
    One(Candidate),
    Several(Vec<Candidate>),
    /// No match among these.
    None(Vec<Candidate>),
}

/// Returns all sessions of a root, and the findings.
pub(super) fn sessions_of(
    context: &Context,
    source: &SourceLocation,
    root: &OpenRoot,
) -> Result<(Vec<Candidate>, Vec<Finding>), Error> {
    let (mut candidates, mut findings) = (Vec::new(), Vec::new());
    for layouts in source.layouts(context) {
        for layout in layouts {
            let found = layout.locate(&root.store())?;
            let places = found.sessions.into_iter().filter(|place| source.covers(place));
            candidates.extend(places.map(|place| (root.clone(), layout, place)));
            findings.extend(found.findings);
        }
        if !candidates.is_empty() {
            break;
        }
    }
    Ok((candidates, findings))
}

/// Returns the summaries of all sessions of a source, and the findings.
fn summaries_of(
    context: &Context,
    source: &SourceLocation,
    root: &OpenRoot,
) -> Result<(Vec<SessionSummary>, Vec<Finding>), Error> {
    let (mut summaries, mut findings) = (Vec::new(), Vec::new());
    for layouts in source.layouts(context) {
        for layout in layouts {
            let (found, noticed) = layout.list(&root.store())?;
            summaries.extend(found.into_iter().filter(|found| source.covers(&found.session)));
            findings.extend(noticed);
        }
        if !summaries.is_empty() {
            break;
        }
    }
    Ok((summaries, findings))
}

/// Returns the summaries of all sessions of all sources, most recently changed first. An unreadable source is
/// reported, and does not hide the others.
fn summaries(
    context: &Context,
    roots: &[(SourceLocation, OpenRoot)],
) -> Result<SessionSummaries, Error> {
    let mut listed = SessionSummaries::default();
    for (source, root) in roots {
        match summaries_of(context, source, root) {
            Ok((found, noticed)) => {
                listed.summaries.extend(found.into_iter().map(|found| (root.clone(), found)));
                listed.findings.extend(noticed);
            }
            Err(error) if roots.len() == 1 => return Err(error),
            Err(error) => {
                Output::status(&error.saying(format!("source {}", source.name)).to_string());
                listed.is_incomplete = true;
            }
        }
    }
    sort_newest_first(
        &mut listed.summaries,
        |(_, summary)| summary,
        |(root, summary)| Some((format::find(summary.layout)?, root.store())),
    );
    Ok(listed)
}

/// Returns the session that was changed last.
pub(super) fn latest(
    context: &Context,
    roots: &[(SourceLocation, OpenRoot)],
    kind: Option<&str>,
) -> Result<LookupResult, Error> {
    let listed = summaries(context, roots)?;
    let wanted = |summary: &SessionSummary| {
        summary.updated.is_some() && kind.is_none_or(|kind| kind == summary.layout)
    };
    let newest = listed.summaries.into_iter().find(|(_, summary)| wanted(summary));
    let newest =
        newest.and_then(|(root, new)| Some((root, format::find(new.layout)?, new.session)));
    Ok(newest.map_or_else(|| LookupResult::None(Vec::new()), LookupResult::One))
}

/// The sessions of all sources.
#[derive(Default)]
struct SessionSummaries {
    summaries: Vec<(OpenRoot, SessionSummary)>,
    findings: Vec<Finding>,
    /// Whether a source could not be read.
    is_incomplete: bool,
}

/// Splits `FORMAT:ID` into the format, if given, and the ID.
pub(super) fn kind_and_id(name: &str) -> (Option<&str>, &str) {
    match name.split_once(':') {
        Some((kind, id)) if format::find(kind).is_some() => (Some(kind), id),
        _ => (None, name),
    }
}

/// Selects the wanted sessions.
pub(super) fn choose(
    candidates: Vec<Candidate>,
    wanted: impl Fn(&OpenRoot, &SessionRef) -> bool,
) -> LookupResult {
    let (mut fit, others): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|(root, _, place)| wanted(root, place));
    match (fit.pop(), fit.is_empty()) {
        (None, _) => LookupResult::None(others),
        (Some(one), true) => LookupResult::One(one),
        (Some(last), false) => {
            fit.push(last);
            LookupResult::Several(fit)
        }
    }
}

/// Returns the session with this ID, otherwise the one whose ID begins with it.
pub(super) fn choose_by_id(candidates: Vec<Candidate>, id: &str) -> LookupResult {
    match choose(candidates, |_, place| place.id == id) {
        LookupResult::None(others) => choose(others, |_, place| place.id.starts_with(id)),
        chosen => chosen,
    }
}

/// Returns whether a list may be out of date because another process is moving a session: it is gone, or it is missing
/// or exists twice while a process writes there.
pub(super) fn is_moving(
    chosen: &LookupResult,
    roots: &[(SourceLocation, OpenRoot)],
    tries: usize,
) -> Result<bool, Error> {
    let candidates = match chosen {
        LookupResult::One(one) => std::slice::from_ref(one),
        LookupResult::Several(several) => several,
        LookupResult::None(_) => {
            // The process that moved it may be done already, so the first list alone is not trusted.
            let is_own = |source: &SourceLocation| source.is_own();
            for (_, root) in roots.iter().filter(|(source, _)| is_own(source)) {
                if tries == 1 || !root.store().is_quiet(&[FilePath::root()])? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
    };
    for (root, layout, place) in candidates.iter().filter(|(_, layout, _)| !layout.is_external()) {
        let store = root.store();
        let is_busy = || store.is_quiet(std::slice::from_ref(&place.path)).map(|quiet| !quiet);
        if layout.any_moved(&store, &mut std::iter::once(place))?
            || (candidates.len() > 1 && is_busy()?)
        {
            return Ok(true);
        }
    }
    Ok(false)
}
