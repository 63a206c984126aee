//! The types of all parts of a chat log: one table each, used for input and for stored data.

use jiff::Timestamp;

use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::tree::{JsonTree, ValueKind};

/// The required type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueType {
    Text,
    /// A string that is a time.
    Time,
    Bool,
    Number,
    Object,
    List,
    /// A list of strings.
    Texts,
    /// A list of objects with these fields.
    Each(&'static [FieldRule]),
    /// A list of texts, or of objects with these fields.
    EachText(&'static [FieldRule]),
    /// A text or an object.
    TextOrObject,
    /// A list of objects with these fields or, in the form of the database, an object of objects.
    EachOrMap(&'static [FieldRule]),
    OneOf(&'static [&'static str]),
}

/// A field: its dotted path, and its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FieldRule {
    path: &'static str,
    what: ValueType,
    required: bool,
}

const fn needs(path: &'static str, what: ValueType) -> FieldRule {
    FieldRule { path, what, required: true }
}

const fn may(path: &'static str, what: ValueType) -> FieldRule {
    FieldRule { path, what, required: false }
}

/// The kinds of messages.
pub(crate) const TYPES: &[&str] = &["system", "narrator", "protagonist", "npc", "ooc"];

/// The kinds of narrative markers.
pub(crate) const MARKERS: &[&str] = &["chapter", "scene", "event", "decision"];

const ATTACHMENT: &[FieldRule] = &[
    needs("type", ValueType::OneOf(&["image", "audio", "file"])),
    needs("url", ValueType::Text),
    may("description", ValueType::Text),
];

const ACTION: &[FieldRule] = &[
    needs("type", ValueType::OneOf(&["emote", "action", "thought"])),
    needs("text", ValueType::Text),
];

/// An earlier version of a message: a text, or an object with its content.
const VERSION: &[FieldRule] = &[
    may("timestamp", ValueType::Time),
    may("content", ValueType::TextOrObject),
    may("content.text", ValueType::Text),
    may("content.formatted_text", ValueType::Text),
    may("content.attachments", ValueType::Each(ATTACHMENT)),
    may("content.actions", ValueType::Each(ACTION)),
    may("text", ValueType::Text),
    may("tool_states", ValueType::Object),
];

/// A message.
pub(crate) const MESSAGE: &[FieldRule] = &[
    needs("id", ValueType::Text),
    needs("timestamp", ValueType::Time),
    needs("type", ValueType::OneOf(TYPES)),
    may("sender", ValueType::Object),
    may("sender.id", ValueType::Text),
    may("sender.name", ValueType::Text),
    may("sender.avatar", ValueType::Text),
    needs("content", ValueType::Object),
    needs("content.text", ValueType::Text),
    may("content.formatted_text", ValueType::Text),
    may("content.attachments", ValueType::Each(ATTACHMENT)),
    may("content.actions", ValueType::Each(ACTION)),
    may("metadata", ValueType::Object),
    may("metadata.is_edited", ValueType::Bool),
    may("metadata.edit_history", ValueType::EachText(VERSION)),
    may("metadata.is_regenerated", ValueType::Bool),
    may("metadata.regeneration_history", ValueType::EachText(VERSION)),
    may("metadata.tokens", ValueType::Number),
    may("metadata.processing_time_ms", ValueType::Number),
];

/// The state of a component; its value may be anything.
const COMPONENT: &[FieldRule] = &[needs("id", ValueType::Text)];

/// A change of a component; its values may be anything.
const CHANGE: &[FieldRule] = &[
    may("component_id", ValueType::Text),
    may("cause", ValueType::Text),
    may("reason", ValueType::Text),
];

/// A snapshot of a tool. Its changes are a list or, in the form of the database, an object.
pub(crate) const SNAPSHOT: &[FieldRule] = &[
    may("id", ValueType::Text),
    needs("timestamp", ValueType::Time),
    may("message_id", ValueType::Text),
    needs("tool_id", ValueType::Text),
    needs("state", ValueType::Object),
    may("state.components", ValueType::Each(COMPONENT)),
    may("changes", ValueType::EachOrMap(CHANGE)),
];

const BOOKMARK: &[FieldRule] = &[
    needs("id", ValueType::Text),
    needs("name", ValueType::Text),
    may("description", ValueType::Text),
    needs("message_id", ValueType::Text),
    may("timestamp", ValueType::Time),
    may("tool_snapshot_ids", ValueType::Texts),
];

const MARKER: &[FieldRule] = &[
    needs("id", ValueType::Text),
    needs("type", ValueType::OneOf(MARKERS)),
    needs("name", ValueType::Text),
    may("description", ValueType::Text),
    needs("message_id", ValueType::Text),
    may("timestamp", ValueType::Time),
];

const TOOL: &[FieldRule] = &[needs("id", ValueType::Text), may("name", ValueType::Text)];

/// Everything but messages and snapshots.
pub(crate) const HEAD: &[FieldRule] = &[
    needs("version", ValueType::Text),
    needs("type", ValueType::OneOf(&["chat-log"])),
    needs("metadata", ValueType::Object),
    needs("metadata.id", ValueType::Text),
    may("metadata.created", ValueType::Time),
    may("metadata.modified", ValueType::Time),
    may("metadata.series", ValueType::Text),
    may("metadata.title", ValueType::Text),
    needs("session", ValueType::Object),
    may("session.start_time", ValueType::Time),
    may("session.end_time", ValueType::Time),
    may("session.duration_seconds", ValueType::Number),
    may("session.message_count", ValueType::Number),
    may("session.protagonist", ValueType::Object),
    may("session.protagonist.name", ValueType::Text),
    may("session.protagonist.character_card_id", ValueType::Text),
    may("session.lorebook_id", ValueType::Text),
    may("session.support_tools", ValueType::Each(TOOL)),
    may("session.settings", ValueType::Object),
    may("session.settings.model", ValueType::Text),
    may("session.settings.temperature", ValueType::Number),
    may("session.settings.max_tokens", ValueType::Number),
    may("session.settings.narrator_prompt", ValueType::Text),
    may("session.settings.system_prompt", ValueType::Text),
    may("session.settings.theme_id", ValueType::Text),
    needs("messages", ValueType::List),
    may("tool_snapshots", ValueType::List),
    may("bookmarks", ValueType::Each(BOOKMARK)),
    may("narrative_markers", ValueType::Each(MARKER)),
    may("context_window", ValueType::Object),
    may("context_window.size", ValueType::Number),
    may("context_window.strategy", ValueType::OneOf(&["sliding", "fixed", "adaptive"])),
    may("context_window.included_messages", ValueType::Texts),
    may("context_window.included_tool_snapshots", ValueType::Texts),
    may("context_window.included_character_cards", ValueType::Texts),
    may("context_window.included_lorebook_entries", ValueType::Texts),
    may("export", ValueType::Object),
    may("export.formats", ValueType::Texts),
    may("export.last_exported", ValueType::Time),
    may("export.export_settings", ValueType::Object),
    may("export.export_settings.include_metadata", ValueType::Bool),
    may("export.export_settings.include_tool_snapshots", ValueType::Bool),
    may("export.export_settings.include_ooc_messages", ValueType::Bool),
    may(
        "export.export_settings.formatting_style",
        ValueType::OneOf(&["minimal", "rich", "custom"]),
    ),
];

/// A time in a chat log: RFC 3339, or as SQLite writes it, in UTC.
pub(crate) fn time(text: &str) -> Option<Timestamp> {
    let sql = || format!("{}Z", text.replacen(' ', "T", 1)).parse().ok();
    text.parse().ok().or_else(sql)
}

fn a(kind: ValueKind) -> String {
    kind.to_string()
}

/// All deviations of `tree` from the table, in words.
pub(crate) fn find_type_errors(tree: &JsonTree, table: &[FieldRule]) -> Vec<String> {
    if tree.kind() != ValueKind::Object {
        return vec![format!("it is {}, not an object", a(tree.kind()))];
    }
    let mut found = Vec::new();
    for field in table {
        let way: Vec<&str> = field.path.split('.').collect();
        // A non-object on the path is reported at its own field.
        let above = way.get(..way.len() - 1).unwrap_or_default();
        if tree.value_at(above).is_none_or(|above| above.kind() != ValueKind::Object) {
            continue;
        }
        match tree.value_at(&way).filter(|value| field.required || !value.is_null()) {
            Some(value) => found.extend(wrong_value(field.path, &value, field.what)),
            None if field.required => found.push(format!("it has no {}", field.path)),
            None => {}
        }
    }
    found
}

fn wrong_value(path: &str, value: &JsonTree, what: ValueType) -> Vec<String> {
    let kind = value.kind();
    let one = |wanted: &str| vec![format!("{path} is {}, not {wanted}", a(kind))];
    let expect = |wanted: ValueKind| if kind == wanted { Vec::new() } else { one(&a(wanted)) };
    let text = value.string_at::<&str>(&[]);
    match what {
        ValueType::Text => expect(ValueKind::String),
        ValueType::Bool => expect(ValueKind::Bool),
        ValueType::Number => expect(ValueKind::Number),
        ValueType::Object => expect(ValueKind::Object),
        ValueType::List => expect(ValueKind::Array),
        ValueType::Time => match text {
            Some(text) if time(&text).is_none() => {
                vec![format!("{path} is {text:?}, which is not a time")]
            }
            _ => expect(ValueKind::String),
        },
        ValueType::OneOf(words) => match text {
            Some(text) if !words.contains(&text.as_str()) => {
                vec![format!("{path} is {text:?}, not one of {}", words.join(", "))]
            }
            _ => expect(ValueKind::String),
        },
        ValueType::Texts if kind == ValueKind::Array => {
            let list = value.children();
            let odd = list.iter().filter(|(_, value)| value.kind() != ValueKind::String);
            odd.map(|(at, value)| format!("{path}[{at}] is {}, not a string", value.kind()))
                .collect()
        }
        ValueType::Each(table) if kind == ValueKind::Array => {
            let list = value.children();
            list.iter().flat_map(|(at, one)| element_errors(path, at, one, table)).collect()
        }
        ValueType::EachText(table) if kind == ValueKind::Array => {
            let list = value.children();
            let objects = list.iter().filter(|(_, one)| one.kind() != ValueKind::String);
            objects.flat_map(|(at, one)| element_errors(path, at, one, table)).collect()
        }
        ValueType::EachOrMap(table) if matches!(kind, ValueKind::Array | ValueKind::Object) => {
            let list = value.children();
            list.iter().flat_map(|(at, one)| element_errors(path, at, one, table)).collect()
        }
        ValueType::TextOrObject if kind == ValueKind::String => Vec::new(),
        ValueType::TextOrObject => expect(ValueKind::Object),
        ValueType::Texts
        | ValueType::Each(_)
        | ValueType::EachText(_)
        | ValueType::EachOrMap(_) => expect(ValueKind::Array),
    }
}

/// What is wrong with an element of a list.
fn element_errors(path: &str, at: &str, element: &JsonTree, table: &[FieldRule]) -> Vec<String> {
    let found = find_type_errors(element, table).into_iter();
    found.map(|what| format!("{path}[{at}]: {what}")).collect()
}

/// The value corrected by the table: a wrong value gets its default or, if the field is optional, is removed. `None` if
/// a required field has no default.
pub(crate) fn apply_defaults(
    tree: &JsonTree,
    table: &[FieldRule],
    default: &dyn Fn(&str) -> Option<JsonTree>,
) -> Option<JsonTree> {
    let mut tree = tree.clone();
    for field in table {
        let way: Vec<&str> = field.path.split('.').collect();
        let above = way.get(..way.len() - 1).unwrap_or_default();
        if tree.value_at(above).is_none_or(|above| above.kind() != ValueKind::Object) {
            continue;
        }
        let value = tree.value_at(&way).filter(|value| field.required || !value.is_null());
        let is_wrong = match &value {
            Some(value) => !wrong_value(field.path, value, field.what).is_empty(),
            None => field.required,
        };
        if !is_wrong {
            continue;
        }
        let path = DeltaPath::array(way.iter().copied());
        let left = value.and_then(|value| good_elements(&value, field.what));
        let change = match left.or_else(|| default(field.path)) {
            Some(value) => Delta::set(path, value),
            None if field.required => return None,
            None => Delta::delete(path),
        };
        change.apply(&mut tree).ok()?;
    }
    Some(tree)
}

/// The valid elements of a list.
fn good_elements(value: &JsonTree, what: ValueType) -> Option<JsonTree> {
    if value.kind() != ValueKind::Array {
        return None;
    }
    let is_good = |element: &JsonTree| match what {
        ValueType::Texts => element.kind() == ValueKind::String,
        ValueType::EachText(_) if element.kind() == ValueKind::String => true,
        ValueType::Each(table) | ValueType::EachText(table) | ValueType::EachOrMap(table) => {
            find_type_errors(element, table).is_empty()
        }
        _ => true,
    };
    let good = value.children().into_iter().map(|(_, element)| element).filter(is_good);
    let text = format!("[{}]", good.map(|good| good.to_line()).collect::<Vec<_>>().join(","));
    JsonTree::parse(text).ok()
}

/// The fields of a table, and whether they are required.
#[cfg(test)]
pub(crate) fn fields(table: &'static [FieldRule]) -> impl Iterator<Item = (&'static str, bool)> {
    table.iter().map(|field| (field.path, field.required))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        assert_eq!(find_type_errors(&JsonTree::parse(text).unwrap(), MESSAGE), expect, "{text}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let good =
            r#"{"id":"a","timestamp":"2023-05-18T12:00:00Z","type":"npc","content":{"text":""}"#;
        check(&format!("{good}}}"), &[]);
        check(&format!("{good},\"sender\":null,\"more\":[1]}}"), &[]);
        check(&format!("{good},\"sender\":7}}"), &["sender is a number, not an object"]);
        check(
            &format!("{good},\"metadata\":{{\"is_edited\":1,\"tokens\":\"9\"}}}}"),
            &[
                "metadata.is_edited is a number, not a boolean",
                "metadata.tokens is a string, not a number",
            ],
        );
        check("[]", &["it is an array, not an object"]);
        check(
            r#"{"id":1,"timestamp":"noon","type":"bard","content":{"attachments":[{"type":"film"},3]}}"#,
            &[
                "id is a number, not a string",
                "timestamp is \"noon\", which is not a time",
                "type is \"bard\", not one of system, narrator, protagonist, npc, ooc",
                "it has no content.text",
                "content.attachments[0]: type is \"film\", not one of image, audio, file",
                "content.attachments[0]: it has no url",
                "content.attachments[1]: it is a number, not an object",
            ],
        );
    }

    #[test]
    fn every_field_with_a_wrong_type_is_noticed() {
        for table in [MESSAGE, SNAPSHOT, HEAD] {
            for (path, _) in fields(table) {
                let keys: Vec<&str> = path.split('.').collect();
                // A value that is valid for no field.
                let mut text = "[[\"odd\"]]".to_owned();
                for key in keys.iter().rev() {
                    text = format!("{{\"{key}\":{text}}}");
                }
                let tree = JsonTree::parse(text).unwrap();
                let found = find_type_errors(&tree, table);
                // The elements of these lists are checked one by one.
                let lists = path == "messages" || path == "tool_snapshots";
                let named = found.iter().any(|what| what.starts_with(path));
                assert_eq!(named, !lists, "{path}: {found:?}");
            }
        }
    }

    #[test]
    fn times_are_read_as_programs_write_them() {
        for text in ["2023-05-18T12:00:00Z", "2023-05-18T14:00:00+02:00", "2023-05-18 12:00:00"] {
            assert_eq!(time(text), "2023-05-18T12:00:00Z".parse().ok(), "{text}");
        }
        assert_eq!(time("yesterday"), None);
    }
}
