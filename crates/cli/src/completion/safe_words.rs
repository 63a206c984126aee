//! Candidates that a shell can insert as they are: [`SafeWords`].

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_complete::env::EnvCompleter;

use crate::settings;

/// The variable with the separator of candidates.
const SEPARATOR: &str = "_CLAP_IFS";

/// A shell that is only offered words without a meaning of their own in any shell.
///
/// Shells insert a candidate into the command line without quotes. Session IDs and file names come from other programs,
/// and a part such as `$(command)` would run when the line is entered. A word that needs quotes is not offered.
pub(super) struct SafeWords<'a>(pub(super) &'a dyn EnvCompleter);

impl EnvCompleter for SafeWords<'_> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn is(&self, name: &str) -> bool {
        self.0.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> Result<(), io::Error> {
        self.0.write_registration(var, name, bin, completer, buf)
    }

    fn write_complete(
        &self,
        cmd: &mut Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn Write,
    ) -> Result<(), io::Error> {
        let mut written = Vec::new();
        self.0.write_complete(cmd, args, current_dir, &mut written)?;
        // Vertical tabs and line feeds count as white space, and a value of white space as unset.
        let separator = match self.name() {
            "bash" if settings::is_set(SEPARATOR) => "\u{b}",
            _ => "\n",
        };
        let written = String::from_utf8_lossy(&written);
        let safe: Vec<&str> =
            written.split(separator).filter(|line| is_safe(value_of(self.name(), line))).collect();
        buf.write_all(safe.join(separator).as_bytes())
    }
}

/// Returns the value of a candidate without its description.
fn value_of<'a>(shell: &str, line: &'a str) -> &'a str {
    let end = match shell {
        "fish" | "powershell" => line.find('\t'),
        // Colons of the value are escaped.
        "zsh" => line
            .match_indices(':')
            .map(|(at, _)| at)
            .find(|at| !line.get(..*at).is_some_and(|before| before.ends_with('\\'))),
        _ => None,
    };
    end.and_then(|end| line.get(..end)).unwrap_or(line)
}

/// Whether all shells take a word literally. The end of a list counts as a word.
fn is_safe(word: &str) -> bool {
    let word = word.replace("\\:", ":");
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@+,=".contains(c);
    !word.starts_with('=') && word.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_a_meaning_in_a_shell_are_not_safe() {
        for safe in ["session-1", "chatlog:tale", "--layout=game", "a/b.jsonl", "旅", ""] {
            assert!(is_safe(safe), "{safe}");
        }
        for unsafe_word in [
            "$(touch x)",
            "`x`",
            "a b",
            "a;b",
            "a&b",
            "a|b",
            "a>b",
            "a<b",
            "~/x",
            "*",
            "a?",
            "[a]",
            "{a,b}",
            "!x",
            "#x",
            "'a'",
            "\"a\"",
            "a\\b",
            "a\nb",
            "a\u{1b}b",
            "a\u{202e}b",
            "a\u{200b}b",
            "=ls",
            "$HOME",
            "%1",
            "(x)",
            "^a^b",
        ] {
            assert!(!is_safe(unsafe_word), "{unsafe_word}");
        }
    }

    #[test]
    fn a_description_is_not_part_of_the_value() {
        assert_eq!(value_of("fish", "one\tTwo; three"), "one");
        assert_eq!(value_of("zsh", "game\\:one:Two: $(three)"), "game\\:one");
        assert_eq!(value_of("bash", "game:one"), "game:one");
    }
}
