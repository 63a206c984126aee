//! The token usage of sessions ([`SessionUsage`], [`TokenUsage`]), and counts of their records ([`RecordCounts`]).

use std::collections::HashMap;

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

    /// Subtracts usage that was counted elsewhere.
    fn subtract(&mut self, other: &TokenUsage) {
        let less = |count: &mut u64, other: u64| *count = count.saturating_sub(other);
        less(&mut self.answers, other.answers);
        less(&mut self.input, other.input);
        less(&mut self.output, other.output);
        less(&mut self.cache_read, other.cache_read);
        less(&mut self.cache_write, other.cache_write);
        less(&mut self.reasoning, other.reasoning);
        if let (Some(all), Some(part)) = (self.cost, other.cost) {
            // The rounding error of a difference of equal sums is not a cost.
            self.cost = Some(all - part).filter(|left| *left > 1e-9);
        }
    }

    /// All tokens together.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

/// The usage of a session: each response of a model once, however often its records repeat it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionUsage {
    /// The usage by model, sorted by name.
    pub models: Vec<(String, TokenUsage)>,
    /// Responses by IDs that are unique across sessions: a branch has copies of earlier ones.
    answers: HashMap<u128, (String, TokenUsage)>,
}

impl SessionUsage {
    /// All models together.
    #[must_use]
    pub fn total(&self) -> TokenUsage {
        let mut total = TokenUsage::default();
        self.models.iter().for_each(|(_, usage)| total.add(usage));
        total
    }

    /// Adds the usage of a model.
    pub fn add_usage(&mut self, model: &str, usage: &TokenUsage) {
        match self.models.binary_search_by(|(name, _)| name.as_str().cmp(model)) {
            Ok(at) => {
                if let Some((_, sum)) = self.models.get_mut(at) {
                    sum.add(usage);
                }
            }
            Err(at) => self.models.insert(at, (model.to_owned(), *usage)),
        }
    }

    /// Adds the usage of a response whose ID is unique across sessions, unless it was added before.
    pub fn add_usage_once(&mut self, id: u128, model: &str, usage: &TokenUsage) {
        if self.answers.insert(id, (model.to_owned(), *usage)).is_none() {
            self.add_usage(model, usage);
        }
    }

    /// Adds the usage of another session. Responses that both have, because one is a branch of the other, count once.
    pub fn add(&mut self, other: &SessionUsage) {
        let mut copies = SessionUsage::default();
        for (id, (model, usage)) in &other.answers {
            match self.answers.contains_key(id) {
                true => copies.add_usage(model, usage),
                false => drop(self.answers.insert(*id, (model.clone(), *usage))),
            }
        }
        for (model, usage) in &other.models {
            let mut own = *usage;
            if let Some((_, copied)) = copies.models.iter().find(|(name, _)| name == model) {
                own.subtract(copied);
            }
            if own != TokenUsage::default() {
                self.add_usage(model, &own);
            }
        }
    }
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
        let usage =
            |output| TokenUsage { answers: 1, output, cost: Some(0.5), ..TokenUsage::default() };
        let usage = |answers: &[(u128, &str, u64)]| {
            let mut usage = SessionUsage::default();
            for (id, model, output) in answers {
                usage.add_usage_once(*id, model, &usage(*output));
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
        without.add_usage("a", &usage(1));
        sum.add(&without);
        sum.add(&without);
        assert_eq!(sum.total().answers, 5);
        sum.add(&usage(&[(3, "b", 40)]));
        assert_eq!((sum.total().answers, sum.models.len()), (5, 2));
    }

    #[test]
    fn models_are_summed_by_name() {
        let usage = |output, cost| TokenUsage { output, cost, ..TokenUsage::default() };
        let mut usage = SessionUsage::default();
        usage.add_usage("b", &usage(1, None));
        usage.add_usage("a", &usage(2, Some(0.5)));
        usage.add_usage("b", &usage(4, Some(0.25)));
        let names: Vec<&str> = usage.models.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!((usage.total().output, usage.total().cost), (7, Some(0.75)));
    }
}
