//! Rules about names.

use std::collections::{BTreeMap, BTreeSet};

use crate::repository::{Repository, code_before_tests, code_lines};

/// Names of types that mean the same thing wherever they stand.
const SHARED: &[&str] = &["Args", "Builder", "Error", "Options"];

/// Words that the glossary replaces.
pub(crate) const REPLACED: &[&str] = &[
    "errand",
    "errands",
    "scour",
    "belongings",
    "shelf",
    "shelved",
    "strand",
    "strands",
    "weave",
    "woven",
    "loom",
    "knot",
    "knots",
    "knower",
    "knowers",
    "glance",
    "mend",
    "mends",
    "mended",
    "mending",
    "preface",
    "heritage",
    "doomed",
    "salvage",
];

/// Words that ask or tell instead of naming a thing.
const NO_NOUNS: &[&str] = &[
    "What",
    "Why",
    "How",
    "Which",
    "Who",
    "Told",
    "Said",
    "Made",
    "Forking",
    "Branching",
    "Repairing",
    "Completing",
    "Written",
    "Staged",
    "Saved",
    "Appended",
    "Changed",
    "Branched",
    "New",
    "Settled",
    "Listed",
];

/// Most files in which a type has methods of its own.
const MOST_FILES_OF_METHODS: usize = 3;

/// Types that are still to be divided, by crate. No type is added here, and one that is divided leaves.
const STILL_SPREAD: &[(&str, &str)] = &[
    ("crates/formats/chatlog", "ChatWriter"),
    ("crates/formats/game", "GameWriter"),
    ("crates/formats/game", "Survey"),
];

/// The directory of the crate that a source file belongs to.
pub(crate) fn crate_of(path: &str) -> Option<&str> {
    path.find("/src/").and_then(|at| path.get(..at))
}

/// The name of the type that a line defines.
fn defined_type(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line
        .strip_prefix("pub(crate) ")
        .or_else(|| line.strip_prefix("pub(super) "))
        .unwrap_or(line);
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let name =
        ["struct ", "enum ", "trait "].iter().find_map(|keyword| line.strip_prefix(keyword))?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    name.get(..end).filter(|name| name.starts_with(char::is_uppercase))
}

pub(crate) fn type_names_are_unique(repository: &Repository) -> Vec<String> {
    let mut defined: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for (path, text) in repository.rust() {
        let Some(crate_path) = crate_of(path) else { continue };
        for (number, line) in code_before_tests(text) {
            if let Some(name) = defined_type(line).filter(|name| !SHARED.contains(name)) {
                defined.entry((crate_path, name)).or_default().push(format!("{path}:{number}"));
            }
        }
    }
    let twice = defined.into_iter().filter(|(_, places)| places.len() > 1);
    twice.map(|((_, name), places)| format!("{name}: {}", places.join(", "))).collect()
}

pub(crate) fn type_names_are_nouns(repository: &Repository) -> Vec<String> {
    let mut broken = Vec::new();
    for (path, text) in repository.rust().filter(|(path, _)| crate_of(path).is_some()) {
        for (number, line) in code_before_tests(text) {
            if let Some(name) = defined_type(line).filter(|name| NO_NOUNS.contains(name)) {
                broken.push(format!("{path}:{number}: {name} is not a noun"));
            }
        }
    }
    broken
}

/// A line without the texts in double quotes, which may be data.
fn without_strings(line: &str) -> String {
    line.replace("\\\"", "").split('"').step_by(2).collect::<Vec<_>>().join(" ")
}

/// The words of the identifiers on a line: `told_along` and `ToldAlong` are both two words.
fn identifier_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in line.chars().chain([' ']) {
        let starts_word = c.is_uppercase() && before.is_lowercase();
        if (!c.is_alphanumeric() || starts_word) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

pub(crate) fn replaced_words_are_gone(repository: &Repository) -> Vec<String> {
    let mut broken = Vec::new();
    for (path, text) in repository.rust().filter(|(path, _)| crate_of(path).is_some()) {
        for (number, line) in code_lines(text) {
            let words = identifier_words(&without_strings(line));
            if let Some(word) = words.iter().find(|word| REPLACED.contains(&word.as_str())) {
                broken.push(format!("{path}:{number}: {word}"));
            }
        }
    }
    broken
}

/// The type whose methods a line begins: `impl Name` or `impl<T> Name<T>`, but not `impl Trait for Name`.
fn inherent_impl(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest =
        if rest.starts_with('<') { rest.split_once("> ")?.1 } else { rest.strip_prefix(' ')? };
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    rest.get(..end).filter(|_| !line.contains(" for "))
}

pub(crate) fn methods_are_in_few_files(repository: &Repository) -> Vec<String> {
    let mut files: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (path, text) in repository.rust() {
        let Some(crate_path) = crate_of(path) else { continue };
        for (_, line) in code_before_tests(text) {
            if let Some(name) = inherent_impl(line).filter(|name| !SHARED.contains(name)) {
                files.entry((crate_path, name)).or_default().insert(path);
            }
        }
    }
    let mut broken = Vec::new();
    for (of, files) in files {
        let (_, name) = of;
        let is_spread = files.len() > MOST_FILES_OF_METHODS;
        match (is_spread, STILL_SPREAD.contains(&of)) {
            (true, false) => {
                let paths = files.iter().copied().collect::<Vec<_>>().join(", ");
                broken.push(format!("{name}: methods in {} files: {paths}", files.len()));
            }
            (false, true) => broken.push(format!("{name}: no longer needs STILL_SPREAD")),
            _ => {}
        }
    }
    broken
}

/// A crate's front page names every module, so that a reader can find the way.
pub(crate) fn front_pages_name_every_module(repository: &Repository) -> Vec<String> {
    let mut broken = Vec::new();
    for (path, text) in repository.rust().filter(|(path, _)| path.ends_with("/src/lib.rs")) {
        let page: String = text.lines().filter(|line| line.starts_with("//!")).collect();
        for (number, line) in code_before_tests(text) {
            let Some(module) = line.strip_suffix(';').and_then(|line| line.split("mod ").nth(1))
            else {
                continue;
            };
            let is_named = page.split('`').any(|code| code.trim_start_matches("mod@") == module)
                || page.contains(&format!("`{module}"));
            if !is_named && module != "error" {
                broken.push(format!("{path}:{number}: {module} is not on the front page"));
            }
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    #[test]
    fn a_type_name_stands_once_in_a_crate() {
        let rule = type_names_are_unique;
        let one = ("crates/a/src/x.rs", "pub struct Turn;\nstruct Args;\n");
        check(rule, &[one, ("crates/b/src/y.rs", "enum Turn {}\nstruct Args;\n")], &[]);
        let twice = "Turn: crates/a/src/x.rs:1, crates/a/src/y.rs:2";
        check(
            rule,
            &[one, ("crates/a/src/y.rs", "struct Args;\npub(crate) trait Turn {}\n")],
            &[twice],
        );
        check(
            rule,
            &[one, ("crates/a/src/z.rs", "#[cfg(test)]\nmod tests {\n    struct Turn;\n}\n")],
            &[],
        );
    }

    #[test]
    fn a_type_is_a_noun() {
        let rule = type_names_are_nouns;
        check(rule, &[("crates/a/src/x.rs", "struct WhatChanged;\n")], &[]);
        check(
            rule,
            &[("crates/a/src/x.rs", "pub enum What {}\n")],
            &["crates/a/src/x.rs:1: What is not a noun"],
        );
    }

    #[test]
    fn replaced_words_are_found_in_identifiers() {
        let rule = replaced_words_are_gone;
        let found = |line| [("crates/a/src/x.rs", line)];
        check(rule, &found("let branch = \"a strand\"; // mend\n"), &["crates/a/src/x.rs:1: mend"]);
        check(rule, &found("// mend\nfn recommend() {}\n"), &[]);
        for line in ["fn mend_last() {}", "struct LastMend;", "let mended = 1;"] {
            assert_eq!(rule(&Repository::of(&found(line))).len(), 1, "{line}");
        }
    }

    #[test]
    fn methods_stand_in_three_files_at_most() {
        let rule = methods_are_in_few_files;
        let files = ["a", "b", "c", "d"].map(|name| format!("crates/a/src/{name}.rs"));
        let with = |text: &'static str| -> Vec<(&str, &str)> {
            files.iter().map(|f| (f.as_str(), text)).collect()
        };
        check(rule, &with("impl Iterator for Turn {}\n"), &[]);
        check(rule, &with("impl<'a> Turn<'a> {}\n")[..3], &[]);
        assert_eq!(rule(&Repository::of(&with("impl<'a> Turn<'a> {}\n"))).len(), 1);
        // An exception holds for one crate, and only as long as it is needed.
        assert_eq!(rule(&Repository::of(&with("impl GameWriter {}\n"))).len(), 1);
        let divided = ("crates/formats/game/src/a.rs", "impl GameWriter {}\n");
        check(rule, &[divided], &["GameWriter: no longer needs STILL_SPREAD"]);
    }

    #[test]
    fn a_module_is_on_the_front_page() {
        let rule = front_pages_name_every_module;
        let page = |text| [("crates/a/src/lib.rs", text)];
        check(
            rule,
            &page("//! - [`turns`], `marks`: x\n\npub mod turns;\nmod marks;\nmod error;\n"),
            &[],
        );
        let broken = "crates/a/src/lib.rs:2: turns is not on the front page";
        check(rule, &page("//! Words.\nmod turns;\n"), &[broken]);
    }
}
