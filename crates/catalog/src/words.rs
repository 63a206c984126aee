//! Splits text into words, by one rule for indexed text and for queries.
//!
//! Letters lose case and accents. Scripts without spaces become pairs of neighbouring characters, so that every
//! substring is found; the last character of a run stands alone, so that single characters are found as well. The
//! parts of CamelCase words are in [`word_parts`](crate::word_parts).

use std::ops::Range;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The maximum size of a word in bytes; the rest of longer ones, such as encoded data, is ignored.
pub(crate) const LONGEST: usize = 64;

/// The tokenizer for words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordTokenizer;

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordTokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordTokens<'a> {
        WordTokens::of(text)
    }
}

/// Iterates over the words of a text.
pub(crate) struct WordTokens<'a> {
    text: &'a str,
    /// The start of the remaining text.
    at: usize,
    /// The position of the next word.
    position: usize,
    token: Token,
}

/// An owned word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexedWord {
    pub(crate) text: String,
    pub(crate) position: usize,
    /// Its range in the text.
    pub(crate) range: Range<usize>,
}

impl<'a> WordTokens<'a> {
    pub(crate) fn of(text: &'a str) -> WordTokens<'a> {
        WordTokens { text, at: 0, position: 0, token: Token::default() }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Emits a token of `length` bytes, and advances by `on` bytes.
    fn emit(&mut self, length: usize, on: usize) {
        let word = self.rest().get(..length).unwrap_or_default();
        self.token.text.clear();
        fold_into(shortened(word), &mut self.token.text);
        self.pass(length, on);
    }

    fn pass(&mut self, length: usize, on: usize) {
        self.token.offset_from = self.at;
        self.token.offset_to = self.at + length;
        self.token.position = self.position;
        self.at += on;
        self.position += 1;
    }

    /// Emits a pair of characters of a script without spaces, or the last character of a run.
    fn pair(&mut self, first: char) {
        let mut characters = self.rest().chars().skip(1);
        let next = characters.next().filter(|next| is_unspaced(*next));
        self.emit(first.len_utf8() + next.map_or(0, char::len_utf8), first.len_utf8());
    }

    /// Emits a word that begins with an ASCII character.
    fn word(&mut self) {
        let rest = self.rest();
        let (mut length, mut seen) = (0, 0);
        for class in rest.bytes().map(byte_class).take_while(|class| *class & WORD != 0) {
            length += 1;
            seen |= class;
        }
        let goes_on = rest.as_bytes().get(length).is_some_and(|byte| !byte.is_ascii());
        if goes_on {
            let length = length_of_word(rest);
            return self.emit(length, length);
        }
        self.token.text.clear();
        self.token.text.push_str(rest.get(..length.min(LONGEST)).unwrap_or_default());
        // Most words need no folding.
        if seen & CAPITAL != 0 {
            self.token.text.make_ascii_lowercase();
        }
        self.pass(length, length);
    }
}

/// The classes of bytes: part of a word, capital letter, part of a non-ASCII character.
const WORD: u8 = 1;
const CAPITAL: u8 = 2;
const OTHER_SCRIPT: u8 = 4;

#[inline]
fn byte_class(byte: u8) -> u8 {
    #[expect(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        reason = "computed at compile time, and each index is a byte"
    )]
    const CLASSES: [u8; 256] = {
        let mut classes = [0; 256];
        let mut byte = 0;
        while byte < classes.len() {
            classes[byte] = match byte as u8 {
                b'A'..=b'Z' => WORD | CAPITAL,
                b'a'..=b'z' | b'0'..=b'9' => WORD,
                0x80.. => OTHER_SCRIPT,
                _ => 0,
            };
            byte += 1;
        }
        classes
    };
    CLASSES.get(usize::from(byte)).copied().unwrap_or_default()
}

impl TokenStream for WordTokens<'_> {
    fn advance(&mut self) -> bool {
        loop {
            self.at += self.rest().bytes().take_while(|byte| byte_class(*byte) == 0).count();
            if self.rest().bytes().next().is_some_and(|byte| byte.is_ascii()) {
                self.word();
                return true;
            }
            let Some(first) = self.rest().chars().next() else { return false };
            if is_unspaced(first) {
                self.pair(first);
                return true;
            }
            if first.is_alphanumeric() {
                let length = length_of_word(self.rest());
                self.emit(length, length);
                // A word of combining marks alone folds to nothing.
                if !self.token.text.is_empty() {
                    return true;
                }
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

impl Iterator for WordTokens<'_> {
    type Item = IndexedWord;

    fn next(&mut self) -> Option<IndexedWord> {
        self.advance().then(|| IndexedWord {
            text: self.token.text.clone(),
            position: self.token.position,
            range: self.token.offset_from..self.token.offset_to,
        })
    }
}

/// Returns the length in bytes of the word at the start of a text.
fn length_of_word(text: &str) -> usize {
    text.find(|character| !is_word_char(character)).unwrap_or(text.len())
}

/// Returns whether a character can be inside a word.
pub(crate) fn is_word_char(character: char) -> bool {
    (character.is_alphanumeric() && !is_unspaced(character)) || is_combining_mark(character)
}

/// Returns the part of a word that is indexed.
fn shortened(word: &str) -> &str {
    if word.len() <= LONGEST {
        return word;
    }
    let end = (0..=LONGEST).rev().find(|end| word.is_char_boundary(*end)).unwrap_or(0);
    word.get(..end).unwrap_or_default()
}

/// Appends a text without case and accents.
pub(crate) fn fold_into(text: &str, folded: &mut String) {
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

/// Returns a text without case and accents.
pub(crate) fn folded(text: &str) -> String {
    let mut folded_text = String::with_capacity(text.len());
    fold_into(text, &mut folded_text);
    folded_text
}

/// Returns whether a character belongs to a script that is written without spaces, or whose words inflect too much to
/// be searched as a whole.
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

    /// Checks each word as `position:text`.
    fn check(text: &str, expect: &str) {
        let words: Vec<String> =
            WordTokens::of(text).map(|word| format!("{}:{}", word.position, word.text)).collect();
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
        check("parse_http_request GitHub", "0:parse 1:http 2:request 3:github");
        check("“Hub”—aé", "0:hub 1:ae");
        check("Ελλάς ЙОД ｆｕｌｌ", "0:ελλασ 1:иод 2:full");
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
        let ranges: Vec<&str> = WordTokens::of(text).map(|word| &text[word.range]).collect();
        assert_eq!(ranges, ["ab", "Öre", "日本", "本"]);
    }
}
