//! [`Context`]: what every command gets besides its own arguments.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use everturn::format::{self, SessionFormat};

use crate::output::Output;

/// The context of a command, besides its own arguments.
pub(crate) struct Context {
    /// The data root, if the user named one as an option or in the environment.
    pub(crate) root: Option<PathBuf>,
    /// Whether it is an option, which selects the only place to look in. The variable says where Everturn's own sessions
    /// are, and does not redirect the homes of agents.
    pub(crate) is_root_named: bool,
    /// The only format to use, if the user named one.
    pub(crate) layout: Option<String>,
    /// Whether data is printed as JSON.
    pub(crate) json: bool,
    /// The output for data.
    pub(crate) out: Output,
}

impl Context {
    /// Returns the formats to use.
    pub(crate) fn layouts(&self) -> Vec<&'static dyn SessionFormat> {
        match &self.layout {
            Some(name) => format::find(name).into_iter().collect(),
            None => format::ALL.to_vec(),
        }
    }

    /// Returns the root that the user named as an option.
    pub(crate) fn named_root(&self) -> Option<&Path> {
        self.root.as_deref().filter(|_| self.is_root_named)
    }

    /// Makes [`next_command`] name the root and the format of this command.
    pub(crate) fn remember_options(&self) {
        let root = self.root.as_ref().filter(|_| self.is_root_named || self.layout.is_none());
        let root = root.map(|root| format!(" --root {}", shell_word(&root.to_string_lossy())));
        let layout = self.layout.as_ref().map(|layout| format!(" --layout {layout}"));
        // There is one command per process.
        drop(GIVEN_OPTIONS.set((root.unwrap_or_default(), layout.unwrap_or_default())));
    }
}

/// The global options `--root` and `--layout` as they were given, each with a leading space.
static GIVEN_OPTIONS: OnceLock<(String, String)> = OnceLock::new();

/// Returns an Everturn command that finds the same sessions as the present one when it is pasted.
pub(crate) fn next_command(words: &str) -> String {
    let (root, layout) = GIVEN_OPTIONS.get().cloned().unwrap_or_default();
    let root = if words.contains(" --root ") { "" } else { root.as_str() };
    let chooses_format = words.starts_with("new ") || words.contains(" --layout ");
    let layout = if chooses_format { "" } else { layout.as_str() };
    format!("everturn {words}{root}{layout}")
}

/// Quotes a word for a shell, if it needs that.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_a_shell_would_split_is_quoted() {
        assert_eq!(shell_word("saves/demo-1"), "saves/demo-1");
        assert_eq!(shell_word("my saves"), "'my saves'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
