//! Counts how often each key occurs, in order of first occurrence.
//!
//! Event types are free text, so there may be any number of them. Keys that first occur when the budget is used up are
//! counted together.

use indexmap::IndexMap;

use super::IndexError;
use super::text::{IndexFields, IndexText, MOST_NAME, clip, width};
use super::thinned_list::{AROUND, NUMBER};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BoundedCounter {
    counts: IndexMap<String, u64>,
    /// The maximum size of the lines of `counts` in bytes.
    weight: usize,
    /// The budget.
    most: usize,
    /// The count of all other keys.
    omitted: u64,
}

impl BoundedCounter {
    pub(super) fn new(most: usize) -> BoundedCounter {
        BoundedCounter { counts: IndexMap::new(), weight: 0, most, omitted: 0 }
    }

    pub(super) fn add(&mut self, key: &str, times: u64) {
        if times == 0 {
            return;
        }
        let key = clip(key, MOST_NAME);
        if let Some(count) = self.counts.get_mut(&*key) {
            *count = count.saturating_add(times);
            return;
        }
        let weight = self.weight + line_weight(&key);
        if weight <= self.most {
            self.weight = weight;
            self.counts.insert(key.into_owned(), times);
        } else {
            self.omitted = self.omitted.saturating_add(times);
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.counts.values().fold(self.omitted, |sum, &count| sum.saturating_add(count))
    }

    /// Writes the counts, and next to them the count of omitted keys.
    pub(super) fn write(&self, page: &mut IndexText, key: &str) {
        page.object(key, self.counts.iter().map(|(key, count)| (key.clone(), count)));
        if self.omitted > 0 {
            page.plain(&omitted_key(key), self.omitted);
        }
    }

    /// Reads the output of `write`.
    pub(super) fn read(
        fields: &IndexFields,
        key: &str,
        most: usize,
    ) -> Result<BoundedCounter, IndexError> {
        let mut tally = BoundedCounter::new(most);
        for (name, count) in fields.object(key)? {
            let count = count.as_u64().filter(|&count| count > 0 && width(name) <= MOST_NAME);
            tally.add(
                name,
                count.ok_or_else(|| fields.bad(format!("{key}.{}", clip(name, MOST_NAME))))?,
            );
        }
        if tally.omitted > 0 {
            return Err(fields.bad(key));
        }
        tally.omitted = fields.number_or_zero(&omitted_key(key))?;
        Ok(tally)
    }
}

fn line_weight(key: &str) -> usize {
    width(key) + "\"\": ".len() + NUMBER + AROUND
}

fn omitted_key(key: &str) -> String {
    format!("{key}Omitted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_the_budget_is_used_up_is_counted_together() {
        let mut tally = BoundedCounter::new(2 * line_weight("a"));
        for key in ["b", "a", "c", "b", "d", "c"] {
            tally.add(key, 2);
        }
        tally.add("a", 0);
        assert_eq!(
            tally.counts.iter().collect::<Vec<_>>(),
            [(&"b".to_owned(), &4), (&"a".to_owned(), &2)]
        );
        assert_eq!((tally.omitted, tally.total()), (6, 12));
    }

    #[test]
    fn counts_never_wrap_around() {
        let mut tally = BoundedCounter::new(1000);
        tally.add("a", u64::MAX);
        tally.add("a", 1);
        tally.add("b", 1);
        assert_eq!(tally.total(), u64::MAX);
    }
}
