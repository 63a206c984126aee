//! Rules about the modules of a crate: no circle of modules that know each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::crate_of;
use crate::repository::{Repository, code_before_tests};

/// Two modules may know each other. More than that is one module in several files.
const MOST_IN_A_CYCLE: usize = 2;

/// Crates whose modules are still to be put in an order. No name is added here, and one that is done leaves.
const STILL_CIRCULAR: &[&str] = &["crates/formats/game"];

/// The names from the top of a crate to a module or an item.
type ModulePath = Vec<String>;

/// The module that a source file is, or nothing for a file that is a test.
fn module_of(path: &str) -> Option<ModulePath> {
    let inside = path.strip_prefix(crate_of(path)?)?.strip_prefix("/src/")?.strip_suffix(".rs")?;
    let names: ModulePath = inside.split('/').map(str::to_owned).collect();
    if names.iter().any(|name| name == "tests") {
        return None;
    }
    match inside {
        "lib" | "main" => Some(vec![]),
        _ => Some(names),
    }
}

/// The identifiers and marks of a file without its comments, texts and tests.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for (_, line) in code_before_tests(text) {
        let line = line.split("// ").next().unwrap_or(line).replace("\\\"", "");
        let code = line.split('"').step_by(2).collect::<Vec<_>>().join("\"\"");
        let mut word = String::new();
        for c in code.chars().chain([' ']) {
            if c.is_alphanumeric() || c == '_' {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                tokens.push(std::mem::take(&mut word));
            }
            match (c, tokens.last_mut()) {
                (':', Some(last)) if last == ":" => last.push(':'),
                (c, _) if !c.is_whitespace() => tokens.push(c.to_string()),
                _ => {}
            }
        }
    }
    tokens
}

/// A path that a file writes, and the name by which the file knows its end.
struct WrittenPath {
    names: ModulePath,
    alias: Option<String>,
}

/// The paths that begin at a token: one, or several if they end in braces. Returns the token behind them.
fn read_paths(
    tokens: &[String],
    mut at: usize,
    before: &ModulePath,
    paths: &mut Vec<WrittenPath>,
) -> usize {
    let mut names = before.clone();
    let token = |at: usize| tokens.get(at).map(String::as_str);
    loop {
        match token(at) {
            Some("{") => {
                at += 1;
                while token(at).is_some_and(|token| token != "}") {
                    let next = read_paths(tokens, at, &names, paths);
                    at = if token(next) == Some(",") { next + 1 } else { next.max(at + 1) };
                }
                return at + 1;
            }
            Some(name) if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                if name != "self" || names.is_empty() {
                    names.push(name.to_owned());
                }
                at += 1;
            }
            _ => break,
        }
        if token(at) != Some("::") {
            break;
        }
        at += 1;
    }
    let renamed = (token(at) == Some("as")).then(|| token(at + 1)).flatten();
    at += if renamed.is_some() { 2 } else { 0 };
    paths.push(WrittenPath { alias: renamed.map(str::to_owned), names });
    at
}

/// What one file says: the paths of its imports, and all its paths that begin at a module.
#[derive(Default)]
struct FilePaths {
    imports: Vec<WrittenPath>,
    written: Vec<WrittenPath>,
}

fn file_paths(text: &str) -> FilePaths {
    let tokens = tokens(text);
    let mut found = FilePaths::default();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let follows_path = at > 0 && tokens.get(at - 1).is_some_and(|before| before == "::");
        let begins = matches!(token.as_str(), "crate" | "super" | "self")
            && tokens.get(at + 1).is_some_and(|next| next == "::");
        at = if token == "use" {
            read_paths(&tokens, at + 1, &vec![], &mut found.imports)
        } else if begins && !follows_path {
            read_paths(&tokens, at, &vec![], &mut found.written)
        } else {
            at + 1
        };
    }
    found
}

/// The modules of a crate with what they import, by their paths.
struct CrateModules {
    files: BTreeMap<ModulePath, FilePaths>,
}

impl CrateModules {
    /// The path from the top of the crate, or nothing for a path into another crate.
    fn resolve(&self, module: &ModulePath, names: &[String]) -> Option<ModulePath> {
        let mut base = module.clone();
        let mut rest = names;
        match names.first().map(String::as_str)? {
            "crate" => {
                base.clear();
                rest = names.get(1..)?;
            }
            "self" => rest = names.get(1..)?,
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    base.pop()?;
                    rest = rest.get(1..)?;
                }
            }
            child => {
                base.push(child.to_owned());
                self.files.get(&base)?;
                rest = names.get(1..)?;
            }
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    /// The module in which the end of a path is defined, behind imports that pass it on.
    fn defining_module(&self, path: &ModulePath, hops: usize) -> ModulePath {
        let prefix = |length: usize| path.iter().take(length).cloned().collect::<ModulePath>();
        let is_module = |length: &usize| self.files.contains_key(&prefix(*length));
        let length = (0..=path.len()).rev().find(is_module).unwrap_or(0);
        let module = prefix(length);
        let (Some(name), Some(file)) = (path.get(length), self.files.get(&module)) else {
            return module;
        };
        let passed_on = file.imports.iter().find(|import| {
            import.alias.as_ref().or(import.names.last()).is_some_and(|known| known == name)
        });
        let further = passed_on.and_then(|import| self.resolve(&module, &import.names));
        match further.filter(|_| hops > 0) {
            Some(further) => self.defining_module(&further, hops - 1),
            None => module,
        }
    }

    /// Which sibling modules know each other, by the module that they are parts of.
    fn references(&self) -> BTreeMap<ModulePath, BTreeMap<&str, BTreeSet<String>>> {
        let mut references: BTreeMap<ModulePath, BTreeMap<&str, BTreeSet<String>>> =
            BTreeMap::new();
        for (module, file) in &self.files {
            for path in file.imports.iter().chain(&file.written) {
                let Some(path) = self.resolve(module, &path.names) else { continue };
                let target = self.defining_module(&path, 8);
                let shared = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
                if let (Some(from), Some(to)) = (module.get(shared), target.get(shared)) {
                    let level = references
                        .entry(module.iter().take(shared).cloned().collect())
                        .or_default();
                    level.entry(from).or_default().insert(to.clone());
                }
            }
        }
        references
    }
}

/// Everything that can be reached from a module.
fn reachable<'a>(edges: &'a BTreeMap<&str, BTreeSet<String>>, from: &'a str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        let next = edges.get(module).into_iter().flatten().map(String::as_str);
        open.extend(next.filter(|module| seen.insert(*module)));
    }
    seen
}

/// The groups of modules that all reach each other.
fn cycles(edges: &BTreeMap<&str, BTreeSet<String>>) -> BTreeSet<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        edges.keys().map(|module| (*module, reachable(edges, module))).collect();
    let mut groups = BTreeSet::new();
    for (module, others) in &reached {
        let returns =
            |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(module));
        let group: Vec<String> = others.iter().filter(returns).map(|s| (*s).to_owned()).collect();
        groups.insert(group);
    }
    groups
}

/// Modules of one parent that need each other in a circle cannot be read one after the other.
pub(crate) fn modules_have_an_order(repository: &Repository) -> Vec<String> {
    let mut crates: BTreeMap<&str, CrateModules> = BTreeMap::new();
    for (path, text) in repository.rust() {
        let (Some(crate_path), Some(module)) = (crate_of(path), module_of(path)) else { continue };
        let modules =
            crates.entry(crate_path).or_insert_with(|| CrateModules { files: BTreeMap::new() });
        modules.files.insert(module, file_paths(text));
    }
    let mut broken = Vec::new();
    for (crate_path, modules) in &crates {
        let mut circles = Vec::new();
        for (parent, edges) in modules.references() {
            let parent: String = parent.iter().map(|name| format!("/{name}")).collect();
            for group in cycles(&edges).into_iter().filter(|group| group.len() > MOST_IN_A_CYCLE) {
                circles.push(format!("{crate_path}/src{parent}: {}", group.join(", ")));
            }
        }
        match STILL_CIRCULAR.contains(crate_path) {
            false => broken.extend(circles),
            true if circles.is_empty() => {
                broken.push(format!("{crate_path}: no longer needs STILL_CIRCULAR"));
            }
            true => {}
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    /// A crate of three modules.
    fn three<'a>(a: &'a str, b: &'a str, c: &'a str) -> Vec<(&'a str, &'a str)> {
        vec![
            ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\npub use a::Alpha;\n"),
            ("crates/x/src/a.rs", a),
            ("crates/x/src/b.rs", b),
            ("crates/x/src/c.rs", c),
        ]
    }

    const CIRCLE: &str = "crates/x/src: a, b, c";

    #[test]
    fn two_modules_may_know_each_other_and_three_may_not() {
        let rule = modules_have_an_order;
        check(rule, &three("use crate::b::B;\n", "use crate::a::A;\n", "use crate::a::A;\n"), &[]);
        check(
            rule,
            &three("use crate::b::B;\n", "use crate::c::C;\n", "use crate::a::A;\n"),
            &[CIRCLE],
        );
    }

    #[test]
    fn an_exception_that_is_not_needed_is_reported() {
        let lib = (concat!("crates/formats/", "game/src/lib.rs"), "mod a;\n");
        let broken = "crates/formats/game: no longer needs STILL_CIRCULAR";
        check(modules_have_an_order, &[lib], &[broken]);
    }

    #[test]
    fn a_reference_is_found_however_it_is_written() {
        let rule = modules_have_an_order;
        for from_c in [
            "use super::a::A;\n",
            "use crate::{a, z};\n",
            "use crate::{\n    z::Z,\n    a::{A, B as D},\n};\n",
            "fn f(a: &crate::a::A) {}\n",
            "fn f() {\n    super::a::go();\n}\n",
            "use crate::Alpha;\n",
            "use super::Alpha as Other;\n",
        ] {
            let files = three("use crate::b::B;\n", "use crate::c::C;\n", from_c);
            check(rule, &files, &[CIRCLE]);
        }
        for from_c in [
            "// crate::a\n",
            "let a = \"crate::a::A\";\n",
            "use a::A;\n",
            "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
            "use other::crate_a;\n",
        ] {
            check(rule, &three("use crate::b::B;\n", "use crate::c::C;\n", from_c), &[]);
        }
    }

    #[test]
    fn the_files_of_a_module_count_as_one_for_its_neighbours() {
        let rule = modules_have_an_order;
        let mut files = three("mod inner;\n", "use crate::c::C;\n", "use crate::a::inner::X;\n");
        files.push(("crates/x/src/a/inner.rs", "use crate::b::B;\n"));
        check(rule, &files, &[CIRCLE]);
        files.pop();
        files.push(("crates/x/src/a/inner.rs", "use super::A;\n"));
        check(rule, &files, &[]);
    }

    #[test]
    fn modules_below_a_module_have_an_order_too() {
        let rule = modules_have_an_order;
        let files = |last| {
            [
                ("crates/x/src/lib.rs", "mod a;\n"),
                ("crates/x/src/a.rs", "mod b;\nmod c;\nmod d;\n"),
                ("crates/x/src/a/b.rs", "use super::c::C;\n"),
                ("crates/x/src/a/c.rs", "use super::d::D;\n"),
                ("crates/x/src/a/d.rs", last),
            ]
        };
        check(rule, &files("use super::A;\n"), &[]);
        check(rule, &files("use super::super::a::b::B;\n"), &["crates/x/src/a: b, c, d"]);
    }
}
