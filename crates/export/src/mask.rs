//! Masks secrets: a [`SecretMask`] finds them, [`MaskedText`] is the result.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use everturn::scan::SecretRules;

/// Finds secrets in texts.
pub trait SecretMask {
    /// Returns the text with its secrets masked, and their number by family.
    fn mask<'t>(&self, text: &'t str) -> MaskedText<'t>;
}

/// A text with masked secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedText<'t> {
    /// The text.
    pub text: Cow<'t, str>,
    /// The number of secrets of each family.
    pub counts: BTreeMap<String, u64>,
}

impl SecretMask for SecretRules {
    fn mask<'t>(&self, text: &'t str) -> MaskedText<'t> {
        let (text, counts) = SecretRules::mask(self, text);
        let counts = counts.into_iter().map(|(family, count)| (family.to_owned(), count as u64));
        MaskedText { text, counts: counts.collect() }
    }
}

/// The number of characters from which on a cut word may be a part of a secret.
const LONG_WORD: usize = 12;

/// Masks texts, and counts the masked secrets.
pub(crate) struct TextMasker<'m> {
    mask: Option<&'m dyn SecretMask>,
    counts: RefCell<BTreeMap<String, u64>>,
}

impl<'m> TextMasker<'m> {
    pub(crate) fn new(mask: Option<&'m dyn SecretMask>) -> TextMasker<'m> {
        TextMasker { mask, counts: RefCell::default() }
    }

    /// Returns the number of masked secrets of each family.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        self.counts.borrow().clone()
    }

    pub(crate) fn mask_text(&self, text: String) -> String {
        let Some(mask) = self.mask else { return text };
        let MaskedText { text: masked, counts } = mask.mask(&text);
        for (family, count) in counts {
            *self.counts.borrow_mut().entry(family).or_default() += count;
        }
        match masked {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => masked,
        }
    }

    /// Masks a title, which may be the cut beginning of a text. Half of a secret is not recognized, so a long word that
    /// was cut is omitted.
    pub(crate) fn mask_title(&self, title: String) -> String {
        if self.mask.is_none() {
            return title;
        }
        let masked = self.mask_text(title);
        let cut = ["…", "..."].iter().find_map(|end| Some((masked.strip_suffix(end)?, *end)));
        let Some((before, end)) = cut else { return masked };
        let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let (kept, word) = before.split_at(start);
        if word.chars().count() < LONG_WORD { masked } else { format!("{kept}{end}") }
    }

    /// Masks the strings in JSON; everything else keeps its spelling.
    pub(crate) fn mask_json(&self, json: String) -> String {
        if self.mask.is_none() {
            return json;
        }
        let mut out = String::with_capacity(json.len());
        let mut rest = json.as_str();
        while let Some(start) = rest.find('"') {
            let end = string_end(rest, start);
            let (before, tail) = rest.split_at(start);
            let (spelled, after) = tail.split_at(end - start);
            out.push_str(before);
            out.push_str(&self.mask_json_string(spelled));
            rest = after;
        }
        out.push_str(rest);
        out
    }

    /// Masks a JSON string with its quotes. A string that is not valid Unicode is scanned as written.
    fn mask_json_string(&self, spelled: &str) -> String {
        let Ok(text) = serde_json::from_str::<String>(spelled) else {
            return self.mask_text(spelled.to_owned());
        };
        let masked = self.mask_text(text.clone());
        if masked == text {
            return spelled.to_owned();
        }
        serde_json::to_string(&masked).unwrap_or_default()
    }
}

/// Masks the secrets in the strings of JSON; everything else keeps its spelling.
#[must_use]
pub fn mask_json(json: String, mask: &dyn SecretMask) -> String {
    TextMasker::new(Some(mask)).mask_json(json)
}

/// Returns the end of the string that begins at a quote.
fn string_end(text: &str, start: usize) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(start + 1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Treats every `sk-…` as a secret.
    struct KeyMask;

    impl SecretMask for KeyMask {
        fn mask<'t>(&self, text: &'t str) -> MaskedText<'t> {
            let count = text.matches("sk-").count();
            let counts = BTreeMap::from([("key".to_owned(), count as u64)]);
            let masked: Vec<&str> = text
                .split_inclusive(' ')
                .map(|word| if word.starts_with("sk-") { "[masked] " } else { word })
                .collect();
            let text = if count == 0 { text.into() } else { masked.concat().into() };
            MaskedText { text, counts }
        }
    }

    #[test]
    fn only_the_texts_of_json_are_masked_and_each_is_counted() {
        let masker = TextMasker::new(Some(&KeyMask));
        let json = r#"{"a\"b":"sk-1 \n","n":1.50,"x":["sk-2 ","\ud800"],"e":"\u0041"}"#;
        assert_eq!(
            masker.mask_json(json.to_owned()),
            r#"{"a\"b":"[masked] \n","n":1.50,"x":["[masked] ","\ud800"],"e":"\u0041"}"#
        );
        assert_eq!(masker.counts(), BTreeMap::from([("key".to_owned(), 2)]));
        assert_eq!(TextMasker::new(None).mask_json(json.to_owned()), json);
    }

    #[test]
    fn a_long_word_at_the_cut_of_a_title_is_omitted() {
        let masker = TextMasker::new(Some(&KeyMask));
        let title = |text: &str| masker.mask_title(text.to_owned());
        assert_eq!(title("use abcdefghijklmnop…"), "use …");
        assert_eq!(title("abcdefghijklmnop..."), "...");
        assert_eq!(title("use it for the next…"), "use it for the next…");
        assert_eq!(title("use abcdefghijklmnop"), "use abcdefghijklmnop");
        assert_eq!(
            TextMasker::new(None).mask_title("abcdefghijklmnop…".into()),
            "abcdefghijklmnop…"
        );
    }
}
