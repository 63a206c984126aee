//! Character cards: the description of a character for a narrator.
//!
//! Three families of cards are read: the format beside chat logs (`"type": "character"`), Character Card V2 and V3, and
//! the flat cards before them; as JSON, or inside a PNG picture. A [`CharacterCard`] has the same few fields for all
//! families, and its `raw` document preserves everything that has no field.

mod error;
mod png;
mod read;

use crate::lorebook::Lorebook;
use everturn_value::tree::JsonTree;

pub use error::{CardError, PngError};
pub(crate) use read::unify_lines;

/// The family that a card belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardFormat {
    /// `"type": "character"`, with its version.
    Character(String),
    /// Flat fields, as before Character Card V2.
    Flat,
    /// Character Card, with its `spec_version`.
    CharacterCard(String),
}

/// A character.
#[derive(Debug, Clone)]
pub struct CharacterCard {
    /// The ID of the character in references.
    pub id: String,
    /// The family of the card.
    pub form: CardFormat,
    /// The name.
    pub name: String,
    /// The name that replaces `{{char}}`, if it differs.
    pub nickname: Option<String>,
    /// A description of the character.
    pub description: String,
    /// The personality of the character.
    pub personality: String,
    /// The setting in which the story begins.
    pub scenario: String,
    /// The first message of the character.
    pub first_message: String,
    /// Alternative first messages.
    pub greetings: Vec<String>,
    /// Example dialogue.
    pub examples: String,
    /// Instructions for the narrator.
    pub system_prompt: String,
    /// Instructions for the narrator after the whole conversation.
    pub closing_prompt: String,
    /// Attributes, skills, relationships and the like, in lines.
    pub details: String,
    /// The lorebook inside the card.
    pub book: Option<Lorebook>,
    /// Irregularities of the card.
    pub notes: Vec<String>,
    /// The original document.
    pub raw: JsonTree,
}

impl CharacterCard {
    /// Reads a card; `id` is its ID if it has none of its own.
    ///
    /// ```
    /// use everturn_prompt::card::CharacterCard;
    ///
    /// let json = br#"{"spec": "chara_card_v2", "data": {"name": "Rem", "description": "{{char}} is a maid."}}"#;
    /// let card = CharacterCard::read(json, "rem")?;
    /// assert_eq!((card.id.as_str(), card.name.as_str()), ("rem", "Rem"));
    /// assert_eq!(card.prompt("Subaru"), "Rem\nRem is a maid.");
    /// # Ok::<(), everturn_prompt::card::CardError>(())
    /// ```
    pub fn read(bytes: &[u8], id: &str) -> Result<CharacterCard, CardError> {
        if png::is_png(bytes) {
            return png::read_card(bytes, id);
        }
        if bytes.starts_with(b"PK\x03\x04") {
            return Err(CardError::Archive);
        }
        read::json_card(bytes, id)
    }

    /// The name that replaces `{{char}}`.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.nickname.as_deref().unwrap_or(&self.name)
    }

    /// The names for the macros in the texts of the card.
    #[must_use]
    pub fn names<'a>(&'a self, user: &'a str) -> CardNames<'a> {
        CardNames::new(self.display_name(), user)
    }

    /// Whether its system prompt replaces that of the caller, as the specification of Character Cards says. That of the
    /// format beside chat logs is guidance about the character, and part of [`CharacterCard::prompt`].
    #[must_use]
    pub fn replaces_system_prompt(&self) -> bool {
        matches!(self.form, CardFormat::CharacterCard(_)) && !self.system_prompt.trim().is_empty()
    }

    /// The prompt text for the character, with the names of the character and the user inserted.
    #[must_use]
    pub fn prompt(&self, user: &str) -> String {
        let guidance = if self.replaces_system_prompt() { "" } else { &self.system_prompt };
        let parts = [
            ("", self.name.as_str()),
            ("", guidance),
            ("", &self.description),
            ("Personality: ", &self.personality),
            ("Scenario: ", &self.scenario),
            ("", &self.details),
            ("Examples:\n", &self.examples),
        ];
        let told = parts.iter().filter(|(_, text)| !text.trim().is_empty());
        let lines: Vec<String> =
            told.map(|(label, text)| format!("{label}{}", text.trim())).collect();
        self.names(user).substitute(&lines.join("\n"))
    }
}

/// The size of a text up to which macros are replaced; those behind it stay as they are.
const MOST_FILLED: usize = 4 << 20;

/// The texts that replace macros: `{{char}}` and `<BOT>`, `{{user}}` and `<USER>`, `{{original}}`.
#[derive(Debug, Clone, Copy)]
pub struct CardNames<'a> {
    character: &'a str,
    user: &'a str,
    original: Option<&'a str>,
}

impl<'a> CardNames<'a> {
    /// The names of the character and of the user. `{{original}}` is left as it is.
    #[must_use]
    pub fn new(character: &'a str, user: &'a str) -> CardNames<'a> {
        CardNames { character, user, original: None }
    }

    /// The same, with the prompt that would be used without the card in the place of `{{original}}`.
    #[must_use]
    pub fn with_original(self, original: &'a str) -> CardNames<'a> {
        CardNames { original: Some(original), ..self }
    }

    /// Replaces the macros in a text, regardless of case. Inserted texts are not searched again.
    #[must_use]
    pub fn substitute(&self, text: &str) -> String {
        let places = [
            ("{{char}}", Some(self.character)),
            ("{{user}}", Some(self.user)),
            ("<bot>", Some(self.character)),
            ("<user>", Some(self.user)),
            ("{{original}}", self.original),
        ];
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['{', '<']) {
            let (before, after) = rest.split_at(at);
            filled.push_str(before);
            let place = places.iter().find_map(|(place, put)| {
                let start = after.get(..place.len())?;
                start.eq_ignore_ascii_case(place).then_some((place.len(), (*put)?))
            });
            // A long name in many places would fill the memory.
            let place = place.filter(|(_, put)| filled.len() + put.len() <= MOST_FILLED);
            let (length, put) = place.unwrap_or((1, after.get(..1).unwrap_or_default()));
            filled.push_str(put);
            rest = after.get(length..).unwrap_or_default();
        }
        filled.push_str(rest);
        filled
    }
}

/// Replaces `{{char}}`, `{{user}}`, `<BOT>` and `<USER>` in a text with names, regardless of case.
///
/// Inserted names are not searched again.
#[must_use]
pub fn substitute_names(text: &str, character: &str, user: &str) -> String {
    CardNames::new(character, user).substitute(text)
}

#[cfg(test)]
mod tests {
    use super::{CardNames, substitute_names};

    #[test]
    fn names_are_put_in_their_places() {
        let check = |text: &str, expect: &str| {
            assert_eq!(substitute_names(text, "Rem", "{{char}}"), expect);
        };
        check("", "");
        check("{{char}} and {{CHAR}} and <BOT>", "Rem and Rem and Rem");
        check("{{user}}, <user>!", "{{char}}, {{char}}!");
        check("{{other}} {char} <b> {{", "{{other}} {char} <b> {{");
        check("漢{{char}}字<", "漢Rem字<");
        check("{{{char}}}", "{Rem}");
        check("{{original}}", "{{original}}");
    }

    #[test]
    fn a_long_name_in_many_places_stays_bounded() {
        // Both grow, so without a limit four times the text comes of twice the input.
        let filled = |size: usize| {
            let (name, text) = ("n".repeat(size), "{{char}}".repeat(size / 8));
            substitute_names(&text, &name, "").len()
        };
        assert!(filled(200_000) < 5 << 20);
        assert!(filled(400_000) < 5 << 20);
        assert_eq!(filled(800), 80_000);
    }

    #[test]
    fn the_original_prompt_is_put_in_its_place() {
        let names = CardNames::new("Rem", "Subaru").with_original("Be {{char}}.");
        assert_eq!(names.substitute("{{Original}} Serve {{user}}."), "Be {{char}}. Serve Subaru.");
    }
}
