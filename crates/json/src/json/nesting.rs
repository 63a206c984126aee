//! The stack of open containers: one bit for each.

use super::Container;

/// A stack of bits, so that a million levels take 125 kB.
#[derive(Debug, Clone, Default)]
pub(super) struct NestingStack {
    depth: usize,
    /// The levels below the top word, 64 to a word; a set bit is an object.
    words: Vec<u64>,
    /// The word of the innermost levels.
    top: u64,
}

impl NestingStack {
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn is_in_object(&self) -> bool {
        self.depth > 0 && self.top & 1 == 1
    }

    pub(super) fn push(&mut self, container: Container) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.words.push(self.top);
        }
        self.top = (self.top << 1) | u64::from(container == Container::Object);
        self.depth += 1;
    }

    pub(super) fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.top >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.top = self.words.pop().unwrap_or_default();
        }
    }

    /// Clears the stack; the memory is kept for the next value.
    pub(super) fn clear(&mut self) {
        self.depth = 0;
        self.words.clear();
        self.top = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_are_closed_in_the_order_they_were_opened() {
        let kind = |level: usize| {
            if level.is_multiple_of(3) { Container::Object } else { Container::Array }
        };
        let mut nesting = NestingStack::default();
        for levels in [1, 63, 64, 65, 128, 129, 1000] {
            for level in 0..levels {
                nesting.push(kind(level));
            }
            for level in (0..levels).rev() {
                assert_eq!(nesting.depth(), level + 1);
                assert_eq!(nesting.is_in_object(), kind(level) == Container::Object, "at {level}");
                nesting.pop();
            }
            assert_eq!(nesting.depth(), 0);
            assert!(!nesting.is_in_object());
        }
    }
}
