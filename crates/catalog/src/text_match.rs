//! Matches a query against a text and locates the matches, with the same result as the index.

use std::collections::HashMap;
use std::ops::Range;

use everturn::model::Entry;

use crate::query::{Query, QueryAtom, QueryClause};
use crate::word_parts::camel_case_words;
use crate::words::{IndexedWord, WordTokens, folded, is_unspaced};

/// The words of a text and their parts, for lookup.
struct MatchText<'a> {
    text: &'a str,
    words: WordPositions,
    parts: WordPositions,
}

/// The occurrences of words: the position and the range of each.
#[derive(Default)]
struct WordPositions(HashMap<String, Vec<(usize, Range<usize>)>>);

impl WordPositions {
    fn add(&mut self, word: String, position: usize, range: Range<usize>) {
        self.0.entry(word).or_default().push((position, range));
    }

    fn at(&self, word: &str) -> &[(usize, Range<usize>)] {
        self.0.get(word).map_or(&[], Vec::as_slice)
    }

    fn stands(&self, word: &str, position: usize) -> Option<Range<usize>> {
        let found = self.at(word).iter().find(|(at, _)| *at == position);
        found.map(|(_, range)| range.clone())
    }

    /// Returns the occurrences of all words that pass a test.
    fn all(&self, test: impl Fn(&str) -> bool) -> impl Iterator<Item = &(usize, Range<usize>)> {
        self.0.iter().filter(move |(word, _)| test(word)).flat_map(|(_, places)| places)
    }

    /// Returns the occurrences of a phrase: the position of its first word, and the ranges of all words.
    fn phrases(&self, words: &[(usize, String)]) -> Vec<(usize, Vec<Range<usize>>)> {
        let Some(((first, word), rest)) = words.split_first() else { return Vec::new() };
        let follow = |(position, range): &(usize, Range<usize>)| {
            let mut ranges = vec![range.clone()];
            for (offset, word) in rest {
                ranges.push(self.stands(word, position + offset - first)?);
            }
            Some((*position, ranges))
        };
        self.at(word).iter().filter_map(follow).collect()
    }
}

impl<'a> MatchText<'a> {
    fn of(text: &'a str) -> MatchText<'a> {
        let (mut words, mut parts) = (WordPositions::default(), WordPositions::default());
        for IndexedWord { text: word, position, range } in WordTokens::of(text) {
            words.add(word, position, range);
        }
        for (position, ranges) in camel_case_words(text).enumerate() {
            for range in ranges {
                let part = folded(text.get(range.clone()).unwrap_or_default());
                parts.add(part, position, range);
            }
        }
        MatchText { text, words, parts }
    }

    /// Returns the range of the first character of a pair; a query for one character does not mean its neighbour.
    fn first_of(&self, pair: Range<usize>) -> Range<usize> {
        let first = self.text.get(pair.clone()).and_then(|pair| pair.chars().next());
        pair.start..first.map_or(pair.end, |first| pair.start + first.len_utf8())
    }

    fn has(&self, word: &str) -> bool {
        !self.words.at(word).is_empty() || !self.parts.at(word).is_empty()
    }

    /// Returns the ranges where an atom matches.
    fn find(&self, atom: &QueryAtom) -> Vec<Range<usize>> {
        let all = |test: &dyn Fn(&str) -> bool| -> Vec<Range<usize>> {
            let found = self.words.all(test).chain(self.parts.all(test));
            found.map(|(_, range)| range.clone()).collect()
        };
        let ranges = |found: Vec<(usize, Vec<Range<usize>>)>| {
            found.into_iter().flat_map(|(_, ranges)| ranges)
        };
        match atom {
            QueryAtom::Phrase(words) => match words.as_slice() {
                [(_, word)] => all(&|other| other == word),
                words => ranges(self.words.phrases(words)).collect(),
            },
            QueryAtom::CamelCase { whole, parts } => {
                let together: Vec<(usize, String)> =
                    parts.iter().map(|part| (0, part.clone())).collect();
                let wholes = self.words.at(whole).iter().map(|(_, range)| range.clone());
                wholes.chain(ranges(self.parts.phrases(&together))).collect()
            }
            QueryAtom::Beginning { before, start, .. } if before.is_empty() => {
                let found = all(&|word| word.starts_with(start.as_str()));
                match is_character(start) {
                    true => found.into_iter().map(|pair| self.first_of(pair)).collect(),
                    false => found,
                }
            }
            QueryAtom::Beginning { before, at, start } => {
                let first = before.first().map_or(0, |(offset, _)| *offset);
                let begins = self.words.all(|word| word.starts_with(start.as_str()));
                let ends: HashMap<usize, Range<usize>> = begins.cloned().collect();
                let mut found = Vec::new();
                for (position, ranges) in self.words.phrases(before) {
                    if let Some(end) = ends.get(&(position + at - first)) {
                        found.extend(ranges);
                        found.push(end.clone());
                    }
                }
                found
            }
            QueryAtom::Similar { word, distance } => {
                all(&|other| edit_distance(word, other) <= usize::from(*distance))
            }
            QueryAtom::Speaker(_) | QueryAtom::Kind(_) => Vec::new(),
        }
    }
}

/// Returns whether a word is a single character of a script without spaces.
fn is_character(word: &str) -> bool {
    let mut characters = word.chars();
    characters.next().is_some_and(is_unspaced) && characters.next().is_none()
}

/// Returns whether an entry matches the clauses of a query.
pub(crate) fn matches_query(query: &Query, entry: &Entry) -> bool {
    let readable = entry.readable_text();
    let (text, speaker) = (MatchText::of(&readable), MatchText::of(&entry.speaker));
    let has = |atom: &QueryAtom| match atom {
        QueryAtom::Speaker(names) => names.iter().all(|name| speaker.has(name)),
        QueryAtom::Kind(kind) => entry.kind.as_str().to_lowercase() == *kind,
        words => !text.find(words).is_empty(),
    };
    query.clauses.iter().all(|clause: &QueryClause| clause.any.iter().any(has) != clause.absent)
}

/// Returns where the words of a query occur in a text, in order and without overlap.
pub(crate) fn highlights(query: &Query, text: &str) -> Vec<Range<usize>> {
    let text = MatchText::of(text);
    let wanted = query.clauses.iter().filter(|clause| !clause.absent);
    let mut found: Vec<Range<usize>> =
        wanted.flat_map(|clause| clause.any.iter().flat_map(|atom| text.find(atom))).collect();
    found.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for range in found {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Returns the edit distance of two words, with transpositions (Damerau-Levenshtein).
pub(crate) fn edit_distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().abs_diff(other.len()) > 2 {
        return usize::MAX;
    }
    // The last three rows of the usual table: the one before the last, the last, and the current one.
    let mut older: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let get = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX - 2);
            let mut least = get(&last, j) + usize::from(a != b);
            least = least.min(get(&last, j + 1) + 1).min(get(&row, j) + 1);
            let swapped =
                i > 0 && j > 0 && one.get(i - 1) == Some(b) && other.get(j - 1) == Some(a);
            if swapped {
                least = least.min(get(&older, j - 1) + 1);
            }
            row.push(least);
        }
        older = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, text: &str, expect: &[&str]) {
        let query = Query::parse(query, "2026-03-10T12:00:00Z".parse().unwrap()).unwrap();
        let found: Vec<&str> = highlights(&query, text).into_iter().map(|at| &text[at]).collect();
        assert_eq!(found, expect, "{query:?} in {text:?}");
    }

    #[test]
    fn what_was_asked_for_is_found_where_it_stands() {
        check("dragon", "A Dragon, the DRAGON!", &["Dragon", "DRAGON"]);
        check("\"old tower\"", "old tower, tower old", &["old", "tower"]);
        check("drag*", "drags a dragon, no dredge", &["drags", "dragon"]);
        check("dragon~", "dargon dragons drum", &["dargon", "dragons"]);
        check("github", "see GitHub", &["GitHub"]);
        check("hub", "see GitHub", &["Hub"]);
        check("HttpRequest", "parseHttpRequest http request", &["HttpRequest"]);
        check("\"old tow\"*", "old towers, old x", &["old", "towers"]);
        check("本語", "日本語", &["本語"]);
        check("語", "日本語", &["語"]);
        check("猫", "黒猫が笑う", &["猫"]);
        check("猫 笑", "黒猫が笑う", &["猫", "笑"]);
        check("日本語", "日本語です", &["日本語"]);
        check("x -y", "x y", &["x"]);
    }

    #[test]
    fn letters_that_changed_places_are_one_difference() {
        for (one, other, expect) in [
            ("", "", 0),
            ("ab", "ba", 1),
            ("abc", "abd", 1),
            ("abc", "abcde", 2),
            ("kitten", "sitting", 3),
            ("a", "bcde", usize::MAX),
        ] {
            assert_eq!(edit_distance(one, other), expect, "{one} {other}");
        }
    }
}
