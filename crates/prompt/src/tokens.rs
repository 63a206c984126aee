//! Counts the tokens of a text, offline.
//!
//! Every model has a vocabulary of its own, and few are published. The default is `o200k_base`, which the larger hosted
//! models of today and some open ones use; [`Vocabulary`] has the others that can be counted offline, and an estimate
//! for models that publish none.
//!
//! A text is counted in pieces of bounded size, because the rules for splitting words backtrack in long runs of white
//! space, and because a caller often only needs to know whether a text fits. Pieces end where the rules always split.
//! If there is no such position for 16 KiB, as in a run of a million equal letters, they end anywhere, and the count
//! may be off by a token or two for each piece.

use std::fmt;
use std::str::FromStr;

use tiktoken_rs::CoreBPE;
use tiktoken_rs::tokenizer::{Tokenizer, get_tokenizer};

/// How tokens are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Vocabulary {
    /// The vocabulary of GPT-4o and later models of OpenAI.
    #[default]
    O200kBase,
    /// The vocabulary of GPT-4 and GPT-3.5.
    Cl100kBase,
    /// The vocabulary of Codex and of later GPT-3 models.
    P50kBase,
    /// The vocabulary of GPT-2 and GPT-3.
    R50kBase,
    /// An estimate for models whose vocabulary is not published: the count in `o200k_base` and a margin, so that no
    /// known vocabulary needs more.
    Estimate,
}

impl Vocabulary {
    /// All vocabularies.
    pub const ALL: &[Vocabulary] = &[
        Vocabulary::O200kBase,
        Vocabulary::Cl100kBase,
        Vocabulary::P50kBase,
        Vocabulary::R50kBase,
        Vocabulary::Estimate,
    ];

    /// The name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Vocabulary::O200kBase => "o200k_base",
            Vocabulary::Cl100kBase => "cl100k_base",
            Vocabulary::P50kBase => "p50k_base",
            Vocabulary::R50kBase => "r50k_base",
            Vocabulary::Estimate => "estimate",
        }
    }

    /// The vocabulary of a model; `None` if it is not known, or not published.
    ///
    /// ```
    /// use everturn_prompt::tokens::Vocabulary;
    ///
    /// assert_eq!(Vocabulary::of_model("gpt-4"), Some(Vocabulary::Cl100kBase));
    /// assert_eq!(Vocabulary::of_model("gemini-pro"), None);
    /// ```
    #[must_use]
    pub fn of_model(model: &str) -> Option<Vocabulary> {
        // Some services name the maker before the model.
        let name = model.rsplit('/').next().unwrap_or(model);
        match get_tokenizer(name)? {
            Tokenizer::O200kBase | Tokenizer::O200kHarmony => Some(Vocabulary::O200kBase),
            Tokenizer::Cl100kBase => Some(Vocabulary::Cl100kBase),
            Tokenizer::P50kBase | Tokenizer::P50kEdit => Some(Vocabulary::P50kBase),
            Tokenizer::R50kBase | Tokenizer::Gpt2 => Some(Vocabulary::R50kBase),
        }
    }

    /// The number of tokens in `text`.
    #[must_use]
    pub fn count(self, text: &str) -> usize {
        self.count_up_to(text, usize::MAX).unwrap_or(usize::MAX)
    }

    /// The number of tokens in `text`; `None` if there are more than `limit`.
    #[must_use]
    pub fn count_up_to(self, text: &str, limit: usize) -> Option<usize> {
        let mut total = 0;
        for piece in split_pieces(text) {
            total += match self {
                Vocabulary::Estimate => estimate(piece),
                _ => self.encoder().count_ordinary(piece),
            };
            if total > limit {
                return None;
            }
        }
        Some(total)
    }

    fn encoder(self) -> &'static CoreBPE {
        match self {
            Vocabulary::O200kBase | Vocabulary::Estimate => tiktoken_rs::o200k_base_singleton(),
            Vocabulary::Cl100kBase => tiktoken_rs::cl100k_base_singleton(),
            Vocabulary::P50kBase => tiktoken_rs::p50k_base_singleton(),
            Vocabulary::R50kBase => tiktoken_rs::r50k_base_singleton(),
        }
    }
}

impl fmt::Display for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Vocabulary {
    type Err = String;

    fn from_str(name: &str) -> Result<Vocabulary, String> {
        let known = Vocabulary::ALL.iter().find(|vocabulary| vocabulary.as_str() == name);
        known.copied().ok_or_else(|| {
            let names: Vec<&str> = Vocabulary::ALL.iter().map(|one| one.as_str()).collect();
            format!("unknown vocabulary {name:?}; known vocabularies: {}", names.join(", "))
        })
    }
}

/// The margins of an estimate, in percent of the count: for ASCII, for other Latin letters, and for other scripts.
/// docs/context.md has the measurements.
const MARGINS: (usize, usize, usize) = (20, 35, 150);

/// The estimated number of tokens of a piece.
fn estimate(piece: &str) -> usize {
    let count = Vocabulary::O200kBase.encoder().count_ordinary(piece);
    let (mut accented, mut other, mut all) = (0, 0, 0_usize);
    for letter in piece.chars().filter(|letter| !letter.is_whitespace()) {
        all += 1;
        match letter {
            '\u{0}'..='\u{7f}' => {}
            '\u{80}'..='\u{24f}' | '\u{2000}'..='\u{206f}' => accented += 1,
            _ => other += 1,
        }
    }
    let (ascii, latin, foreign) = MARGINS;
    let base = if accented > 0 { latin } else { ascii };
    let margin = base + (foreign - base) * other / all.max(1);
    (count * (100 + margin)).div_ceil(100)
}

/// The maximum size of a piece in bytes.
const PIECE: usize = 16 * 1024;

/// The number of tokens in `text`.
///
/// Control tokens of models are counted as ordinary text. The first call takes a moment, to unpack the vocabulary.
///
/// ```
/// assert_eq!(everturn_prompt::tokens::count_tokens("What do you do, Subaru?"), 7);
/// assert_eq!(everturn_prompt::tokens::count_tokens(""), 0);
/// ```
#[must_use]
pub fn count_tokens(text: &str) -> usize {
    Vocabulary::default().count(text)
}

/// The number of tokens in `text`; `None` if there are more than `limit`.
///
/// Reads only as much of the text as necessary.
///
/// ```
/// use everturn_prompt::tokens::count_tokens_up_to;
///
/// assert_eq!(count_tokens_up_to("What do you do, Subaru?", 7), Some(7));
/// assert_eq!(count_tokens_up_to("What do you do, Subaru?", 6), None);
/// ```
#[must_use]
pub fn count_tokens_up_to(text: &str, limit: usize) -> Option<usize> {
    Vocabulary::default().count_up_to(text, limit)
}

/// The pieces of a text, in order, each at most [`PIECE`] bytes long.
fn split_pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, more) = rest.split_at_checked(piece_end(rest))?;
        rest = more;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The end of the first piece of `text`: after the last position at which a split is certain.
fn piece_end(text: &str) -> usize {
    if text.len() <= PIECE {
        return text.len();
    }
    let longest = text.floor_char_boundary(PIECE);
    let Some(piece) = text.get(..longest) else { return text.len() };
    let mut next = None;
    for (at, letter) in piece.char_indices().rev() {
        if next.is_some_and(|next| always_splits(letter, next)) {
            return at + letter.len_utf8();
        }
        next = Some(letter);
    }
    longest
}

/// Whether no token of the vocabulary contains these two characters in sequence, whatever the context.
///
/// Spaces belong to the word after them, and line endings to the punctuation or space before them. A slash may follow a
/// line ending in the same token.
fn always_splits(before: char, after: char) -> bool {
    let ends_line = |letter: char| letter == '\n' || letter == '\r';
    if ends_line(before) {
        !after.is_whitespace() && after != '/'
    } else {
        !before.is_whitespace() && after.is_whitespace() && !ends_line(after)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, prop};
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::{PIECE, Vocabulary, count_tokens, count_tokens_up_to, split_pieces};

    /// The count of a text as one piece.
    fn count_whole(text: &str) -> usize {
        tiktoken_rs::o200k_base_singleton().count_ordinary(text)
    }

    #[test]
    fn texts_have_the_tokens_that_the_vocabulary_says() {
        let check = |text: &str, expect: usize| assert_eq!(count_tokens(text), expect, "{text:?}");
        check("", 0);
        check(" ", 1);
        check("a", 1);
        check("hello world", 2);
        check("Return by Death", 3);
        check("<|endoftext|>", 7);
        check("漢字", 2);
        check("こんにちは、世界。", 4);
        check("1234567", 3);
        check("\u{0}\u{feff}", 2);
        check("👨‍👩‍👧", 8);
    }

    /// The counts of the published vocabularies of Claude 2, Llama 2, Llama 3 and Mistral, measured with the packages
    /// that their makers and users publish.
    #[test]
    fn an_estimate_is_not_below_a_known_vocabulary() {
        let english =
            "The bustling sounds of a marketplace fill your ears as you blink in confusion.";
        let german = "Eben noch hast du den Laden mit einer Tüte voller Süßigkeiten verlassen.";
        for text in
            [english, german, "市場のにぎやかな音が聞こえてきて、", "عفوًا، هل يمكنك أن تخبرني"]
        {
            for vocabulary in [Vocabulary::O200kBase, Vocabulary::Cl100kBase] {
                let (least, count) = (vocabulary.count(text), Vocabulary::Estimate.count(text));
                assert!(count >= least, "{text}: {count} < {least}");
            }
        }
        assert_eq!(Vocabulary::O200kBase.count(english), 15);
        assert_eq!(Vocabulary::Estimate.count(english), 18);
        assert_eq!(Vocabulary::Estimate.count(""), 0);
    }

    #[test]
    fn vocabularies_are_named_and_belong_to_models() {
        for vocabulary in Vocabulary::ALL {
            assert_eq!(vocabulary.as_str().parse(), Ok(*vocabulary));
        }
        assert!("claude".parse::<Vocabulary>().is_err());
        assert_eq!(Vocabulary::of_model("openai/gpt-4o-mini"), Some(Vocabulary::O200kBase));
        assert_eq!(Vocabulary::of_model("claude-3-opus"), None);
        assert_eq!(Vocabulary::R50kBase.count("hello world"), 2);
    }

    #[test]
    fn long_prose_is_counted_exactly() {
        let english = "The bustling sounds of a marketplace fill your ears, and you blink. ";
        let japanese = "市場のにぎやかな音が聞こえてきて、あなたは目をぱちくりさせる。\n\n";
        for line in [english, japanese] {
            let text = line.repeat(3 * PIECE / line.len() + 7);
            assert!(split_pieces(&text).count() > 3);
            assert_eq!(count_tokens(&text), count_whole(&text));
        }
    }

    #[test]
    fn a_count_stops_where_the_limit_is_passed() {
        let check = |text: &str, limit: usize, expect: Option<usize>| {
            assert_eq!(count_tokens_up_to(text, limit), expect, "{} bytes, {limit}", text.len());
        };
        check("", 0, Some(0));
        check("hello world", 1, None);
        check("hello world", 2, Some(2));
        check("hello world", usize::MAX, Some(2));
        let long = "hello world\n".repeat(1_000_000);
        check(&long, 100, None);
    }

    #[test]
    fn runs_that_never_split_take_bounded_time_and_do_not_panic() {
        let check = |unit: &str, tokens: std::ops::Range<usize>| {
            let text = unit.repeat(1_000_000 / unit.len());
            assert!(tokens.contains(&count_tokens(&text)), "{unit:?} has {}", count_tokens(&text));
            assert!(tokens.contains(&count_tokens(&(text + "x"))), "{unit:?}x");
        };
        check(" ", 5_000..50_000);
        check("\n", 30_000..100_000);
        check(" \n", 100_000..300_000);
        check("\r\n \t", 100_000..600_000);
        check("a", 100_000..200_000);
        check("A", 100_000..200_000);
        check("!", 10_000..200_000);
        check("/", 10_000..200_000);
        check("'s", 100_000..600_000);
        check("漢", 300_000..400_000);
        check("A\u{301}", 300_000..800_000);
        check("\u{3000}", 10_000..40_000);
        check("\u{0}", 50_000..1_000_001);
    }

    #[test]
    fn ten_megabytes_are_counted() {
        let line = "The bustling sounds of a marketplace fill your ears as you blink. ";
        let lines = 10_000_000 / line.len();
        assert_eq!(count_tokens(&line.repeat(lines)), lines * 13 + 1);
    }

    /// Texts of the characters that the rules treat differently, long enough to be split at some position.
    fn odd_texts() -> impl Strategy<Value = String> {
        let units = [
            " ",
            "  ",
            "\n",
            "\r\n",
            "\t",
            "/",
            "a",
            "word",
            "Word",
            "WORD",
            "1",
            "12345",
            "'s",
            "'",
            "!?",
            "漢",
            "\u{301}",
            "\u{a0}",
            "\u{3000}",
            "\u{85}",
            "ß",
            "\u{1f600}",
            " \n",
            "\n/",
        ];
        prop::collection::vec(prop::sample::select(units.to_vec()), 1..60).prop_map(|units| {
            let unit = units.concat();
            unit.repeat(2 * PIECE / unit.len() + 2)
        })
    }

    proptest! {
        #![proptest_config(proptest::test_runner::Config { cases: 200, failure_persistence: None, ..Default::default() })]

        #[test]
        fn pieces_are_the_text_and_bounded(text in odd_texts()) {
            prop_assert!(split_pieces(&text).all(|piece| !piece.is_empty() && piece.len() <= PIECE));
            prop_assert_eq!(split_pieces(&text).collect::<String>(), text);
        }

        #[test]
        fn cutting_at_certain_places_changes_no_count(text in odd_texts()) {
            let certain = text.chars().zip(text.chars().skip(1)).any(|(a, b)| super::always_splits(a, b));
            if certain {
                prop_assert_eq!(count_tokens(&text), count_whole(&text));
            }
        }
    }
}
