//! Cuts a message that is larger than the whole window, at a sentence.

use super::ContextError;
use super::item::ContextItem;
use crate::tokens::Vocabulary;

/// Replaces the part that is left out.
const NOTE: &str = "[The beginning of this message does not fit and is left out.]";

/// The end of a message.
pub(super) struct CutMessage {
    pub(super) item: ContextItem,
    /// The tokens of the part that is left out, as far as they were counted.
    pub(super) left_out: usize,
}

/// The end of a message that fits into a budget, from the beginning of a sentence, or else of a word. What a message is
/// about is usually asked or said at its end.
pub(super) fn cut_beginning(
    item: &ContextItem,
    vocabulary: Vocabulary,
    budget: usize,
) -> Result<CutMessage, ContextError> {
    let text = item.text.trim_end();
    let with = |text: &str| ContextItem { text: format!("{NOTE} {text}"), ..item.clone() };
    let fits = |start: usize| {
        let end = text.get(start..).unwrap_or_default().trim_start();
        with(end).token_cost(vocabulary, budget).is_some()
    };
    let starts = [sentence_starts(text), word_starts(text)];
    let start = starts.iter().find_map(|starts| first_that(starts, fits));
    let Some(start) = start else {
        let last = word_starts(text).pop().unwrap_or(0);
        let least = with(text.get(last..).unwrap_or_default());
        let needs = least.token_cost(vocabulary, usize::MAX).unwrap_or(usize::MAX);
        return Err(ContextError::NewestTooLarge { needs, budget });
    };
    let (before, end) = text.split_at_checked(start).unwrap_or(("", text));
    Ok(CutMessage { item: with(end.trim_start()), left_out: vocabulary.count(before) })
}

/// The first of these positions that fits; a later one always does if an earlier one does.
fn first_that(starts: &[usize], fits: impl Fn(usize) -> bool) -> Option<usize> {
    let at = starts.partition_point(|start| !fits(*start));
    starts.get(at).copied()
}

/// The positions after sentences and lines, in order.
fn sentence_starts(text: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut ended = false;
    for (at, letter) in text.char_indices() {
        if ended && !is_closing(letter) {
            if letter.is_whitespace() || is_wide_end(text, at) {
                starts.push(at);
            }
            ended = false;
        }
        ended |= matches!(letter, '.' | '!' | '?' | '…' | '\n' | '。' | '！' | '？' | '।' | '؟');
    }
    starts
}

/// Whether the character before a position ends a sentence without a space after it.
fn is_wide_end(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    before.is_some_and(|letter| matches!(letter, '\n' | '。' | '！' | '？' | '」' | '』'))
}

/// Whether a character belongs to the sentence before it.
fn is_closing(letter: char) -> bool {
    matches!(letter, '"' | '\'' | '”' | '’' | '»' | ')' | ']' | '*' | '」' | '』' | '.' | '!' | '?')
}

/// The positions after spaces; in a text without any, every character.
fn word_starts(text: &str) -> Vec<usize> {
    let spaces: Vec<usize> = text
        .char_indices()
        .filter(|(_, letter)| letter.is_whitespace())
        .map(|(at, _)| at)
        .collect();
    match spaces.is_empty() {
        true => text.char_indices().map(|(at, _)| at).collect(),
        false => spaces,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ChatRole;

    fn cut(text: &str, budget: usize) -> Result<String, ContextError> {
        let item = ContextItem::message("m", 0, ChatRole::User, text);
        let cut = cut_beginning(&item, Vocabulary::default(), budget)?;
        assert!(cut.left_out > 0, "{text}");
        Ok(cut.item.text.strip_prefix(NOTE).unwrap().trim_start().to_owned())
    }

    #[test]
    fn the_end_of_a_message_begins_with_a_sentence() {
        let text = "One is here. \"Two is there!\" Three is nowhere.";
        assert_eq!(cut(text, 32).unwrap(), "\"Two is there!\" Three is nowhere.");
        assert_eq!(cut(text, 24).unwrap(), "Three is nowhere.");
        assert_eq!(cut(text, 20).unwrap(), "nowhere.");
        assert_eq!(cut("一つ。二つ。三つ。", 23).unwrap(), "三つ。");
        assert_eq!(cut("First line\nSecond line", 22).unwrap(), "Second line");
    }

    #[test]
    fn a_window_too_small_for_a_word_is_refused_with_the_difference() {
        let error = cut("One is here. Two is there.", 10).unwrap_err();
        assert!(matches!(error, ContextError::NewestTooLarge { budget: 10, .. }), "{error}");
        assert!(error.to_string().contains("too few"), "{error}");
    }
}
