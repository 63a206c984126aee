//! Tokens and costs of many sessions, by model, day, week, month, project or session: [`Spending`].

use std::collections::BTreeMap;

use clap::ValueEnum;
use everturn::model::{SessionUsage, TokenUsage};
use everturn_catalog::{CatalogSession, UsageAnswer};
use jiff::civil::Date;
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan};

use crate::catalog::SourceCollection;
use crate::error::Error;
use crate::prices::PriceTable;
use crate::progress::Progress;
use crate::settings;
use crate::unread::UnreadSessions;

/// What the rows of the statistics are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SpendingKey {
    /// One row for each model
    Model,
    /// One row for each day, in UTC
    Day,
    /// One row for each week, named after its Monday
    Week,
    /// One row for each month
    Month,
    /// One row for each project
    Project,
    /// One row for each session
    Session,
}

impl SpendingKey {
    /// The name in JSON.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            SpendingKey::Model => "model",
            SpendingKey::Day => "day",
            SpendingKey::Week => "week",
            SpendingKey::Month => "month",
            SpendingKey::Project => "project",
            SpendingKey::Session => "session",
        }
    }

    fn of(self, session: &SpendingSession, model: &str, day: Option<Date>) -> String {
        let dated = |text: &dyn Fn(Date) -> String| day.map_or_else(|| "unknown".to_owned(), text);
        match self {
            SpendingKey::Model => model.to_owned(),
            SpendingKey::Day => dated(&|day| day.to_string()),
            SpendingKey::Week => dated(&|day| {
                let since_monday = day.weekday().to_monday_zero_offset();
                day.saturating_sub(i64::from(since_monday).days()).to_string()
            }),
            SpendingKey::Month => dated(&|day| format!("{:04}-{:02}", day.year(), day.month())),
            SpendingKey::Project => match &session.project {
                Some(project) => project.clone(),
                None => "no project".to_owned(),
            },
            SpendingKey::Session => session.id.clone(),
        }
    }
}

/// What a row may be named after.
#[derive(Debug, Clone, Default)]
pub(crate) struct SpendingSession {
    pub(crate) id: String,
    pub(crate) project: Option<String>,
    /// The day of the last change, for usage whose day is unknown.
    pub(crate) day: Option<Date>,
}

impl SpendingSession {
    pub(crate) fn of(session: &CatalogSession) -> SpendingSession {
        SpendingSession {
            id: session.summary.session.id.clone(),
            project: session.project.clone(),
            day: session.summary.updated.map(day_of),
        }
    }
}

/// The day of a time in UTC.
pub(crate) fn day_of(time: Timestamp) -> Date {
    Offset::UTC.to_datetime(time).date()
}

/// The days to count; both ends are included.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SpendingPeriod {
    pub(crate) first: Option<Date>,
    pub(crate) last: Option<Date>,
}

impl SpendingPeriod {
    fn is_limited(self) -> bool {
        self.first.is_some() || self.last.is_some()
    }

    fn has(self, day: Option<Date>) -> bool {
        match day {
            Some(day) => {
                self.first.is_none_or(|first| day >= first)
                    && self.last.is_none_or(|last| day <= last)
            }
            None => !self.is_limited(),
        }
    }
}

/// The usage of a row, by model.
pub(crate) type RowUsage = BTreeMap<String, TokenUsage>;

/// Sums of usage.
pub(crate) struct Spending {
    key: SpendingKey,
    period: SpendingPeriod,
    /// All responses so far, so that copies in branches are not counted again.
    seen: SessionUsage,
    pub(crate) rows: BTreeMap<String, RowUsage>,
    /// The number of sessions that record their usage, and of all sessions.
    pub(crate) recorded: u64,
    pub(crate) sessions: u64,
}

impl Spending {
    pub(crate) fn new(key: SpendingKey, period: SpendingPeriod) -> Spending {
        let (seen, rows) = (SessionUsage::default(), BTreeMap::new());
        Spending { key, period, seen, rows, recorded: 0, sessions: 0 }
    }

    /// Adds the usage of a session.
    pub(crate) fn add(&mut self, session: &SpendingSession, usage: Option<&SessionUsage>) {
        self.sessions += 1;
        let Some(usage) = usage else { return };
        self.recorded += 1;
        for part in usage.parts() {
            let day = part.day.or(session.day);
            if !self.seen.add_part(&part) || !self.period.has(day) {
                continue;
            }
            let row = self.rows.entry(self.key.of(session, &part.model, day)).or_default();
            row.entry(part.model).or_default().add(&part.spent);
        }
    }

    /// Returns the usage of all rows by model.
    pub(crate) fn total(&self) -> RowUsage {
        let mut total = RowUsage::new();
        for (model, spent) in self.rows.values().flatten() {
            total.entry(model.clone()).or_default().add(spent);
        }
        total
    }
}

/// Adds up the usage of all models.
pub(crate) fn tokens(row: &RowUsage) -> TokenUsage {
    let mut sum = TokenUsage::default();
    row.values().for_each(|spent| sum.add(spent));
    sum
}

/// What a row costs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct RowCost {
    pub(crate) dollars: f64,
    /// Whether a part is an estimate from the table of prices.
    pub(crate) is_estimate: bool,
    /// Whether the price of a model is unknown, so that its part is missing.
    pub(crate) is_partial: bool,
}

impl RowCost {
    pub(crate) fn of(row: &RowUsage, prices: &PriceTable) -> RowCost {
        let mut cost = RowCost::default();
        for (model, spent) in row {
            match prices.cost(model, spent) {
                Some(dollars) => {
                    cost.dollars += dollars;
                    cost.is_estimate |= spent.cost.is_none();
                }
                None => cost.is_partial |= spent.total_tokens() > 0,
            }
        }
        cost
    }

    /// Formats the cost: `~` before an estimate, `+` after a sum that lacks a part, `?` if nothing is known.
    pub(crate) fn text(self) -> String {
        if self.is_partial && self.dollars == 0.0 {
            return "?".to_owned();
        }
        let about = if self.is_estimate { "~" } else { "" };
        let more = if self.is_partial { "+" } else { "" };
        let digits = if self.dollars < 1.0 { 4 } else { 2 };
        format!("{about}${}{more}", grouped_decimal(self.dollars, digits))
    }
}

/// Formats a number with a separator between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn grouped_decimal(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, "0"));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    format!("{whole}.{rest}")
}

/// Reads the usage of sessions, most of it from the cache. Sessions that cannot be read are added to `unread`.
pub(crate) fn sum_sessions(
    collection: &mut SourceCollection,
    sessions: &[CatalogSession],
    mut spending: Spending,
    unread: &mut UnreadSessions,
) -> Spending {
    let progress = Progress::new("counting");
    let mut problems = Vec::new();
    let SourceCollection { catalog, sources, .. } = collection;
    catalog.usages(sources, sessions, settings::clock(), &mut |session, answer| {
        progress.step(&session.summary.session.id);
        let named = SpendingSession::of(session);
        match answer {
            UsageAnswer::Read(usage) => spending.add(&named, usage.as_ref()),
            UsageAnswer::Incomplete(usage, reason) => {
                spending.add(&named, usage.as_ref());
                problems.push((session.clone(), reason));
            }
            UsageAnswer::Unread(reason) => problems.push((session.clone(), reason)),
            UsageAnswer::Gone => {}
        }
    });
    progress.finish();
    for (session, reason) in problems {
        unread.add(collection.shown(&session), reason);
    }
    spending
}

/// Returns what each of these sessions costs alone, as far as that is known.
pub(crate) fn session_costs(
    collection: &mut SourceCollection,
    sessions: &[CatalogSession],
) -> Result<Vec<Option<f64>>, Error> {
    let prices = PriceTable::load()?;
    let mut costs = Vec::with_capacity(sessions.len());
    let SourceCollection { catalog, sources, .. } = collection;
    catalog.usages(sources, sessions, settings::clock(), &mut |session, answer| {
        let usage = match answer {
            UsageAnswer::Read(usage) | UsageAnswer::Incomplete(usage, _) => usage,
            UsageAnswer::Unread(_) | UsageAnswer::Gone => None,
        };
        let mut alone = Spending::new(SpendingKey::Model, SpendingPeriod::default());
        alone.add(&SpendingSession::of(session), usage.as_ref());
        let cost = RowCost::of(&alone.total(), &prices);
        let is_known = usage.is_some() && (cost.dollars > 0.0 || !cost.is_partial);
        costs.push(is_known.then_some(cost.dollars));
    });
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        for (number, expect) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (3_013_899_255, "3,013,899,255")]
        {
            assert_eq!(grouped(number), expect);
        }
        assert_eq!(grouped_decimal(1234.5, 2), "1,234.50");
    }

    #[test]
    fn a_cost_says_whether_it_is_an_estimate_and_whether_something_is_missing() {
        let cost =
            |dollars, is_estimate, is_partial| RowCost { dollars, is_estimate, is_partial }.text();
        assert_eq!(cost(1.5, false, false), "$1.50");
        assert_eq!(cost(0.00015, true, false), "~$0.0001");
        assert_eq!(cost(2000.0, true, true), "~$2,000.00+");
        assert_eq!(cost(0.0, false, true), "?");
        assert_eq!(cost(0.0, false, false), "$0.0000");
    }

    #[test]
    fn rows_are_days_weeks_and_projects_and_a_copy_counts_once() {
        let spent = TokenUsage { answers: 1, output: 10, ..TokenUsage::default() };
        let mut usage = SessionUsage::default();
        usage.add_usage_once(1, "m", &spent, "2026-01-01T10:00:00Z".parse().ok());
        usage.add_usage_once(2, "m", &spent, "2026-01-05T10:00:00Z".parse().ok());
        let of = |id: &str| SpendingSession {
            id: id.to_owned(),
            project: Some("/srv/app".to_owned()),
            day: None,
        };
        let rows = |key, period| {
            let mut spending = Spending::new(key, period);
            spending.add(&of("a"), Some(&usage));
            spending.add(&of("copy"), Some(&usage));
            spending.add(&of("b"), None);
            assert_eq!((spending.recorded, spending.sessions), (2, 3));
            let rows = spending.rows.iter();
            rows.map(|(name, row)| (name.clone(), tokens(row).output)).collect::<Vec<_>>()
        };
        let named = |name: &str, output| (name.to_owned(), output);
        let all = SpendingPeriod::default();
        let days = [named("2026-01-01", 10), named("2026-01-05", 10)];
        assert_eq!(rows(SpendingKey::Day, all), days);
        let weeks = [named("2025-12-29", 10), named("2026-01-05", 10)];
        assert_eq!(rows(SpendingKey::Week, all), weeks);
        assert_eq!(rows(SpendingKey::Month, all), [named("2026-01", 20)]);
        assert_eq!(rows(SpendingKey::Project, all), [named("/srv/app", 20)]);
        assert_eq!(rows(SpendingKey::Session, all), [named("a", 20)]);
        let late = SpendingPeriod { first: "2026-01-02".parse().ok(), last: None };
        assert_eq!(rows(SpendingKey::Model, late), [named("m", 10)]);
    }
}
