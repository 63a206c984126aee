//! From the JSON of any family of lorebooks to a [`Lorebook`].

use std::collections::HashMap;

use thiserror::Error;

use super::keys::{Key, Matching, pattern_parts};
use super::{Entry, Logic, Lorebook, Place, Recursion, world};
use everturn_value::document::{Document, ParseError};
use everturn_value::outline::{flag_at, number_at, text_at, text_of};
use everturn_value::tree::{Kind, Tree};

/// Why a lorebook could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LorebookError {
    /// It is not JSON.
    #[error("the lorebook cannot be read: {0}")]
    Json(#[from] ParseError),
    /// It is JSON, and something else than a lorebook.
    #[error("this is no lorebook: {why}")]
    NotALorebook {
        /// What it is, or what it lacks.
        why: String,
    },
}

/// Keys are words; a longer text is a mistake, and searching for it costs time.
const MOST_OF_A_KEY: usize = 1024;

fn not_one(why: impl Into<String>) -> LorebookError {
    LorebookError::NotALorebook { why: why.into() }
}

impl Lorebook {
    /// Reads a lorebook; `id` is what it is called if it does not say so itself.
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
        let raw = Tree::parse(document.text().trim_start_matches('\u{feff}'))
            .map_err(|bad| not_one(format!("not JSON: {bad}")))?;
        if raw.kind() != Kind::Object {
            return Err(not_one(format!("it is {}, not an object", raw.kind())));
        }
        if let Some(kind) = text_at(&raw, &["type"]) {
            return match kind.as_str() {
                "lorebook" => Ok(world::lorebook(raw, id)),
                _ => Err(not_one(format!("its type is {kind:?}, not \"lorebook\""))),
            };
        }
        // A book on its own as Character Card V3 has it.
        let inner = text_at(&raw, &["spec"]).filter(|spec| spec == "lorebook_v3");
        if let Some(data) = inner.and_then(|_| raw.at(&["data"])) {
            return Ok(of_card(data, id));
        }
        match raw.at(&["entries"]).map(|entries| entries.kind()) {
            Some(Kind::Array | Kind::Object) => Ok(of_card(raw, id)),
            Some(kind) => Err(not_one(format!("its entries are {kind}, not an array or object"))),
            None => Err(not_one("it has no entries")),
        }
    }
}

/// An empty book with what a document says about itself.
pub(super) fn empty(raw: Tree, id: &str) -> Lorebook {
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

/// The book inside a card, or a world info file: both have `entries`, one a list, the other an object by number.
pub(crate) fn of_card(raw: Tree, id: &str) -> Lorebook {
    let mut book = empty(raw, id);
    let entries = book.raw.at(&["entries"]).unwrap_or_else(Tree::null);
    if !matches!(entries.kind(), Kind::Array | Kind::Object) {
        book.notes.push(format!("its entries are {}, not an array or object", entries.kind()));
    }
    add_entries(&mut book, &entries);
    book
}

/// Adds entries that are written out; those that are none are told.
pub(super) fn add_entries(book: &mut Lorebook, entries: &Tree) {
    let mut ids = Ids::of(book);
    for (at, value) in entries.children() {
        if value.kind() != Kind::Object {
            book.notes.push(format!("entry {at} is {}, not an object", value.kind()));
            continue;
        }
        let value = value.opened();
        let mut notes = Vec::new();
        let mut entry = entry(&value, &at, &mut notes);
        let plain = entry.id.clone();
        entry.id = ids.unused(&plain);
        if entry.id != plain {
            notes.push(format!("there is another entry {plain}; this one is called {}", entry.id));
        }
        book.notes.extend(notes.into_iter().map(|note| format!("entry {}: {note}", entry.id)));
        book.entries.push(entry);
    }
}

/// The ids that are taken, each with the number that its next namesake gets.
pub(super) struct Ids(HashMap<String, u64>);

impl Ids {
    pub(super) fn of(book: &Lorebook) -> Ids {
        Ids(book.entries.iter().map(|entry| (entry.id.clone(), 2)).collect())
    }

    /// An id that no entry has yet.
    pub(super) fn unused(&mut self, id: &str) -> String {
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

/// A field by the names it has in the families; fields of cards may also stand among the extensions.
struct Field<'a>(&'a Tree);

impl Field<'_> {
    fn find<T>(&self, names: &[&str], get: impl Fn(&Tree, &[&str]) -> Option<T>) -> Option<T> {
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

fn entry(value: &Tree, at: &str, notes: &mut Vec<String>) -> Entry {
    let field = Field(value);
    let id = ["id", "uid"].iter().find_map(|key| {
        let id = value.at(&[key]).filter(|id| !id.is_null())?;
        Some(text_of(&id).unwrap_or_else(|| id.to_line()))
    });
    let (content, decorated) = undecorated(text_at(value, &["content"]).unwrap_or_default(), notes);
    if value.at(&["content"]).is_none_or(|content| content.kind() != Kind::String) {
        notes.push("it has no content".to_owned());
    }
    let matching = Matching {
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
    Entry {
        id: id.unwrap_or_else(|| at.to_owned()),
        name: field.find(&["name", "comment"], text_at).unwrap_or_default(),
        keys: keys(value, &["keys", "key"], matching, patterns, notes),
        secondary: keys(value, secondary, matching, patterns, notes),
        logic: logic(field.number(&["selectiveLogic", "selective_logic"])),
        content,
        enabled: field.flag(&["enabled"]).unwrap_or(true) && !off && !never(&field),
        constant: field.flag(&["constant"]).unwrap_or_default() || decorated.always,
        order,
        priority: field.number(&["priority"]).unwrap_or(order),
        place: place(value, &field),
        scan_depth: decorated.scan_depth.or_else(|| field.size(&["scan_depth", "scanDepth"])),
        recursion: Recursion {
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

/// The keys of an entry; a string stands for its parts between commas.
fn keys(
    value: &Tree,
    names: &[&str],
    matching: Matching,
    patterns: bool,
    notes: &mut Vec<String>,
) -> Vec<Key> {
    let Some(list) = names.iter().find_map(|name| value.at(&[name])) else { return Vec::new() };
    let texts: Vec<String> = match text_of(&list) {
        Some(text) => text.split(',').map(str::to_owned).collect(),
        None => list.children().iter().filter_map(|(_, key)| text_of(key)).collect(),
    };
    let mut keys = Vec::with_capacity(texts.len());
    for text in texts {
        if text.len() > MOST_OF_A_KEY {
            notes.push(format!("a key of {} bytes is not looked for", text.len()));
            continue;
        }
        let parts = pattern_parts(&text).or_else(|| patterns.then_some((text.as_str(), "")));
        match parts.map(|(body, flags)| Key::pattern(&text, body, flags)) {
            None => keys.push(Key::words(&text, matching)),
            Some(Ok(key)) => keys.push(key),
            Some(Err(why)) => notes.push(why),
        }
    }
    keys
}

fn logic(number: Option<i64>) -> Logic {
    match number {
        Some(1) => Logic::NotAllOf,
        Some(2) => Logic::NoneOf,
        Some(3) => Logic::AllOf,
        _ => Logic::AnyOf,
    }
}

/// Where an entry belongs: a word in cards, a number in world info. Places of which there is nothing here are behind
/// the characters.
fn place(value: &Tree, field: &Field<'_>) -> Place {
    let depth = || field.size(&["depth"]).unwrap_or(4);
    match field.number(&["position"]) {
        Some(0) => Place::Before,
        Some(4) => Place::Depth(depth()),
        Some(_) => Place::After,
        None => match text_at(value, &["position"]).as_deref() {
            Some("before_char") => Place::Before,
            Some("at_depth") => Place::Depth(depth()),
            _ => Place::After,
        },
    }
}

/// Whether chance says that the entry never turns up.
fn never(field: &Field<'_>) -> bool {
    field.flag(&["use_probability", "useProbability"]).unwrap_or(true)
        && field.number(&["probability"]) == Some(0)
}

/// What depends on chance or on time is told, because it is not done.
fn warn_of_chance(field: &Field<'_>, notes: &mut Vec<String>) {
    let by_chance = field.flag(&["use_probability", "useProbability"]).unwrap_or(true);
    let percent = field.number(&["probability"]).unwrap_or(100);
    if by_chance && (1..100).contains(&percent) {
        notes.push(format!("it should turn up in {percent} of 100 cases, and always does"));
    }
    let timed = ["sticky", "cooldown", "delay"];
    for name in timed.iter().filter(|name| field.number(&[name]).is_some_and(|it| it > 0)) {
        notes.push(format!("{name} is not supported"));
    }
    if field.flag(&["vectorized"]).unwrap_or_default() {
        notes.push("it is not found by its meaning, only by its keys".to_owned());
    }
}

/// What the lines that start with `@@` say.
#[derive(Default)]
struct Decorated {
    always: bool,
    off: bool,
    scan_depth: Option<usize>,
}

/// A content without the lines at its beginning that start with `@@`, which are not for the narrator.
fn undecorated(content: String, notes: &mut Vec<String>) -> (String, Decorated) {
    let mut decorated = Decorated::default();
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
        assert_eq!(entry.keys.iter().map(Key::text).collect::<Vec<_>>(), ["Lugnica", "/kingdom/i"]);
        assert_eq!(entry.logic, Logic::AllOf);
        assert_eq!((entry.order, entry.priority), (100, 100));
        assert_eq!(entry.place, Place::Depth(2));
        assert_eq!(entry.scan_depth, Some(7));
        assert_eq!(entry.recursion, Recursion { excluded: true, prevents: true, waits: false });
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
        assert!(entry.constant && matches!(entry.keys[0], Key::Pattern { .. }));
        assert_eq!((entry.order, entry.priority, entry.scan_depth), (5, 2, Some(9)));
        assert_eq!(entry.place, Place::Before);
        assert_eq!(
            book.notes,
            [
                "entry 0: @@depth is not supported",
                "entry 0: it should turn up in 40 of 100 cases, and always does",
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
            "is called 1-2",
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
