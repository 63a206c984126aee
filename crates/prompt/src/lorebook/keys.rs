//! [`LorebookKey`]: keys, and whether they occur in a text.

use regex::{Regex, RegexBuilder};

/// The maximum size of a compiled regular expression.
const REGEX_SIZE: usize = 1 << 20;

/// A key that activates an entry.
#[derive(Debug, Clone)]
pub enum LorebookKey {
    /// One or more words.
    Words {
        /// The words as written in the book.
        text: String,
        /// The words as searched.
        wanted: String,
        /// How they are matched.
        matching: MatchOptions,
    },
    /// A regular expression.
    Pattern {
        /// The expression as written in the book.
        text: String,
        /// The compiled expression.
        regex: Regex,
    },
}

/// How words are matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MatchOptions {
    /// Whether case matters.
    pub case_sensitive: bool,
    /// `cat` does not match in `cathedral`. No effect in scripts without word separators.
    pub whole_words: bool,
}

/// A text that is searched for keys.
#[derive(Debug, Clone)]
pub(super) struct Haystack<'a> {
    text: &'a str,
    lower: String,
}

impl<'a> Haystack<'a> {
    pub(super) fn new(text: &'a str) -> Haystack<'a> {
        Haystack { text, lower: text.to_lowercase() }
    }
}

impl LorebookKey {
    /// A key that is matched literally.
    #[must_use]
    pub fn words(text: &str, matching: MatchOptions) -> LorebookKey {
        let trimmed = text.trim();
        let wanted =
            if matching.case_sensitive { trimmed.to_owned() } else { trimmed.to_lowercase() };
        LorebookKey::Words { text: text.to_owned(), wanted, matching }
    }

    /// A regular expression: `body` with flags such as `i`.
    pub(super) fn pattern(text: &str, body: &str, flags: &str) -> Result<LorebookKey, String> {
        let mut builder = RegexBuilder::new(&body.replace(r"\/", "/"));
        builder.size_limit(REGEX_SIZE).dfa_size_limit(REGEX_SIZE);
        for flag in flags.chars() {
            match flag {
                'i' => drop(builder.case_insensitive(true)),
                'm' => drop(builder.multi_line(true)),
                's' => drop(builder.dot_matches_new_line(true)),
                _ => {}
            }
        }
        let regex = builder.build().map_err(|error| {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default();
            format!("the key {text:?} is not supported: {}", why.trim_start_matches("error: "))
        })?;
        Ok(LorebookKey::Pattern { text: text.to_owned(), regex })
    }

    /// The key as written in the book.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            LorebookKey::Words { text, .. } | LorebookKey::Pattern { text, .. } => text,
        }
    }

    /// Whether the key is empty.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, LorebookKey::Words { wanted, .. } if wanted.is_empty())
    }

    pub(super) fn matches(&self, hay: &Haystack<'_>) -> bool {
        match self {
            LorebookKey::Pattern { regex, .. } => regex.is_match(hay.text),
            LorebookKey::Words { wanted, matching, .. } => {
                let text = if matching.case_sensitive { hay.text } else { &hay.lower };
                if matching.whole_words { has_word(text, wanted) } else { text.contains(wanted) }
            }
        }
    }
}

/// The parts of a key in the form `/body/flags`.
pub(super) fn pattern_parts(text: &str) -> Option<(&str, &str)> {
    let (body, flags) = text.trim().strip_prefix('/')?.rsplit_once('/')?;
    let are_flags = flags.chars().all(|flag| "dgimsuvy".contains(flag));
    (!body.is_empty() && are_flags).then_some((body, flags))
}

/// Whether `word` occurs in `text`, not as part of a longer word.
fn has_word(text: &str, word: &str) -> bool {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(word)) {
        let (start, end) = (from + at, from + at + word.len());
        let before = text.get(..start).and_then(|text| text.chars().next_back());
        let after = text.get(end..).and_then(|text| text.chars().next());
        let first = word.chars().next();
        let last = word.chars().next_back();
        if is_word_boundary(before, first) && is_word_boundary(last, after) {
            return true;
        }
        let step = first.map_or(1, char::len_utf8);
        from = start + step;
    }
    false
}

/// Whether there is a word boundary between two characters.
fn is_word_boundary(left: Option<char>, right: Option<char>) -> bool {
    let joins = |letter: Option<char>| {
        letter.is_some_and(|letter| {
            (letter.is_alphanumeric() || letter == '_') && !is_written_without_spaces(letter)
        })
    };
    !(joins(left) && joins(right))
}

/// Whether a letter belongs to a script without word separators: Chinese, Japanese, Thai and the like. Korean has
/// spaces, but its particles directly follow the word.
fn is_written_without_spaces(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1100..=0x11ff | 0x1780..=0x17ff | 0x2e80..=0x9fff
        | 0xa960..=0xa97f | 0xac00..=0xd7ff | 0xf900..=0xfaff | 0xff66..=0xffdc | 0x1b000..=0x1b16f
        | 0x20000..=0x3ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(key: &LorebookKey, text: &str) -> bool {
        key.matches(&Haystack::new(text))
    }

    #[test]
    fn words_are_found_as_the_matching_says() {
        let check = |key: &str, text: &str, case: bool, whole: bool, expect: bool| {
            let matching = MatchOptions { case_sensitive: case, whole_words: whole };
            assert_eq!(
                matches(&LorebookKey::words(key, matching), text),
                expect,
                "{key} in {text}"
            );
        };
        check("cat", "the Cat sat", false, false, true);
        check("cat", "the Cat sat", true, false, false);
        check("Cat", "the Cat sat", true, true, true);
        check("cat", "a cathedral", false, false, true);
        check("cat", "a cathedral", false, true, false);
        check("cat", "concat, cat!", false, true, true);
        check("cat", "cat's", false, true, true);
        check("cat", "cat_2", false, true, false);
        check("return by death", "He will Return by Death.", false, true, true);
        check(" cat ", "cat", false, true, true);
        check("ÉMILIE", "émilie parle", false, true, true);
        check("aa", "aaa aa", false, true, true);
        check("", "anything", false, false, true);
    }

    #[test]
    fn scripts_without_spaces_need_no_word_boundaries() {
        let check = |key: &str, text: &str, expect: bool| {
            let matching = MatchOptions { case_sensitive: false, whole_words: true };
            assert_eq!(
                matches(&LorebookKey::words(key, matching), text),
                expect,
                "{key} in {text}"
            );
        };
        check("王都", "ルグニカ王国の王都に着いた", true);
        check("ルグニカ", "ここはルグニカです", true);
        check("魔女", "魔法", false);
        check("서울", "서울에서 왔다", true);
        check("ราชา", "พระราชาทรง", true);
        check("Rem", "青髪のRemが来た", true);
        check("Rem", "Remember", false);
    }

    #[test]
    fn patterns_are_parted_into_body_and_flags() {
        let check = |text: &str, expect: Option<(&str, &str)>| {
            assert_eq!(pattern_parts(text), expect, "{text}");
        };
        check("/cat|dog/i", Some(("cat|dog", "i")));
        check("/a\\/b/", Some(("a\\/b", "")));
        check("and/or", None);
        check("/usr/bin", None);
        check("//", None);
        check("/", None);
        check("/x/q", None);
    }

    #[test]
    fn patterns_match_in_linear_time_or_are_refused() {
        let check = |body: &str, flags: &str, text: &str, expect: bool| {
            let key = LorebookKey::pattern("/…/", body, flags).unwrap();
            assert_eq!(matches(&key, text), expect, "/{body}/{flags} in {text}");
        };
        check("cat|dog", "i", "A DOG", true);
        check("^dog", "", "a\ndog", false);
        check("^dog", "m", "a\ndog", true);
        check("a.b", "s", "a\nb", true);
        check("a\\/b", "gu", "a/b", true);
        check("(a+)+$", "", &format!("{}b", "a".repeat(50_000)), false);
        for bad in ["(?=x)", "(a)\\1", "(", "\\w{1000}{1000}"] {
            let why = LorebookKey::pattern("/…/", bad, "").unwrap_err();
            assert!(why.contains("is not supported"), "{why}");
        }
    }
}
