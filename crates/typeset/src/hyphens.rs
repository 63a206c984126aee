//! Hyphenation by the language of the book.

use hypher::Lang;

/// The maximum length of a word. Longer ones are keys, checksums or noise.
const LONGEST_WORD: usize = 64;

/// The hyphenation rules of a language.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hyphenator {
    language: Option<Lang>,
}

impl Hyphenator {
    /// Returns the rules for a BCP 47 tag; an unknown language has none.
    pub(crate) fn for_language(tag: &str) -> Self {
        let primary = tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        // Norwegian has two written forms and one set of patterns.
        let code = match primary.as_str() {
            "nn" | "no" => "nb",
            other => other,
        };
        let language = <[u8; 2]>::try_from(code.as_bytes()).ok().and_then(Lang::from_iso);
        Self { language }
    }

    /// Returns the byte offsets in `text` where a word may be hyphenated.
    pub(crate) fn break_positions(self, text: &str) -> Vec<usize> {
        let mut places = Vec::new();
        let Some(language) = self.language else { return places };
        for (start, word) in words(text) {
            let mut at = start;
            for syllable in hypher::hyphenate(word, language) {
                at += syllable.len();
                places.push(at);
            }
            // The last position is the end of the word.
            places.pop();
        }
        places
    }
}

/// Returns the words of a text with their offsets, without parts of machine-readable names.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = text;
    let mut offset = 0;
    std::iter::from_fn(move || {
        let skipped = rest.find(char::is_alphabetic)?;
        let before = rest.get(..skipped)?.chars().next_back();
        let tail = rest.get(skipped..)?;
        let length = tail.find(|c: char| !c.is_alphabetic()).unwrap_or(tail.len());
        let (word, after) = tail.split_at_checked(length)?;
        let start = offset + skipped;
        offset = start + length;
        rest = after;
        let technical = |c: Option<char>| c.is_some_and(is_technical);
        Some((!technical(before) && !technical(after.chars().next())).then_some((start, word)))
    })
    .flatten()
    .filter(|(_, word)| word.len() <= LONGEST_WORD)
}

fn is_technical(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '_' | '/' | '\\' | '@' | '#' | '=' | '&' | '%' | '$' | '~')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: &str, text: &str, expect: &str) {
        let mut parted = String::new();
        let mut start = 0;
        for place in Hyphenator::for_language(language).break_positions(text) {
            parted += &text[start..place];
            parted.push('-');
            start = place;
        }
        parted += &text[start..];
        assert_eq!(parted, expect, "{language}");
    }

    #[test]
    fn words_are_parted_by_the_rules_of_the_language() {
        check("en", "extensive wonderful", "ex-ten-sive won-der-ful");
        check("en-GB", "(wonderful)", "(won-der-ful)");
        check("de", "Donaudampfschiff Silbentrennung", "Do-nau-dampf-schiff Sil-ben-tren-nung");
        check("de_AT", "Übergänge", "Über-gän-ge");
        check("nn", "bokstavene", "bok-sta-ve-ne");
    }

    #[test]
    fn what_machines_read_is_not_parted() {
        check(
            "en",
            "wonder_ful /wonderful wonderful2 wonderful",
            "wonder_ful /wonderful wonderful2 won-der-ful",
        );
        check("xx", "wonderful", "wonderful");
        check("", "wonderful", "wonderful");
        let long = "wonderful".repeat(100);
        check("en", &long, &long);
    }
}
