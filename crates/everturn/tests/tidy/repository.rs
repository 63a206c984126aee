//! The files the rules are about.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Every file of the repository by its path from the top, with `/` between names.
pub(crate) struct Repository {
    files: BTreeMap<String, String>,
}

impl Repository {
    /// A made-up repository.
    pub(crate) fn of(files: &[(&str, &str)]) -> Repository {
        let owned = |&(path, text): &(&str, &str)| (path.to_owned(), text.to_owned());
        Repository { files: files.iter().map(owned).collect() }
    }

    /// This repository.
    pub(crate) fn read() -> Repository {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut repository = Repository { files: BTreeMap::new() };
        repository.read_directory(&top, "");
        repository
    }

    #[expect(clippy::disallowed_methods, reason = "the source files are not stored data")]
    fn read_directory(&mut self, directory: &Path, prefix: &str) {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = format!("{prefix}{name}");
            if entry.file_type().unwrap().is_dir() {
                // Cargo and other tools mark what they can make again.
                if name != ".git" && !entry.path().join("CACHEDIR.TAG").exists() {
                    self.read_directory(&entry.path(), &format!("{path}/"));
                }
            } else if name != ".git" {
                let bytes = if is_ours(&path) { fs::read(entry.path()).unwrap() } else { vec![] };
                self.files.insert(path, String::from_utf8(bytes).unwrap());
            }
        }
    }

    /// The files that people write, with their text.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let texts = self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        texts.filter(|(path, _)| is_ours(path))
    }

    /// The Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// The Markdown files.
    pub(crate) fn markdown(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".md"))
    }

    /// The text of a file, if there is one of that name.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether there is a file or a directory of that name.
    pub(crate) fn has(&self, path: &str) -> bool {
        let directory = format!("{path}/");
        self.files.contains_key(path) || self.files.keys().any(|file| file.starts_with(&directory))
    }
}

/// Whether people write this file; samples of stored data, for one, are as they are.
fn is_ours(path: &str) -> bool {
    let by_name = [".rs", ".md", ".toml"].iter().any(|end| path.ends_with(end));
    by_name || matches!(path, "test" | ".ci/run")
}

/// The lines of code in a Rust file, numbered from 1: neither blank nor comments.
pub(crate) fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_comment = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let trimmed = line.trim();
        let starts = trimmed.starts_with("/*");
        let is_code = !in_comment && !starts && !trimmed.is_empty() && !trimmed.starts_with("//");
        in_comment = (in_comment || starts) && !trimmed.ends_with("*/");
        is_code.then_some((index + 1, line))
    })
}

/// The code of a file up to its tests.
pub(crate) fn code_before_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    code_lines(text).take_while(|(_, line)| !(line.starts_with("#[cfg(") && line.contains("test")))
}

#[test]
fn comments_and_blank_lines_are_not_code() {
    let text = "//! a\n\nfn a() {\n    // b\n} // c\n/* d\nfn e() {}\n*/\n/* f */\nfn g() {}\n";
    let numbers: Vec<usize> = code_lines(text).map(|(number, _)| number).collect();
    assert_eq!(numbers, [3, 5, 10]);
}

#[test]
fn a_directory_is_there_if_a_file_is_in_it() {
    let repository = Repository::of(&[("docs/format.md", "")]);
    assert!(repository.has("docs") && repository.has("docs/format.md"));
    assert!(!repository.has("doc") && !repository.has("docs/form"));
}

#[test]
fn this_repository_is_found() {
    assert!(Repository::read().text("crates/everturn/src/lib.rs").is_some_and(|s| !s.is_empty()));
}
