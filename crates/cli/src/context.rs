//! [`Context`]: what every command gets besides its own arguments.

use std::path::{Path, PathBuf};

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

    /// Returns an Everturn command for the same root.
    pub(crate) fn next_command(&self, words: &str) -> String {
        let root = self.root.as_ref().filter(|_| self.is_root_named || self.layout.is_none());
        match root {
            Some(root) => format!("everturn {words} --root {}", root.display()),
            None => format!("everturn {words}"),
        }
    }
}
