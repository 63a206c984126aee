//! Rules about Rust files.

use crate::repository::{Repository, code_lines};

/// Beyond this a file is two. CONTRIBUTING.md asks for 400: a file that is being changed may be a little longer.
const MOST_LINES_OF_CODE: usize = 450;

/// The crates that people run or measure with; every other crate but the catalog is silent and has no files.
const PROGRAMS: &[&str] = &["crates/bench/", "crates/cli/", "crates/powercut/"];
const DISK: &str = "crates/store/src/disk/";

/// What can be made again is kept by one module of its own.
const CATALOG_FILES: &str = "crates/catalog/src/catalog_dir.rs";

/// A server may listen on a Unix socket, which is a file.
const SOCKET_FILE: &str = "crates/server/src/socket.rs";

/// The lines of code that contain one of `needles` where a word begins.
fn lines_with<'a>(
    path: &'a str,
    text: &'a str,
    needles: &'a [&str],
) -> impl Iterator<Item = String> + 'a {
    let in_word = |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    code_lines(text).filter_map(move |(number, line)| {
        let found = needles.iter().find(|needle| {
            line.match_indices(**needle).any(|(at, _)| !line.get(..at).is_some_and(in_word))
        })?;
        Some(format!("{path}:{number}: {found}"))
    })
}

pub(crate) fn files_are_small(repository: &Repository) -> Vec<String> {
    let sizes = repository.rust().map(|(path, text)| (path, code_lines(text).count()));
    sizes
        .filter(|(_, lines)| *lines > MOST_LINES_OF_CODE)
        .map(|(path, lines)| format!("{path}: {lines} lines of code"))
        .collect()
}

/// A file called after its module is found by its name; one called `mod.rs` is not.
pub(crate) fn modules_are_files_with_names(repository: &Repository) -> Vec<String> {
    let paths = repository.rust().map(|(path, _)| path);
    paths.filter(|path| path.ends_with("/mod.rs")).map(str::to_owned).collect()
}

/// A file that no `mod` line names is dead, and the compiler does not say so.
pub(crate) fn modules_are_declared(repository: &Repository) -> Vec<String> {
    let mut orphans = Vec::new();
    for (path, _) in repository.rust() {
        let Some((directory, module)) = path
            .strip_suffix(".rs")
            .filter(|path| path.starts_with("crates/") && path.contains("/src/"))
            .and_then(|path| path.rsplit_once('/'))
            .filter(|(_, module)| !matches!(*module, "lib" | "main"))
        else {
            continue;
        };
        let parents = if directory.ends_with("/src") {
            vec![format!("{directory}/lib.rs"), format!("{directory}/main.rs")]
        } else {
            vec![format!("{directory}.rs")]
        };
        let declares = |parent: &String| {
            repository.text(parent).is_some_and(|text| {
                code_lines(text).any(|(_, line)| {
                    let name = line.strip_suffix(';').and_then(|line| line.rsplit_once("mod "));
                    name.is_some_and(|(_, name)| name.trim_start_matches("r#") == module)
                })
            })
        };
        if !parents.iter().any(declares) {
            orphans.push(format!("{path}: not declared in {}", parents.join(" or ")));
        }
    }
    orphans
}

pub(crate) fn modules_say_what_they_are(repository: &Repository) -> Vec<String> {
    let sources = repository.rust().filter(|(path, _)| path.contains("/src/"));
    sources
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(path, _)| format!("{path}: does not begin with //!"))
        .collect()
}

/// Everything else goes through the `Disk` trait, so that the simulated disk sees all of it.
pub(crate) fn only_the_disk_module_touches_files(repository: &Repository) -> Vec<String> {
    const NEEDLES: &[&str] = &["std::fs", "fs::", "File::", "OpenOptions"];
    let may = |path: &str| path.starts_with(DISK) || [CATALOG_FILES, SOCKET_FILE].contains(&path);
    let must_not = |path: &str| {
        path.contains("/src/") && !PROGRAMS.iter().any(|program| path.starts_with(program))
    };
    let above_the_disk = repository.rust().filter(|(path, _)| must_not(path) && !may(path));
    above_the_disk.flat_map(|(path, text)| lines_with(path, text, NEEDLES)).collect()
}

/// An expectation that no longer holds is reported; a permission stays for ever.
pub(crate) fn lints_are_expected_not_allowed(repository: &Repository) -> Vec<String> {
    const NEEDLES: &[&str] = &[concat!("#[", "allow("), concat!("#![", "allow(")];
    repository.rust().flat_map(|(path, text)| lines_with(path, text, NEEDLES)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    #[test]
    fn a_file_is_too_long_by_its_code_alone() {
        let code = |lines| format!("//! Words.\n\n{}", "f();\n".repeat(lines));
        check(files_are_small, &[("a.rs", &code(450))], &[]);
        check(files_are_small, &[("a.rs", &code(451))], &["a.rs: 451 lines of code"]);
        check(files_are_small, &[("a.md", &code(451))], &[]);
    }

    #[test]
    fn a_module_is_not_called_mod() {
        check(modules_are_files_with_names, &[("crates/a/src/b.rs", "")], &[]);
        check(
            modules_are_files_with_names,
            &[("crates/a/src/b/mod.rs", "")],
            &["crates/a/src/b/mod.rs"],
        );
    }

    #[test]
    fn a_file_without_a_mod_line_is_an_orphan() {
        let lib = ("crates/a/src/lib.rs", "pub mod b;\n// mod d;\n");
        let nested = [("crates/a/src/b.rs", "mod c;\n"), ("crates/a/src/b/c.rs", "")];
        check(modules_are_declared, &[lib, nested[0], nested[1]], &[]);
        check(
            modules_are_declared,
            &[lib, nested[1]],
            &["crates/a/src/b/c.rs: not declared in crates/a/src/b.rs"],
        );
        check(
            modules_are_declared,
            &[lib, ("crates/a/src/d.rs", "")],
            &[concat!(
                "crates/a/src/d.rs: not declared in ",
                "crates/a/src/lib.rs or crates/a/src/main.rs"
            )],
        );
        check(modules_are_declared, &[("crates/a/tests/e.rs", "")], &[]);
    }

    #[test]
    fn a_module_begins_with_its_purpose() {
        check(modules_say_what_they_are, &[("crates/a/src/b.rs", "//! Words.\n")], &[]);
        check(
            modules_say_what_they_are,
            &[("crates/a/src/b.rs", "use std::fmt;\n\n//! Words.\n")],
            &["crates/a/src/b.rs: does not begin with //!"],
        );
    }

    #[test]
    fn files_are_touched_below_the_disk_trait_only() {
        let store = "crates/store/src/store.rs";
        let touch = |line| [(store, line)];
        let rule = only_the_disk_module_touches_files;
        check(rule, &touch("use std::fs;\n"), &["crates/store/src/store.rs:1: std::fs"]);
        check(rule, &touch("\nfs::read(a)"), &["crates/store/src/store.rs:2: fs::"]);
        check(rule, &touch("(File::open(a))"), &["crates/store/src/store.rs:1: File::"]);
        check(rule, &touch("OpenOptions::new()"), &["crates/store/src/store.rs:1: OpenOptions"]);
        check(rule, &touch("// std::fs is not for us\nSimFile::open(vfs::root())"), &[]);
        check(rule, &[("crates/store/src/disk/real.rs", "use std::fs;\n")], &[]);
        check(rule, &[("crates/store/tests/a.rs", "use std::fs;\n")], &[]);
        check(rule, &[("crates/cli/src/a.rs", "use std::fs;\n")], &[]);
        let catalog = |name: &'static str| [(name, "use std::fs;\n")];
        check(rule, &catalog("crates/catalog/src/catalog_dir.rs"), &[]);
        let broken = "crates/catalog/src/index.rs:1: std::fs";
        check(rule, &catalog("crates/catalog/src/index.rs"), &[broken]);
    }

    #[test]
    fn lints_are_not_switched_off() {
        for attribute in [concat!("#[", "allow(x)]"), concat!("  #![", "allow(x)]")] {
            let broken = lints_are_expected_not_allowed(&Repository::of(&[("a.rs", attribute)]));
            assert_eq!(broken.len(), 1, "{attribute}");
        }
        check(lints_are_expected_not_allowed, &[("a.rs", "#[expect(x, reason = \"y\")]")], &[]);
    }
}
