//! [`PartialAnswer`]: extracts the text of an answer while the JSON around it is still arriving.

/// The name of the text member.
const TEXT: &str = "assistant_text";

/// Parses an answer piece by piece, and returns the text known so far.
///
/// It parses one member of the first object. The result is for display only: the complete answer is parsed again.
#[derive(Debug, Default)]
pub(super) struct PartialAnswer {
    /// The number of open brackets.
    depth: usize,
    state: ParserState,
    /// The last string at the top level of the object, which may be a key.
    word: String,
    is_key: bool,
    /// The first half of a surrogate pair.
    high: Option<u32>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
enum ParserState {
    #[default]
    Between,
    /// In a string, and whether it is the text.
    In {
        text: bool,
    },
    /// After a backslash.
    Escape {
        text: bool,
    },
    /// In the digits of an escape.
    Digits {
        text: bool,
        digits: String,
    },
    Done,
}

impl PartialAnswer {
    /// Takes a piece, and returns the text that it adds.
    pub(super) fn feed(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for character in piece.chars() {
            let state = std::mem::take(&mut self.state);
            self.state = match state {
                ParserState::Done => ParserState::Done,
                ParserState::Between => self.between(character),
                ParserState::In { text } => self.inside(character, text, &mut out),
                ParserState::Escape { text } => self.escaped(character, text, &mut out),
                ParserState::Digits { text, digits } => {
                    self.digit(character, text, digits, &mut out)
                }
            };
        }
        out
    }

    fn between(&mut self, character: char) -> ParserState {
        match character {
            '{' | '[' => self.depth += 1,
            '}' | ']' if self.depth == 1 => return ParserState::Done,
            '}' | ']' => self.depth = self.depth.saturating_sub(1),
            '"' if self.depth > 0 => {
                let text = self.depth == 1 && self.is_key && self.word == TEXT;
                self.is_key = false;
                self.word.clear();
                return ParserState::In { text };
            }
            ':' => self.is_key = true,
            ',' => self.is_key = false,
            _ => {}
        }
        ParserState::Between
    }

    fn inside(&mut self, character: char, text: bool, out: &mut String) -> ParserState {
        match character {
            '\\' => ParserState::Escape { text },
            '"' if text => ParserState::Done,
            '"' => ParserState::Between,
            _ => {
                self.put(character, text, out);
                ParserState::In { text }
            }
        }
    }

    fn put(&mut self, character: char, text: bool, out: &mut String) {
        if self.high.take().is_some() && text {
            out.push(char::REPLACEMENT_CHARACTER);
        }
        if text {
            out.push(character);
        } else if self.depth == 1 && self.word.len() < TEXT.len() + 4 {
            self.word.push(character);
        }
    }

    fn escaped(&mut self, character: char, text: bool, out: &mut String) -> ParserState {
        let plain = match character {
            'u' => return ParserState::Digits { text, digits: String::new() },
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            other => other,
        };
        self.put(plain, text, out);
        ParserState::In { text }
    }

    fn digit(
        &mut self,
        character: char,
        text: bool,
        mut digits: String,
        out: &mut String,
    ) -> ParserState {
        digits.push(character);
        if digits.chars().count() < 4 {
            return ParserState::Digits { text, digits };
        }
        let number = u32::from_str_radix(&digits, 16).unwrap_or(0xfffd);
        match (self.high, number) {
            (None, 0xd800..=0xdbff) => self.high = Some(number),
            (Some(high), 0xdc00..=0xdfff) => {
                self.high = None;
                let both = 0x1_0000 + ((high - 0xd800) << 10) + (number - 0xdc00);
                self.put(char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER), text, out);
            }
            _ => self.put(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER), text, out),
        }
        ParserState::In { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the text read from an answer, wherever the answer is split.
    #[track_caller]
    fn check(answer: &str, expect: &str) {
        let all: Vec<char> = answer.chars().collect();
        for size in [1, 2, 3, 7, all.len().max(1)] {
            let mut partial = PartialAnswer::default();
            let pieces = all.chunks(size).map(|piece| piece.iter().collect::<String>());
            let found: String = pieces.map(|piece| partial.feed(&piece)).collect();
            assert_eq!(found, expect, "{answer} in pieces of {size}");
        }
    }

    #[test]
    fn the_text_is_found_wherever_the_answer_is_cut() {
        check(r#"{"assistant_text": "You rest."}"#, "You rest.");
        check(
            r#"{"dialog_type":"x","assistant_text":"a\n\"b\" \\ \/ \t","tool_calls":[]}"#,
            "a\n\"b\" \\ / \t",
        );
        check("```json\n{ \"assistant_text\" : \"fenced\" }\n```", "fenced");
        check(r#"{"tool_calls":[{"assistant_text":"no"}],"assistant_text":"yes"}"#, "yes");
        check(r#"{"x":"assistant_text","y":":","assistant_text":"yes"}"#, "yes");
        check(r#"{"x":{"assistant_text":"no"}}"#, "");
        check(r#"{"assistant_text":"\u00e9\u9580\ud83d\ude00!"}"#, "é門😀!");
        check(r#"{"assistant_text":"\ud83dx \ude00"}"#, "\u{fffd}x \u{fffd}");
        check(r#"{"assistant_text":"cut off in the mid"#, "cut off in the mid");
        check("no JSON at all", "");
        check("", "");
        check(r#"{"assistant_text": 5, "b": "c"}"#, "");
        check(r#"{"assistant_text":"first"} {"assistant_text":"second"}"#, "first");
        check(r#"{"assistant_textual":"no"}"#, "");
    }
}
