//! Texts as YAML scalars, quoted like the program behind these files quotes them.

/// A text as a value of a mapping that starts at the left margin.
///
/// It is plain where possible. A text that would be read as something else, or not at all, gets single quotes; a text
/// with control characters gets double quotes; a text of several lines becomes a block.
///
/// ```
/// use everturn_linggen::scalar;
///
/// assert_eq!(scalar("Fix login bug"), "Fix login bug");
/// assert_eq!(scalar("key: value"), "'key: value'");
/// assert_eq!(scalar("yes"), "'yes'");
/// assert_eq!(scalar("tab\tx"), "\"tab\\tx\"");
/// assert_eq!(scalar("two\nlines"), "|-\n  two\n  lines");
/// ```
#[must_use]
pub fn scalar(text: &str) -> String {
    let has_breaks = text.contains(is_break);
    if needs_escapes(text) || (has_breaks && !text.contains('\n')) {
        return double_quoted(text);
    }
    if text.contains('\n') {
        return block(text);
    }
    if is_something_else(text) || !can_be_plain(text) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    text.to_owned()
}

/// Whether the text can only be written with escapes.
fn needs_escapes(text: &str) -> bool {
    let unprintable = |character: char| {
        (character.is_control() && character != '\n' && character != '\u{85}')
            || matches!(character, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    // White space at the ends of lines would be lost, or be taken for indentation.
    let breaks_after_space = text.split_inclusive(is_break).any(|line| {
        let content = line.trim_end_matches(is_break);
        content.len() < line.len() && content.ends_with(' ')
    });
    let many = text.contains(is_break);
    text.contains(unprintable) || breaks_after_space || (many && text.ends_with(' '))
}

fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn block(text: &str) -> String {
    let content = text.trim_end_matches('\n');
    let chomping = match text.len() - content.len() {
        0 => "-",
        1 if !content.is_empty() => "",
        _ => "+",
    };
    // The parser takes the indentation from the first line, unless that starts with white space itself.
    let hint = if text.starts_with([' ', '\n']) { "2" } else { "" };
    let mut out = format!("|{hint}{chomping}");
    for line in content.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            out.push_str("  ");
            out.push_str(line);
        }
    }
    if chomping == "+" {
        let breaks = text.len() - content.len();
        out.push_str(&"\n".repeat(breaks.saturating_sub(1)));
    }
    out
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\u{1b}' => out.push_str("\\e"),
            '\u{85}' => out.push_str("\\N"),
            '\u{2028}' => out.push_str("\\L"),
            '\u{2029}' => out.push_str("\\P"),
            other if other.is_control() => out.push_str(&format!("\\x{:02X}", u32::from(other))),
            '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                out.push_str(&format!("\\u{:04X}", u32::from(character)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Whether the plain text would be read as null, a number or a boolean, by old or new parsers.
fn is_something_else(text: &str) -> bool {
    const WORDS: &[&str] = &["", "~", "null", "y", "n", "yes", "no", "true", "false", "on", "off"];
    let cases = |word: &&str| {
        let mut capital = (*word).to_owned();
        if let Some(first) = capital.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        text == *word || text == capital || text == word.to_ascii_uppercase()
    };
    if WORDS.iter().any(cases) {
        return true;
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = |text: &str, radix: u32| {
        !text.is_empty() && text.chars().all(|character| character.is_digit(radix))
    };
    let based = [("0x", 16), ("0o", 8), ("0b", 2)].iter().any(|(prefix, radix)| {
        unsigned.strip_prefix(prefix).is_some_and(|rest| digits(rest, *radix))
    });
    let special = matches!(unsigned, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN");
    let number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.parse::<f64>().is_ok_and(f64::is_finite);
    based || special || number || digits(unsigned, 10) || is_date(text)
}

/// Whether other readers take a text for a date: `2024-01-01`, also with a time.
fn is_date(text: &str) -> bool {
    let end = text.find(['T', 't', ' ']).unwrap_or(text.len());
    let parts: Vec<&str> = text.get(..end).unwrap_or_default().split('-').collect();
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    matches!(lengths.as_slice(), [4, 1..=2, 1..=2])
        && parts.iter().all(is_number)
        && text.get(end..).is_none_or(|rest| {
            rest.is_empty()
                || rest
                    .trim_start_matches(['T', 't', ' '])
                    .starts_with(|c: char| c.is_ascii_digit())
        })
}

fn can_be_plain(text: &str) -> bool {
    if text.starts_with("---") || text.starts_with("...") {
        return false;
    }
    if text.starts_with(' ') || text.ends_with(' ') {
        return false;
    }
    let characters: Vec<char> = text.chars().collect();
    let blank_at = |at: usize| characters.get(at).is_none_or(|c| *c == ' ' || is_break(*c));
    characters.iter().enumerate().all(|(at, character)| match character {
        '#' if at > 0 => !blank_at(at - 1),
        ':' => !blank_at(at + 1),
        '-' | '?' if at == 0 => !blank_at(1),
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
        | '@' | '`' => at > 0,
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::YamlDocument;

    fn check(text: &str, expect: &str) {
        assert_eq!(scalar(text), expect, "{text:?}");
        let line = format!("title: {expect}\nnext: 1\n");
        let yaml = YamlDocument::parse(&line).unwrap();
        assert_eq!(yaml.values().get("title").and_then(|title| title.as_str()), Some(text));
        assert_eq!(yaml.integer("next"), Some(1));
    }

    #[test]
    fn texts_are_quoted_only_where_they_must_be() {
        for plain in [
            "Fix login bug",
            "sess-1700000000-abc12345",
            "a-b",
            "a#b",
            "a:b",
            "a, b",
            "it's",
            "say \"hi\"",
            "x [1] {2}",
            "C:\\Users",
            "http://x/y",
            "日本語",
            "👍",
            "-x",
            "?x",
            ":x",
            "50%",
            "a @ b",
            "1.2.3",
            "1_000",
            "12 monkeys",
            "Yes!",
            "nullable",
            "e5",
            "a & b",
        ] {
            check(plain, plain);
        }
    }

    #[test]
    fn texts_that_would_be_read_as_something_else_are_put_into_single_quotes() {
        for word in [
            "", "123", "-1", "+5", "1.5", "1e3", ".5", "0x1F", "0o17", "007", "yes", "No", "TRUE",
            "on", "Off", "y", "N", "null", "~", "NULL", ".inf", "-.inf", ".nan",
        ] {
            check(word, &format!("'{word}'"));
        }
        for text in [
            "key: value",
            "# hash",
            "a #b",
            "- item",
            "? what",
            ": x",
            "end:",
            "[list]",
            "{map}",
            "*star",
            "&and",
            "!bang",
            "|pipe",
            ">more",
            "%percent",
            "@at",
            "`tick`",
            ", x",
            "--- x",
            "...",
            " lead",
            "trail ",
            "\"double\"",
            "]",
            "}",
        ] {
            check(text, &format!("'{text}'"));
        }
        check("'single'", "'''single'''");
    }

    #[test]
    fn control_characters_need_double_quotes() {
        check("tab\tx", "\"tab\\tx\"");
        check("a\rb", "\"a\\rb\"");
        check("\u{1b}[31m", "\"\\e[31m\"");
        check("\0\u{7f}", "\"\\0\\x7F\"");
        check("q\" \\ \t", "\"q\\\" \\\\ \\t\"");
        check("a\tb\nc", "\"a\\tb\\nc\"");
        check("a \nb", "\"a \\nb\"");
        check("a\nb ", "\"a\\nb \"");
        check("a\u{2028}b", "\"a\\Lb\"");
        check("\u{feff}x", "\"\\uFEFFx\"");
    }

    #[test]
    fn several_lines_become_a_block() {
        check("two\nlines", "|-\n  two\n  lines");
        check("one\n", "|\n  one");
        check("a\n\nb", "|-\n  a\n\n  b");
        check("a\n\n", "|+\n  a\n");
        check("  indented\nb", "|2-\n    indented\n  b");
        check("\na", "|2-\n\n  a");
        check("key: value\n- item", "|-\n  key: value\n  - item");
    }
}
