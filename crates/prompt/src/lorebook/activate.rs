//! [`activate_entries`]: which entries are activated, and why.

use std::collections::{HashMap, HashSet};

use super::keys::{Haystack, LorebookKey};
use super::{KeyLogic, Lorebook, LorebookEntry};
use crate::tokens;

/// The most bytes of a text that are searched, from its end.
const MOST_SEARCHED: usize = 1 << 20;

/// Options of the search, for books that do not define them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanOptions {
    /// The number of newest texts that are searched.
    pub depth: usize,
    /// The maximum depth of recursive activation.
    pub recursions: usize,
}

impl Default for ScanOptions {
    fn default() -> ScanOptions {
        ScanOptions { depth: 4, recursions: 8 }
    }
}

/// Why an entry was activated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActivationReason {
    /// It is always active.
    Constant,
    /// A key occurs in one of the texts.
    Text {
        /// The key.
        key: String,
        /// The number of texts that are newer.
        depth: usize,
    },
    /// A key occurs in another entry.
    Entry {
        /// The key.
        key: String,
        /// The ID of the other entry.
        by: String,
    },
}

/// An activated entry.
#[derive(Debug, Clone)]
pub struct ActiveEntry<'a> {
    /// The entry.
    pub entry: &'a LorebookEntry,
    /// Why it was activated.
    pub reason: ActivationReason,
    /// The tokens of its content.
    pub tokens: usize,
}

/// An entry that was activated but is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedEntry {
    /// The ID of the entry.
    pub id: String,
    /// Why it is not used.
    pub why: String,
}

/// The activated entries of a lorebook.
#[derive(Debug, Clone, Default)]
pub struct Activation<'a> {
    /// The entries to use, in prompt order.
    pub active: Vec<ActiveEntry<'a>>,
    /// Activated entries that are skipped.
    pub passed: Vec<SkippedEntry>,
}

/// Finds the entries that `recent`, newest text first, activates.
#[must_use]
pub fn activate_entries<'a>(
    book: &'a Lorebook,
    recent: &[&str],
    scan: &ScanOptions,
) -> Activation<'a> {
    let hays: Vec<Haystack<'_>> =
        recent.iter().map(|text| Haystack::new(searched_tail(text))).collect();
    let depth = book.scan_depth.unwrap_or(scan.depth);
    let usable = |entry: &&LorebookEntry| entry.enabled && !entry.content.is_empty();
    let mut waiting: Vec<&LorebookEntry> = Vec::new();
    let mut found: Vec<(&LorebookEntry, ActivationReason)> = Vec::new();
    for entry in book.entries.iter().filter(usable) {
        let texts = hays.iter().take(entry.scan_depth.unwrap_or(depth)).collect::<Vec<_>>();
        let reason = match (entry.constant, entry.recursion.waits) {
            (true, _) => Some(ActivationReason::Constant),
            (false, true) => None,
            (false, false) => matching_key(entry, &texts)
                .map(|(key, depth)| ActivationReason::Text { key: key.text().to_owned(), depth }),
        };
        match reason {
            Some(reason) => found.push((entry, reason)),
            None => waiting.push(entry),
        }
    }
    if book.recursive {
        activate_recursively(&mut found, waiting, scan.recursions);
    }
    let mut activation = Activation::default();
    let found = one_per_group(found, &mut activation.passed);
    within_budget(found, book.token_budget, &mut activation);
    activation.active.sort_by_key(|active| active.entry.order);
    activation
}

/// The end of a very long text.
fn searched_tail(text: &str) -> &str {
    let from = text.len().saturating_sub(MOST_SEARCHED);
    text.get(text.ceil_char_boundary(from)..).unwrap_or(text)
}

/// The key that activates an entry, and the index of the text in which it occurs.
fn matching_key<'a>(
    entry: &'a LorebookEntry,
    texts: &[&Haystack<'_>],
) -> Option<(&'a LorebookKey, usize)> {
    let place = |key: &LorebookKey| texts.iter().position(|text| key.matches(text));
    let first = entry.keys.iter().filter(|key| !key.is_empty());
    let found = first.filter_map(|key| Some((key, place(key)?))).next()?;
    let mut secondary = entry.secondary.iter().filter(|key| !key.is_empty()).peekable();
    if secondary.peek().is_none() {
        return Some(found);
    }
    let is_there = |key: &LorebookKey| place(key).is_some();
    let agrees = match entry.logic {
        KeyLogic::AnyOf => secondary.any(is_there),
        KeyLogic::AllOf => secondary.all(is_there),
        KeyLogic::NoneOf => !secondary.any(is_there),
        KeyLogic::NotAllOf => !secondary.all(is_there),
    };
    agrees.then_some(found)
}

/// Lets entries activate others, up to `times` levels deep.
fn activate_recursively<'a>(
    found: &mut Vec<(&'a LorebookEntry, ActivationReason)>,
    mut waiting: Vec<&'a LorebookEntry>,
    times: usize,
) {
    let mut from = 0;
    for _ in 0..times {
        let newest = found.get(from..).unwrap_or_default();
        let tellers: Vec<&LorebookEntry> =
            newest.iter().map(|(entry, _)| *entry).filter(|it| !it.recursion.prevents).collect();
        let hays: Vec<Haystack<'_>> =
            tellers.iter().map(|entry| Haystack::new(searched_tail(&entry.content))).collect();
        let texts: Vec<&Haystack<'_>> = hays.iter().collect();
        from = found.len();
        waiting.retain(|entry| {
            let up = (!entry.recursion.excluded).then(|| matching_key(entry, &texts)).flatten();
            let Some((key, at)) = up else { return true };
            let by = tellers.get(at).map(|entry| entry.id.clone()).unwrap_or_default();
            found.push((entry, ActivationReason::Entry { key: key.text().to_owned(), by }));
            false
        });
        if from == found.len() {
            return;
        }
    }
}

/// Of the entries of a group, keeps the one with the highest order; among equals, the first.
fn one_per_group<'a>(
    found: Vec<(&'a LorebookEntry, ActivationReason)>,
    passed: &mut Vec<SkippedEntry>,
) -> Vec<(&'a LorebookEntry, ActivationReason)> {
    let mut best: HashMap<&str, &LorebookEntry> = HashMap::new();
    for (entry, _) in &found {
        for group in &entry.groups {
            let first = best.entry(group).or_insert(entry);
            if entry.order > first.order {
                *first = entry;
            }
        }
    }
    let mut kept = Vec::with_capacity(found.len());
    for (entry, reason) in found {
        let better = entry.groups.iter().find_map(|group| {
            best.get(group.as_str()).filter(|best| best.id != entry.id).map(|best| (group, best))
        });
        match better {
            None => kept.push((entry, reason)),
            Some((group, best)) => passed.push(SkippedEntry {
                id: entry.id.clone(),
                why: format!("{} of the group {group:?} is used instead", best.id),
            }),
        }
    }
    kept
}

/// Keeps the entries that fit into the budget: constant entries first, then by priority.
fn within_budget<'a>(
    found: Vec<(&'a LorebookEntry, ActivationReason)>,
    budget: Option<usize>,
    activation: &mut Activation<'a>,
) {
    let mut left = budget.unwrap_or(usize::MAX);
    let mut ranked = found;
    ranked.sort_by_key(|(entry, _)| (!entry.constant, -i128::from(entry.priority)));
    let mut full = false;
    let mut told = HashSet::new();
    for (entry, reason) in ranked {
        let tokens = if full { None } else { tokens::count_tokens_up_to(&entry.content, left) };
        match tokens {
            Some(tokens) => {
                left -= tokens;
                if told.insert(entry.id.as_str()) {
                    activation.active.push(ActiveEntry { entry, reason, tokens });
                }
            }
            None => {
                full = true;
                let budget = budget.unwrap_or_default();
                let why = format!("the lorebook's budget of {budget} tokens is used up");
                activation.passed.push(SkippedEntry { id: entry.id.clone(), why });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(text: &str) -> Lorebook {
        Lorebook::read(text.as_bytes(), "book").unwrap()
    }

    fn ids(book: &Lorebook, recent: &[&str]) -> Vec<String> {
        let activation = activate_entries(book, recent, &ScanOptions::default());
        activation.active.iter().map(|active| active.entry.id.clone()).collect()
    }

    /// A world info file whose entries have these fields besides their content.
    fn world(entries: &[&str]) -> Lorebook {
        let entries: Vec<String> = (0..)
            .zip(entries)
            .map(|(uid, fields): (usize, _)| {
                format!(r#""{uid}": {{"uid": {uid}, "content": "text {uid}", {fields}}}"#)
            })
            .collect();
        book(&format!(r#"{{"entries": {{{}}}}}"#, entries.join(", ")))
    }

    #[track_caller]
    fn check(fields: &str, said: &[&str], expect: bool) {
        let world = world(&[fields]);
        assert_eq!(!ids(&world, said).is_empty(), expect, "{fields} in {said:?}");
    }

    #[test]
    fn keys_make_entries_turn_up() {
        check(r#""key": ["cat"]"#, &["a Cat"], true);
        check(r#""key": ["cat"]"#, &["a dog"], false);
        check(r#""key": ["cat"]"#, &[], false);
        check(r#""key": []"#, &["cat"], false);
        check(r#""key": ["", " "]"#, &["cat"], false);
        check(r#""key": ["dog", "cat"]"#, &["a cat"], true);
        check(r#""key": ["cat"], "disable": true"#, &["cat"], false);
        check(r#""key": [], "constant": true"#, &[], true);
        check(r#""key": ["Cat"], "caseSensitive": true"#, &["cat"], false);
        check(r#""key": ["cat"], "matchWholeWords": true"#, &["cathedral"], false);
        check(r#""key": ["王都"], "matchWholeWords": true"#, &["王都へ行く"], true);
        check(r#""key": ["/c.t/i"]"#, &["CUT"], true);
    }

    #[test]
    fn secondary_keys_do_what_their_logic_says() {
        for (logic, one, both, none) in [
            (0, true, true, false),
            (1, true, false, true),
            (2, false, false, true),
            (3, false, true, false),
        ] {
            let fields = format!(
                r#""key": ["cat"], "keysecondary": ["red", "big"], "selective": true, "selectiveLogic": {logic}"#
            );
            check(&fields, &["a red cat"], one);
            check(&fields, &["a big red cat"], both);
            check(&fields, &["a cat"], none);
            check(&fields, &["big red"], false);
        }
        check(r#""key": ["cat"], "keysecondary": ["red"], "selective": false"#, &["cat"], true);
        check(r#""key": ["cat"], "keysecondary": [], "selective": true"#, &["cat"], true);
    }

    #[test]
    fn only_the_newest_texts_are_searched() {
        let said = ["1", "2", "3", "4", "cat"];
        check(r#""key": ["cat"]"#, &said, false);
        check(r#""key": ["cat"]"#, &said[1..], true);
        check(r#""key": ["cat"], "scanDepth": 5"#, &said, true);
        check(r#""key": ["3"], "scanDepth": 2"#, &said, false);
        check(r#""key": ["cat"], "scanDepth": 0"#, &["cat"], false);
    }

    #[test]
    fn entries_activate_others_as_far_as_they_may() {
        let chain = |fields: &str, recursive: bool| {
            let text = format!(
                r#"{{"recursive_scanning": {recursive}, "entries": [
                {{"id": 1, "keys": ["a"], "content": "leads to b"}},
                {{"id": 2, "keys": ["b"], "content": "leads to c", {fields}}},
                {{"id": 3, "keys": ["to c"], "content": "the end, a"}}]}}"#
            );
            ids(&book(&text), &["a"]).join(" ")
        };
        assert_eq!(chain(r#""enabled": true"#, true), "1 2 3");
        assert_eq!(chain(r#""enabled": true"#, false), "1");
        assert_eq!(chain(r#""extensions": {"exclude_recursion": true}"#, true), "1");
        assert_eq!(chain(r#""extensions": {"prevent_recursion": true}"#, true), "1 2");
        let waits = r#"{"recursive_scanning": true, "entries": [{"id": 1, "keys": ["a"], "content": "x",
            "extensions": {"delay_until_recursion": true}}, {"id": 2, "keys": ["c"], "content": "has a"}]}"#;
        assert_eq!(ids(&book(waits), &["a"]).join(" "), "");
        assert_eq!(ids(&book(waits), &["c"]).join(" "), "2 1");
    }

    #[test]
    fn chains_end_after_so_many_steps() {
        let entries: Vec<String> = (0..50)
            .map(|n| format!(r#"{{"id": {n}, "keys": ["<{n}>"], "content": "<{}>"}}"#, n + 1))
            .collect();
        let text = format!(r#"{{"recursive_scanning": true, "entries": [{}]}}"#, entries.join(","));
        assert_eq!(ids(&book(&text), &["<0>"]).len(), 9);
    }

    #[test]
    fn reasons_are_told() {
        let book = book(
            r#"{"recursive_scanning": true, "entries": [
            {"id": "c", "keys": [], "constant": true, "content": "see x"},
            {"id": "s", "keys": ["Cat"], "content": "y"}, {"id": "e", "keys": ["x"], "content": "z"}]}"#,
        );
        let activation = activate_entries(&book, &["hm", "the cat"], &ScanOptions::default());
        let reasons: Vec<&ActivationReason> =
            activation.active.iter().map(|it| &it.reason).collect();
        let said = ActivationReason::Text { key: "Cat".to_owned(), depth: 1 };
        let entry = ActivationReason::Entry { key: "x".to_owned(), by: "c".to_owned() };
        assert_eq!(reasons, [&ActivationReason::Constant, &said, &entry]);
    }

    #[test]
    fn the_budget_keeps_constants_and_priorities_and_tells_what_is_passed() {
        let book = book(
            r#"{"token_budget": 6, "entries": [
            {"id": "low", "keys": ["a"], "content": "one two", "priority": 1, "insertion_order": 1},
            {"id": "high", "keys": ["a"], "content": "one two", "priority": 9, "insertion_order": 3},
            {"id": "always", "keys": [], "constant": true, "content": "one two", "priority": 0, "insertion_order": 2},
            {"id": "mid", "keys": ["a"], "content": "one two three", "priority": 5}]}"#,
        );
        assert_eq!(ids(&book, &["a"]), ["always", "high"]);
        let passed = activate_entries(&book, &["a"], &ScanOptions::default()).passed;
        let passed: Vec<&str> = passed.iter().map(|passed| passed.id.as_str()).collect();
        assert_eq!(passed, ["mid", "low"]);
    }

    #[test]
    fn one_entry_of_a_group_is_told() {
        let world = world(&[
            r#""key": ["a"], "group": "g", "order": 1"#,
            r#""key": ["a"], "group": "g, h", "order": 2"#,
            r#""key": ["a"], "order": 3"#,
            r#""key": ["a"], "group": "h", "order": 2"#,
        ]);
        assert_eq!(ids(&world, &["a"]), ["1", "2"]);
        assert_eq!(activate_entries(&world, &["a"], &ScanOptions::default()).passed.len(), 2);
    }

    #[test]
    fn the_end_of_a_very_long_text_is_searched() {
        let long = "漢".repeat(MOST_SEARCHED);
        check(r#""key": ["cat"]"#, &[&format!("{long}cat")], true);
        check(r#""key": ["cat"]"#, &[&format!("cat{long}")], false);
    }
}
