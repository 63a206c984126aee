//! The directories of a program: a home directory of its own, or the directories of the XDG convention.
//!
//! The rules are the same for every program; a [`ProgramDirs`] has the names. Nothing is read here: the caller passes
//! the [`Environment`], so that the same environment always gives the same [`HomeDirs`], and no directory is created
//! before something is written to it.
//!
//! The XDG convention is ten lines of path joining, and must also work for paths of another platform, so no crate is
//! used for it.

use std::ffi::OsString;
use std::path::PathBuf;

use thiserror::Error;

#[cfg(test)]
mod tests;

/// The names of a program's directories and variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramDirs {
    /// The directory below the user's home.
    pub dir: &'static str,
    /// The directory below those of the XDG convention.
    pub xdg_dir: &'static str,
    /// The variable that selects between the two: `xdg`, in any case, or anything else.
    pub layout: &'static str,
    /// The variable with the path of another global configuration.
    pub config: &'static str,
    /// The variable with the path of another root, if there is one.
    pub root: Option<&'static str>,
}

/// Codelia.
pub const CODELIA: ProgramDirs = ProgramDirs {
    dir: ".codelia",
    xdg_dir: "codelia",
    layout: "CODELIA_LAYOUT",
    config: "CODELIA_CONFIG_PATH",
    root: None,
};

/// Linggen, which has one directory; no variable selects another layout.
pub const LINGGEN: ProgramDirs = ProgramDirs {
    dir: ".linggen",
    xdg_dir: "linggen",
    layout: "",
    config: "LINGGEN_CONFIG",
    root: Some("LINGGEN_HOME"),
};

/// Everturn itself.
pub const EVERTURN: ProgramDirs = ProgramDirs {
    dir: ".everturn",
    xdg_dir: "everturn",
    layout: "EVERTURN_LAYOUT",
    config: "EVERTURN_CONFIG_PATH",
    root: Some("EVERTURN_ROOT"),
};

/// The platform whose path rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// `/` between names, the home in `HOME`.
    Unix,
    /// `\` between names, the home in `USERPROFILE`.
    Windows,
}

impl Platform {
    fn separator(self) -> char {
        match self {
            Platform::Unix => '/',
            Platform::Windows => '\\',
        }
    }

    fn home_variable(self) -> &'static str {
        match self {
            Platform::Unix => "HOME",
            Platform::Windows => "USERPROFILE",
        }
    }

    fn is_separator(self, character: char) -> bool {
        character == '/' || character == self.separator()
    }

    /// Whether a path is absolute.
    fn is_absolute(self, path: &str) -> bool {
        match self {
            Platform::Unix => path.starts_with('/'),
            Platform::Windows => {
                let mut rest = path.chars();
                let drive = rest.next().is_some_and(|letter| letter.is_ascii_alphabetic());
                let colon = rest.next() == Some(':');
                let rooted = rest.next().is_some_and(|next| self.is_separator(next));
                (drive && colon && rooted) || path.starts_with("\\\\")
            }
        }
    }

    /// Joins names to a path.
    fn join(self, base: &str, names: &[&str]) -> String {
        let mut path = base.to_owned();
        for name in names {
            if !path.ends_with(|last| self.is_separator(last)) {
                path.push(self.separator());
            }
            path.push_str(name);
        }
        path
    }
}

/// The environment of the process.
pub struct Environment<'a> {
    /// The value of a variable.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The working directory of the process.
    pub current_dir: PathBuf,
    /// The platform whose rules apply.
    pub platform: Platform,
}

impl Environment<'_> {
    /// A variable as text; a value that is not Unicode is an error.
    fn text_variable(&self, name: &'static str) -> Result<Option<String>, HomeError> {
        match (self.variable)(name).map(OsString::into_string).transpose() {
            Ok(value) => Ok(value),
            Err(_) => Err(HomeError::NotUnicode { name }),
        }
    }

    /// A variable of the XDG convention, which requires that empty and relative values are ignored.
    fn absolute_variable(&self, name: &'static str) -> Result<Option<String>, HomeError> {
        Ok(self.text_variable(name)?.filter(|path| self.platform.is_absolute(path)))
    }

    fn user_home(&self) -> Result<String, HomeError> {
        let variable = self.platform.home_variable();
        self.absolute_variable(variable)?.ok_or(HomeError::NoHome { variable })
    }
}

/// Why the directories are unknown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HomeError {
    /// The home directory of the user is unknown.
    #[error("{variable} is not set to an absolute path")]
    NoHome {
        /// The variable that should contain it.
        variable: &'static str,
    },
    /// A variable is not Unicode.
    #[error("{name} is not valid Unicode")]
    NotUnicode {
        /// The variable.
        name: &'static str,
    },
}

/// The layout of the directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HomeLayout {
    /// All in one directory.
    Home,
    /// In the directories of the XDG convention.
    Xdg,
}

/// The directories of a program. They need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeDirs {
    /// Their layout.
    pub arrangement: HomeLayout,
    /// Configuration and secrets.
    pub config_dir: PathBuf,
    /// Data that can be rebuilt.
    pub cache_dir: PathBuf,
    /// Sessions, and all other data of the user.
    pub state_dir: PathBuf,
    /// The global configuration.
    pub config_file: PathBuf,
    /// The configuration of the project in the working directory.
    pub project_config_file: PathBuf,
}

impl HomeDirs {
    /// The directories of `program`. A non-empty root contains all of them.
    pub fn resolve(
        program: &ProgramDirs,
        environment: &Environment<'_>,
        root: Option<&str>,
    ) -> Result<HomeDirs, HomeError> {
        let platform = environment.platform;
        let named = match root.filter(|root| !root.is_empty()) {
            Some(root) => Some(root.to_owned()),
            None => match program.root {
                Some(variable) => {
                    environment.text_variable(variable)?.filter(|root| !root.is_empty())
                }
                None => None,
            },
        };
        let layout = environment.text_variable(program.layout)?;
        let is_xdg = named.is_none() && layout.is_some_and(|name| name.eq_ignore_ascii_case("xdg"));
        let (config, cache, state) = if is_xdg {
            let dir = |variable, usual: &[&str]| -> Result<String, HomeError> {
                let base = match environment.absolute_variable(variable)? {
                    Some(base) => base,
                    None => platform.join(&environment.user_home()?, usual),
                };
                Ok(platform.join(&base, &[program.xdg_dir]))
            };
            (
                dir("XDG_CONFIG_HOME", &[".config"])?,
                dir("XDG_CACHE_HOME", &[".cache"])?,
                dir("XDG_STATE_HOME", &[".local", "state"])?,
            )
        } else {
            let root = match named {
                Some(root) => root,
                None => platform.join(&environment.user_home()?, &[program.dir]),
            };
            (root.clone(), platform.join(&root, &["cache"]), root)
        };
        let config_file = match environment.text_variable(program.config)?.as_deref().map(str::trim)
        {
            Some(path) if !path.is_empty() => environment.absolute_path(path),
            _ => platform.join(&config, &["config.json"]),
        };
        let here = environment.current_dir.to_string_lossy();
        Ok(HomeDirs {
            arrangement: if is_xdg { HomeLayout::Xdg } else { HomeLayout::Home },
            project_config_file: platform.join(&here, &[program.dir, "config.json"]).into(),
            config_dir: config.into(),
            cache_dir: cache.into(),
            state_dir: state.into(),
            config_file: config_file.into(),
        })
    }
}

impl Environment<'_> {
    /// Resolves a path against the working directory.
    fn absolute_path(&self, path: &str) -> String {
        if self.platform.is_absolute(path) {
            return path.to_owned();
        }
        let path = path.strip_prefix("./").unwrap_or(path);
        self.platform.join(&self.current_dir.to_string_lossy(), &[path])
    }
}
