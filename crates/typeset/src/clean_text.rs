//! Cleans text for shaping, so that it cannot control the page, the text direction or the reader's machine.
//!
//! Sessions contain untrusted text. Control characters are shown in caret notation, as terminals do, so that they stay
//! visible. Characters that reorder or hide text are dropped, because a page cannot show them.

/// The maximum number of combining marks on a letter, as in Unicode's stream-safe text format.
const MOST_MARKS: usize = 30;

/// The handling of white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhitespaceMode {
    /// A run of white space becomes one space, and lines neither start nor end with one.
    Collapsed,
    /// All white space is kept; tabs become spaces up to the next multiple of four.
    Kept,
}

/// The treatment of a character.
enum CharAction {
    Stay,
    Space,
    Tab,
    LineEnd,
    Caret,
    Instead(char),
    Gone,
}

fn char_action(c: char) -> CharAction {
    match c {
        '\t' => CharAction::Tab,
        '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => CharAction::LineEnd,
        ' ' => CharAction::Space,
        '\u{0}'..='\u{1f}' | '\u{7f}' => CharAction::Caret,
        '\u{80}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => CharAction::Instead('\u{fffd}'),
        _ if changes_direction(c) || is_invisible(c) => CharAction::Gone,
        _ => CharAction::Stay,
    }
}

/// Returns whether a character changes the direction of the text around it.
fn changes_direction(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
    )
}

/// Returns whether a character is invisible, so that text could hide in it. Joiners and variation selectors are not
/// included: scripts and emoji need them.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{2060}'..='\u{2065}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns whether a character is a combining mark.
pub(crate) fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{36f}'
            | '\u{483}'..='\u{489}'
            | '\u{591}'..='\u{5bd}'
            | '\u{610}'..='\u{61a}'
            | '\u{64b}'..='\u{65f}'
            | '\u{e31}'
            | '\u{e34}'..='\u{e3a}'
            | '\u{e47}'..='\u{e4e}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{200b}'..='\u{200d}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{fe20}'..='\u{fe2f}'
    )
}

/// Appends `text` to `out`, cleaned for shaping. Whether leading spaces are kept depends on the end of `out`.
pub(crate) fn append_clean(out: &mut String, text: &str, spaces: WhitespaceMode) {
    let mut marks = out.chars().rev().take(MOST_MARKS).take_while(|c| is_mark(*c)).count();
    let mut after_return = false;
    for c in text.chars() {
        // A line feed after a carriage return is part of the same line ending.
        let ends_again = after_return && c == '\n';
        after_return = c == '\r';
        if ends_again {
            continue;
        }
        match if after_return { CharAction::LineEnd } else { char_action(c) } {
            CharAction::Stay if is_mark(c) => {
                marks += 1;
                if marks <= MOST_MARKS {
                    out.push(c);
                }
                continue;
            }
            CharAction::Stay => out.push(c),
            // A control character and its letter differ by the same bit as delete and the question mark.
            CharAction::Caret => {
                out.extend(['^', char::from_u32(u32::from(c) ^ 0x40).unwrap_or('?')]);
            }
            CharAction::Instead(sign) => out.push(sign),
            CharAction::Gone => continue,
            CharAction::LineEnd => end_line(out, spaces),
            CharAction::Space | CharAction::Tab if spaces == WhitespaceMode::Collapsed => {
                if !out.is_empty() && !out.ends_with([' ', '\n']) {
                    out.push(' ');
                }
            }
            CharAction::Space => out.push(' '),
            CharAction::Tab => {
                let line = out.rsplit('\n').next().unwrap_or_default();
                let column = line.chars().rev().take(4096).count();
                out.extend(std::iter::repeat_n(' ', 4 - column % 4));
            }
        }
        marks = 0;
    }
}

fn end_line(out: &mut String, spaces: WhitespaceMode) {
    if spaces == WhitespaceMode::Collapsed {
        out.truncate(out.trim_end_matches([' ', '\n']).len());
        if out.is_empty() {
            return;
        }
    }
    out.push('\n');
}

/// The maximum length of a title; the rest is cut off.
const LONGEST_TITLE: usize = 240;

/// Returns a short text, such as a title, on one line.
pub(crate) fn clean_title(text: &str) -> String {
    let mut out = String::new();
    // Nothing beyond this limit can be part of the title, even if white space collapses.
    let beginning = text.get(..text.floor_char_boundary(64 * LONGEST_TITLE)).unwrap_or(text);
    append_clean(&mut out, beginning, WhitespaceMode::Collapsed);
    out.truncate(out.trim_end().len());
    let mut out = out.replace('\n', " ");
    if let Some((end, _)) = out.char_indices().nth(LONGEST_TITLE) {
        out.truncate(end);
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(spaces: WhitespaceMode, input: &str, expect: &str) {
        let mut out = String::new();
        append_clean(&mut out, input, spaces);
        assert_eq!(out, expect, "{input:?}");
    }

    #[test]
    fn white_space_collapses_in_text_and_stays_in_code() {
        check(WhitespaceMode::Collapsed, "  a \t b  \n\n  c", "a b\nc");
        check(WhitespaceMode::Collapsed, "a\r\nb\rc\u{2028}d", "a\nb\nc\nd");
        check(WhitespaceMode::Kept, "  a\tb\n\n\tc", "  a b\n\n    c");
        check(WhitespaceMode::Kept, "a\r\n\r\nb", "a\n\nb");
    }

    #[test]
    fn controls_become_letters_after_a_caret() {
        check(WhitespaceMode::Collapsed, "a\u{1b}[31mb\u{0}c\u{7f}", "a^[[31mb^@c^?");
        check(WhitespaceMode::Kept, "\u{9b}x", "\u{fffd}x");
    }

    #[test]
    fn what_reorders_or_hides_text_is_left_out() {
        check(
            WhitespaceMode::Collapsed,
            "a\u{202e}dcb\u{202c}e\u{2067}f\u{2069}\u{200f}g",
            "adcbefg",
        );
        check(WhitespaceMode::Collapsed, "hy\u{ad}phen\u{feff}\u{e0041}", "hyphen");
        check(WhitespaceMode::Collapsed, "👩\u{200d}🚀 ❤\u{fe0f}", "👩\u{200d}🚀 ❤\u{fe0f}");
    }

    #[test]
    fn a_letter_has_a_bounded_number_of_marks() {
        let mut out = String::new();
        for _ in 0..3 {
            append_clean(&mut out, "\u{301}".repeat(50).as_str(), WhitespaceMode::Collapsed);
        }
        assert_eq!(out.chars().count(), MOST_MARKS);
        append_clean(&mut out, "e\u{301}", WhitespaceMode::Collapsed);
        assert_eq!(out.chars().count(), MOST_MARKS + 2);
    }

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(clean_title(" The\nSalt  Road\n"), "The Salt Road");
        assert_eq!(clean_title(&"a".repeat(1_000_000)), "a".repeat(240) + "…");
    }
}
