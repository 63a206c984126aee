//! Ranges of turns, as users write them: `N`, `A..B`, `A..`, `..B`; `A-B` is understood as well.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// A range of turns, both ends included; a missing end is that of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TurnRange {
    pub(crate) first: Option<u64>,
    pub(crate) last: Option<u64>,
}

impl FromStr for TurnRange {
    type Err = String;

    fn from_str(text: &str) -> Result<TurnRange, String> {
        let number = |text: &str| {
            text.parse::<u64>().map_err(|_| format!("{text:?} is not the number of a turn"))
        };
        let end = |text: &str| (!text.is_empty()).then(|| number(text)).transpose();
        let turns = match text.split_once("..") {
            Some((first, last)) => TurnRange { first: end(first)?, last: end(last)? },
            None if is_dashed(text) => {
                let (first, last) = text.split_once('-').unwrap_or((text, ""));
                TurnRange { first: Some(number(first)?), last: Some(number(last)?) }
            }
            None => {
                let turn = Some(number(text)?);
                TurnRange { first: turn, last: turn }
            }
        };
        match turns {
            TurnRange { first: Some(first), last: Some(last) } if first > last => {
                Err(format!("turn {first} comes after turn {last}"))
            }
            turns => Ok(turns),
        }
    }
}

/// Returns whether a text is two numbers with a dash between them.
fn is_dashed(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|one| one.is_ascii_digit());
    text.split_once('-').is_some_and(|(first, last)| is_number(first) && is_number(last))
}

impl TurnRange {
    /// Returns the range in a session that has these turns.
    pub(crate) fn within(&self, first: u64, last: u64) -> RangeInclusive<u64> {
        self.first.unwrap_or(first).max(first)..=self.last.unwrap_or(last).min(last)
    }

    /// Returns whether the range is restricted.
    pub(crate) fn is_bounded(&self) -> bool {
        self.first.is_some() || self.last.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<(Option<u64>, Option<u64>), &str>) {
        let turns = text.parse::<TurnRange>().map(|turns| (turns.first, turns.last));
        assert_eq!(turns, expect.map_err(str::to_owned), "{text:?}");
    }

    #[test]
    fn ranges_are_read_as_people_write_them() {
        check("7", Ok((Some(7), Some(7))));
        check("3..9", Ok((Some(3), Some(9))));
        check("3..", Ok((Some(3), None)));
        check("..9", Ok((None, Some(9))));
        check("..", Ok((None, None)));
        check("5-9", Ok((Some(5), Some(9))));
        check("9-5", Err("turn 9 comes after turn 5"));
        check("-5", Err("\"-5\" is not the number of a turn"));
        check("9..3", Err("turn 9 comes after turn 3"));
        check("x", Err("\"x\" is not the number of a turn"));
        check("1..-2", Err("\"-2\" is not the number of a turn"));
        check("", Err("\"\" is not the number of a turn"));
    }

    #[test]
    fn a_range_ends_where_the_session_does() {
        let turns = |text: &str| text.parse::<TurnRange>().unwrap().within(1, 10);
        assert_eq!(turns(".."), 1..=10);
        assert_eq!(turns("0..99"), 1..=10);
        assert_eq!(turns("4"), 4..=4);
        assert!(turns("11..").is_empty());
    }
}
