//! What the parts of a chat log must be: one table for each, used for what is given and for what is stored.

use jiff::Timestamp;

use everturn_value::delta::{Delta, Path};
use everturn_value::tree::{Kind, Tree};

/// What a value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Text,
    /// A text that is a time.
    Time,
    Bool,
    Number,
    Object,
    List,
    /// A list of texts.
    Texts,
    /// A list of such objects.
    Each(&'static [Field]),
    OneOf(&'static [&'static str]),
}

/// A field: its way from the top, with dots, and what it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    path: &'static str,
    what: Type,
    required: bool,
}

const fn needs(path: &'static str, what: Type) -> Field {
    Field { path, what, required: true }
}

const fn may(path: &'static str, what: Type) -> Field {
    Field { path, what, required: false }
}

/// The kinds of messages.
pub(crate) const TYPES: &[&str] = &["system", "narrator", "protagonist", "npc", "ooc"];

/// The kinds of narrative markers.
pub(crate) const MARKERS: &[&str] = &["chapter", "scene", "event", "decision"];

const ATTACHMENT: &[Field] = &[
    needs("type", Type::OneOf(&["image", "audio", "file"])),
    needs("url", Type::Text),
    may("description", Type::Text),
];

const ACTION: &[Field] =
    &[needs("type", Type::OneOf(&["emote", "action", "thought"])), needs("text", Type::Text)];

/// A message, whoever wrote it.
pub(crate) const MESSAGE: &[Field] = &[
    needs("id", Type::Text),
    needs("timestamp", Type::Time),
    needs("type", Type::OneOf(TYPES)),
    may("sender", Type::Object),
    may("sender.id", Type::Text),
    may("sender.name", Type::Text),
    may("sender.avatar", Type::Text),
    needs("content", Type::Object),
    needs("content.text", Type::Text),
    may("content.formatted_text", Type::Text),
    may("content.attachments", Type::Each(ATTACHMENT)),
    may("content.actions", Type::Each(ACTION)),
    may("metadata", Type::Object),
    may("metadata.is_edited", Type::Bool),
    may("metadata.edit_history", Type::List),
    may("metadata.is_regenerated", Type::Bool),
    may("metadata.regeneration_history", Type::List),
    may("metadata.tokens", Type::Number),
    may("metadata.processing_time_ms", Type::Number),
];

/// A snapshot of a tool. Changes are a list or, as the database has them, an object.
pub(crate) const SNAPSHOT: &[Field] = &[
    may("id", Type::Text),
    needs("timestamp", Type::Time),
    may("message_id", Type::Text),
    needs("tool_id", Type::Text),
    needs("state", Type::Object),
];

const BOOKMARK: &[Field] = &[
    needs("id", Type::Text),
    needs("name", Type::Text),
    may("description", Type::Text),
    needs("message_id", Type::Text),
    may("timestamp", Type::Time),
    may("tool_snapshot_ids", Type::Texts),
];

const MARKER: &[Field] = &[
    needs("id", Type::Text),
    needs("type", Type::OneOf(MARKERS)),
    needs("name", Type::Text),
    may("description", Type::Text),
    needs("message_id", Type::Text),
    may("timestamp", Type::Time),
];

const TOOL: &[Field] = &[needs("id", Type::Text), may("name", Type::Text)];

/// Everything but messages and snapshots.
pub(crate) const HEAD: &[Field] = &[
    needs("version", Type::Text),
    needs("type", Type::OneOf(&["chat-log"])),
    needs("metadata", Type::Object),
    needs("metadata.id", Type::Text),
    may("metadata.created", Type::Time),
    may("metadata.modified", Type::Time),
    may("metadata.series", Type::Text),
    may("metadata.title", Type::Text),
    needs("session", Type::Object),
    may("session.start_time", Type::Time),
    may("session.end_time", Type::Time),
    may("session.duration_seconds", Type::Number),
    may("session.message_count", Type::Number),
    may("session.protagonist", Type::Object),
    may("session.protagonist.name", Type::Text),
    may("session.protagonist.character_card_id", Type::Text),
    may("session.lorebook_id", Type::Text),
    may("session.support_tools", Type::Each(TOOL)),
    may("session.settings", Type::Object),
    may("session.settings.model", Type::Text),
    may("session.settings.temperature", Type::Number),
    may("session.settings.max_tokens", Type::Number),
    may("session.settings.narrator_prompt", Type::Text),
    may("session.settings.system_prompt", Type::Text),
    may("session.settings.theme_id", Type::Text),
    needs("messages", Type::List),
    may("tool_snapshots", Type::List),
    may("bookmarks", Type::Each(BOOKMARK)),
    may("narrative_markers", Type::Each(MARKER)),
    may("context_window", Type::Object),
    may("context_window.size", Type::Number),
    may("context_window.strategy", Type::OneOf(&["sliding", "fixed", "adaptive"])),
    may("context_window.included_messages", Type::Texts),
    may("context_window.included_tool_snapshots", Type::Texts),
    may("context_window.included_character_cards", Type::Texts),
    may("context_window.included_lorebook_entries", Type::Texts),
    may("export", Type::Object),
    may("export.formats", Type::Texts),
    may("export.last_exported", Type::Time),
    may("export.export_settings", Type::Object),
    may("export.export_settings.include_metadata", Type::Bool),
    may("export.export_settings.include_tool_snapshots", Type::Bool),
    may("export.export_settings.include_ooc_messages", Type::Bool),
    may("export.export_settings.formatting_style", Type::OneOf(&["minimal", "rich", "custom"])),
];

/// A time as chat logs have it: RFC 3339, or as SQLite writes it, in UTC.
pub(crate) fn time(text: &str) -> Option<Timestamp> {
    let sql = || format!("{}Z", text.replacen(' ', "T", 1)).parse().ok();
    text.parse().ok().or_else(sql)
}

fn a(kind: Kind) -> String {
    kind.to_string()
}

/// Everything in `tree` that is not as the table says, in words.
pub(crate) fn wrong(tree: &Tree, table: &[Field]) -> Vec<String> {
    if tree.kind() != Kind::Object {
        return vec![format!("it is {}, not an object", a(tree.kind()))];
    }
    let mut found = Vec::new();
    for field in table {
        let way: Vec<&str> = field.path.split('.').collect();
        // A way through something that is no object was reported there.
        let above = way.get(..way.len() - 1).unwrap_or_default();
        if tree.at(above).is_none_or(|above| above.kind() != Kind::Object) {
            continue;
        }
        match tree.at(&way).filter(|value| field.required || !value.is_null()) {
            Some(value) => found.extend(wrong_value(field.path, &value, field.what)),
            None if field.required => found.push(format!("it has no {}", field.path)),
            None => {}
        }
    }
    found
}

fn wrong_value(path: &str, value: &Tree, what: Type) -> Vec<String> {
    let kind = value.kind();
    let one = |wanted: &str| vec![format!("{path} is {}, not {wanted}", a(kind))];
    let expect = |wanted: Kind| if kind == wanted { Vec::new() } else { one(&a(wanted)) };
    let text = value.string_at::<&str>(&[]);
    match what {
        Type::Text => expect(Kind::String),
        Type::Bool => expect(Kind::Bool),
        Type::Number => expect(Kind::Number),
        Type::Object => expect(Kind::Object),
        Type::List => expect(Kind::Array),
        Type::Time => match text {
            Some(text) if time(&text).is_none() => {
                vec![format!("{path} is {text:?}, which is no time")]
            }
            _ => expect(Kind::String),
        },
        Type::OneOf(words) => match text {
            Some(text) if !words.contains(&text.as_str()) => {
                vec![format!("{path} is {text:?}, not one of {}", words.join(", "))]
            }
            _ => expect(Kind::String),
        },
        Type::Texts if kind == Kind::Array => {
            let list = value.children();
            let odd = list.iter().filter(|(_, value)| value.kind() != Kind::String);
            odd.map(|(at, value)| format!("{path}[{at}] is {}, not a string", value.kind()))
                .collect()
        }
        Type::Each(table) if kind == Kind::Array => {
            let list = value.children();
            let each = list.iter().flat_map(|(at, value)| {
                wrong(value, table).into_iter().map(move |what| format!("{path}[{at}]: {what}"))
            });
            each.collect()
        }
        Type::Texts | Type::Each(_) => expect(Kind::Array),
    }
}

/// The value with everything as the table says: what is wrong gets its default or, if the field need not be there,
/// is left out. Nothing, if a field is needed that has no default.
pub(crate) fn set_right(
    tree: &Tree,
    table: &[Field],
    default: &dyn Fn(&str) -> Option<Tree>,
) -> Option<Tree> {
    let mut tree = tree.clone();
    for field in table {
        let way: Vec<&str> = field.path.split('.').collect();
        let above = way.get(..way.len() - 1).unwrap_or_default();
        if tree.at(above).is_none_or(|above| above.kind() != Kind::Object) {
            continue;
        }
        let value = tree.at(&way).filter(|value| field.required || !value.is_null());
        let is_wrong = match &value {
            Some(value) => !wrong_value(field.path, value, field.what).is_empty(),
            None => field.required,
        };
        if !is_wrong {
            continue;
        }
        let path = Path::array(way.iter().copied());
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

/// The elements of a list that are as they must be.
fn good_elements(value: &Tree, what: Type) -> Option<Tree> {
    if value.kind() != Kind::Array {
        return None;
    }
    let is_good = |element: &Tree| match what {
        Type::Texts => element.kind() == Kind::String,
        Type::Each(table) => wrong(element, table).is_empty(),
        _ => true,
    };
    let good = value.children().into_iter().map(|(_, element)| element).filter(is_good);
    let text = format!("[{}]", good.map(|good| good.to_line()).collect::<Vec<_>>().join(","));
    Tree::parse(text).ok()
}

/// Every field of a table with a value of a wrong type, for tests of what becomes of it.
#[cfg(test)]
pub(crate) fn fields(table: &'static [Field]) -> impl Iterator<Item = (&'static str, bool)> {
    table.iter().map(|field| (field.path, field.required))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        assert_eq!(wrong(&Tree::parse(text).unwrap(), MESSAGE), expect, "{text}");
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
                "metadata.is_edited is a number, not a truth value",
                "metadata.tokens is a string, not a number",
            ],
        );
        check("[]", &["it is an array, not an object"]);
        check(
            r#"{"id":1,"timestamp":"noon","type":"bard","content":{"attachments":[{"type":"film"},3]}}"#,
            &[
                "id is a number, not a string",
                "timestamp is \"noon\", which is no time",
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
                // A value that is right for no field.
                let mut text = "[[\"odd\"]]".to_owned();
                for key in keys.iter().rev() {
                    text = format!("{{\"{key}\":{text}}}");
                }
                let tree = Tree::parse(text).unwrap();
                let found = wrong(&tree, table);
                let lists =
                    path == "messages" || path == "tool_snapshots" || path.ends_with("_history");
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
