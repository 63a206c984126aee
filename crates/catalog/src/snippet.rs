//! [`Snippet`]: the part of a text that shows why it matched.

use std::ops::Range;

use crate::query::Query;
use crate::text_match::highlights;

/// How many bytes of a text are searched; matches beyond that are not shown.
const LOOKED_THROUGH: usize = 1 << 20;

/// A part of a text, on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The text.
    pub text: String,
    /// The byte ranges of the matches.
    pub highlights: Vec<Range<usize>>,
}

impl Snippet {
    /// Returns the part of `text`, about `width` characters long, with the most matches of `query`.
    #[must_use]
    pub fn of(text: &str, query: &Query, width: usize) -> Snippet {
        let text = beginning(text, LOOKED_THROUGH);
        let found = highlights(query, text);
        let start = densest_range(&found, width).map_or(0, |range| range.start);
        // A third of the line shows the text before the match.
        let from = step_back(text, start, width / 3);
        let mut snippet = Snippet { text: String::new(), highlights: Vec::new() };
        if from > 0 {
            snippet.text.push('…');
        }
        let mut marks = found.iter().filter(|range| range.start >= from).peekable();
        let (mut shown, mut began, mut cut) = (0, None, None);
        for (at, character) in text.get(from..).unwrap_or_default().char_indices() {
            let at = from + at;
            if marks.peek().is_some_and(|mark| mark.end <= at) {
                marks.next();
                close(&mut snippet, &mut began);
            }
            if shown >= width {
                cut = Some(character);
                break;
            }
            if marks.peek().is_some_and(|mark| mark.start == at) {
                began = Some(snippet.text.len());
            }
            if !character.is_whitespace() {
                snippet.text.push(character);
                shown += 1;
            } else if !snippet.text.is_empty() && !snippet.text.ends_with(' ') {
                snippet.text.push(' ');
                shown += 1;
            }
        }
        close(&mut snippet, &mut began);
        if let Some(next) = cut {
            snippet.end_with_a_word(next);
        }
        snippet.text.truncate(snippet.text.trim_end().len());
        if cut.is_some() {
            snippet.text.push('…');
        }
        snippet
    }
}

impl Snippet {
    /// Drops an incomplete word at the end, unless it is a match.
    fn end_with_a_word(&mut self, next: char) {
        let last = self.highlights.last().map_or(0, |range| range.end);
        let space = self.text.rfind(' ').filter(|space| *space >= last && !next.is_whitespace());
        if let Some(space) = space.filter(|space| *space > self.text.len() / 2) {
            self.text.truncate(space);
        }
    }
}

fn close(snippet: &mut Snippet, began: &mut Option<usize>) {
    if let Some(start) = began.take() {
        snippet.highlights.push(start..snippet.text.len());
    }
}

/// Returns the longest prefix of a text that fits into `most` bytes.
fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// Returns the first range of the densest group of ranges.
fn densest_range(found: &[Range<usize>], width: usize) -> Option<&Range<usize>> {
    let within = |first: &Range<usize>, rest: &[Range<usize>]| {
        rest.iter().take_while(|range| range.end <= first.start + width * 2 / 3).count()
    };
    let counted = found
        .iter()
        .enumerate()
        .map(|(at, range)| (within(range, found.get(at..).unwrap_or_default()), range));
    // The first of several ranges with equal counts.
    counted
        .fold(None, |best: Option<(usize, &Range<usize>)>, (count, range)| match best {
            Some((most, _)) if most >= count => best,
            _ => Some((count, range)),
        })
        .map(|(_, range)| range)
}

/// Returns the position `characters` before `at`, moved to the start of its word.
fn step_back(text: &str, at: usize, characters: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let Some((from, _)) = before.char_indices().rev().nth(characters) else { return 0 };
    let rest = before.get(from..).unwrap_or_default();
    rest.find(char::is_whitespace).map_or(from, |space| from + space + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Highlights are shown in brackets.
    fn check(query: &str, text: &str, width: usize, expect: &str) {
        let query = Query::parse(query, "2026-03-10T12:00:00Z".parse().unwrap()).unwrap();
        let Snippet { mut text, highlights } = Snippet::of(text, &query, width);
        for range in highlights.into_iter().rev() {
            text.insert(range.end, ']');
            text.insert(range.start, '[');
        }
        assert_eq!(text, expect);
    }

    #[test]
    fn a_snippet_shows_what_was_found_on_one_line() {
        check("dragon", "A dragon\n\n sleeps  here.", 40, "A [dragon] sleeps here.");
        check("nothing", "A dragon sleeps.", 40, "A dragon sleeps.");
        let text = "One two three four five six seven eight dragon nine ten eleven twelve.";
        check("dragon", text, 24, "…eight [dragon] nine ten…");
        check("dragon OR one", text, 12, "[One] two…");
        check("日本", "これは日本語の文です", 6, "これは[日本]語…");
        check("\"two three\"", text, 18, "One [two] [three] four…");
        check("ten OR eleven OR one", text, 30, "…nine [ten] [eleven] twelve.");
    }
}
