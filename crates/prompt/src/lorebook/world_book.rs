//! Lorebooks of the format beside chat logs, which describe a world and have no keys.
//!
//! Every named object becomes an entry that is activated by its name. The rest is always active, as one entry for each
//! section. A book that also has `entries` is read like other books.

use super::keys::{LorebookKey, MatchOptions};
use super::read::{UniqueIds, add_entries, empty_lorebook};
use super::{KeyLogic, Lorebook, LorebookEntry, PromptPosition, RecursionRules};
use everturn_value::outline::{ValueOutline, format_label, text_at};
use everturn_value::tree::{JsonTree, ValueKind};

/// The sections that are used, most important first.
const SECTIONS: &[&str] =
    &["world", "rules", "narrator_guidance", "narrative_elements", "series_specific"];

pub(super) fn read_world(raw: JsonTree, id: &str) -> Lorebook {
    let mut book = empty_lorebook(raw, id);
    if let Some(id) = text_at(&book.raw, &["metadata", "id"]) {
        book.id = id;
    }
    if let Some(title) = text_at(&book.raw, &["metadata", "title"]) {
        book.name = title;
    }
    if let Some(entries) = book.raw.value_at(&["entries"]) {
        add_entries(&mut book, &entries);
    }
    let mut ids = UniqueIds::of(&book);
    for (section, priority) in SECTIONS.iter().zip((0..).map(|place: i64| -place)) {
        let Some(value) = book.raw.value_at(&[section]) else { continue };
        if !matches!(value.kind(), ValueKind::Object | ValueKind::Array | ValueKind::String) {
            book.notes.push(format!("{section} is {}, not an object", value.kind()));
            continue;
        }
        let ValueOutline { lines, named } = ValueOutline::from_value(&value, "");
        if !lines.is_empty() {
            let id = ids.make_unique(&format!("lb-entry-{}", slug(section)));
            let content = lines.join("\n");
            book.entries.push(world_entry(id, format_label(section), content, priority, true));
        }
        for named in named {
            let id = ids.make_unique(&format!("lb-entry-{}", slug(&named.name)));
            book.entries.push(world_entry(id, named.name, named.text, priority, false));
        }
    }
    book
}

fn world_entry(
    id: String,
    name: String,
    content: String,
    priority: i64,
    constant: bool,
) -> LorebookEntry {
    let matching = MatchOptions { case_sensitive: false, whole_words: true };
    LorebookEntry {
        id,
        keys: if constant { Vec::new() } else { vec![LorebookKey::words(&name, matching)] },
        name,
        secondary: Vec::new(),
        logic: KeyLogic::AnyOf,
        content,
        enabled: true,
        constant,
        order: -priority,
        priority,
        place: PromptPosition::After,
        scan_depth: None,
        recursion: RecursionRules::default(),
        groups: Vec::new(),
    }
}

/// A name as a part of an ID: letters and digits in lower case, hyphens between them.
fn slug(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_alphanumeric());
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::super::{ScanOptions, activate_entries};
    use super::*;

    const WORLD: &str = r#"{"version": "1.0", "type": "lorebook",
        "metadata": {"id": "lb-rezero", "title": "Lugnica", "series": "Re:Zero"},
        "world": {"overview": "A land of dragons.", "geography": {"regions": [
            {"name": "Lugnica", "description": "A kingdom.", "notable_locations": [
                {"name": "The Capital", "description": "Big."}], "climate": "mild"}],
            "maps": [{"name": "Map", "image": "AAAA"}]}},
        "rules": {"magic_system": {"overview": "Spirits.", "types": [{"name": "Return by Death", "limitations": "Pain."}]}},
        "narrative_elements": {"themes": ["loss", "hope"]},
        "visualization": {"style_guide": "dark"}}"#;

    #[test]
    fn names_become_keys_and_the_rest_is_told_always() {
        let book = Lorebook::read(WORLD.as_bytes(), "given").unwrap();
        assert_eq!((book.id.as_str(), book.name.as_str()), ("lb-rezero", "Lugnica"));
        let told: Vec<(&str, &str)> =
            book.entries.iter().map(|it| (it.id.as_str(), it.content.as_str())).collect();
        assert_eq!(
            told,
            [
                ("lb-entry-world", "Overview: A land of dragons."),
                ("lb-entry-lugnica", "Lugnica\nDescription: A kingdom.\nClimate: mild"),
                ("lb-entry-the-capital", "The Capital\nDescription: Big."),
                ("lb-entry-map", "Map"),
                ("lb-entry-rules", "Overview: Spirits."),
                ("lb-entry-return-by-death", "Return by Death\nLimitations: Pain."),
                ("lb-entry-narrative-elements", "Themes: loss, hope"),
            ]
        );
    }

    #[test]
    fn named_things_turn_up_with_their_names() {
        let book = Lorebook::read(WORLD.as_bytes(), "given").unwrap();
        let activation =
            activate_entries(&book, &["He used return by death."], &ScanOptions::default());
        let ids: Vec<&str> = activation.active.iter().map(|it| it.entry.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "lb-entry-world",
                "lb-entry-rules",
                "lb-entry-return-by-death",
                "lb-entry-narrative-elements"
            ]
        );
    }

    #[test]
    fn entries_that_are_written_out_come_first_and_names_stay_apart() {
        let text = r#"{"type": "lorebook", "entries": [{"id": "lb-entry-a", "keys": ["x"], "content": "y"}],
            "world": {"factions": [{"name": "A"}, {"name": "a!"}]}, "rules": 3}"#;
        let book = Lorebook::read(text.as_bytes(), "given").unwrap();
        let ids: Vec<&str> = book.entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, ["lb-entry-a", "lb-entry-a-2", "lb-entry-a-3"]);
        assert_eq!(book.notes, ["rules is a number, not an object"]);
    }
}
