//! Dice as players write them: a [`DiceExpression`] such as `2d6+1` is parsed, and rolled with a seed.

use std::fmt;

use thiserror::Error;

/// The limits of an expression, so that no input asks for endless work.
const MOST_DICE: u32 = 100;
const MOST_SIDES: u32 = 1000;
const MOST_TERMS: usize = 20;
const MOST_BONUS: i64 = 1_000_000;

/// Why a text is not an expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DiceError {
    /// There is nothing to roll.
    #[error("there are no dice in it; write for example 2d6+1")]
    Empty,
    /// A part is neither dice nor a number.
    #[error("{part:?} is neither dice nor a number; write for example 2d6+1")]
    Malformed {
        /// The part.
        part: String,
    },
    /// A number is too large, or 0.
    #[error("{part:?} is out of range: 1 to 100 dice of 1 to 1000 sides, in at most 20 parts")]
    OutOfRange {
        /// The part.
        part: String,
    },
}

/// One part of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiceTerm {
    Dice { count: u32, sides: u32, negative: bool },
    Bonus(i64),
}

/// Dice and numbers to be added up.
///
/// ```
/// use everturn_rpg::roll::DiceExpression;
///
/// let dice = DiceExpression::parse("2d6 + 1")?;
/// let rolled = dice.roll(7);
/// assert!((3..=13).contains(&rolled.total));
/// assert_eq!(rolled, dice.roll(7));
/// assert_eq!(dice.to_string(), "2d6+1");
/// # Ok::<(), everturn_rpg::roll::DiceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiceExpression {
    terms: Vec<DiceTerm>,
}

/// The result of a roll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiceRoll {
    /// The expression.
    pub expression: String,
    /// Each die in order, with its sign.
    pub dice: Vec<i64>,
    /// The sum of dice and numbers.
    pub total: i64,
}

impl DiceExpression {
    /// Parses an expression: `d20`, `2d6+1`, `d%`, `3d8 - 2 + d4`; `w` (German "Würfel") means the same as `d`.
    pub fn parse(text: &str) -> Result<DiceExpression, DiceError> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let mut terms = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let negative = rest.starts_with('-');
            let part = rest.strip_prefix(['+', '-']).unwrap_or(rest);
            let end = part.find(['+', '-']).unwrap_or(part.len());
            let (part, after) = part.split_at(end);
            terms.push(DiceTerm::parse(part, negative)?);
            if terms.len() > MOST_TERMS {
                return Err(DiceError::OutOfRange { part: part.to_owned() });
            }
            rest = after;
        }
        let has_dice = terms.iter().any(|term| matches!(term, DiceTerm::Dice { .. }));
        if has_dice { Ok(DiceExpression { terms }) } else { Err(DiceError::Empty) }
    }

    /// Rolls the dice. The same seed gives the same result.
    #[must_use]
    pub fn roll(&self, seed: u64) -> DiceRoll {
        let mut state = seed;
        let mut dice = Vec::new();
        let mut total: i64 = 0;
        for term in &self.terms {
            match *term {
                DiceTerm::Bonus(bonus) => total = total.saturating_add(bonus),
                DiceTerm::Dice { count, sides, negative } => {
                    for _ in 0..count {
                        let face = next_face(&mut state, sides);
                        let face = if negative { -face } else { face };
                        dice.push(face);
                        total = total.saturating_add(face);
                    }
                }
            }
        }
        DiceRoll { expression: self.to_string(), dice, total }
    }
}

/// Returns a face from 1 to `sides`, without favouring any (SplitMix64, with rejection).
fn next_face(state: &mut u64, sides: u32) -> i64 {
    let sides = u64::from(sides.max(1));
    let fair = u64::MAX - u64::MAX % sides;
    loop {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        if mixed < fair {
            return i64::try_from(mixed % sides).unwrap_or_default() + 1;
        }
    }
}

impl DiceTerm {
    fn parse(part: &str, negative: bool) -> Result<DiceTerm, DiceError> {
        let malformed = || DiceError::Malformed { part: part.to_owned() };
        let out_of_range = || DiceError::OutOfRange { part: part.to_owned() };
        let number = |digits: &str| -> Result<u32, DiceError> {
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(malformed());
            }
            digits.parse().map_err(|_| out_of_range())
        };
        let Some((count, sides)) = part.split_once(['d', 'D', 'w', 'W']) else {
            let bonus = i64::from(number(part)?);
            if bonus > MOST_BONUS {
                return Err(out_of_range());
            }
            return Ok(DiceTerm::Bonus(if negative { -bonus } else { bonus }));
        };
        let count = if count.is_empty() { 1 } else { number(count)? };
        let sides = if sides == "%" { 100 } else { number(sides)? };
        let in_range = (1..=MOST_DICE).contains(&count) && (1..=MOST_SIDES).contains(&sides);
        if in_range { Ok(DiceTerm::Dice { count, sides, negative }) } else { Err(out_of_range()) }
    }
}

impl fmt::Display for DiceExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, term) in self.terms.iter().enumerate() {
            let (negative, text) = match *term {
                DiceTerm::Dice { count: 1, sides, negative } => (negative, format!("d{sides}")),
                DiceTerm::Dice { count, sides, negative } => (negative, format!("{count}d{sides}")),
                DiceTerm::Bonus(bonus) => (bonus < 0, bonus.unsigned_abs().to_string()),
            };
            match (negative, number) {
                (true, _) => write!(f, "-{text}")?,
                (false, 0) => write!(f, "{text}")?,
                (false, _) => write!(f, "+{text}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for DiceRoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faces: Vec<String> = self.dice.iter().map(i64::to_string).collect();
        write!(f, "{}: {} = {}", self.expression, faces.join(", "), self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_as_players_write_them() {
        for (text, expect) in [
            ("2d6+1", "2d6+1"),
            ("d20", "d20"),
            ("1d20", "d20"),
            (" 3D8 - 2 ", "3d8-2"),
            ("d%", "d100"),
            ("5+2w6", "5+2d6"),
            ("2d6+1d4-1-d4", "2d6+d4-1-d4"),
        ] {
            assert_eq!(DiceExpression::parse(text).unwrap().to_string(), expect, "{text}");
        }
        for wrong in [
            "",
            "7",
            "+",
            "d",
            "2d",
            "d0",
            "0d6",
            "101d6",
            "d1001",
            "2d6+",
            "2d6++1",
            "sword",
            "2d6d6",
            "99999999999d6",
            "d6+99999999",
            "２d6",
            "-",
        ] {
            assert!(DiceExpression::parse(wrong).is_err(), "{wrong}");
        }
        assert!(DiceExpression::parse(&vec!["d4"; 21].join("+")).is_err());
    }

    #[test]
    fn faces_are_in_range_and_spread() {
        let dice = DiceExpression::parse("100d6").unwrap();
        let mut seen = [0_usize; 7];
        for seed in 0..60 {
            let rolled = dice.roll(seed);
            assert_eq!(rolled.total, rolled.dice.iter().sum::<i64>());
            for face in rolled.dice {
                seen[usize::try_from(face).unwrap()] += 1;
            }
        }
        assert_eq!(seen[0], 0);
        assert!(seen[1..].iter().all(|count| (850..1150).contains(count)), "{seen:?}");
        let rolled = DiceExpression::parse("10-2d4").unwrap().roll(3);
        assert!((2..=8).contains(&rolled.total) && rolled.dice.iter().all(|die| *die < 0));
    }
}
