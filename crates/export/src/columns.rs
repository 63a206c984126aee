//! Wraps and aligns text by display width, in any language.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the number of columns of a text.
#[must_use]
pub fn display_width(text: &str) -> usize {
    text.width()
}

/// Returns the number of columns of a character.
fn columns(character: char) -> usize {
    character.width().unwrap_or(0)
}

/// Wraps a text into lines of at most `width` columns: at spaces, and within words that are longer.
pub fn wrap_text(text: &str, width: usize) -> Vec<String> {
    // The widest characters must fit.
    let width = width.max(2);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        let mut used = 0;
        for character in paragraph.chars() {
            let character = if character == '\t' { ' ' } else { character };
            let more = columns(character);
            if used + more > width {
                // A space at the end of a full line is the break itself.
                let is_break = character == ' ';
                let rest = if is_break { String::new() } else { split_at_space(&mut line) };
                lines.push(line.trim_end().to_owned());
                (used, line) = (rest.width(), rest);
                if is_break {
                    continue;
                }
            }
            line.push(character);
            used += more;
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// Splits off the last word of a line, unless the line is a single word.
fn split_at_space(line: &mut String) -> String {
    match line.rfind(' ') {
        Some(at) if !line.get(..at).unwrap_or_default().trim().is_empty() => line.split_off(at + 1),
        _ => String::new(),
    }
}

/// Returns the longest prefix of a line that fits into `width` columns.
pub fn truncate_width(line: &str, width: usize) -> String {
    let mut used = 0;
    let fits = |character: &char| {
        used += columns(*character);
        used <= width
    };
    line.chars().take_while(fits).collect()
}

/// Shortens a text to at most `width` columns; an ellipsis replaces what is left out.
pub fn shorten_width(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    if width == 0 {
        return String::new();
    }
    format!("{}…", truncate_width(text, width - 1).trim_end())
}

/// Returns a line of `width` columns with one text at each end; the second is shortened if needed.
pub fn spread_line(left: &str, right: &str, width: usize) -> String {
    let gap = width.saturating_sub(left.width() + right.width());
    if gap == 0 {
        return pad_width(&truncate_width(left, width), width);
    }
    format!("{left}{}{right}", " ".repeat(gap))
}

/// Pads a line with spaces.
pub fn pad_width(line: &str, width: usize) -> String {
    format!("{line}{}", " ".repeat(width.saturating_sub(line.width())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, width: usize, expect: &[&str]) {
        let lines = wrap_text(text, width);
        assert_eq!(lines, expect, "{text:?}");
        for line in &lines {
            assert!(line.width() <= width, "{line:?} is wider than {width}");
        }
    }

    #[test]
    fn a_text_that_is_too_long_ends_with_an_ellipsis() {
        let check = |text: &str, width: usize, expect: &str| {
            let short = shorten_width(text, width);
            assert_eq!(short, expect);
            assert!(short.width() <= width);
        };
        check("short", 5, "short");
        check("longer", 5, "long…");
        check("two words", 5, "two…");
        check("黒猫の話", 5, "黒猫…");
        check("黒猫の話", 4, "黒…");
        check("x", 0, "");
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_where_they_must() {
        check("", 10, &[""]);
        check("You walk to the market.", 10, &["You walk", "to the", "market."]);
        check("one two", 7, &["one two"]);
        check("one two three", 7, &["one two", "three"]);
        check("abcdefghijkl mn", 5, &["abcde", "fghij", "kl mn"]);
        check("a abcdefghij", 5, &["a", "abcde", "fghij"]);
        check("one\n\n two", 9, &["one", "", " two"]);
        check("a\tb", 9, &["a b"]);
    }

    #[test]
    fn wide_and_combining_characters_take_the_columns_they_need() {
        check("彼女は笑う。", 5, &["彼女", "は笑", "う。"]);
        check("cafe\u{301} au lait", 7, &["cafe\u{301} au", "lait"]);
        check("안녕 하세요", 6, &["안녕", "하세요"]);
    }

    #[test]
    fn a_bar_is_exactly_as_wide_as_the_screen() {
        for (left, right, width) in
            [("a", "b", 10), ("結結結", "b", 4), ("結結結", "b", 5), ("long", "", 2), ("", "", 0)]
        {
            assert_eq!(spread_line(left, right, width).width(), width, "{left} {right} {width}");
        }
        assert_eq!(spread_line("a", "b", 4), "a  b");
        assert_eq!(spread_line("abc", "de", 4), "abc ");
    }
}
