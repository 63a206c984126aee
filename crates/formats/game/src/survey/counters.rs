//! Compact counters: [`TurnCounts`] counts by turn, [`SeenIds`] remembers IDs.

use std::collections::{BTreeMap, HashSet};

use everturn_json::checksum::checksum;

/// How many IDs of unusual form are remembered; further ones are not compared.
const MOST_IDS: usize = 1 << 20;

/// The maximum gap between turns whose numbers are stored in one vector.
const NEAR: u64 = 64;

/// A number for each turn seen. Consecutive turns take four bytes each.
#[derive(Debug, Default)]
pub(crate) struct TurnCounts(BTreeMap<u64, Vec<u32>>);

impl TurnCounts {
    fn cell(&mut self, turn: u64) -> Option<&mut u32> {
        let (start, cells) = self.0.range_mut(..=turn).next_back()?;
        cells.get_mut(usize::try_from(turn - start).ok()?)
    }

    pub(crate) fn get(&self, turn: u64) -> Option<u32> {
        let (start, cells) = self.0.range(..=turn).next_back()?;
        cells.get(usize::try_from(turn - start).ok()?).copied()
    }

    /// Sets the number of a turn. Returns whether the turn is new.
    pub(crate) fn insert(&mut self, turn: u64, number: u32) -> bool {
        if let Some(cell) = self.cell(turn) {
            *cell = number;
            return false;
        }
        let before = self.0.range_mut(..=turn).next_back();
        match before {
            Some((start, cells)) if *start + cells.len() as u64 == turn => cells.push(number),
            _ => drop(self.0.insert(turn, vec![number])),
        }
        true
    }

    /// Adds to the number of a turn; skipped turns shortly before it count as seen with 0.
    pub(crate) fn add(&mut self, turn: u64, more: u32) {
        if let Some(cell) = self.cell(turn) {
            *cell = cell.saturating_add(more);
            return;
        }
        if let Some((start, cells)) = self.0.range_mut(..=turn).next_back() {
            let end = *start + cells.len() as u64;
            if turn - end < NEAR {
                let gap = usize::try_from(turn - end).unwrap_or(0);
                cells.extend(std::iter::repeat_n(0, gap));
                cells.push(more);
                return;
            }
        }
        self.0.insert(turn, vec![more]);
    }

    /// Returns the sum over the turns after `from`, up to and including `to`.
    pub(crate) fn sum(&self, from: u64, to: u64) -> u64 {
        let overlaps =
            self.0.range(..=to).filter(|(start, cells)| *start + cells.len() as u64 > from);
        overlaps
            .flat_map(|(start, cells)| (*start..).zip(cells))
            .filter(|(turn, _)| *turn > from && *turn <= to)
            .map(|(_, number)| u64::from(*number))
            .sum()
    }

    /// Returns how many turns up to and including `to` were seen.
    pub(crate) fn count(&self, to: u64) -> u64 {
        let seen = |(start, cells): (&u64, &Vec<u32>)| (cells.len() as u64).min(to - start + 1);
        self.0.range(..=to).map(seen).sum()
    }

    /// Returns the highest turn.
    pub(crate) fn last(&self) -> Option<u64> {
        self.0
            .iter()
            .next_back()
            .map(|(start, cells)| start + (cells.len() as u64).saturating_sub(1))
    }

    /// Returns the ranges of `first..=last` that were not seen.
    pub(crate) fn missing(&self, first: u64, last: u64) -> Vec<(u64, u64)> {
        let mut parts = Vec::new();
        let mut next = first;
        let before = self.0.range(..=first).next_back();
        let after = self.0.range(first.saturating_add(1)..=last.max(first.saturating_add(1)));
        for (start, cells) in before.into_iter().chain(after) {
            if *start > last {
                break;
            }
            if *start > next {
                parts.push((next, start - 1));
            }
            next = next.max(start + cells.len() as u64);
        }
        if next <= last {
            parts.push((next, last));
        }
        parts
    }
}

/// A set of IDs, stored as checksums, to detect duplicates.
#[derive(Debug, Default)]
pub(crate) struct SeenIds(HashSet<u64>);

impl SeenIds {
    /// Adds an ID. Returns whether it is new.
    pub(crate) fn insert(&mut self, id: &str) -> bool {
        let sum = checksum(&[id.as_bytes()]);
        if self.0.len() >= MOST_IDS {
            return !self.0.contains(&sum);
        }
        self.0.insert(sum)
    }

    /// Returns whether an ID may have been seen.
    pub(crate) fn may_have(&self, id: &str) -> bool {
        self.0.len() >= MOST_IDS || self.0.contains(&checksum(&[id.as_bytes()]))
    }
}

/// Returns the turn and the number at the end of an ID such as `abc123-201-1`.
pub(crate) fn id_parts(id: &str) -> Option<(u64, u64)> {
    let (rest, number) = id.rsplit_once('-')?;
    let (_, turn) = rest.rsplit_once('-')?;
    let parse = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    };
    Some((parse(turn)?, parse(number)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_by_turn() {
        let mut runs = TurnCounts::default();
        for turn in [1, 2, 3, 10, 11, 7] {
            assert!(runs.insert(turn, 5), "{turn}");
        }
        assert!(!runs.insert(2, 6));
        assert_eq!((runs.get(2), runs.get(4), runs.get(7)), (Some(6), None, Some(5)));
        assert_eq!(runs.missing(1, 12), [(4, 6), (8, 9), (12, 12)]);
        assert_eq!(runs.missing(4, 6), [(4, 6)]);
        assert_eq!(runs.missing(1, 3), []);
        assert_eq!((runs.sum(1, 10), runs.sum(0, 1), runs.sum(11, 99)), (21, 5, 0));
        assert_eq!((runs.last(), runs.count(10), runs.count(99)), (Some(11), 5, 6));
    }

    #[test]
    fn sums_fill_small_gaps_only() {
        let mut runs = TurnCounts::default();
        for turn in [1, 1, 5, 500, 3] {
            runs.add(turn, 2);
        }
        assert_eq!(
            (runs.get(1), runs.get(2), runs.get(3), runs.get(400)),
            (Some(4), Some(0), Some(2), None)
        );
        assert_eq!(runs.sum(0, 1000), 10);
    }

    #[test]
    fn ids_tell_their_turn() {
        for (id, expect) in [
            ("abc123-201-1", Some((201, 1))),
            ("delta-a-b-2-33", Some((2, 33))),
            ("abc-x-1", None),
            ("1-2", None),
            ("a--1", None),
            ("evt", None),
        ] {
            assert_eq!(id_parts(id), expect, "{id}");
        }
    }
}
