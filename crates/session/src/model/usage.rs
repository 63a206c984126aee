//! The token usage of sessions ([`SessionUsage`], [`TokenUsage`]), and counts of their records ([`RecordCounts`]).

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

/// Counts of the records of a session. `read` is always the sum of `kept`, `repaired` and `quarantined`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// All items that were read, valid or not.
    pub read: u64,
    /// Records that are shown unchanged.
    pub kept: u64,
    /// Records that had to be repaired first, such as two that shared a line.
    pub repaired: u64,
    /// Items that are not records or are too large; each is a finding.
    pub quarantined: u64,
    /// How many of the kept or repaired records repeat others, and are not in the main line.
    pub hidden: u64,
}

impl RecordCounts {
    /// The counts for this many valid records, some of them repaired, and invalid items.
    #[must_use]
    pub fn of(records: u64, repaired: u64, quarantined: u64, hidden: u64) -> RecordCounts {
        let repaired = repaired.min(records);
        let read = records + quarantined;
        RecordCounts { read, kept: records - repaired, repaired, quarantined, hidden }
    }

    /// Adds the counts of another session.
    pub fn add(&mut self, other: RecordCounts) {
        let RecordCounts { read, kept, repaired, quarantined, hidden } = other;
        self.read += read;
        self.kept += kept;
        self.repaired += repaired;
        self.quarantined += quarantined;
        self.hidden += hidden;
    }
}

/// Tokens and cost of model responses.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TokenUsage {
    /// The number of responses of a model, if known.
    pub answers: u64,
    /// Input tokens that were not cached.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Input tokens that were read from the cache.
    pub cache_read: u64,
    /// Tokens that were written to the cache.
    pub cache_write: u64,
    /// The reasoning tokens in `output`, if reported separately.
    pub reasoning: u64,
    /// The cost in dollars, if the session contains it.
    pub cost: Option<f64>,
}

impl TokenUsage {
    /// Adds further usage.
    pub fn add(&mut self, other: &TokenUsage) {
        self.answers += other.answers;
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.reasoning += other.reasoning;
        if let Some(cost) = other.cost {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
        }
    }

    /// All tokens together.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

/// The usage of one response, or of several that cannot be distinguished.
#[derive(Debug, Clone, PartialEq)]
pub struct UsagePart {
    /// An ID that is unique across sessions, if the response has one: a branch has copies of earlier responses.
    pub id: Option<u128>,
    /// The day of the response in UTC, if known.
    pub day: Option<Date>,
    /// The model.
    pub model: String,
    /// What it used.
    pub spent: TokenUsage,
}

/// The usage of a session: each response of a model once, however often its records repeat it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionUsage {
    /// The usage by model, sorted by name.
    pub models: Vec<(String, TokenUsage)>,
    /// Responses by ID.
    answers: BTreeMap<u128, (Option<Date>, String, TokenUsage)>,
    /// The other usage, by day and model.
    others: BTreeMap<(Option<Date>, String), TokenUsage>,
}

impl SessionUsage {
    /// All models together.
    #[must_use]
    pub fn total(&self) -> TokenUsage {
        let mut total = TokenUsage::default();
        self.models.iter().for_each(|(_, spent)| total.add(spent));
        total
    }

    /// Adds the usage of a model at a time.
    pub fn add_usage(&mut self, model: &str, spent: &TokenUsage, time: Option<Timestamp>) {
        self.add_part(&UsagePart {
            id: None,
            day: time.map(day_of),
            model: model.to_owned(),
            spent: *spent,
        });
    }

    /// Adds the usage of a response whose ID is unique across sessions, unless it was added before.
    pub fn add_usage_once(
        &mut self,
        id: u128,
        model: &str,
        spent: &TokenUsage,
        time: Option<Timestamp>,
    ) {
        self.add_part(&UsagePart {
            id: Some(id),
            day: time.map(day_of),
            model: model.to_owned(),
            spent: *spent,
        });
    }

    /// Adds a part, unless it is a response that was added before. Returns whether it was added.
    pub fn add_part(&mut self, part: &UsagePart) -> bool {
        let UsagePart { id, day, model, spent } = part;
        match id {
            Some(id) if self.answers.contains_key(id) => return false,
            Some(id) => drop(self.answers.insert(*id, (*day, model.clone(), *spent))),
            None => self.others.entry((*day, model.clone())).or_default().add(spent),
        }
        match self.models.binary_search_by(|(name, _)| name.as_str().cmp(model)) {
            Ok(at) => {
                if let Some((_, sum)) = self.models.get_mut(at) {
                    sum.add(spent);
                }
            }
            Err(at) => self.models.insert(at, (model.clone(), *spent)),
        }
        true
    }

    /// Adds the usage of another session. Responses that both have, because one is a branch of the other, count once.
    pub fn add(&mut self, other: &SessionUsage) {
        for part in other.parts() {
            self.add_part(&part);
        }
    }

    /// Its parts: every response with an ID, and the sums of the others by day and model.
    pub fn parts(&self) -> impl Iterator<Item = UsagePart> + '_ {
        let answers = self.answers.iter().map(|(id, (day, model, spent))| UsagePart {
            id: Some(*id),
            day: *day,
            model: model.clone(),
            spent: *spent,
        });
        let others = self.others.iter().map(|((day, model), spent)| UsagePart {
            id: None,
            day: *day,
            model: model.clone(),
            spent: *spent,
        });
        answers.chain(others)
    }
}

/// The day of a time in UTC.
fn day_of(time: Timestamp) -> Date {
    Offset::UTC.to_datetime(time).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_read_is_kept_repaired_or_set_aside() {
        let mut counts = RecordCounts::of(10, 2, 3, 4);
        assert_eq!((counts.read, counts.kept, counts.repaired, counts.quarantined), (13, 8, 2, 3));
        counts.add(RecordCounts::of(1, 5, 0, 0));
        assert_eq!((counts.read, counts.kept, counts.repaired, counts.quarantined), (14, 8, 3, 3));
    }

    #[test]
    fn answers_that_a_branch_has_copied_count_once() {
        let spent =
            |output| TokenUsage { answers: 1, output, cost: Some(0.5), ..TokenUsage::default() };
        let usage = |answers: &[(u128, &str, u64)]| {
            let mut usage = SessionUsage::default();
            for (id, model, output) in answers {
                usage.add_usage_once(*id, model, &spent(*output), None);
            }
            usage
        };
        let mut sum = usage(&[(1, "a", 10), (1, "a", 10), (2, "b", 20)]);
        assert_eq!((sum.total().answers, sum.total().output), (2, 30));
        sum.add(&usage(&[(1, "a", 10), (2, "b", 20), (3, "b", 40)]));
        assert_eq!((sum.total().answers, sum.total().output), (3, 70));
        assert_eq!(sum.total().cost, Some(1.5));
        // Usage without an ID cannot be deduplicated.
        let mut without = SessionUsage::default();
        without.add_usage("a", &spent(1), None);
        sum.add(&without);
        sum.add(&without);
        assert_eq!(sum.total().answers, 5);
        sum.add(&usage(&[(3, "b", 40)]));
        assert_eq!((sum.total().answers, sum.models.len()), (5, 2));
    }

    #[test]
    fn parts_have_the_day_of_the_response() {
        let spent = TokenUsage { answers: 1, output: 5, ..TokenUsage::default() };
        let mut usage = SessionUsage::default();
        for (id, time) in [(1, "2026-01-01T23:59:59Z"), (2, "2026-01-02T00:30:00+01:00")] {
            usage.add_usage_once(id, "a", &spent, time.parse().ok());
        }
        usage.add_usage("b", &spent, None);
        usage.add_usage("b", &spent, None);
        let mut again = SessionUsage::default();
        usage.parts().for_each(|part| assert!(again.add_part(&part)));
        assert_eq!(again, usage);
        assert!(!usage.clone().add_part(&usage.parts().next().unwrap()));
        let days: Vec<(Option<String>, u64)> = usage
            .parts()
            .map(|part| (part.day.map(|day| day.to_string()), part.spent.output))
            .collect();
        let first = Some("2026-01-01".to_owned());
        assert_eq!(days, [(first.clone(), 5), (first, 5), (None, 10)]);
    }

    #[test]
    fn models_are_summed_by_name() {
        let spent = |output, cost| TokenUsage { output, cost, ..TokenUsage::default() };
        let mut usage = SessionUsage::default();
        usage.add_usage("b", &spent(1, None), None);
        usage.add_usage("a", &spent(2, Some(0.5)), None);
        usage.add_usage("b", &spent(4, Some(0.25)), None);
        let names: Vec<&str> = usage.models.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!((usage.total().output, usage.total().cost), (7, Some(0.75)));
    }
}
