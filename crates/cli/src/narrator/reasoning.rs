//! Removes the reasoning that some models write before their answer: [`ReasoningFilter`].

/// The tags around reasoning.
const TAGS: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
];

/// Removes reasoning from a text that arrives in pieces.
#[derive(Debug, Default)]
pub(super) struct ReasoningFilter {
    /// Text that may be the beginning of a tag.
    held: String,
    /// The tag that ends the current reasoning.
    end: Option<&'static str>,
}

impl ReasoningFilter {
    /// Takes a piece, and returns the text outside of reasoning that is known so far.
    pub(super) fn feed(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut out = String::new();
        loop {
            match self.end {
                Some(end) => match self.held.find(end) {
                    Some(at) => {
                        self.held.drain(..at + end.len());
                        self.end = None;
                    }
                    None => {
                        let kept = partial_tag(&self.held, &[end]);
                        self.held.drain(..self.held.len() - kept);
                        return out;
                    }
                },
                None => {
                    let start = |(open, close): &(&str, &'static str)| {
                        self.held.find(open).map(|at| (at, open.len(), *close))
                    };
                    match TAGS.iter().filter_map(start).min() {
                        Some((at, length, close)) => {
                            out.push_str(self.held.get(..at).unwrap_or_default());
                            self.held.drain(..at + length);
                            self.end = Some(close);
                        }
                        None => {
                            let opening: Vec<&str> = TAGS.iter().map(|(open, _)| *open).collect();
                            let kept = partial_tag(&self.held, &opening);
                            out.extend(self.held.drain(..self.held.len() - kept));
                            return out;
                        }
                    }
                }
            }
        }
    }

    /// Returns the rest of the text. Reasoning without an end is not text.
    pub(super) fn finish(self) -> String {
        if self.end.is_some() { String::new() } else { self.held }
    }
}

/// Returns the length of the longest end of a text that begins one of these tags.
fn partial_tag(text: &str, tags: &[&str]) -> usize {
    let begins = |tag: &&str| {
        let lengths = (1..tag.len()).rev();
        lengths.filter(|length| text.ends_with(tag.get(..*length).unwrap_or("\0"))).max()
    };
    tags.iter().filter_map(begins).max().unwrap_or(0)
}

/// Returns a text without reasoning. Some models leave out the first tag.
pub(super) fn without_reasoning(text: &str) -> String {
    let mut filter = ReasoningFilter::default();
    let mut out = filter.feed(text);
    out.push_str(&filter.finish());
    let last = TAGS.iter().filter_map(|(_, close)| out.rfind(close).map(|at| at + close.len()));
    match last.max() {
        Some(at) => out.split_off(at),
        None => out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(without_reasoning(text), expect, "{text}");
        let all: Vec<char> = text.chars().collect();
        for size in [1, 3, 8] {
            let mut filter = ReasoningFilter::default();
            let pieces = all.chunks(size).map(|piece| piece.iter().collect::<String>());
            let mut found: String = pieces.map(|piece| filter.feed(&piece)).collect();
            found.push_str(&filter.finish());
            assert_eq!(found, expect, "{text} in pieces of {size}");
        }
    }

    #[test]
    fn reasoning_is_removed_wherever_the_text_is_cut() {
        check("You rest.", "You rest.");
        check("<think>a < b</think>You rest.", "You rest.");
        check("a <b> <thin> <think>x</think> é<thinking>y</thinking>!", "a <b> <thin>  é!");
        check("<think>cut off in the middle", "");
        check("<reasoning>{\"assistant_text\": \"draft\"}</reasoning>{}", "{}");
        check("a <", "a <");
    }

    #[test]
    fn the_first_tag_may_be_missing() {
        assert_eq!(without_reasoning("The player wants\n</think>\nYou rest."), "\nYou rest.");
    }
}
