//! CamelCase words, such as `GitHub`, and their parts, by which they are found as well.
//!
//! The parts are stored apart from the words, and once for each distinct word of a text: code repeats its names, and
//! parts do not take part in phrases. All parts of one word have the same position, so that parts of one word can be
//! distinguished from parts of others.

use std::collections::HashSet;
use std::ops::Range;

use foldhash::fast::FixedState;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::words::{LONGEST, WordTokens, fold_into, is_word_char};

/// The maximum number of parts of a word; a string with more is not natural text.
const MOST_PARTS: usize = 8;

/// How many bytes are tested together; the compiler vectorizes the loop over them.
const BLOCK: usize = 32;

/// Returns the relevant parts of each CamelCase word of a text.
pub(crate) fn camel_case_words(text: &str) -> impl Iterator<Item = Vec<Range<usize>>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut parts = Vec::new();
        while parts.is_empty() {
            let word = next_camel_case(text, at)?;
            at = word.end;
            add_parts(text, word, &mut parts);
        }
        Some(parts)
    })
}

/// Returns the first word from `at` on that contains an inner capital letter. `at` must be between two words.
fn next_camel_case(text: &str, at: usize) -> Option<Range<usize>> {
    let capital = inner_capital(text.as_bytes(), at)?;
    let (before, after) = text.as_bytes().split_at_checked(capital)?;
    let in_word = |byte: &&u8| byte.is_ascii_alphanumeric();
    let start = capital - before.iter().rev().take_while(in_word).count();
    Some(start..capital + after.iter().take_while(in_word).count())
}

/// Returns the first capital letter from `at` on that does not begin a word.
fn inner_capital(bytes: &[u8], at: usize) -> Option<usize> {
    let is_inner =
        |(before, byte): (&u8, &u8)| before.is_ascii_alphanumeric() & byte.is_ascii_uppercase();
    let (before, after) = (bytes.get(at..)?, bytes.get(at + 1..)?);
    let blocks = before.as_chunks::<BLOCK>().0.iter().zip(after.as_chunks::<BLOCK>().0);
    let quiet = blocks.take_while(|(before, after)| {
        !before.iter().zip(*after).fold(false, |seen, pair| seen | is_inner(pair))
    });
    let from = quiet.count() * BLOCK;
    let mut pairs = before.get(from..)?.iter().zip(after.get(from..)?);
    Some(at + from + 1 + pairs.position(is_inner)?)
}

/// Adds the parts of a word; there are none if it is not CamelCase.
fn add_parts(text: &str, word: Range<usize>, parts: &mut Vec<Range<usize>>) {
    let goes_on =
        |next: Option<char>| next.is_some_and(|next| !next.is_ascii() && is_word_char(next));
    let bytes = text.as_bytes().get(word.clone()).unwrap_or_default();
    if bytes.len() > LONGEST
        || goes_on(text.get(word.end..).and_then(|after| after.chars().next()))
        || goes_on(text.get(..word.start).and_then(|before| before.chars().next_back()))
    {
        return;
    }
    let is_hump = |at: &usize| match bytes.get(at - 1..) {
        Some([a, b, ..]) if !a.is_ascii_uppercase() => b.is_ascii_uppercase(),
        Some([_, b, c, ..]) => b.is_ascii_uppercase() && c.is_ascii_lowercase(),
        _ => false,
    };
    let (already, mut from, mut count) = (parts.len(), 0, 0);
    for at in (1..bytes.len()).filter(is_hump).chain([bytes.len()]) {
        // Single letters match too much to be useful.
        if at - from > 1 {
            parts.push(word.start + from..word.start + at);
        }
        (from, count) = (at, count + 1);
    }
    if !(2..=MOST_PARTS).contains(&count) {
        parts.truncate(already);
    }
}

/// The tokenizer for word parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordPartTokenizer;

impl Tokenizer for WordPartTokenizer {
    type TokenStream<'a> = WordParts<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordParts<'a> {
        WordParts::of(text)
    }
}

/// Iterates over the parts of all distinct words of a text.
pub(crate) struct WordParts<'a> {
    text: &'a str,
    /// The start of the remaining text.
    at: usize,
    seen: HashSet<&'a str, FixedState>,
    /// The remaining parts of the last word, in order.
    parts: Vec<Range<usize>>,
    next: usize,
    token: Token,
}

impl<'a> WordParts<'a> {
    fn of(text: &'a str) -> WordParts<'a> {
        let (seen, token) = (HashSet::default(), Token::default());
        WordParts { text, at: 0, seen, parts: Vec::new(), next: 0, token }
    }

    /// Advances to the next word that is new and has parts.
    fn next_word(&mut self) -> Option<()> {
        self.parts.clear();
        self.next = 0;
        while self.parts.is_empty() {
            let word = next_camel_case(self.text, self.at)?;
            self.at = word.end;
            if self.seen.insert(self.text.get(word.clone()).unwrap_or_default()) {
                add_parts(self.text, word, &mut self.parts);
            }
        }
        Some(())
    }
}

impl TokenStream for WordParts<'_> {
    fn advance(&mut self) -> bool {
        if self.next >= self.parts.len() && self.next_word().is_none() {
            return false;
        }
        let part = self.parts.get(self.next).cloned().unwrap_or_default();
        self.next += 1;
        self.token.text.clear();
        fold_into(self.text.get(part.clone()).unwrap_or_default(), &mut self.token.text);
        self.token.position = self.seen.len();
        (self.token.offset_from, self.token.offset_to) = (part.start, part.end);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// The tokenizer for speaker names: words and their parts in one field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameTokenizer;

impl Tokenizer for NameTokenizer {
    type TokenStream<'a> = NameTokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> NameTokens<'a> {
        NameTokens { words: WordTokens::of(text), parts: WordParts::of(text), at_words: true }
    }
}

pub(crate) struct NameTokens<'a> {
    words: WordTokens<'a>,
    parts: WordParts<'a>,
    at_words: bool,
}

impl TokenStream for NameTokens<'_> {
    fn advance(&mut self) -> bool {
        self.at_words = self.at_words && self.words.advance();
        self.at_words || self.parts.advance()
    }

    fn token(&self) -> &Token {
        if self.at_words { self.words.token() } else { self.parts.token() }
    }

    fn token_mut(&mut self) -> &mut Token {
        if self.at_words { self.words.token_mut() } else { self.parts.token_mut() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the parts of each word.
    fn check(text: &str, expect: &str) {
        let shown = |parts: Vec<Range<usize>>| {
            parts.into_iter().map(|part| &text[part]).collect::<Vec<_>>().join("+")
        };
        assert_eq!(
            camel_case_words(text).map(shown).collect::<Vec<_>>().join(" "),
            expect,
            "{text:?}"
        );
    }

    #[test]
    fn words_in_humps_have_parts() {
        check("", "");
        check("Use it, HTTP, X1 parse_http", "");
        check("use GitHub now", "Git+Hub");
        check("parseHTTPRequest2", "parse+HTTP+Request2");
        check("iPhone aB", "Phone");
        check("aBcDeFgHiJkLmNoPqRsT", "");
        check("“GitHub” GitHubä äGitHub 日GitHub語", "Git+Hub Git+Hub");
        check(&format!("{}aB cD", "x".repeat(LONGEST)), "");
        let far = " ".repeat(100);
        check(&format!("{far}aaBb{far}ccDd"), "aa+Bb cc+Dd");
    }

    #[test]
    fn the_parts_of_a_word_have_one_position_and_each_word_counts_once() {
        let shown = |mut stream: WordParts<'_>| {
            let mut shown = Vec::new();
            while stream.advance() {
                shown.push(format!("{}:{}", stream.token().position, stream.token().text));
            }
            shown.join(" ")
        };
        let text = "GitHub fooBar GitHub barGit";
        assert_eq!(shown(WordParts::of(text)), "1:git 1:hub 2:foo 2:bar 3:bar 3:git");
    }

    #[test]
    fn names_are_found_by_words_and_parts() {
        let mut splitter = NameTokenizer;
        let mut names = splitter.token_stream("The DungeonMaster");
        let mut shown = Vec::new();
        while names.advance() {
            shown.push(names.token().text.clone());
        }
        assert_eq!(shown, ["the", "dungeonmaster", "dungeon", "master"]);
    }
}
