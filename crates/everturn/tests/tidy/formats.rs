//! Rules about formats.

use crate::repository::{Repository, code_lines};

/// The crate that must not spell the names of formats at all.
const COMMAND_LINE: &str = "crates/cli/src/";

/// The other crates above the formats, which must not compare names of formats. They have members and scopes with the same
/// words.
const ABOVE_FORMATS: &[&str] = &[
    "crates/bindings/src/",
    "crates/catalog/src/",
    "crates/export/src/",
    "crates/maintenance/src/",
    "crates/requests/src/",
];

/// Comparisons and lookups with a literal, whatever its text.
const LITERAL_USES: &[&str] =
    &[".name() == \"", ".name() != \"", "layout == \"", "layout != \"", "format::find(\""];

/// The names that the crates of Everturn's own formats define.
fn format_names(repository: &Repository) -> Vec<&str> {
    let is_format =
        |path: &str| path.starts_with("crates/formats/") && path.ends_with("/src/format.rs");
    let formats = repository.rust().filter(|(path, _)| is_format(path));
    let names = formats.flat_map(|(_, text)| code_lines(text)).filter_map(|(_, line)| {
        line.split_once("const NAME: &str = \"").and_then(|(_, rest)| rest.split('"').next())
    });
    names.collect()
}

/// Whether a line has the name as a literal. Examples of JSON have it after a colon.
fn has_literal(line: &str, name: &str) -> bool {
    let literal = format!("\"{name}\"");
    let is_value = |before: &str| before.ends_with(':') || before.ends_with('\\');
    line.match_indices(&literal).any(|(at, _)| !line.get(..at).is_some_and(is_value))
}

/// A command asks a format what it offers, or belongs to one format and uses its `FORMAT`.
pub(crate) fn commands_do_not_spell_formats(repository: &Repository) -> Vec<String> {
    let names = format_names(repository);
    let mut broken = Vec::new();
    for (path, text) in repository.rust() {
        let is_command = path.starts_with(COMMAND_LINE);
        if !is_command && !ABOVE_FORMATS.iter().any(|above| path.starts_with(above)) {
            continue;
        }
        let code = code_lines(text).take_while(|(_, line)| !line.starts_with("#[cfg(test)]"));
        for (number, line) in code {
            let spelled = names.iter().find(|name| is_command && has_literal(line, name));
            if let Some(name) = spelled {
                broken.push(format!("{path}:{number}: \"{name}\""));
            } else if let Some(used) = LITERAL_USES.iter().find(|used| line.contains(**used)) {
                broken.push(format!("{path}:{number}: {used}"));
            }
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    const GAME: (&str, &str) =
        ("crates/formats/game/src/format.rs", "pub(super) const NAME: &str = \"game\";\n");

    #[test]
    fn a_command_asks_for_a_capability_and_spells_no_format() {
        let rule = commands_do_not_spell_formats;
        let on = |line| [GAME, ("crates/cli/src/a.rs", line)];
        for line in [
            "if found.layout != game::FORMAT {",
            "let game = \"game over\";",
            "  {\"session\":\"…\",\"layout\":\"game\"}",
            "// not \"game\"",
            "format::find(name)",
        ] {
            check(rule, &on(line), &[]);
        }
        check(rule, &on("matches!(name, \"game\")"), &["crates/cli/src/a.rs:1: \"game\""]);
        check(
            rule,
            &on("\nif layout.name() != \"other\" {"),
            &["crates/cli/src/a.rs:2: .name() != \""],
        );
        check(rule, &on("format::find(\"other\")"), &["crates/cli/src/a.rs:1: format::find(\""]);
        check(rule, &[GAME, ("crates/bench/src/a.rs", "format::find(\"game\")")], &[]);
        let export = |line| [GAME, ("crates/export/src/a.rs", line)];
        check(rule, &export("carried.value_at(&[\"game\"])"), &[]);
        check(rule, &export("layout != \"game\""), &["crates/export/src/a.rs:1: layout != \""]);
    }
}
