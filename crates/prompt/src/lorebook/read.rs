//! Parses the JSON of all families of lorebooks to a [`Lorebook`].

use std::collections::HashMap;

use thiserror::Error;

use super::keys::{LorebookKey, MatchOptions, pattern_parts};
use super::{KeyLogic, Lorebook, LorebookEntry, PromptPosition, RecursionRules, world_book};
use crate::card::unify_lines;
use everturn_value::document::{Document, ParseError};
use everturn_value::outline::{flag_at, number_at, text_at, text_of};
use everturn_value::tree::{JsonTree, ValueKind};

/// Why a lorebook could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LorebookError {
    /// It is not JSON.
    #[error("the lorebook cannot be read: {0}")]
    Json(#[from] ParseError),
    /// It is JSON, but not a lorebook.
    #[error("not a lorebook: {why}")]
    NotALorebook {
        /// What it is, or what it lacks.
        why: String,
    },
}

/// The maximum length of a key; a longer one is a mistake, and searching for it costs time.
const MOST_OF_A_KEY: usize = 1024;

fn not_a_lorebook(why: impl Into<String>) -> LorebookError {
    LorebookError::NotALorebook { why: why.into() }
}

impl Lorebook {
    /// Reads a lorebook; `id` is its ID if it has none of its own.
    ///
    /// ```
    /// use everturn_prompt::lorebook::Lorebook;
    ///
    /// let book = Lorebook::read(br#"{"entries": [{"keys": ["Lugnica"], "content": "A kingdom."}]}"#, "lb")?;
    /// assert_eq!(book.entries[0].keys[0].text(), "Lugnica");
    /// # Ok::<(), everturn_prompt::lorebook::LorebookError>(())
    /// ```
    pub fn read(bytes: &[u8], id: &str) -> Result<Lorebook, LorebookError> {
        let document = Document::parse(bytes)?;
        let raw = JsonTree::parse(document.text().trim_start_matches('\u{feff}'))
            .map_err(|bad| not_a_lorebook(format!("not JSON: {bad}")))?;
        if raw.kind() != ValueKind::Object {
            return Err(not_a_lorebook(format!("it is {}, not an object", raw.kind())));
        }
        if let Some(kind) = text_at(&raw, &["type"]) {
            return match kind.as_str() {
                "lorebook" => Ok(world_book::read_world(raw, id)),
                _ => Err(not_a_lorebook(format!("its type is {kind:?}, not \"lorebook\""))),
            };
        }
        // A separate book in the form of Character Card V3.
        let inner = text_at(&raw, &["spec"]).filter(|spec| spec == "lorebook_v3");
        if let Some(data) = inner.and_then(|_| raw.value_at(&["data"])) {
            return Ok(from_card(data, id));
        }
        match raw.value_at(&["entries"]).map(|entries| entries.kind()) {
            Some(ValueKind::Array | ValueKind::Object) => Ok(from_card(raw, id)),
            Some(kind) => {
                Err(not_a_lorebook(format!("its entries are {kind}, not an array or object")))
            }
            None => Err(not_a_lorebook("it has no entries")),
        }
    }
}

/// An empty book with the metadata of a document.
pub(super) fn empty_lorebook(raw: JsonTree, id: &str) -> Lorebook {
    let size = |key: &str| number_at(&raw, &[key]).and_then(|size| usize::try_from(size).ok());
    Lorebook {
        id: id.to_owned(),
        name: text_at(&raw, &["name"]).unwrap_or_default(),
        scan_depth: size("scan_depth"),
        token_budget: size("token_budget"),
        recursive: flag_at(&raw, &["recursive_scanning"]).unwrap_or_default(),
        entries: Vec::new(),
        notes: Vec::new(),
        raw,
    }
}

/// The book inside a card, or a world info file: `entries` is a list in the former, an object by number in the latter.
pub(crate) fn from_card(raw: JsonTree, id: &str) -> Lorebook {
    let mut book = empty_lorebook(raw, id);
    let entries = book.raw.value_at(&["entries"]).unwrap_or_else(JsonTree::null);
    if !matches!(entries.kind(), ValueKind::Array | ValueKind::Object) {
        book.notes.push(format!("its entries are {}, not an array or object", entries.kind()));
    }
    add_entries(&mut book, &entries);
    book
}

/// Adds the entries of a list; invalid ones are noted.
pub(super) fn add_entries(book: &mut Lorebook, entries: &JsonTree) {
    let mut ids = UniqueIds::of(book);
    for (at, value) in entries.children() {
        if value.kind() != ValueKind::Object {
            book.notes.push(format!("entry {at} is {}, not an object", value.kind()));
            continue;
        }
        let value = value.into_expanded();
        let mut notes = Vec::new();
        let mut entry = read_entry(&value, &at, &mut notes);
        let plain = entry.id.clone();
        entry.id = ids.make_unique(&plain);
        if entry.id != plain {
            notes.push(format!("duplicate entry {plain}; renamed to {}", entry.id));
        }
        book.notes.extend(notes.into_iter().map(|note| format!("entry {}: {note}", entry.id)));
        book.entries.push(entry);
    }
}

/// The IDs in use, each with the number that the next duplicate gets.
pub(super) struct UniqueIds(HashMap<String, u64>);

impl UniqueIds {
    pub(super) fn of(book: &Lorebook) -> UniqueIds {
        UniqueIds(book.entries.iter().map(|entry| (entry.id.clone(), 2)).collect())
    }

    /// An ID that no entry has yet.
    pub(super) fn make_unique(&mut self, id: &str) -> String {
        let mut candidate = id.to_owned();
        while self.0.contains_key(&candidate) {
            let number = self.0.entry(id.to_owned()).or_insert(2);
            candidate = format!("{id}-{number}");
            *number += 1;
        }
        self.0.insert(candidate.clone(), 2);
        candidate
    }
}

/// Looks up a field by its names in all families; fields of cards may also be among the extensions.
struct FieldLookup<'a>(&'a JsonTree);

impl FieldLookup<'_> {
    fn find<T>(&self, names: &[&str], get: impl Fn(&JsonTree, &[&str]) -> Option<T>) -> Option<T> {
        let here = names.iter().find_map(|name| get(self.0, &[name]));
        here.or_else(|| names.iter().find_map(|name| get(self.0, &["extensions", name])))
    }

    fn flag(&self, names: &[&str]) -> Option<bool> {
        self.find(names, flag_at)
    }

    fn number(&self, names: &[&str]) -> Option<i64> {
        self.find(names, number_at)
    }

    fn size(&self, names: &[&str]) -> Option<usize> {
        self.number(names).and_then(|number| usize::try_from(number).ok())
    }
}

fn read_entry(value: &JsonTree, at: &str, notes: &mut Vec<String>) -> LorebookEntry {
    let field = FieldLookup(value);
    let id = ["id", "uid"].iter().find_map(|key| {
        let id = value.value_at(&[key]).filter(|id| !id.is_null())?;
        Some(text_of(&id).unwrap_or_else(|| id.to_line()))
    });
    let (content, decorated) =
        strip_decorators(unify_lines(&text_at(value, &["content"]).unwrap_or_default()), notes);
    if value.value_at(&["content"]).is_none_or(|content| content.kind() != ValueKind::String) {
        notes.push("it has no content".to_owned());
    }
    let matching = MatchOptions {
        case_sensitive: field.flag(&["case_sensitive", "caseSensitive"]).unwrap_or_default(),
        whole_words: field.flag(&["match_whole_words", "matchWholeWords"]).unwrap_or_default(),
    };
    let patterns = field.flag(&["use_regex"]).unwrap_or_default();
    let selective = field.flag(&["selective"]).unwrap_or(true);
    let secondary = if selective { &["secondary_keys", "keysecondary"][..] } else { &[] };
    let order = field.number(&["insertion_order", "order"]).unwrap_or_default();
    warn_of_chance(&field, notes);
    let off = field.flag(&["disable"]).unwrap_or_default() || decorated.off;
    let group = field.find(&["group"], text_at).unwrap_or_default();
    LorebookEntry {
        id: id.unwrap_or_else(|| at.to_owned()),
        name: field.find(&["name", "comment"], text_at).unwrap_or_default(),
        keys: read_keys(value, &["keys", "key"], matching, patterns, notes),
        secondary: read_keys(value, secondary, matching, patterns, notes),
        logic: read_logic(field.number(&["selectiveLogic", "selective_logic"])),
        content,
        enabled: field.flag(&["enabled"]).unwrap_or(true) && !off && !has_zero_probability(&field),
        constant: field.flag(&["constant"]).unwrap_or_default() || decorated.always,
        order,
        priority: field.number(&["priority"]).unwrap_or(order),
        place: read_position(value, &field),
        scan_depth: decorated.scan_depth.or_else(|| field.size(&["scan_depth", "scanDepth"])),
        recursion: RecursionRules {
            excluded: field.flag(&["exclude_recursion", "excludeRecursion"]).unwrap_or_default(),
            prevents: field.flag(&["prevent_recursion", "preventRecursion"]).unwrap_or_default(),
            waits: field
                .flag(&["delay_until_recursion", "delayUntilRecursion"])
                .unwrap_or_default(),
        },
        groups: group
            .split(',')
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect(),
    }
}

/// The keys of an entry; a string is split at commas.
fn read_keys(
    value: &JsonTree,
    names: &[&str],
    matching: MatchOptions,
    patterns: bool,
    notes: &mut Vec<String>,
) -> Vec<LorebookKey> {
    let Some(list) = names.iter().find_map(|name| value.value_at(&[name])) else {
        return Vec::new();
    };
    let texts: Vec<String> = match text_of(&list) {
        Some(text) => text.split(',').map(str::to_owned).collect(),
        None => list.children().iter().filter_map(|(_, key)| text_of(key)).collect(),
    };
    let mut keys = Vec::with_capacity(texts.len());
    for text in texts {
        if text.len() > MOST_OF_A_KEY {
            notes.push(format!("a key of {} bytes is too long and is ignored", text.len()));
            continue;
        }
        let parts = pattern_parts(&text).or_else(|| patterns.then_some((text.as_str(), "")));
        match parts.map(|(body, flags)| LorebookKey::pattern(&text, body, flags)) {
            None => keys.push(LorebookKey::words(&text, matching)),
            Some(Ok(key)) => keys.push(key),
            Some(Err(why)) => notes.push(why),
        }
    }
    keys
}

fn read_logic(number: Option<i64>) -> KeyLogic {
    match number {
        Some(1) => KeyLogic::NotAllOf,
        Some(2) => KeyLogic::NoneOf,
        Some(3) => KeyLogic::AllOf,
        _ => KeyLogic::AnyOf,
    }
}

/// The position of an entry: a word in cards, a number in world info. Unsupported positions become the one after the
/// characters.
fn read_position(value: &JsonTree, field: &FieldLookup<'_>) -> PromptPosition {
    let depth = || field.size(&["depth"]).unwrap_or(4);
    match field.number(&["position"]) {
        Some(0) => PromptPosition::Before,
        Some(4) => PromptPosition::Depth(depth()),
        Some(_) => PromptPosition::After,
        None => match text_at(value, &["position"]).as_deref() {
            Some("before_char") => PromptPosition::Before,
            Some("at_depth") => PromptPosition::Depth(depth()),
            _ => PromptPosition::After,
        },
    }
}

/// Whether the probability of the entry is zero.
fn has_zero_probability(field: &FieldLookup<'_>) -> bool {
    field.flag(&["use_probability", "useProbability"]).unwrap_or(true)
        && field.number(&["probability"]) == Some(0)
}

/// Adds notes for probabilities and timing, which are not supported.
fn warn_of_chance(field: &FieldLookup<'_>, notes: &mut Vec<String>) {
    let by_chance = field.flag(&["use_probability", "useProbability"]).unwrap_or(true);
    let percent = field.number(&["probability"]).unwrap_or(100);
    if by_chance && (1..100).contains(&percent) {
        notes.push(format!("a probability of {percent}% is not supported; it is always included"));
    }
    let timed = ["sticky", "cooldown", "delay"];
    for name in timed.iter().filter(|name| field.number(&[name]).is_some_and(|it| it > 0)) {
        notes.push(format!("{name} is not supported"));
    }
    if field.flag(&["vectorized"]).unwrap_or_default() {
        notes.push("vector search is not supported; it is found only by its keys".to_owned());
    }
}

/// The decorators of an entry: lines that start with `@@`.
#[derive(Default)]
struct EntryDecorators {
    always: bool,
    off: bool,
    scan_depth: Option<usize>,
}

/// Removes the lines at the start of a content that start with `@@`, which are not for the narrator.
fn strip_decorators(content: String, notes: &mut Vec<String>) -> (String, EntryDecorators) {
    let mut decorated = EntryDecorators::default();
    if !content.trim_start().starts_with("@@") {
        return (content, decorated);
    }
    let mut rest = content.trim_start();
    while rest.starts_with("@@") {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let mut words = line.trim().trim_start_matches('@').split_whitespace();
        match (words.next().unwrap_or_default(), words.next()) {
            ("activate" | "constant", _) => decorated.always = true,
            ("dont_activate", _) => decorated.off = true,
            ("scan_depth", Some(depth)) => decorated.scan_depth = depth.parse().ok(),
            (other, _) => notes.push(format!("@@{other} is not supported")),
        }
        rest = after.trim_start();
    }
    (rest.to_owned(), decorated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_info_file_is_read() {
        let book = Lorebook::read(
            r#"{"entries": {"0": {"uid": 0, "key": ["Lugnica", "/kingdom/i"], "keysecondary": ["king"],
            "comment": "The kingdom", "content": "A kingdom.", "constant": false, "vectorized": false,
            "selective": true, "selectiveLogic": 3, "addMemo": true, "order": 100, "position": 4,
            "disable": false, "excludeRecursion": true, "preventRecursion": true,
            "delayUntilRecursion": false, "probability": 100, "useProbability": true, "depth": 2,
            "group": "places, lands", "groupOverride": false, "groupWeight": 100, "scanDepth": 7,
            "caseSensitive": null, "matchWholeWords": true, "useGroupScoring": null,
            "automationId": "", "role": 0, "sticky": 0, "cooldown": null, "delay": 0,
            "displayIndex": 0}}, "originalData": {"x": 1}}"#
                .as_bytes(),
            "rezero",
        )
        .unwrap();
        assert_eq!(book.notes, [""; 0]);
        let [entry] = &book.entries[..] else { panic!() };
        assert_eq!((entry.id.as_str(), entry.name.as_str()), ("0", "The kingdom"));
        assert_eq!(
            entry.keys.iter().map(LorebookKey::text).collect::<Vec<_>>(),
            ["Lugnica", "/kingdom/i"]
        );
        assert_eq!(entry.logic, KeyLogic::AllOf);
        assert_eq!((entry.order, entry.priority), (100, 100));
        assert_eq!(entry.place, PromptPosition::Depth(2));
        assert_eq!(entry.scan_depth, Some(7));
        assert_eq!(
            entry.recursion,
            RecursionRules { excluded: true, prevents: true, waits: false }
        );
        assert_eq!(entry.groups, ["places", "lands"]);
        assert!(entry.enabled && !entry.constant);
        assert_eq!(book.raw.text_at(&["originalData", "x"]).as_deref(), Some("1"));
    }

    #[test]
    fn a_book_of_a_card_is_read() {
        let book = Lorebook::read(
            br#"{"spec": "lorebook_v3", "data": {"name": "World", "scan_depth": 2, "token_budget": 500,
            "recursive_scanning": true, "entries": [{"keys": ["a.c"], "use_regex": true, "content":
            "@@depth 3\n@@scan_depth 9\n@@activate\nTold.", "enabled": true, "insertion_order": 5,
            "priority": 2, "position": "before_char", "extensions": {"probability": 40, "sticky": 2}}]}}"#,
            "lb",
        )
        .unwrap();
        assert_eq!((book.id.as_str(), book.name.as_str()), ("lb", "World"));
        assert_eq!(
            (book.scan_depth, book.token_budget, book.recursive),
            (Some(2), Some(500), true)
        );
        let [entry] = &book.entries[..] else { panic!() };
        assert_eq!(entry.content, "Told.");
        assert!(entry.constant && matches!(entry.keys[0], LorebookKey::Pattern { .. }));
        assert_eq!((entry.order, entry.priority, entry.scan_depth), (5, 2, Some(9)));
        assert_eq!(entry.place, PromptPosition::Before);
        assert_eq!(
            book.notes,
            [
                "entry 0: @@depth is not supported",
                "entry 0: a probability of 40% is not supported; it is always included",
                "entry 0: sticky is not supported"
            ]
        );
    }

    #[test]
    fn odd_entries_are_told_and_the_others_read() {
        let check = |entries: &str, count: usize, note: &str| {
            let text = format!(r#"{{"entries": {entries}}}"#);
            let book = Lorebook::read(text.as_bytes(), "lb").unwrap();
            assert_eq!(book.entries.len(), count, "{entries}");
            let found = book.notes.iter().any(|it| it.contains(note));
            assert!(found, "{entries}: {:?}", book.notes);
        };
        check("[3, {\"content\": \"x\"}]", 1, "entry 0 is a number");
        check("[{\"keys\": [\"/(?=x)/\"], \"content\": \"x\"}]", 1, "is not supported");
        check("[{\"keys\": [\"a\"]}]", 1, "it has no content");
        check(
            "[{\"id\": 1, \"content\": \"x\"}, {\"id\": 1, \"content\": \"x\"}]",
            2,
            "renamed to 1-2",
        );
        check("[{\"content\": \"x\", \"vectorized\": true}]", 1, "only by its keys");
        let long = "a".repeat(2000);
        check(&format!(r#"[{{"content": "x", "keys": ["{long}"]}}]"#), 1, "2000 bytes");
    }

    #[test]
    fn what_is_no_lorebook_is_refused_with_the_reason() {
        let check = |bytes: &[u8], expect: &str| {
            let error = Lorebook::read(bytes, "id").unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        check(b"", "empty");
        check(b"{", "not JSON");
        check(b"[]", "it is an array");
        check(b"{}", "it has no entries");
        check(b"{\"entries\": 3}", "its entries are a number");
        check(b"{\"type\": \"character\"}", "its type is \"character\"");
    }
}
