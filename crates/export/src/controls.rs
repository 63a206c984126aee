//! Makes control characters visible instead of letting them take effect.

/// Returns whether a character changes the direction of the text around it.
#[must_use]
pub fn is_bidi_control(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

fn needs_escape(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t')) || is_bidi_control(character)
}

/// Returns whether a character is a mark that right-to-left text needs. Marks and isolates do not reorder anything
/// outside of their paragraph, as embeddings and overrides can.
#[must_use]
pub fn is_direction_mark(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2066}'..='\u{2069}')
}

/// Same as [`escape_controls`], but direction marks and isolates stay. For pages whose paragraphs are separate elements.
///
/// ```
/// use everturn_export::controls::escape_page_controls;
///
/// assert_eq!(escape_page_controls("a\u{200f}\u{2067}b\u{2069}\u{202e}c"), "a\u{200f}\u{2067}b\u{2069}‹U+202E›c");
/// ```
#[must_use]
pub fn escape_page_controls(text: &str) -> String {
    escape_with(text, |character| needs_escape(character) && !is_direction_mark(character))
}

/// Returns the text with every control character in a visible form, so that it can neither control a terminal nor
/// reorder the displayed text. Line endings become Unix line endings.
///
/// ```
/// use everturn_export::controls::escape_controls;
///
/// assert_eq!(escape_controls("a\u{1b}[31mb\r\nc\u{202e}d"), "a‹U+001B›[31mb\nc‹U+202E›d");
/// ```
#[must_use]
pub fn escape_controls(text: &str) -> String {
    escape_with(text, needs_escape)
}

fn escape_with(text: &str, needs_escape: impl Fn(char) -> bool + Copy) -> String {
    if !text.contains(needs_escape) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            odd if needs_escape(odd) => shown.push_str(&format!("‹U+{:04X}›", u32::from(odd))),
            plain => shown.push(plain),
        }
    }
    shown
}

/// Same as [`escape_controls`], on one line.
#[must_use]
pub fn escape_to_one_line(text: &str) -> String {
    escape_controls(text).replace(['\n', '\t'], " ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_shown() {
        for (text, expect) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("a\rb\r\n", "a‹U+000D›b\n"),
            ("\0\u{7}\u{7f}", "‹U+0000›‹U+0007›‹U+007F›"),
            ("\u{9b}31m", "‹U+009B›31m"),
            ("\u{2067}x\u{200f}", "‹U+2067›x‹U+200F›"),
            ("👩\u{200d}🚀 می\u{200c}خواهم", "👩\u{200d}🚀 می\u{200c}خواهم"),
        ] {
            assert_eq!(escape_controls(text), expect, "{text:?}");
        }
        assert_eq!(escape_to_one_line(" a\n\u{1b}b\t"), "a ‹U+001B›b");
    }
}
