//! Deterministic pseudo-random choices.

/// A source of choices. The same words in the same order always lead to the same choices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dice(u64);

const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Spreads a number over all bits, so that neighbours are unrelated (the last step of SplitMix64).
fn spread(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(spread(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)))
    }

    /// Returns the dice for one use, which are independent of those for another.
    pub(super) fn of(self, what: &str) -> Dice {
        let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(PRIME);
        Dice(spread(what.bytes().fold(self.0.wrapping_mul(PRIME), step)))
    }

    pub(super) fn number(self, number: u64) -> Dice {
        Dice(spread(self.0.wrapping_add(spread(number))))
    }

    /// Returns a number from 0 up to, but not including, `sides`.
    pub(super) fn below(self, sides: u64) -> u64 {
        self.0 % sides.max(1)
    }

    /// Returns a number from 1 to `sides`.
    pub(super) fn roll(self, sides: u64) -> i64 {
        i64::try_from(self.below(sides)).unwrap_or_default() + 1
    }

    /// Returns an element of a list, or `None` if it is empty.
    pub(super) fn among<T>(self, list: &[T]) -> Option<&T> {
        let at = self.below(list.len() as u64);
        list.get(usize::try_from(at).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_follow_from_the_words_and_are_spread() {
        let roll = |seed: u64, what: &str, turn: u64| Dice::new(seed).of(what).number(turn).roll(6);
        assert_eq!(roll(1, "blow", 3), roll(1, "blow", 3));
        let mut seen = [0_usize; 7];
        for turn in 0..600 {
            seen[usize::try_from(roll(7, "blow", turn)).unwrap()] += 1;
        }
        assert!(seen[1..].iter().all(|count| (60..140).contains(count)), "{seen:?}");
        assert_eq!(seen[0], 0);
        let all = |seed: u64| -> Vec<i64> { (0..30).map(|turn| roll(seed, "x", turn)).collect() };
        assert_ne!(all(1), all(2));
        assert_eq!(Dice::new(1).among::<u8>(&[]), None);
    }
}
