//! Python's random numbers: a map made from a seed is the same as the one that the upstream program makes.
//!
//! The generator is the Mersenne twister MT19937, seeded by an array of words, as published by its authors. Python
//! derives that array from a text and its SHA-512, read as one large number, and draws numbers below a bound by taking
//! as many bits as the bound has until they are below it.

use sha2::{Digest, Sha512};

const WORDS: usize = 624;
const MIDDLE: usize = 397;

/// A generator of random numbers, determined by a seed.
pub(crate) struct MersenneTwister {
    state: Box<[u32; WORDS]>,
    next: usize,
}

fn at(state: &[u32; WORDS], index: usize) -> u32 {
    state.get(index % WORDS).copied().unwrap_or_default()
}

fn put(state: &mut [u32; WORDS], index: usize, word: u32) {
    if let Some(place) = state.get_mut(index % WORDS) {
        *place = word;
    }
}

impl MersenneTwister {
    /// Creates a generator seeded by a text.
    pub(crate) fn new(seed: &str) -> MersenneTwister {
        let mut bytes = seed.as_bytes().to_vec();
        bytes.extend_from_slice(&Sha512::digest(seed.as_bytes()));
        // One big-endian number, split into words, least significant first.
        let word =
            |chunk: &[u8]| chunk.iter().fold(0_u32, |word, &byte| word << 8 | u32::from(byte));
        let mut key: Vec<u32> = bytes.rchunks(4).map(word).collect();
        while key.len() > 1 && key.last() == Some(&0) {
            key.pop();
        }
        MersenneTwister::from_key(&key)
    }

    fn from_key(key: &[u32]) -> MersenneTwister {
        let mut state = Box::new([0_u32; WORDS]);
        put(&mut state, 0, 19_650_218);
        for i in 1..WORDS {
            let before = at(&state, i - 1);
            let index = u32::try_from(i).unwrap_or_default();
            put(
                &mut state,
                i,
                (before ^ before >> 30).wrapping_mul(1_812_433_253).wrapping_add(index),
            );
        }
        let (mut i, mut j) = (1, 0);
        for _ in 0..WORDS.max(key.len()) {
            let before = at(&state, i - 1);
            let mixed = at(&state, i) ^ (before ^ before >> 30).wrapping_mul(1_664_525);
            let given = key.get(j).copied().unwrap_or_default();
            let index = u32::try_from(j).unwrap_or_default();
            put(&mut state, i, mixed.wrapping_add(given).wrapping_add(index));
            (i, j) = (i + 1, j + 1);
            if i == WORDS {
                let last = at(&state, WORDS - 1);
                put(&mut state, 0, last);
                i = 1;
            }
            if j >= key.len() {
                j = 0;
            }
        }
        for _ in 1..WORDS {
            let before = at(&state, i - 1);
            let mixed = at(&state, i) ^ (before ^ before >> 30).wrapping_mul(1_566_083_941);
            put(&mut state, i, mixed.wrapping_sub(u32::try_from(i).unwrap_or_default()));
            i += 1;
            if i == WORDS {
                let last = at(&state, WORDS - 1);
                put(&mut state, 0, last);
                i = 1;
            }
        }
        put(&mut state, 0, 0x8000_0000);
        MersenneTwister { state, next: WORDS }
    }

    fn refill(&mut self) {
        for i in 0..WORDS {
            let joined = at(&self.state, i) & 0x8000_0000 | at(&self.state, i + 1) & 0x7fff_ffff;
            let odd = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
            let word = at(&self.state, i + MIDDLE) ^ joined >> 1 ^ odd;
            put(&mut self.state, i, word);
        }
        self.next = 0;
    }

    /// Returns the next 32 bits.
    fn word(&mut self) -> u32 {
        if self.next >= WORDS {
            self.refill();
        }
        let mut word = at(&self.state, self.next);
        self.next += 1;
        word ^= word >> 11;
        word ^= word << 7 & 0x9d2c_5680;
        word ^= word << 15 & 0xefc6_0000;
        word ^ word >> 18
    }

    /// Returns a number from `start` up to but not including `end`, or `start` if the range is empty.
    pub(crate) fn range(&mut self, start: u32, end: u32) -> u32 {
        let width = end.saturating_sub(start);
        if width == 0 {
            return start;
        }
        let bits = 32 - width.leading_zeros();
        loop {
            let number = self.word() >> (32 - bits);
            if number < width {
                return start + number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_numbers_come_out() {
        // The first outputs published by the authors for the key 0x123, 0x234, 0x345, 0x456.
        let mut twister = MersenneTwister::from_key(&[0x123, 0x234, 0x345, 0x456]);
        let first: Vec<u32> = (0..5).map(|_| twister.word()).collect();
        assert_eq!(first, [1_067_595_299, 955_945_823, 477_289_528, 4_107_218_783, 4_228_976_476]);
    }

    #[test]
    fn texts_lead_to_the_numbers_that_python_draws() {
        for (seed, thousands, few) in [
            ("test-root", [136, 595, 787, 620, 748, 542], [4, 4, 2, 4, 3]),
            ("default", [280, 947, 811, 981, 640, 773], [4, 5, 5, 3, 3]),
            ("", [983, 465, 609, 211, 397, 885], [3, 4, 2, 4, 4]),
            ("é", [992, 962, 426, 96, 182, 313], [2, 4, 2, 2, 5]),
        ] {
            let mut twister = MersenneTwister::new(seed);
            assert_eq!(thousands.map(|_| twister.range(0, 1000)), thousands, "{seed}");
            assert_eq!(few.map(|_| twister.range(2, 6)), few, "{seed}");
        }
        assert_eq!(MersenneTwister::new("x").range(3, 3), 3);
    }
}
