//! Which characters must not reach a terminal as they are.

/// Returns whether a character affects the screen other than by being shown: control characters control the terminal,
/// and bidirectional controls reorder the text around them.
pub(crate) fn drives_screen(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
