//! Assigns numbers to consecutive records, some of which are damaged or out of order.

use std::collections::BTreeSet;

/// The most placeholder records that are made for lost turns.
pub const MOST_LOST: u64 = 10_000;

/// What a record says about its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberClaim {
    /// The number itself.
    pub number: u64,
    /// The number according to other parts of the record.
    pub hint: Option<u64>,
}

/// Determines the number of each record from its claim and its position.
///
/// Most records are in order, and their numbers are trusted. Of the others, a record with an unused number is out of
/// order. A record whose number is taken, or greater than all others, has a damaged number if the number that its
/// position implies is free. `floor` is the number before the first, `known` says which numbers occur elsewhere.
pub fn assign_numbers(said: &[NumberClaim], floor: u64, known: &dyn Fn(u64) -> bool) -> Vec<u64> {
    let sure =
        |one: &NumberClaim| one.number > floor && one.hint.is_none_or(|hint| hint == one.number);
    let mut trusted = longest_rising_run(said, &sure);
    let mut numbers: Vec<Option<u64>> = vec![None; said.len()];
    for &at in &trusted {
        if let (Some(slot), Some(one)) = (numbers.get_mut(at), said.get(at)) {
            *slot = Some(one.number);
        }
    }
    repair_last(&mut trusted, &mut numbers, floor, known);
    let mut taken: BTreeSet<u64> = numbers.iter().flatten().copied().collect();
    let highest = taken.last().copied().unwrap_or(floor);
    let mut before = floor;
    for at in 0..said.len() {
        if let Some(number) = numbers.get(at).copied().flatten() {
            before = number;
            continue;
        }
        let Some(one) = said.get(at) else { continue };
        let after = numbers.iter().skip(at).flatten().next().copied().unwrap_or(u64::MAX);
        let is_free = |number: u64| number > floor && !taken.contains(&number);
        let is_here = |number: u64| number > before && number < after && is_free(number);
        let hint = one.hint.filter(|hint| *hint != one.number);
        let is_told = |number: u64| is_free(number) && (number < highest || known(number));
        let next = before.saturating_add(1);
        let number = match hint {
            Some(hint) if is_here(hint) => hint,
            Some(_) if is_here(one.number) => one.number,
            Some(hint) if !is_told(one.number) && is_told(hint) => hint,
            _ if is_told(one.number) => one.number,
            _ if is_here(next) && (after != u64::MAX || known(next)) => next,
            _ => one.number.max(floor.saturating_add(1)),
        };
        if number > before && number < after {
            before = number;
        }
        taken.insert(number);
        if let Some(slot) = numbers.get_mut(at) {
            *slot = Some(number);
        }
    }
    numbers.into_iter().flatten().collect()
}

/// No record follows the last: if its number is mentioned nowhere, but the expected one is, it gets the expected one.
fn repair_last(
    trusted: &mut Vec<usize>,
    numbers: &mut [Option<u64>],
    floor: u64,
    known: &dyn Fn(u64) -> bool,
) {
    let Some(last) = trusted.pop() else { return };
    let number = |at: usize| numbers.get(at).copied().flatten();
    let before = trusted.last().and_then(|at| number(*at)).unwrap_or(floor);
    let next = before.saturating_add(1);
    let is_odd = number(last).is_some_and(|found| found > next && !known(found) && known(next));
    if let Some(slot) = numbers.get_mut(last).filter(|_| is_odd) {
        *slot = Some(next);
    }
}

/// The indexes of the longest increasing run among the records that satisfy `sure`.
fn longest_rising_run(said: &[NumberClaim], sure: &dyn Fn(&NumberClaim) -> bool) -> Vec<usize> {
    // The last index of the best run of each length, and the predecessor of each index in its run.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; said.len()];
    let number = |at: &usize| said.get(*at).map_or(0, |one| one.number);
    for (at, one) in said.iter().enumerate().filter(|(_, one)| sure(one)) {
        let length = ends.partition_point(|end| number(end) < one.number);
        if let Some(slot) = before.get_mut(at) {
            *slot = length.checked_sub(1).and_then(|length| ends.get(length)).copied();
        }
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut run = Vec::new();
    let mut next = ends.last().copied();
    while let Some(at) = next {
        run.push(at);
        next = before.get(at).copied().flatten();
    }
    run.reverse();
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(said: &[u64], expect: &[u64]) {
        let said: Vec<NumberClaim> =
            said.iter().map(|&number| NumberClaim { number, hint: None }).collect();
        assert_eq!(assign_numbers(&said, 0, &|number| (1..=6).contains(&number)), expect);
    }

    #[test]
    fn numbers_are_those_that_are_said_and_damaged_ones_follow_from_their_place() {
        check(&[], &[]);
        check(&[1, 2, 3], &[1, 2, 3]);
        check(&[1, 4, 3, 2, 5], &[1, 4, 3, 2, 5]);
        check(&[1, 2, 103, 4, 5], &[1, 2, 3, 4, 5]);
        check(&[1, 2, 5, 4, 5], &[1, 2, 3, 4, 5]);
        check(&[0, 2, 3], &[1, 2, 3]);
        check(&[1, 2, 112], &[1, 2, 3]);
        check(&[1, 2, 2, 3], &[1, 2, 2, 3]);
        check(&[1, 2, 3, 1, 2], &[1, 2, 3, 4, 5]);
        check(&[1, 2, 3, 4, 5, 6, 1, 2], &[1, 2, 3, 4, 5, 6, 1, 2]);
        check(&[1, 2, 6], &[1, 2, 6]);
    }

    #[test]
    fn other_parts_of_a_record_tell_its_number() {
        let said = |number, hint| NumberClaim { number, hint: Some(hint) };
        let all = [said(1, 1), said(9, 2), said(3, 3), said(5, 7)];
        assert_eq!(assign_numbers(&all, 0, &|_| false), [1, 2, 3, 7]);
    }
}
