//! Rules about the English of comments, messages, help and documentation.

use crate::docs::prose;
use crate::names::{REPLACED, crate_of};
use crate::repository::Repository;

/// Further words that plain technical English does not need.
const STILTED: &[&str] = &["anew", "somebody", "told", "whoever"];

/// Phrases that readers stumbled over. The glossary has what to write instead.
const PHRASES: &[&str] = &[
    "is to stay",
    "need not stay",
    "other ways through",
    "take back what",
    "the last one to be changed",
    "the beginning of one",
    "takes it out again",
    "everturn ls says more",
    "do not offer",
    "only a person can tell",
    "the same command with --yes",
    "this is no ",
    "is no scope",
    "cannot be met",
    "a session waits",
    "with which claude code goes on",
    "names in humps",
    "makes true again",
    "what follows from files",
];

/// The page that lists the replaced words, and the page about texts of the past.
const EXCEPT: &[&str] = &["docs/glossary.md", "CHANGELOG.md"];

/// What the built-in narrator says, which is fiction.
const FICTION: &str = "crates/rpg/src/embedded/";

/// The state of a scanner of Rust source.
enum Part {
    Code,
    Comment,
    Text { hashes: Option<usize> },
}

/// The comments and the texts in quotes of a Rust file, with the line on which each of their lines stands.
fn texts_in_source(source: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut part = Part::Code;
    let mut line = 1;
    let mut rest = source;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        match &part {
            Part::Code if rest.starts_with("//") => {
                part = Part::Comment;
                found.push((line, String::new()));
            }
            Part::Code if rest.starts_with("'\"'") || rest.starts_with("b'\"'") => taken += 2,
            Part::Code if c == 'r' && !before.is_alphanumeric() && before != '_' => {
                let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
                if rest[1 + hashes..].starts_with('"') {
                    taken += hashes + 1;
                    part = Part::Text { hashes: Some(hashes) };
                    found.push((line, String::new()));
                }
            }
            Part::Code if c == '"' => {
                part = Part::Text { hashes: None };
                found.push((line, String::new()));
            }
            Part::Code => {}
            Part::Comment if c == '\n' => part = Part::Code,
            Part::Text { hashes: None } if c == '\\' => {
                taken += rest[1..].chars().next().map_or(0, char::len_utf8);
            }
            Part::Text { hashes: None } if c == '"' => part = Part::Code,
            Part::Text { hashes: Some(hashes) }
                if rest.starts_with(&format!("\"{}", "#".repeat(*hashes))) =>
            {
                taken += hashes;
                part = Part::Code;
            }
            Part::Text { .. } if c == '\n' => found.push((line + 1, String::new())),
            Part::Comment | Part::Text { .. } => {
                if let Some((_, text)) = found.last_mut() {
                    text.push(c);
                }
            }
        }
        line += rest[..taken].matches('\n').count();
        before = c;
        rest = &rest[taken..];
    }
    found
}

/// The replaced word or phrase in a text, if there is one. What stands in backticks is code or data.
fn first_replaced(text: &str) -> Option<&'static str> {
    let text = text.split('`').step_by(2).collect::<Vec<_>>().join(" ").to_lowercase();
    let has_word = |word: &&&'static str| {
        text.split(|c: char| !c.is_alphanumeric()).any(|found| found == **word)
    };
    let word = REPLACED.iter().chain(STILTED).find(has_word);
    word.or_else(|| PHRASES.iter().find(|phrase| text.contains(**phrase))).copied()
}

pub(crate) fn replaced_words_are_not_written(repository: &Repository) -> Vec<String> {
    let mut broken = Vec::new();
    let is_technical = |path: &str| crate_of(path).is_some() && !path.starts_with(FICTION);
    for (path, text) in repository.rust().filter(|(path, _)| is_technical(path)) {
        let end = text.find("\n#[cfg(test)]").unwrap_or(text.len());
        for (number, text) in texts_in_source(&text[..end]) {
            // One word in quotes is data: a member of a document, an option.
            if let Some(word) = first_replaced(&text).filter(|_| text.trim().contains(' ')) {
                broken.push(format!("{path}:{number}: {word}"));
            }
        }
    }
    let is_page = |path: &str| !path.contains("/tests/") && !EXCEPT.contains(&path);
    for (path, text) in repository.markdown().filter(|(path, _)| is_page(path)) {
        for (number, line) in prose(text) {
            if let Some(word) = first_replaced(line) {
                broken.push(format!("{path}:{number}: {word}"));
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
    fn comments_and_texts_are_told_from_code() {
        let source = "fn a() { // one\n    let b = \"two \\\" \\n three\"; // four\n    let c = r#\"fi\"ve\n  six\"#;\n    let d = '\"'; mend();\n}\n/// seven\n";
        let found = texts_in_source(source);
        let found: Vec<(usize, &str)> = found.iter().map(|(n, t)| (*n, t.trim())).collect();
        let expect = [
            (1, "/ one"),
            (2, "two   three"),
            (2, "/ four"),
            (3, "fi\"ve"),
            (4, "six"),
            (7, "// seven"),
        ];
        assert_eq!(found, expect);
    }

    #[test]
    fn replaced_words_are_found_in_comments_messages_and_pages() {
        let rule = replaced_words_are_not_written;
        let source = |line| [("crates/a/src/x.rs", line)];
        for line in [
            "/// Mends the file.\n",
            "fail(\"the file was mended\");\n",
            "const HELP: &str = \"\\\n  first\n  then mend it\";\n",
            "fail(\"this is no session\");\n",
        ] {
            assert_eq!(rule(&Repository::of(&source(line))).len(), 1, "{line}");
        }
        for line in [
            "object.text(\"mends\", x);\n",
            "// The member `mends` of the output.\n",
            "// We recommend it.\n",
            "#[cfg(test)]\nmod tests {\n    // mend it\n}\n",
        ] {
            check(rule, &[("crates/a/src/x.rs", &format!("\n{line}"))], &[]);
        }
        check(rule, &[("docs/a.md", "a\nWhoever comes\n")], &["docs/a.md:2: whoever"]);
        check(rule, &[("docs/a.md", "`told`\n```\nwhoever comes\n```\n")], &[]);
        check(rule, &[("docs/glossary.md", "not mend\n")], &[]);
    }
}
