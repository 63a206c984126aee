//! Parses the JSON of all families of cards to a [`CharacterCard`].

use super::error::CardError;
use super::{CardFormat, CharacterCard};
use crate::lorebook::{self, Lorebook};
use everturn_value::document::Document;
use everturn_value::outline::{ValueOutline, format_label, text_at, text_of, texts_at};
use everturn_value::tree::{JsonTree, ValueKind};

pub(super) fn json_card(bytes: &[u8], id: &str) -> Result<CharacterCard, CardError> {
    let document = Document::parse(bytes)?;
    let raw = JsonTree::parse(document.text().trim_start_matches('\u{feff}'))
        .map_err(|bad| CardError::not_a_card(format!("not JSON: {bad}")))?;
    if raw.kind() != ValueKind::Object {
        return Err(CardError::not_a_card(format!("it is {}, not an object", raw.kind())));
    }
    if let Some(kind) = text_at(&raw, &["type"]) {
        return match kind.as_str() {
            "character" => read_character(raw, id),
            _ => Err(CardError::not_a_card(format!("its type is {kind:?}, not \"character\""))),
        };
    }
    let spec = text_at(&raw, &["spec"]);
    let is_card = spec.as_deref().is_some_and(|spec| spec.starts_with("chara_card"));
    match raw.value_at(&["data"]).map(|data| data.kind()) {
        Some(ValueKind::Object) if is_card => read_wrapped(raw, id, spec.as_deref()),
        Some(ValueKind::Object) if raw.value_at(&["data", "name"]).is_some() => {
            read_wrapped(raw, id, spec.as_deref())
        }
        Some(kind) if is_card => {
            Err(CardError::not_a_card(format!("its data is {kind}, not an object")))
        }
        None if is_card => Err(CardError::not_a_card("it has no data")),
        _ => read_flat(&raw, id),
    }
}

/// Reads fields of a card and collects notes about irregular ones.
struct CardFields<'a> {
    from: &'a JsonTree,
    notes: Vec<String>,
}

impl CardFields<'_> {
    /// The text of a member; another type is noted and ignored.
    fn text(&mut self, key: &str) -> String {
        let Some(value) = self.from.value_at(&[key]) else { return String::new() };
        match text_of(&value) {
            Some(text) => unify_lines(&text),
            None if value.is_null() => String::new(),
            None => {
                self.notes.push(format!("{key} is {}, not a string; it is ignored", value.kind()));
                String::new()
            }
        }
    }
}

/// The text with `\n` at the end of every line: many cards are written on Windows.
pub(crate) fn unify_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn empty_card(id: &str, form: CardFormat, raw: JsonTree) -> CharacterCard {
    CharacterCard {
        id: id.to_owned(),
        form,
        name: String::new(),
        nickname: None,
        description: String::new(),
        personality: String::new(),
        scenario: String::new(),
        first_message: String::new(),
        greetings: Vec::new(),
        examples: String::new(),
        system_prompt: String::new(),
        closing_prompt: String::new(),
        details: String::new(),
        book: None,
        notes: Vec::new(),
        raw,
    }
}

/// Names a card without a name by its ID; a card without any content is refused.
fn require_name(mut card: CharacterCard) -> Result<CharacterCard, CardError> {
    if card.name.trim().is_empty() {
        if card.description.is_empty() && card.first_message.is_empty() {
            return Err(CardError::not_a_card("it has neither a name nor a description"));
        }
        card.notes.push("the card has no name; its id is used instead".to_owned());
        card.name.clone_from(&card.id);
    }
    Ok(card)
}

/// Reads the fields that flat and wrapped cards have in common.
fn read_common_fields(card: &mut CharacterCard, from: &JsonTree) {
    let mut fields = CardFields { from, notes: Vec::new() };
    card.name = fields.text("name");
    card.description = fields.text("description");
    card.personality = fields.text("personality");
    card.scenario = fields.text("scenario");
    card.first_message = fields.text("first_mes");
    card.examples = fields.text("mes_example");
    card.notes.append(&mut fields.notes);
}

fn read_flat(raw: &JsonTree, id: &str) -> Result<CharacterCard, CardError> {
    let known = ["description", "personality", "scenario", "first_mes", "mes_example"];
    if !known.iter().any(|key| raw.value_at(&[key]).is_some()) {
        return Err(CardError::not_a_card("it has none of the fields of a card"));
    }
    let mut card = empty_card(id, CardFormat::Flat, raw.clone());
    read_common_fields(&mut card, raw);
    require_name(card)
}

fn read_wrapped(raw: JsonTree, id: &str, spec: Option<&str>) -> Result<CharacterCard, CardError> {
    let version = text_at(&raw, &["spec_version"]).unwrap_or_default();
    let mut card = empty_card(id, CardFormat::CharacterCard(version), raw);
    match spec {
        Some("chara_card_v2" | "chara_card_v3") => {}
        Some(spec) => {
            card.notes.push(format!("unknown spec {spec}; it is read like the known ones"));
        }
        None => card.notes.push("the card does not declare its spec".to_owned()),
    }
    let data = card.raw.value_at(&["data"]).unwrap_or_else(JsonTree::object).into_expanded();
    read_common_fields(&mut card, &data);
    let mut fields = CardFields { from: &data, notes: Vec::new() };
    card.system_prompt = fields.text("system_prompt");
    card.closing_prompt = fields.text("post_history_instructions");
    card.nickname = Some(fields.text("nickname")).filter(|name| !name.trim().is_empty());
    card.greetings = texts_at(&data, &["alternate_greetings"]);
    card.notes.append(&mut fields.notes);
    match data.value_at(&["character_book"]) {
        Some(book) if book.kind() == ValueKind::Object => {
            let book: Lorebook = lorebook::from_card(book, &card.id);
            card.notes.extend(book.notes.iter().map(|note| format!("character_book: {note}")));
            card.book = Some(book);
        }
        Some(book) if !book.is_null() => {
            card.notes.push(format!("character_book is {}, not an object", book.kind()));
        }
        _ => {}
    }
    require_name(card)
}

/// The members of a section that have a field in a card.
const TOLD: &[&str] =
    &["name", "role", "description", "background", "appearance", "personality", "speech_patterns"];

fn read_character(raw: JsonTree, id: &str) -> Result<CharacterCard, CardError> {
    let version = text_at(&raw, &["version"]).unwrap_or_default();
    let id = text_at(&raw, &["metadata", "id"]).unwrap_or_else(|| id.to_owned());
    let about = raw.value_at(&["character"]).unwrap_or_else(JsonTree::object);
    if about.kind() != ValueKind::Object {
        let why = format!("its member character is {}, not an object", about.kind());
        return Err(CardError::not_a_card(why));
    }
    let mut card = empty_card(&id, CardFormat::Character(version), raw);
    let mut fields = CardFields { from: &about, notes: Vec::new() };
    card.name = fields.text("name");
    let mut told = vec![fields.text("description")];
    for key in ["role", "background", "appearance"] {
        let text = fields.text(key);
        if !text.is_empty() {
            told.push(format!("{}: {text}", format_label(key)));
        }
    }
    told.retain(|text| !text.is_empty());
    card.description = told.join("\n");
    let speech = fields.text("speech_patterns");
    card.notes = fields.notes;
    let personality = about.value_at(&["personality"]).unwrap_or_else(JsonTree::null);
    let mut personality = ValueOutline::from_value(&personality, "").into_text();
    if !speech.is_empty() {
        personality.push_str(if personality.is_empty() { "" } else { "\n" });
        personality.push_str(&format!("Speech patterns: {speech}"));
    }
    card.personality = personality;
    let guidance = card.raw.value_at(&["narrator_guidance"]).unwrap_or_else(JsonTree::null);
    card.system_prompt = ValueOutline::from_value(&guidance, "").into_text();
    let others = about.children().into_iter().filter(|(key, _)| !TOLD.contains(&key.as_str()));
    let others = JsonTree::from_members(others);
    let sections = ["rpg_attributes", "series_specific"];
    let sections = sections.iter().filter_map(|key| card.raw.value_at(&[key]));
    let details = std::iter::once(others).chain(sections);
    let details: Vec<String> = details
        .map(|section| ValueOutline::from_value(&section, "").into_text())
        .filter(|text| !text.is_empty())
        .collect();
    card.details = details.join("\n");
    require_name(card)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CharacterCard, CardError> {
        CharacterCard::read(text.as_bytes(), "given-id")
    }

    #[test]
    fn a_character_of_the_format_beside_chat_logs_is_read() {
        let card = read(
            r#"{"version": "1.0", "type": "character",
              "metadata": {"id": "cc-subaru", "created": "2023-05-18T12:00:00Z", "series": "Re:Zero"},
              "character": {"name": "Subaru", "role": "protagonist", "avatar": "AAAA",
                "description": "A shut-in.", "background": "Kidnapped to another world.",
                "personality": {"traits": ["stubborn", "kind"], "quirks": []}, "appearance": "A tracksuit.",
                "speech_patterns": "Loud.", "relationships": [{"name": "Emilia", "relationship": "love"}]},
              "rpg_attributes": {"stats": {"strength": 8}},
              "narrator_guidance": {"character_voice": "Breathless."}, "odd": 1}"#,
        )
        .unwrap();
        assert_eq!(card.id, "cc-subaru");
        assert_eq!(card.form, CardFormat::Character("1.0".to_owned()));
        assert_eq!(
            card.prompt("me"),
            "Subaru\nCharacter voice: Breathless.\nA shut-in.\nRole: protagonist\n\
             Background: Kidnapped to another world.\nAppearance: A tracksuit.\n\
             Personality: Traits: stubborn, kind\nSpeech patterns: Loud.\n\
             Emilia\nRelationship: love\nStrength: 8"
        );
        assert_eq!(card.raw.text_at(&["odd"]).as_deref(), Some("1"));
        assert!(card.notes.is_empty(), "{:?}", card.notes);
    }

    #[test]
    fn newer_cards_are_read_with_their_lorebooks() {
        let card = read(
            "\u{feff}{\"spec\": \"chara_card_v3\", \"spec_version\": \"3.0\", \"data\": {\
             \"name\": \"Remilia Long Name\", \"nickname\": \"Remi\", \"description\": \"{{char}} greets {{user}}.\", \
             \"personality\": \"calm\", \"scenario\": \"a mansion\", \"first_mes\": \"Welcome.\", \
             \"mes_example\": \"<START>\", \"system_prompt\": \"Be kind.\", \
             \"post_history_instructions\": \"Stay in role.\", \"alternate_greetings\": [\"Hi.\", 3], \
             \"character_book\": {\"entries\": [{\"keys\": [\"mansion\"], \"content\": \"Old.\", \
             \"enabled\": true, \"insertion_order\": 1, \"extensions\": {}}], \"extensions\": {}}, \
             \"extensions\": {\"x\": 1}}}",
        )
        .unwrap();
        assert_eq!((card.id.as_str(), card.display_name()), ("given-id", "Remi"));
        assert_eq!(card.form, CardFormat::CharacterCard("3.0".to_owned()));
        assert_eq!(card.first_message, "Welcome.");
        assert_eq!(card.closing_prompt, "Stay in role.");
        assert_eq!(card.greetings, ["Hi."]);
        assert_eq!(card.book.as_ref().unwrap().entries.len(), 1);
        assert!(card.prompt("Sakuya").contains("Remi greets Sakuya."));
        assert_eq!(card.raw.text_at(&["data", "extensions", "x"]).as_deref(), Some("1"));
    }

    #[test]
    fn line_ends_are_the_same_in_all_cards() {
        let card = read(r#"{"name": "A", "description": "One.\r\nTwo.\rThree."}"#).unwrap();
        assert_eq!(card.prompt("me"), "A\nOne.\nTwo.\nThree.");
    }

    #[test]
    fn odd_cards_are_read_with_notes() {
        let check = |text: &str, name: &str, note: &str| {
            let card = read(text).unwrap();
            assert_eq!(card.name, name, "{text}");
            let found = card.notes.iter().any(|it| it.contains(note)) || note.is_empty();
            assert!(found, "{text}: {:?}", card.notes);
        };
        check(r#"{"name": "A", "first_mes": "Hi"}"#, "A", "");
        check(r#"{"data": {"name": "A"}}"#, "A", "does not declare its spec");
        check(
            r#"{"spec": "chara_card_v9", "data": {"name": "A"}}"#,
            "A",
            "unknown spec chara_card_v9",
        );
        check(
            r#"{"spec": "chara_card_v2", "data": {"name": 3, "description": "d"}}"#,
            "given-id",
            "name is a number",
        );
        check(
            r#"{"spec": "chara_card_v2", "data": {"name": "A", "scenario": {}}}"#,
            "A",
            "scenario is an object",
        );
        check(
            r#"{"spec": "chara_card_v2", "data": {"name": "A", "character_book": []}}"#,
            "A",
            "is an array",
        );
        check(r#"{"type": "character", "character": {"description": "d"}}"#, "given-id", "no name");
        check(r#"{"name": "\ud800", "description": "d"}"#, "\u{fffd}\u{fffd}\u{fffd}", "");
        let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
        check(&format!(r#"{{"name": "A", "description": "d", "x": {deep}}}"#), "A", "");
    }

    #[test]
    fn what_is_no_card_is_refused_with_the_reason() {
        let check = |bytes: &[u8], expect: &str| {
            let error = CharacterCard::read(bytes, "id").unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        check(b"", "empty");
        check(b"{", "not JSON");
        check(b"\xff\xfe", "not UTF-8");
        check(b"[]", "it is an array");
        check(b"{}", "none of the fields of a card");
        check(b"{\"type\": \"chat-log\"}", "its type is \"chat-log\"");
        check(b"{\"type\": \"character\", \"character\": 3}", "is a number");
        check(b"{\"type\": \"character\"}", "neither a name nor a description");
        check(b"{\"spec\": \"chara_card_v2\"}", "it has no data");
        check(b"{\"spec\": \"chara_card_v2\", \"data\": []}", "its data is an array");
        check(b"{\"spec\": \"chara_card_v2\", \"data\": {}}", "neither a name nor a description");
        check(b"PK\x03\x04rest", "zip archive");
    }
}
