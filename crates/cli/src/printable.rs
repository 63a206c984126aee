//! [`Printable`]: text that cannot affect the screen. Everything that is printed becomes one, or passes an
//! [`EscapedSink`].

use std::fmt;
use std::io::{self, Write};

/// Returns whether a character affects the screen other than by being shown: control characters control the terminal,
/// bidirectional controls reorder the text around them, and some programs end a line at two others.
fn drives_screen(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(character, '\u{2028}' | '\u{2029}')
}

/// The same, except for line ends and tabs, which programs print on purpose.
fn is_odd(character: char) -> bool {
    drives_screen(character) && !matches!(character, '\n' | '\t')
}

/// Text that can be printed as it is. Only this module makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Printable(String);

impl Printable {
    /// Escapes text of any origin; line ends and tabs stay.
    pub(crate) fn new(text: &str) -> Printable {
        let mut shown = String::with_capacity(text.len());
        for character in text.chars() {
            match is_odd(character) {
                true => shown.extend(character.escape_default()),
                false => shown.push(character),
            }
        }
        Printable(shown)
    }

    /// The text in bold red.
    pub(crate) fn highlighted(self) -> Printable {
        Printable(format!("\u{1b}[1;31m{}\u{1b}[0m", self.0))
    }

    /// Appends other text.
    pub(crate) fn push(&mut self, other: &Printable) {
        self.0.push_str(&other.0);
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Writes text with escapes in the spelling of JSON, so that a JSON document stays one.
pub(crate) fn write_escaped(sink: &mut dyn Write, text: &str) -> io::Result<()> {
    let mut rest = text;
    while let Some((at, odd)) = rest.char_indices().find(|(_, character)| is_odd(*character)) {
        let (before, after) = rest.split_at(at);
        sink.write_all(before.as_bytes())?;
        match odd {
            '\r' => sink.write_all(b"\\r")?,
            odd => write!(sink, "\\u{:04x}", u32::from(odd))?,
        }
        rest = after.strip_prefix(odd).unwrap_or_default();
    }
    sink.write_all(rest.as_bytes())
}

/// Escapes everything that is formatted into it.
pub(crate) struct EscapedText<'a> {
    sink: &'a mut dyn Write,
    failure: Option<io::Error>,
}

impl EscapedText<'_> {
    /// Writes formatted text, escaped.
    pub(crate) fn write(sink: &mut dyn Write, text: fmt::Arguments<'_>) -> io::Result<()> {
        let mut escaped = EscapedText { sink, failure: None };
        match fmt::Write::write_fmt(&mut escaped, text) {
            Ok(()) => Ok(()),
            Err(_) => {
                let unknown = || io::Error::other("a value cannot be formatted");
                Err(escaped.failure.unwrap_or_else(unknown))
            }
        }
    }
}

impl fmt::Write for EscapedText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write_escaped(self.sink, text).map_err(|failure| {
            self.failure = Some(failure);
            fmt::Error
        })
    }
}

/// Escapes the text that is written into it in pieces, which may end inside a character.
pub(crate) struct EscapedSink<'a> {
    sink: &'a mut dyn Write,
    held: Vec<u8>,
}

impl<'a> EscapedSink<'a> {
    pub(crate) fn new(sink: &'a mut dyn Write) -> EscapedSink<'a> {
        EscapedSink { sink, held: Vec::new() }
    }
}

impl Write for EscapedSink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        let end = match str::from_utf8(&self.held) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.held.len(),
        };
        let rest = self.held.split_off(end);
        let whole = std::mem::replace(&mut self.held, rest);
        write_escaped(self.sink, &String::from_utf8_lossy(&whole))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_does_nothing_to_the_screen() {
        let check = |text: &str, expect: &str| assert_eq!(Printable::new(text).as_str(), expect);
        check("Grüße, 你好,\n\tשלום", "Grüße, 你好,\n\tשלום");
        check("\u{1b}[31mred\u{7}\r\u{7f}", "\\u{1b}[31mred\\u{7}\\r\\u{7f}");
        check("user\u{202e}nimda\u{9b}2J", "user\\u{202e}nimda\\u{9b}2J");
        check("\u{2066}isolated\u{2069}\u{2028}", "\\u{2066}isolated\\u{2069}\\u{2028}");
        // A mark that only sets the direction of its neighbours is part of many texts.
        check("שלום\u{200f}!", "שלום\u{200f}!");
        assert_eq!(Printable::new("\u{1b}").highlighted().as_str(), "\u{1b}[1;31m\\u{1b}\u{1b}[0m");
    }

    #[test]
    fn pieces_that_end_inside_a_character_are_joined() {
        let text = "aé\u{9b}你\u{202e}z";
        for size in 1..5 {
            let mut bytes = Vec::new();
            let mut sink = EscapedSink::new(&mut bytes);
            text.as_bytes().chunks(size).for_each(|piece| sink.write_all(piece).unwrap());
            assert_eq!(String::from_utf8(bytes).unwrap(), "aé\\u009b你\\u202ez", "{size}");
        }
    }

    #[test]
    fn json_stays_json() {
        let text = "a\u{9b}\u{202e}\u{2028}\u{7f}\u{1b}\"\\";
        let value = serde_json::json!({ "text": text });
        let mut bytes = Vec::new();
        EscapedText::write(&mut bytes, format_args!("{value}\n")).unwrap();
        assert!(!String::from_utf8(bytes.clone()).unwrap().contains('\u{9b}'));
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&bytes).unwrap(), value);
    }
}
