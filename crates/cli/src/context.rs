//! [`Context`]: what every command gets besides its own arguments.

use std::path::PathBuf;

use everturn::format::{self, SessionFormat};

use crate::output::Output;

/// The context of a command, besides its own arguments.
pub(crate) struct Context {
    /// The data root, if the user named one.
    pub(crate) root: Option<PathBuf>,
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

    /// Returns an Everturn command for the same root.
    pub(crate) fn next_command(&self, words: &str) -> String {
        match &self.root {
            Some(root) => format!("everturn {words} --root {}", root.display()),
            None => format!("everturn {words}"),
        }
    }
}
