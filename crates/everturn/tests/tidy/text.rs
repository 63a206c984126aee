//! Rules about every file that people write.

use crate::repository::Repository;

/// Split in two, here and below, so that this file keeps its own rules.
const UNFINISHED: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("to", "do!"),
    concat!("unimple", "mented!"),
];

/// Words that praise instead of saying something.
const PRAISE: &[&str] =
    &[concat!("ro", "bust"), concat!("comprehen", "sive"), concat!("seam", "less")];

/// Parts of type names that do not say what the type is for.
const VAGUE: &[&str] = &[concat!("Mana", "ger"), concat!("Hel", "per")];

/// The lines on which `wrong` finds something to say.
fn lines_where<'a>(
    path: &'a str,
    text: &'a str,
    wrong: impl Fn(&str) -> Option<&'static str> + 'a,
) -> impl Iterator<Item = String> + 'a {
    // Unlike `lines`, this leaves the carriage returns in.
    text.split('\n').enumerate().filter_map(move |(index, line)| {
        wrong(line).map(|what| format!("{path}:{}: {what}", index + 1))
    })
}

fn first_in(line: &str, words: &[&'static str]) -> Option<&'static str> {
    words.iter().find(|word| line.contains(**word)).copied()
}

pub(crate) fn work_is_finished(repository: &Repository) -> Vec<String> {
    let unfinished = |line: &str| first_in(line, UNFINISHED);
    repository.texts().flat_map(|(path, text)| lines_where(path, text, unfinished)).collect()
}

pub(crate) fn whitespace_is_clean(repository: &Repository) -> Vec<String> {
    let mut broken = Vec::new();
    for (path, text) in repository.texts() {
        broken.extend(lines_where(path, text, |line| {
            line.ends_with(char::is_whitespace).then_some("space at the end of the line")
        }));
        if path.ends_with(".rs") {
            broken.extend(lines_where(path, text, |line| line.contains('\t').then_some("tab")));
        }
        if !text.ends_with('\n') || text.ends_with("\n\n") {
            broken.push(format!("{path}: does not end with one newline"));
        }
    }
    broken
}

pub(crate) fn words_are_plain(repository: &Repository) -> Vec<String> {
    let mut broken = Vec::new();
    for (path, text) in repository.texts() {
        broken.extend(lines_where(path, text, |line| first_in(&line.to_lowercase(), PRAISE)));
        if path.ends_with(".rs") {
            // A name of another crate is not ours to choose.
            let own = |line: &str| {
                line.replace("rustyline::Helper", "").replace("LocalSessionManager", "")
            };
            broken.extend(lines_where(path, text, |line| first_in(&own(line), VAGUE)));
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    #[test]
    fn marks_of_unfinished_work_are_found() {
        for mark in UNFINISHED {
            let text = format!("fn a() {{\n    {mark}\n}}\n");
            check(work_is_finished, &[("a.rs", &text)], &[&format!("a.rs:2: {mark}")]);
            check(work_is_finished, &[("test", &text)], &[&format!("test:2: {mark}")]);
        }
        check(work_is_finished, &[("a.rs", "fn a() {}\n")], &[]);
    }

    #[test]
    fn stray_whitespace_is_found() {
        let rule = whitespace_is_clean;
        check(rule, &[("a.md", "a \n")], &["a.md:1: space at the end of the line"]);
        check(rule, &[("a.md", "a\r\n")], &["a.md:1: space at the end of the line"]);
        check(rule, &[("a.rs", "a\n\tb\n")], &["a.rs:2: tab"]);
        check(rule, &[("a.md", "a")], &["a.md: does not end with one newline"]);
        check(rule, &[("a.md", "a\n\n")], &["a.md: does not end with one newline"]);
        check(rule, &[("a.md", "a\n\n\tb\n"), ("a.bin", "\t ")], &[]);
    }

    #[test]
    fn praise_and_vague_names_are_found() {
        for word in PRAISE {
            let text = format!("Everturn is {}.\n", word.to_uppercase());
            check(words_are_plain, &[("a.md", &text)], &[&format!("a.md:1: {word}")]);
        }
        for word in VAGUE {
            let text = format!("struct Session{word};\n");
            check(words_are_plain, &[("a.rs", &text)], &[&format!("a.rs:1: {word}")]);
            check(words_are_plain, &[("a.md", &text)], &[]);
        }
        check(words_are_plain, &[("a.rs", "struct Session;\n")], &[]);
    }
}
