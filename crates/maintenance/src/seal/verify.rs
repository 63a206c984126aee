//! Compares the records of a session with its seal.

use std::collections::HashMap;
use std::fmt;

use jiff::Timestamp;

use super::chain::{ChainKind, HashChain, RecordDigest, SHORT, SessionDigests, short_hash};
use super::file::SealState;

/// How a record differs from its seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamageKind {
    /// Its content has changed.
    Changed,
    /// It was removed.
    Removed,
    /// It was inserted between sealed records.
    Inserted,
    /// Its position has changed.
    Moved,
    /// Only the chain as a whole reveals it: the seal and the records were both changed.
    Mismatch,
}

impl DamageKind {
    /// The word for it in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            DamageKind::Changed => "changed",
            DamageKind::Removed => "removed",
            DamageKind::Inserted => "inserted",
            DamageKind::Moved => "moved",
            DamageKind::Mismatch => "unlike the chain",
        }
    }
}

/// A record that differs from its seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealDamage {
    /// Whether it is an entry or a change.
    pub part: ChainKind,
    /// Its number, counted from 1: among the sealed records, or, if it was inserted, among the present ones.
    pub record: u64,
    /// The turn of the record at this position now.
    pub turn: Option<u64>,
    /// How it differs.
    pub harm: DamageKind,
}

impl fmt::Display for SealDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SealDamage { part, record, turn, harm } = self;
        write!(f, "{part} {record}")?;
        if let Some(turn) = turn {
            write!(f, " (turn {turn})")?;
        }
        write!(f, " was {}", harm.as_str())
    }
}

/// The result of verifying a seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealVerdict {
    /// The head of the chain that was sealed.
    pub head: String,
    /// The number of sealed records.
    pub sealed: u64,
    /// The number of records that are not sealed yet.
    pub appended: u64,
    /// The time of the last seal.
    pub time: Option<Timestamp>,
    /// The differences; empty if the seal is intact.
    pub damages: Vec<SealDamage>,
}

/// The most differences that are reported.
const MOST: usize = 1000;

/// Compares sealed and present records.
pub(super) fn compare_chains(sealed: &SealState, records: &SessionDigests) -> Vec<SealDamage> {
    let mut damages = compare_chain(ChainKind::Entries, &sealed.chains.entries, &records.entries);
    damages.extend(compare_chain(ChainKind::Changes, &sealed.chains.changes, &records.changes));
    damages.truncate(MOST);
    damages
}

fn compare_chain(part: ChainKind, sealed: &HashChain, records: &[RecordDigest]) -> Vec<SealDamage> {
    let mut again = HashChain::default();
    records.iter().take(sealed.shorts.len()).for_each(|record| again.add(record));
    if again == *sealed {
        return Vec::new();
    }
    let found = differences(part, &sealed.shorts, records);
    if found.is_empty() {
        return vec![SealDamage {
            part,
            record: sealed.len(),
            turn: None,
            harm: DamageKind::Mismatch,
        }];
    }
    found
}

/// Walks both lists. A record in one list only was removed, inserted or changed; one in both, elsewhere, was moved.
fn differences(
    part: ChainKind,
    sealed: &[[u8; SHORT]],
    records: &[RecordDigest],
) -> Vec<SealDamage> {
    let mut left: HashMap<[u8; SHORT], i64> = HashMap::new();
    for record in records {
        *left.entry(short_hash(&record.hash)).or_default() += 1;
    }
    let mut wanted: HashMap<[u8; SHORT], i64> = HashMap::new();
    for it in sealed {
        *wanted.entry(*it).or_default() += 1;
    }
    let mut damages = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let Some(expect) = sealed.get(i) {
        if damages.len() >= MOST {
            break;
        }
        let found = records.get(j);
        let turn = found.map(|record| record.turn);
        let here = found.map(|record| short_hash(&record.hash));
        if here == Some(*expect) {
            decrement(&mut left, expect);
            decrement(&mut wanted, expect);
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let is_later = left.get(expect).is_some_and(|count| *count > 0);
        let is_known = here.is_some_and(|here| wanted.get(&here).is_some_and(|count| *count > 0));
        let mut tell = |record: usize, harm| {
            damages.push(SealDamage { part, record: record as u64 + 1, turn, harm });
        };
        match (is_later, is_known) {
            (false, false) if here.is_some() => {
                tell(i, DamageKind::Changed);
                (i, j) = (i + 1, j + 1);
            }
            (false, _) => {
                tell(i, DamageKind::Removed);
                i += 1;
            }
            (true, false) => {
                tell(j, DamageKind::Inserted);
                j += 1;
            }
            (true, true) => {
                tell(i, DamageKind::Moved);
                decrement(&mut left, expect);
                i += 1;
                if let Some(here) = here {
                    decrement(&mut wanted, &here);
                    j += 1;
                }
            }
        }
    }
    damages
}

fn decrement(counts: &mut HashMap<[u8; SHORT], i64>, it: &[u8; SHORT]) {
    if let Some(count) = counts.get_mut(it) {
        *count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::seal::chain::SealChains;

    fn records(letters: &str) -> Vec<RecordDigest> {
        let record = |(turn, letter): (u64, u8)| RecordDigest {
            hash: Sha256::digest([letter]).into(),
            turn,
        };
        (1..).zip(letters.bytes()).map(record).collect()
    }

    #[track_caller]
    fn check(before: &str, after: &str, expect: &[(u64, DamageKind)]) {
        let of = |letters| SessionDigests { entries: records(letters), changes: Vec::new() };
        let chains = SealChains::default().extended(&of(before));
        let sealed = SealState { chains, time: None, heads: Vec::new() };
        let damages = compare_chains(&sealed, &of(after));
        let found: Vec<(u64, DamageKind)> = damages.iter().map(|it| (it.record, it.harm)).collect();
        assert_eq!(found, expect, "{before} {after}");
    }

    #[test]
    fn every_change_is_found_and_placed() {
        check("abcd", "abcd", &[]);
        check("abcd", "abcdef", &[]);
        check("abcd", "abxd", &[(3, DamageKind::Changed)]);
        check("abcd", "abd", &[(3, DamageKind::Removed)]);
        check("abcd", "abc", &[(4, DamageKind::Removed)]);
        check(
            "abcd",
            "",
            &[
                (1, DamageKind::Removed),
                (2, DamageKind::Removed),
                (3, DamageKind::Removed),
                (4, DamageKind::Removed),
            ],
        );
        check("abcd", "abxcd", &[(3, DamageKind::Inserted)]);
        check("abcd", "xabcd", &[(1, DamageKind::Inserted)]);
        check("abcd", "acbd", &[(2, DamageKind::Moved), (3, DamageKind::Moved)]);
        check("aab", "ab", &[(2, DamageKind::Removed)]);
        check("", "abc", &[]);
    }
}
