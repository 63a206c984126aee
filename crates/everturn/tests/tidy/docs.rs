//! Rules about the documentation: what it names is there.

use crate::repository::Repository;

/// What a visitor of the repository looks for.
const REQUIRED: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/decisions.md",
    "docs/format.md",
    "docs/glossary.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "test",
    ".ci/run",
];

pub(crate) fn required_files_exist(repository: &Repository) -> Vec<String> {
    let missing = REQUIRED.iter().filter(|path| repository.text(path).is_none());
    missing.map(|path| format!("{path}: missing")).collect()
}

/// Pages that are read in one sitting, and their most lines.
const SHORT_PAGES: &[(&str, usize)] = &[("README.md", 200), ("ARCHITECTURE.md", 150)];

pub(crate) fn pages_are_short(repository: &Repository) -> Vec<String> {
    let lengths = SHORT_PAGES.iter().filter_map(|(path, most)| {
        let lines = repository.text(path)?.lines().count();
        (lines > *most).then(|| format!("{path}: {lines} lines, {most} at most"))
    });
    lengths.collect()
}

/// The lines of a Markdown file outside of fenced code, numbered from 1.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((index + 1, line))
    })
}

/// A text in backticks that names something in this repository, without a leading `./`.
fn as_path(code: &str) -> Option<&str> {
    let word = code.split_whitespace().next()?;
    let is_pattern = word.contains(['*', '<', '…']);
    let path = word.strip_prefix("./").unwrap_or(word).trim_end_matches('/');
    let in_a_directory = ["crates/", "docs/", ".ci/"].iter().any(|top| path.starts_with(top));
    (!is_pattern && (in_a_directory || REQUIRED.contains(&path))).then_some(path)
}

pub(crate) fn named_paths_exist(repository: &Repository) -> Vec<String> {
    let mut broken = Vec::new();
    for (file, text) in repository.markdown() {
        for (number, line) in prose(text) {
            let paths = line.split('`').skip(1).step_by(2).filter_map(as_path);
            for path in paths.filter(|path| !repository.has(path)) {
                broken.push(format!("{file}:{number}: there is no {path}"));
            }
        }
    }
    broken
}

/// The targets of the links on a line: `[text](target)`, and `[name]: target` at its beginning.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let defined = line.strip_prefix('[').and_then(|rest| Some(rest.split_once("]: ")?.1));
    inline.chain(defined).filter_map(|target| target.split_whitespace().next())
}

/// The path from the top that `target` means in `file`; nothing if it leads out of the repository.
fn resolve(file: &str, target: &str) -> Option<String> {
    let mut names: Vec<&str> = file.split('/').collect();
    names.pop();
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

pub(crate) fn links_resolve(repository: &Repository) -> Vec<String> {
    let mut broken = Vec::new();
    for (file, text) in repository.markdown() {
        for (number, line) in prose(text) {
            for target in link_targets(line) {
                let path = target.split('#').next().unwrap_or(target);
                let elsewhere = target.contains("://") || target.starts_with("mailto:");
                let leads_somewhere = elsewhere
                    || path.is_empty()
                    || resolve(file, path).is_some_and(|path| repository.has(&path));
                if !leads_somewhere {
                    broken.push(format!("{file}:{number}: the link to {target} leads nowhere"));
                }
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
    fn a_required_file_is_missed() {
        let all: Vec<(&str, &str)> = REQUIRED.iter().map(|path| (*path, "")).collect();
        check(required_files_exist, &all, &[]);
        check(required_files_exist, &all[1..], &["README.md: missing"]);
    }

    #[test]
    fn a_long_page_is_found() {
        let long = "\n".repeat(201);
        check(pages_are_short, &[("README.md", "short"), ("docs/a.md", &long)], &[]);
        check(pages_are_short, &[("README.md", &long)], &["README.md: 201 lines, 200 at most"]);
    }

    #[test]
    fn a_name_in_backticks_must_be_there() {
        let rule = named_paths_exist;
        let names = |text| [("a.md", text), ("crates/a/src/lib.rs", ""), ("test", "")];
        for fine in [
            "`crates/a/src/lib.rs`, `crates/a/src/`, `crates/a` and `./test`",
            "`crates/<name>/src`, `crates/*/src`, `docs/…`, `src/lib.rs`, `--docs`",
            "crates/b without backticks",
            "```text\n`crates/b`\n```",
        ] {
            check(rule, &names(fine), &[]);
        }
        check(rule, &names("see\n`crates/b.rs`"), &["a.md:2: there is no crates/b.rs"]);
        check(rule, &names("`test` or `README.md`"), &["a.md:1: there is no README.md"]);
        check(
            rule,
            &names("`docs/x/`\n```\n```\n`.ci/go`"),
            &["a.md:1: there is no docs/x", "a.md:4: there is no .ci/go"],
        );
        check(rule, &[("a.md", "run `./test --quick`")], &["a.md:1: there is no test"]);
    }

    #[test]
    fn a_link_must_lead_somewhere() {
        let links = |text| [("docs/a.md", text), ("docs/b.md", ""), ("c.md", "")];
        for fine in [
            "[b](b.md), [b](./b.md#part), [c](../c.md \"title\"), [here](#part), [docs](../docs)",
            "[web](https://example.org/x) and [mail](mailto:a@example.org)",
            "[b]: b.md",
            "```\n[x](x.md)\n```",
        ] {
            check(links_resolve, &links(fine), &[]);
        }
        for (bad, target) in [
            ("[x](x.md)", "x.md"),
            ("![b](b.md) ![c](c.md#part)", "c.md#part"),
            ("[up](../../c.md)", "../../c.md"),
            ("[c]: c.md", "c.md"),
        ] {
            let expect = format!("docs/a.md:1: the link to {target} leads nowhere");
            check(links_resolve, &links(bad), &[&expect]);
        }
    }
}
