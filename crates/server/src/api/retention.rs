//! Retention: which sessions would expire, and moving them to the trash.

use std::collections::HashMap;

use axum::http::Method;
use everturn::retention::{
    RetentionCandidate, RetentionPlan, RetentionPolicy, apply_plan, find_candidates, plan_retention,
};
use everturn_catalog::SummaryDetail;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::route::{Answer, Call, Route};

/// The limits. A session expires if it exceeds any of them.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RetentionLimits {
    /// The most days since the last activity.
    days: Option<u32>,
    /// The most sessions; the most recently active ones stay.
    count: Option<u64>,
    /// The most bytes; the least recently active sessions expire first.
    bytes: Option<u64>,
}

/// What happens to a session.
#[derive(Debug, Serialize, JsonSchema)]
struct RetentionView {
    /// The key of the session, if it is listed.
    key: Option<String>,
    /// Its ID.
    id: String,
    /// Its format.
    format: String,
    /// Its last activity, according to its records.
    active: Option<String>,
    /// The size of its files.
    bytes: u64,
    /// Whether it is pinned.
    pinned: bool,
    /// Whether it expires.
    expires: bool,
    /// Why it expires, or why it cannot.
    why: Vec<String>,
}

/// A plan. Nothing was changed.
#[derive(Debug, Serialize, JsonSchema)]
struct RetentionAnswer {
    /// The sessions, most recently active first.
    sessions: Vec<RetentionView>,
    /// The number of sessions that expire.
    expired: u64,
    /// Their size.
    bytes: u64,
}

/// A session that was to expire.
#[derive(Debug, Serialize, JsonSchema)]
struct ExpiredView {
    /// Its ID.
    id: String,
    /// Its name in the trash; null if it stayed.
    trashed: Option<String>,
    /// Why it stayed, or what is left to do.
    note: Option<String>,
}

/// What was moved to the trash.
#[derive(Debug, Serialize, JsonSchema)]
struct ExpiryAnswer {
    /// The sessions.
    sessions: Vec<ExpiredView>,
}

fn policy_of(limits: RetentionLimits) -> Result<RetentionPolicy, Problem> {
    let count = limits.count.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let policy = RetentionPolicy { days: limits.days, count, bytes: limits.bytes };
    if policy.is_empty() {
        return Err(Problem::bad_request("no limit is given").hint("send days, count or bytes"));
    }
    Ok(policy)
}

/// Plans over all sources that could be written; sessions of other programs never expire.
fn plan_of(call: &Call<'_>, limits: RetentionLimits) -> Result<RetentionPlan, Problem> {
    let policy = policy_of(limits)?;
    let mut all = Vec::new();
    for source in 0..call.library.source_count() {
        let formats: Vec<_> =
            call.library.formats(source).filter(|format| !format.is_external()).collect();
        let Ok(store) = call.library.store(source) else { continue };
        let found = find_candidates(&store, &formats)?;
        all.extend(found.into_iter().map(|one| RetentionCandidate { source, ..one }));
    }
    Ok(plan_retention(&policy, all, call.library.now()))
}

fn plan_expiry(
    call: &Call<'_>,
    limits: RetentionLimits,
) -> Result<Answer<RetentionAnswer>, Problem> {
    let plan = plan_of(call, limits)?;
    call.library.list(SummaryDetail::Names);
    let located = call.library.located();
    let keys: HashMap<(usize, &str, &str), &str> = located
        .iter()
        .map(|one| ((one.source, one.format.name(), one.place.path.as_str()), one.key.as_str()))
        .collect();
    let (mut expired, mut bytes, mut sessions) = (0, 0, Vec::new());
    for choice in plan.choices {
        let it = choice.candidate;
        if choice.goes {
            expired += 1;
            bytes += it.bytes;
        }
        let key = keys.get(&(it.source, it.layout, it.place.path.as_str()));
        sessions.push(RetentionView {
            key: key.map(|key| (*key).to_owned()),
            id: it.place.id,
            format: it.layout.to_owned(),
            active: it.active.map(|time| time.to_string()),
            bytes: it.bytes,
            pinned: it.pinned,
            expires: choice.goes,
            why: choice.why,
        });
    }
    Ok(Answer::ok(RetentionAnswer { sessions, expired, bytes }))
}

fn apply_expiry(call: &Call<'_>, limits: RetentionLimits) -> Result<Answer<ExpiryAnswer>, Problem> {
    let plan = plan_of(call, limits)?;
    let mut sessions = Vec::new();
    for source in 0..call.library.source_count() {
        let part = plan.of_source(source);
        if part.chosen().next().is_none() {
            continue;
        }
        let root = call.library.writable_root(source)?;
        call.library.release_all()?;
        apply_plan(root.store(), &part, call.library.now(), |done| {
            let (id, trashed, note) = (done.candidate.place.id, done.trashed, done.note);
            sessions.push(ExpiredView { id, trashed, note });
        })?;
    }
    call.library.list(SummaryDetail::Names);
    Ok(Answer::ok(ExpiryAnswer { sessions }))
}

pub(super) fn routes() -> Vec<Route> {
    let path = "/api/v1/retention";
    let apply = "Moves expired sessions to the trash. They can be restored.";
    vec![
        Route::get((path, "planRetention", "Which sessions would expire, and why."), plan_expiry),
        Route::change((Method::POST, path, "applyRetention", apply), apply_expiry),
    ]
}
