//! Rules about what a new format or reader must be named in: the steps of CONTRIBUTING.md.

use crate::repository::{Repository, code_lines};

const GUIDE: &str = "CONTRIBUTING.md";

/// What is replaced in the texts below: the directory of a format's crate and the name of the format.
const DIRECTORY: &str = "DIR";
const NAME: &str = "NAME";

/// The files in which a format must be named, and how. The pages of the agents' homes are named after the programs.
const OF_FORMAT: &[(&str, &str)] = &[
    ("Cargo.toml", "\"crates/formats/DIR\""),
    ("Cargo.toml", "everturn-DIR = {"),
    ("crates/maintenance/Cargo.toml", "everturn-DIR = {"),
    ("crates/everturn/Cargo.toml", "everturn-DIR = {"),
    ("crates/maintenance/src/registry.rs", "&everturn_DIR::"),
    ("crates/everturn/src/inputs.rs", "= \"NAME\","),
    ("crates/everturn/src/lib.rs", "pub mod DIR {"),
    ("crates/samples/src/lib.rs", "format: \"NAME\","),
    ("crates/everturn/tests/suites/layouts_crash.rs", "\"NAME\""),
    ("docs/README.md", "(NAME.md)"),
    ("README.md", "(docs/NAME.md)"),
    ("ARCHITECTURE.md", "`crates/formats/DIR`"),
];

/// The files in which a reader must be named; `DIR` is its module.
const OF_READER: &[(&str, &str)] = &[
    ("crates/formats/external/src/lib.rs", "mod DIR;"),
    ("crates/formats/external/src/lib.rs", "`DIR`"),
    ("crates/everturn/tests/suites/foreign.rs", "mod DIR;"),
    ("crates/cli/src/sources.rs", "layout: \"NAME\""),
    ("crates/cli/tests/cli/foreign.rs", "\"NAME\""),
    ("docs/foreign.md", "`NAME`"),
];

/// The directories and names of Everturn's own formats.
fn formats(repository: &Repository) -> Vec<(String, String)> {
    let named = |path: &str, text: &str| {
        let directory = path.strip_prefix("crates/formats/")?.strip_suffix("/src/format.rs")?;
        let mut lines = code_lines(text);
        let name = lines.find_map(|(_, line)| line.split_once("const NAME: &str = \""))?.1;
        Some((directory.to_owned(), name.split('"').next()?.to_owned()))
    };
    repository.rust().filter_map(|(path, text)| named(path, text)).collect()
}

/// The modules and names of the readers for other programs.
fn readers(repository: &Repository) -> Vec<(String, String)> {
    let named = |path: &str, text: &str| {
        let module = path.strip_prefix("crates/formats/external/src/")?.strip_suffix(".rs")?;
        let mut lines = code_lines(text);
        let name = lines.find_map(|(_, line)| line.split_once("const NAME: &'static str = \""))?.1;
        Some((module.to_owned(), name.split('"').next()?.to_owned()))
    };
    repository.rust().filter_map(|(path, text)| named(path, text)).collect()
}

/// Lists the files that do not name a format or a reader.
fn missing(
    repository: &Repository,
    named: &[(String, String)],
    places: &[(&str, &str)],
) -> Vec<String> {
    let mut broken = Vec::new();
    for (directory, name) in named {
        for (path, wanted) in places {
            let wanted = wanted.replace(DIRECTORY, directory).replace(NAME, name);
            if !repository.text(path).unwrap_or_default().contains(&wanted) {
                broken.push(format!("{path}: {name} is missing: {wanted}"));
            }
        }
    }
    broken
}

pub(crate) fn formats_are_wired_in(repository: &Repository) -> Vec<String> {
    missing(repository, &formats(repository), OF_FORMAT)
}

pub(crate) fn readers_are_wired_in(repository: &Repository) -> Vec<String> {
    missing(repository, &readers(repository), OF_READER)
}

/// A step that is checked but not described cannot be followed.
pub(crate) fn the_guide_names_every_step(repository: &Repository) -> Vec<String> {
    let guide = repository.text(GUIDE).unwrap_or_default();
    let is_missing = |path: &&str| {
        !guide.contains(&format!("`{path}`")) && !guide.contains(&format!("({path})"))
    };
    let mut paths: Vec<&str> = OF_FORMAT.iter().chain(OF_READER).map(|(path, _)| *path).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.into_iter().filter(is_missing).map(|path| format!("{GUIDE}: {path} is missing")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    #[test]
    fn a_format_that_is_not_wired_in_is_named_with_the_place() {
        let format = ("crates/formats/diary/src/format.rs", "const NAME: &str = \"diaries\";\n");
        let broken = formats_are_wired_in(&Repository::of(&[format]));
        assert_eq!(broken.len(), OF_FORMAT.len());
        assert!(broken.contains(
            &"crates/samples/src/lib.rs: diaries is missing: format: \"diaries\",".to_owned()
        ));
        let sample = ("crates/samples/src/lib.rs", "        format: \"diaries\",\n");
        let broken = formats_are_wired_in(&Repository::of(&[format, sample]));
        assert_eq!(broken.len(), OF_FORMAT.len() - 1);
    }

    #[test]
    fn a_reader_that_is_not_wired_in_is_named_with_the_place() {
        let reader =
            ("crates/formats/external/src/foo.rs", "    const NAME: &'static str = \"foo-cli\";\n");
        let broken = readers_are_wired_in(&Repository::of(&[reader]));
        assert_eq!(broken.len(), OF_READER.len());
        assert!(broken.contains(&"docs/foreign.md: foo-cli is missing: `foo-cli`".to_owned()));
    }

    #[test]
    fn the_guide_has_every_file() {
        let some = [(GUIDE, "`Cargo.toml`, [README.md](README.md)\n")];
        let broken = the_guide_names_every_step(&Repository::of(&some));
        assert!(!broken.iter().any(|line| line.contains("Cargo.toml") && !line.contains('/')));
        assert!(broken.contains(&format!("{GUIDE}: docs/foreign.md is missing")));
        check(formats_are_wired_in, &some, &[]);
    }
}
