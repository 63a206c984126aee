//! Tokens and costs, by day, model or project.

use std::collections::BTreeMap;

use everturn::model::{SessionUsage, TokenUsage};
use everturn_catalog::{CatalogSession, SummaryDetail, open_session};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::route::{Answer, Call, NoQuery, Route};

/// How to group the usage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StatsGrouping {
    /// By model.
    #[default]
    Model,
    /// By the day on which a session was last changed, in UTC.
    Day,
    /// By project directory.
    Project,
    /// By format.
    Format,
}

/// Which usage to return.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StatsQuery {
    /// How to group it.
    #[serde(default)]
    by: StatsGrouping,
}

/// Tokens and costs.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct UsageView {
    /// The group.
    group: String,
    /// The number of sessions that record their usage.
    sessions: u64,
    /// The number of answers of models.
    answers: u64,
    /// Input tokens that were not cached.
    input: u64,
    /// Output tokens, including reasoning.
    output: u64,
    /// Input tokens from the cache.
    cache_read: u64,
    /// Tokens that were written to the cache.
    cache_write: u64,
    /// The reasoning tokens in the output.
    reasoning: u64,
    /// The cost in dollars, as far as sessions record it.
    cost: Option<f64>,
}

impl UsageView {
    fn add(&mut self, usage: &TokenUsage) {
        self.sessions += 1;
        self.answers += usage.answers;
        self.input += usage.input;
        self.output += usage.output;
        self.cache_read += usage.cache_read;
        self.cache_write += usage.cache_write;
        self.reasoning += usage.reasoning;
        if let Some(cost) = usage.cost {
            self.cost = Some(self.cost.unwrap_or(0.0) + cost);
        }
    }
}

/// The usage of all sessions.
#[derive(Debug, Serialize, JsonSchema)]
struct StatsAnswer {
    /// The number of sessions.
    sessions: u64,
    /// The number of sessions that record their usage.
    recorded: u64,
    /// The usage by group, in the order of their names.
    groups: Vec<UsageView>,
    /// Sessions that could not be read, which are not counted.
    warnings: Vec<String>,
}

/// Adds the usage of a session to its groups.
fn add(
    groups: &mut BTreeMap<String, UsageView>,
    by: StatsGrouping,
    session: &CatalogSession,
    usage: &SessionUsage,
) {
    let mut to = |group: String, usage: &TokenUsage| {
        let view = || UsageView { group: group.clone(), ..UsageView::default() };
        groups.entry(group.clone()).or_insert_with(view).add(usage);
    };
    let updated = session.summary.updated.map(|time| time.to_string());
    match by {
        StatsGrouping::Model => {
            for (model, usage) in &usage.models {
                to(model.clone(), usage);
            }
        }
        StatsGrouping::Day => {
            let day = updated.as_deref().and_then(|time| time.get(..10)).unwrap_or("unknown");
            to(day.to_owned(), &usage.total());
        }
        StatsGrouping::Project => {
            to(session.project.clone().unwrap_or_default(), &usage.total());
        }
        StatsGrouping::Format => to(session.summary.layout.to_owned(), &usage.total()),
    }
}

fn get_stats(call: &Call<'_>, query: StatsQuery) -> Result<Answer<StatsAnswer>, Problem> {
    let listing = call.library.list(SummaryDetail::All);
    let mut answer =
        StatsAnswer { sessions: 0, recorded: 0, groups: Vec::new(), warnings: Vec::new() };
    let mut groups = BTreeMap::new();
    for (key, session) in listing.iter() {
        match open_session(&listing.sources, session) {
            Ok(Some(reader)) => {
                answer.sessions += 1;
                if let Some(usage) = reader.usage() {
                    answer.recorded += 1;
                    add(&mut groups, query.by, session, &usage);
                }
            }
            // It is in an archive, or was removed since it was listed.
            Ok(None) => {}
            Err(error) => answer.warnings.push(format!("{key}: {error}")),
        }
    }
    answer.groups = groups.into_values().collect();
    Ok(Answer::ok(answer))
}

/// The usage of one session; null if it records none.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionUsageAnswer {
    /// Tokens and costs of all models.
    usage: Option<UsageView>,
    /// The models, in the order of their names.
    models: Vec<String>,
}

fn get_usage(call: &Call<'_>, _: NoQuery) -> Result<Answer<SessionUsageAnswer>, Problem> {
    let found = call.session()?;
    if found.place.is_archive() {
        return Ok(Answer::ok(SessionUsageAnswer { usage: None, models: Vec::new() }));
    }
    let usage = call.library.reader(&found, None)?.usage();
    let models = usage.iter().flat_map(|usage| &usage.models).map(|(model, _)| model.clone());
    let models = models.collect();
    let total = usage.map(|usage| {
        let mut view = UsageView { group: found.key, ..UsageView::default() };
        view.add(&usage.total());
        view
    });
    Ok(Answer::ok(SessionUsageAnswer { usage: total, models }))
}

pub(super) fn routes() -> Vec<Route> {
    let one = "/api/v1/sessions/{session}/usage";
    vec![
        Route::get(("/api/v1/stats", "getStats", "Tokens and costs of all sessions."), get_stats),
        Route::get((one, "getUsage", "Tokens and costs of one session."), get_usage),
    ]
}
