//! A list with a budget: when it grows too long, the older entries are thinned evenly.
//!
//! Each entry has a weight: the maximum size of its line in bytes. When the weights exceed the budget, the newest third
//! of it stays complete, and the rest is thinned until it fits into a third of the budget: of every `step` entries
//! added, the first is kept; if that is still too much, `step` doubles. Another third of the budget must be added
//! before it happens again, so the cost of adding an entry does not depend on the length.
//!
//! Two fields next to a list record its thinning: how many entries were omitted, and how many of the listed ones, from
//! the start, were thinned, with which step, and how far the last step got. This is the complete state, so a list that
//! is read again continues as if it had never been written.

use serde_json::Value;

use super::IndexError;
use super::text::{self, IndexFields, IndexText};

/// The maximum step, larger than any list that fits into memory can need.
const MOST_STEP: usize = 1 << 20;

/// An entry of a list.
pub(super) trait ListEntry: Sized {
    /// Returns the entry as JSON.
    fn line(&self) -> String;

    /// Reads the output of `line`.
    fn read(entry: &Value) -> Option<Self>;

    /// Returns the maximum size of the entry in a text, whatever changes in it later.
    fn weight(&self) -> usize;
}

/// The maximum size of a number in bytes.
pub(super) const NUMBER: usize = 20;

/// The bytes around an entry: the indent before it, the comma and the newline after it.
pub(super) const AROUND: usize = 6;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ThinnedList<T> {
    entries: Vec<T>,
    /// The sum of the weights.
    weight: usize,
    /// The budget.
    most: usize,
    /// How many entries, from the start, have been thinned.
    older: usize,
    /// How many entries each thinned entry stands for, unless some were removed.
    step: usize,
    /// How many entries the last thinned entry stands for so far.
    passed: usize,
    /// The number of entries that are not listed.
    omitted: u64,
}

impl<T: ListEntry> ThinnedList<T> {
    pub(super) fn new(most: usize) -> ThinnedList<T> {
        ThinnedList {
            entries: Vec::new(),
            weight: 0,
            most,
            older: 0,
            step: 1,
            passed: 1,
            omitted: 0,
        }
    }

    pub(super) fn push(&mut self, entry: T) {
        self.weight += entry.weight();
        self.entries.push(entry);
        if self.weight > self.most {
            self.thin();
        }
    }

    /// Returns the newest entry.
    pub(super) fn newest(&mut self) -> Option<&mut T> {
        self.entries.last_mut()
    }

    /// Returns the newest entry that matches.
    pub(super) fn find(&mut self, is_it: impl Fn(&T) -> bool) -> Option<&mut T> {
        self.entries.iter_mut().rev().find(|entry| is_it(entry))
    }

    /// Removes the newest entry that matches; if there is none, it was one of the omitted entries.
    pub(super) fn remove(&mut self, is_it: impl Fn(&T) -> bool) {
        match self.entries.iter().rposition(is_it) {
            Some(at) => {
                self.weight = self.weight.saturating_sub(self.entries.remove(at).weight());
                self.older -= usize::from(at < self.older);
            }
            None => self.omitted = self.omitted.saturating_sub(1),
        }
    }

    /// Returns the number of entries, listed or not.
    pub(super) fn total(&self) -> u64 {
        self.omitted.saturating_add(self.entries.len() as u64)
    }

    fn thin(&mut self) {
        let third = self.most / 3;
        let before = self.entries.len();
        let mut newest = self.entries.split_off(before - self.newest_within(third));
        let (mut older, mut passed) = (self.older, self.passed);
        self.entries.retain(|_| {
            let is_thinned = older > 0;
            older = older.saturating_sub(1);
            let keep = is_thinned || passed >= self.step;
            if !is_thinned {
                passed = if keep { 1 } else { passed + 1 };
            }
            keep
        });
        self.passed = passed;
        while sum(&self.entries) > third && self.entries.len() > 1 {
            self.double_step();
        }
        self.older = self.entries.len();
        self.entries.append(&mut newest);
        self.weight = sum(&self.entries);
        self.omitted = self.omitted.saturating_add((before - self.entries.len()) as u64);
    }

    /// Drops every second entry; each remaining one then stands for itself and the one after it.
    fn double_step(&mut self) {
        if self.entries.len().is_multiple_of(2) {
            self.passed += self.step;
        }
        let mut keep = false;
        self.entries.retain(|_| {
            keep = !keep;
            keep
        });
        self.step = (self.step * 2).min(MOST_STEP);
        self.passed = self.passed.min(self.step);
    }

    /// Returns how many of the newest entries weigh no more than `most` together; at least one.
    fn newest_within(&self, most: usize) -> usize {
        let mut weight = 0;
        let fitting = self.entries.iter().rev().take_while(|entry| {
            weight += entry.weight();
            weight <= most
        });
        fitting.count().max(1)
    }

    /// Writes the list, and next to it how much was omitted.
    pub(super) fn write(&self, page: &mut IndexText, key: &str) {
        page.list(key, self.entries.iter().map(T::line));
        if self.step > 1 {
            page.plain(&omitted_key(key), self.omitted);
            let (first, step, passed) = (self.older, self.step, self.passed);
            let thinned =
                format!("{{ \"first\": {first}, \"step\": {step}, \"passed\": {passed} }}");
            page.plain(&thinned_key(key), thinned);
        }
    }

    /// Reads the output of `write`.
    pub(super) fn read(
        fields: &IndexFields,
        key: &str,
        most: usize,
    ) -> Result<ThinnedList<T>, IndexError> {
        let read =
            fields.list(key)?.iter().enumerate().map(|(at, entry)| {
                T::read(entry).ok_or_else(|| fields.bad(format!("{key}[{at}]")))
            });
        let mut list =
            ThinnedList { entries: read.collect::<Result<Vec<T>, _>>()?, ..ThinnedList::new(most) };
        list.weight = sum(&list.entries);
        if list.weight > most {
            return Err(fields.bad(key));
        }
        let (omitted, thinned) = (omitted_key(key), thinned_key(key));
        if fields.has(&omitted) || fields.has(&thinned) {
            list.omitted = fields.number(&omitted)?;
            let state = fields.value(&thinned)?;
            let count = |key| usize::try_from(text::number(state, key)?).ok();
            let bad = || fields.bad(thinned.as_str());
            list.older = count("first").filter(|&n| n <= list.entries.len()).ok_or_else(bad)?;
            list.step = count("step").filter(|n| (2..=MOST_STEP).contains(n)).ok_or_else(bad)?;
            list.passed =
                count("passed").filter(|n| (1..=list.step).contains(n)).ok_or_else(bad)?;
        }
        Ok(list)
    }

    pub(super) fn entries(&self) -> &[T] {
        &self.entries
    }
}

fn sum<T: ListEntry>(entries: &[T]) -> usize {
    entries.iter().map(T::weight).sum()
}

fn omitted_key(key: &str) -> String {
    format!("{key}Omitted")
}

fn thinned_key(key: &str) -> String {
    format!("{key}Thinned")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    /// An entry that counts how often it is visited.
    struct NumberedEntry {
        number: u64,
        weight: usize,
        looks: Rc<Cell<u64>>,
    }

    impl ListEntry for NumberedEntry {
        fn line(&self) -> String {
            self.number.to_string()
        }

        fn read(_: &Value) -> Option<NumberedEntry> {
            None
        }

        fn weight(&self) -> usize {
            self.looks.set(self.looks.get() + 1);
            self.weight
        }
    }

    const MOST: usize = 9000;

    fn filled(count: u64, weight: impl Fn(u64) -> usize) -> (ThinnedList<NumberedEntry>, u64) {
        let looks = Rc::new(Cell::new(0));
        let mut list = ThinnedList::new(MOST);
        for number in 0..count {
            list.push(NumberedEntry { number, weight: weight(number), looks: Rc::clone(&looks) });
            assert!(list.weight <= MOST);
            assert_eq!(list.total(), number + 1);
            assert_eq!(list.entries.first().unwrap().number, 0);
            assert_eq!(list.entries.last().unwrap().number, number);
        }
        (list, looks.get())
    }

    #[test]
    fn the_newest_stay_whole_and_the_older_ones_lie_evenly() {
        let (list, _) = filled(90, |_| 100);
        assert_eq!((list.entries.len(), list.older, list.omitted), (90, 0, 0));
        for count in [91, 92, 150, 151, 152, 1000, 1001, 2000, 10_000, 99_999] {
            let (list, _) = filled(count, |_| 100);
            let numbers: Vec<u64> = list.entries.iter().map(|entry| entry.number).collect();
            let (older, newest) = numbers.split_at(list.older);
            assert!((15..=30).contains(&older.len()), "{} of {count}", older.len());
            assert!(newest.len() >= 30, "{} of {count}", newest.len());
            let apart = |numbers: &[u64], gap| numbers.windows(2).all(|w| w[0] + gap == w[1]);
            assert!(apart(older, list.step as u64), "{older:?} of {count}");
            assert!(apart(newest, 1), "{newest:?} of {count}");
            assert_eq!(older.last().unwrap() + list.passed as u64, newest[0]);
            assert_eq!(list.omitted, count - numbers.len() as u64);
        }
    }

    #[test]
    fn adding_costs_the_same_however_long_the_list_has_become() {
        let weights: [fn(u64) -> usize; 3] =
            [|_| 90, |_| 1, |number| if number.is_multiple_of(7) { 1500 } else { 30 }];
        for weight in weights {
            let per_entry = |count| filled(count, weight).1 / count;
            let (short, long) = (per_entry(20_000), per_entry(200_000));
            assert!(long <= 16 && long <= short + 1, "{short} looks at an entry, then {long}");
        }
    }

    #[test]
    fn what_is_taken_out_is_no_longer_counted() {
        let (mut list, _) = filled(1000, |_| 100);
        let (listed, older) = (list.entries.len(), list.older);
        list.remove(|entry| entry.number == 999);
        assert_eq!((list.total(), list.entries.len(), list.older), (999, listed - 1, older));
        list.remove(|entry| entry.number == 0);
        assert_eq!((list.total(), list.entries.len(), list.older), (998, listed - 2, older - 1));
        list.remove(|entry| entry.number == 1);
        assert_eq!((list.total(), list.entries.len(), list.older), (997, listed - 2, older - 1));
        assert_eq!(list.weight, sum(&list.entries));
    }
}
