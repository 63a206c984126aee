//! Where a program keeps its files: a home directory of its own, or the directories of the XDG convention.
//!
//! The rules are the same for every program; a [`ProgramDirs`] has the names. Nothing is read here: whoever asks
//! brings the [`Environment`], so that the same environment always means the same paths, and no directory is made
//! before something is written to it.
//!
//! The XDG convention is ten lines of joining, and the answer must be the same for paths of another platform, so no
//! crate is used for it.

use std::ffi::OsString;
use std::path::PathBuf;

use thiserror::Error;

#[cfg(test)]
mod tests;

/// A program, as the names of its directories and variables tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramDirs {
    /// The directory below the user's home.
    pub dir: &'static str,
    /// The directory below those of the XDG convention.
    pub xdg_dir: &'static str,
    /// The variable that chooses between the two: `xdg`, in any case, or anything else.
    pub layout: &'static str,
    /// The variable that names another global configuration.
    pub config: &'static str,
    /// The variable that names another root, if there is one.
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

/// Linggen, which has one directory; no variable chooses another arrangement.
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

/// Whose rules paths follow.
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

    /// Whether a path says by itself where it begins.
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

    /// A path below another.
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

/// What the process was told from outside.
pub struct Environment<'a> {
    /// The value of a variable.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The directory in which the process works.
    pub current_dir: PathBuf,
    /// Whose rules apply.
    pub platform: Platform,
}

impl Environment<'_> {
    /// A variable as text; one that is not Unicode cannot be used.
    fn text_variable(&self, name: &'static str) -> Result<Option<String>, HomeError> {
        match (self.variable)(name).map(OsString::into_string).transpose() {
            Ok(value) => Ok(value),
            Err(_) => Err(HomeError::NotUnicode { name }),
        }
    }

    /// A variable of the XDG convention, which says that values that are empty or relative are to be ignored.
    fn absolute_variable(&self, name: &'static str) -> Result<Option<String>, HomeError> {
        Ok(self.text_variable(name)?.filter(|path| self.platform.is_absolute(path)))
    }

    fn user_home(&self) -> Result<String, HomeError> {
        let variable = self.platform.home_variable();
        self.absolute_variable(variable)?.ok_or(HomeError::NoHome { variable })
    }
}

/// Why it is not known where files are.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HomeError {
    /// Nobody said where the home of the user is.
    #[error("{variable} is not set to an absolute path")]
    NoHome {
        /// The variable that should say so.
        variable: &'static str,
    },
    /// A variable is not text.
    #[error("{name} is not Unicode")]
    NotUnicode {
        /// The variable.
        name: &'static str,
    },
}

/// How the directories are laid out.
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
    /// How they are laid out.
    pub arrangement: HomeLayout,
    /// Configuration and secrets.
    pub config_dir: PathBuf,
    /// What can be made again.
    pub cache_dir: PathBuf,
    /// Sessions, and everything else that belongs to the user.
    pub state_dir: PathBuf,
    /// The global configuration.
    pub config_file: PathBuf,
    /// The configuration of the project in which the process works.
    pub project_config_file: PathBuf,
}

impl HomeDirs {
    /// The directories of `program`. A root that is named, and is not empty, has all of them below it.
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
    /// A path as it is seen from the directory in which the process works.
    fn absolute_path(&self, path: &str) -> String {
        if self.platform.is_absolute(path) {
            return path.to_owned();
        }
        let path = path.strip_prefix("./").unwrap_or(path);
        self.platform.join(&self.current_dir.to_string_lossy(), &[path])
    }
}
