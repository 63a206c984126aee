//! From text to the words that are looked for: one rule for what is stored and for what is asked.
//!
//! Letters lose case and accents. A word written in humps, such as `GitHub`, is found whole and by its parts, which
//! all stand at one position. Scripts without spaces become pairs of neighbours, so that every stretch of such a text
//! is found; the last character of a stretch stands alone, so that single ones are found as well.

use std::ops::Range;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Of longer words, such as encoded data, only so many bytes count.
const LONGEST: usize = 64;

/// A word has no more parts than this; what has more is no word that somebody wrote.
const MOST_PARTS: usize = 8;

/// The rule, as the index wants it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Splitter;

impl Tokenizer for Splitter {
    type TokenStream<'a> = Words<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Words<'a> {
        Words::of(text)
    }
}

/// The words of a text, one after the other.
pub(crate) struct Words<'a> {
    text: &'a str,
    /// Where the rest of the text begins.
    at: usize,
    /// The position of the next word.
    position: usize,
    /// The parts of the last word that are still to come, the last one first.
    parts: Vec<Range<usize>>,
    token: Token,
}

/// One word, as somebody keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) position: usize,
    /// Where it stands in the text.
    pub(crate) range: Range<usize>,
}

impl<'a> Words<'a> {
    pub(crate) fn of(text: &'a str) -> Words<'a> {
        Words { text, at: 0, position: 0, parts: Vec::new(), token: Token::default() }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Makes a token of a stretch of the text.
    fn emit(&mut self, range: Range<usize>, position: usize) {
        let text = self.text.get(range.clone()).unwrap_or_default();
        self.token.text.clear();
        fold(shortened(text), &mut self.token.text);
        self.place(range, position);
    }

    fn place(&mut self, range: Range<usize>, position: usize) {
        self.token.offset_from = range.start;
        self.token.offset_to = range.end;
        self.token.position = position;
    }

    /// A pair of characters of a script without spaces, or the last one of a stretch.
    fn pair(&mut self, first: char) {
        let (start, after) = (self.at, self.at + first.len_utf8());
        let next = self.text.get(after..).and_then(|rest| rest.chars().next());
        let end = after + next.filter(|next| is_unspaced(*next)).map_or(0, char::len_utf8);
        self.emit(start..end, self.position);
        self.at = after;
        self.position += 1;
    }

    fn word(&mut self) {
        let (start, rest) = (self.at, self.rest());
        let (mut ascii, mut capitals) = (0, 0);
        for byte in rest.bytes().take_while(u8::is_ascii_alphanumeric) {
            ascii += 1;
            capitals += usize::from(byte.is_ascii_uppercase());
        }
        let is_ascii = rest.as_bytes().get(ascii).is_none_or(u8::is_ascii);
        let length = if is_ascii { ascii } else { length_of_word(rest) };
        let word = rest.get(..length).unwrap_or_default();
        let range = start..start + length;
        if is_ascii && capitals == 0 {
            // Most words are what they are folded to.
            self.token.text.clear();
            self.token.text.push_str(shortened(word));
            self.place(range, self.position);
        } else {
            if word.len() <= LONGEST {
                humps(word, start, &mut self.parts);
            }
            self.emit(range, self.position);
        }
        self.at = start + length;
        self.position += 1;
    }
}

impl TokenStream for Words<'_> {
    fn advance(&mut self) -> bool {
        if let Some(part) = self.parts.pop() {
            let position = self.token.position;
            self.emit(part, position);
            return true;
        }
        loop {
            let rest = self.rest();
            let skipped =
                rest.bytes().take_while(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric());
            self.at += skipped.count();
            let Some(first) = self.rest().chars().next() else { return false };
            if is_unspaced(first) {
                self.pair(first);
                return true;
            }
            if first.is_alphanumeric() {
                self.word();
                // A word of marks alone folds to nothing.
                if !self.token.text.is_empty() {
                    return true;
                }
                self.parts.clear();
                continue;
            }
            self.at += first.len_utf8();
        }
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        self.advance().then(|| Word {
            text: self.token.text.clone(),
            position: self.token.position,
            range: self.token.offset_from..self.token.offset_to,
        })
    }
}

/// How long the word is with which a text begins, in bytes.
fn length_of_word(text: &str) -> usize {
    let belongs = |c: char| (c.is_alphanumeric() && !is_unspaced(c)) || is_combining_mark(c);
    text.find(|c: char| !belongs(c)).unwrap_or(text.len())
}

/// The part of a word that counts.
fn shortened(word: &str) -> &str {
    if word.len() <= LONGEST {
        return word;
    }
    let end = (0..=LONGEST).rev().find(|end| word.is_char_boundary(*end)).unwrap_or(0);
    word.get(..end).unwrap_or_default()
}

/// The parts of a word in humps, the last one first; a word that has none has no parts.
fn humps(word: &str, start: usize, parts: &mut Vec<Range<usize>>) {
    let bytes = word.as_bytes();
    if !bytes.iter().skip(1).any(u8::is_ascii_uppercase) {
        return;
    }
    let has_hump =
        |pair: &[u8]| matches!(pair, [a, b] if !a.is_ascii_uppercase() && b.is_ascii_uppercase());
    let is_capital = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_uppercase);
    let ends_capitals = |at: usize| {
        at > 0
            && is_capital(bytes.get(at - 1))
            && is_capital(bytes.get(at))
            && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase)
    };
    let boundary = |at: &usize| bytes.get(at - 1..=*at).is_some_and(has_hump) || ends_capitals(*at);
    let mut from = 0;
    for at in (1..bytes.len()).filter(boundary).chain([bytes.len()]) {
        parts.push(start + from..start + at);
        from = at;
    }
    if parts.len() < 2 || parts.len() > MOST_PARTS || !word.is_ascii() {
        parts.clear();
    }
    // Single letters are found nowhere and everywhere.
    parts.retain(|part| part.len() > 1);
    parts.reverse();
}

/// Adds a text without case and accents.
pub(crate) fn fold(text: &str, folded: &mut String) {
    if text.is_ascii() {
        let start = folded.len();
        folded.push_str(text);
        folded.get_mut(start..).unwrap_or_default().make_ascii_lowercase();
        return;
    }
    if text.starts_with(is_unspaced) {
        // Marks are part of these scripts, and their syllables stay whole.
        folded.extend(text.nfkc());
        return;
    }
    for character in text.nfkd().filter(|c| !is_combining_mark(*c)) {
        for lower in character.to_lowercase() {
            match lower {
                'ß' => folded.push_str("ss"),
                'æ' => folded.push_str("ae"),
                'œ' => folded.push_str("oe"),
                'þ' => folded.push_str("th"),
                'ø' => folded.push('o'),
                'đ' | 'ð' => folded.push('d'),
                'ł' => folded.push('l'),
                'ı' => folded.push('i'),
                'ς' => folded.push('σ'),
                other if is_combining_mark(other) => {}
                other => folded.push(other),
            }
        }
    }
}

/// A text without case and accents.
pub(crate) fn folded(text: &str) -> String {
    let mut folded_text = String::with_capacity(text.len());
    fold(text, &mut folded_text);
    folded_text
}

/// Whether a character belongs to a script that is written without spaces, or whose words change too much at their
/// ends to be looked for whole.
pub(crate) fn is_unspaced(character: char) -> bool {
    matches!(u32::from(character),
        0x0E01..=0x0E3A | 0x0E40..=0x0E4E | 0x0E81..=0x0ECF // Thai, Lao
        | 0x1000..=0x109F | 0x1780..=0x17D3 // Myanmar, Khmer
        | 0x1100..=0x11FF | 0xAC00..=0xD7AF // Hangul
        | 0x3005..=0x3007 | 0x3041..=0x3096 | 0x309D..=0x309F // Hiragana
        | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0xFF66..=0xFF9F // Katakana
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each word as `position:text`.
    fn check(text: &str, expect: &str) {
        let words: Vec<String> =
            Words::of(text).map(|word| format!("{}:{}", word.position, word.text)).collect();
        assert_eq!(words.join(" "), expect, "{text:?}");
    }

    #[test]
    fn words_are_folded_and_counted() {
        check("", "");
        check(" .,;!", "");
        check("You walk, slowly.", "0:you 1:walk 2:slowly");
        check("Café NAÏVE Straße Øre", "0:cafe 1:naive 2:strasse 3:ore");
        check("cafe\u{301}", "0:cafe");
        check("don't 3.14 v2", "0:don 1:t 2:3 3:14 4:v2");
        check("Ελλάς ЙОД ｆｕｌｌ", "0:ελλασ 1:иод 2:full");
    }

    #[test]
    fn humps_are_found_whole_and_in_parts_at_one_position() {
        check("parse_http_request", "0:parse 1:http 2:request");
        check("use GitHub now", "0:use 1:github 1:git 1:hub 2:now");
        check("parseHTTPRequest2", "0:parsehttprequest2 0:parse 0:http 0:request2");
        check("HTTP", "0:http");
        check("iPhone aB", "0:iphone 0:phone 1:ab");
        check("aBcDeFgHiJkLmNoPqRsT", "0:abcdefghijklmnopqrst");
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        check("日本語", "0:日本 1:本語 2:語");
        check("猫", "0:猫");
        check("黒猫、a 犬", "0:黒猫 1:猫 2:a 3:犬");
        check("abc日本", "0:abc 1:日本 2:本");
        check("カﾀ", "0:カタ 1:タ");
        check("안녕", "0:안녕 1:녕");
    }

    #[test]
    fn long_words_are_cut_and_ranges_are_those_of_the_text() {
        let long = "x".repeat(1000);
        check(&long, &format!("0:{}", "x".repeat(LONGEST)));
        let text = "ab Öre 日本";
        let ranges: Vec<&str> = Words::of(text).map(|word| &text[word.range]).collect();
        assert_eq!(ranges, ["ab", "Öre", "日本", "本"]);
    }
}
