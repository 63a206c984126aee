//! Maps the path of a project to the name of its directory.
//!
//! `/Users/foo/project` becomes `-Users-foo-project`. The encoding is ambiguous: `/a/b-c` and `/a-b/c` become the same,
//! so a directory also has a number, and its contents name its project.

use std::fmt;

use super::error::LinggenError;
use everturn_json::names::{Name, NameError};

/// The path of a project, in one spelling: absolute, without `.`, doubled or trailing separators.
///
/// ```
/// use everturn_linggen::ProjectPath;
///
/// let path = ProjectPath::parse("/Users/foo//project/")?;
/// assert_eq!(path.as_str(), "/Users/foo/project");
/// assert_eq!(path.encoded()?.as_str(), "-Users-foo-project");
/// assert!(ProjectPath::parse("relative").is_err());
/// # Ok::<(), everturn_linggen::LinggenError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectPath(String);

impl ProjectPath {
    /// Validates a path. Links are not followed: the caller does that first.
    pub fn parse(text: &str) -> Result<ProjectPath, LinggenError> {
        let refused = |why: &str| Err(LinggenError::input(format!("project path {text:?} {why}")));
        if text.chars().any(char::is_control) {
            return refused("has control characters");
        }
        let (start, rest, separators, joint): (String, &str, &[char], &str) =
            if let Some(rest) = text.strip_prefix('/') {
                ("/".to_owned(), rest, &['/'], "/")
            } else if let Some((drive, rest)) = windows_drive(text) {
                (format!("{}:\\", drive.to_ascii_uppercase()), rest, &['/', '\\'], "\\")
            } else if let Some(rest) = text.strip_prefix("\\\\") {
                ("\\\\".to_owned(), rest, &['/', '\\'], "\\")
            } else {
                return refused("is not absolute");
            };
        let parts: Vec<&str> =
            rest.split(separators).filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return refused("contains ..");
        }
        Ok(ProjectPath(format!("{start}{}", parts.join(joint))))
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last component of the path, the usual name of the project.
    #[must_use]
    pub fn name(&self) -> &str {
        let last = self.0.rsplit(['/', '\\']).next().filter(|name| !name.is_empty());
        last.unwrap_or(&self.0)
    }

    /// The directory name of a project with this path, if no other project has it.
    ///
    /// Only separators are replaced, and the colon of a drive: dots, spaces and other letters stay.
    pub fn encoded(&self) -> Result<Name, NameError> {
        let drive = windows_drive(&self.0).is_some();
        let encode = |(at, character): (usize, char)| match character {
            '/' | '\\' => '-',
            ':' if drive && at == 1 => '-',
            other => other,
        };
        Name::parse(&self.0.char_indices().map(encode).collect::<String>())
    }
}

impl fmt::Display for ProjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn windows_drive(text: &str) -> Option<(char, &str)> {
    let drive = text.chars().next().filter(char::is_ascii_alphabetic)?;
    let rest = text.get(1..)?.strip_prefix(':')?;
    Some((drive, rest.strip_prefix(['/', '\\'])?))
}

/// The directory of a project: its encoded path, and a number to tell apart paths that are encoded alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProjectDir {
    /// The encoded path.
    pub encoded: String,
    /// 1 for the first project with this encoded path.
    pub number: u32,
}

impl ProjectDir {
    /// Parses the name of a directory, such as `-a-b-c` or `-a-b-c~2`.
    #[must_use]
    pub fn parse(name: &str) -> ProjectDir {
        let numbered = name.rsplit_once('~').and_then(|(encoded, number)| {
            let dir = ProjectDir { encoded: encoded.to_owned(), number: number.parse().ok()? };
            (dir.number > 1 && dir.to_string() == name).then_some(dir)
        });
        numbered.unwrap_or_else(|| ProjectDir { encoded: name.to_owned(), number: 1 })
    }

    /// The name of the directory.
    pub fn name(&self) -> Result<Name, NameError> {
        Name::parse(&self.to_string())
    }
}

impl fmt::Display for ProjectDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            1 => f.write_str(&self.encoded),
            number => write!(f, "{}~{number}", self.encoded),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expect: &str, dir: &str) {
        let parsed = ProjectPath::parse(path).unwrap();
        assert_eq!(
            (parsed.as_str(), parsed.encoded().unwrap().as_str()),
            (expect, dir),
            "{path:?}"
        );
        assert_eq!(
            ProjectPath::parse(expect).unwrap(),
            parsed,
            "{path:?} changes when parsed again"
        );
    }

    #[test]
    fn paths_are_encoded_as_documented() {
        check("/Users/foo/project", "/Users/foo/project", "-Users-foo-project");
        check("/Users/foo/project/", "/Users/foo/project", "-Users-foo-project");
        check("/Users//foo/./project//", "/Users/foo/project", "-Users-foo-project");
        check("/", "/", "-");
        check("/a", "/a", "-a");
        check("/a/b-c", "/a/b-c", "-a-b-c");
        check("/a-b/c", "/a-b/c", "-a-b-c");
        check("/home/u/.config/x.y", "/home/u/.config/x.y", "-home-u-.config-x.y");
        check("/home/u/a..b", "/home/u/a..b", "-home-u-a..b");
        check("/home/u/my project", "/home/u/my project", "-home-u-my project");
        check("/home/ü/日本語/👍", "/home/ü/日本語/👍", "-home-ü-日本語-👍");
        check("/Users/Foo", "/Users/Foo", "-Users-Foo");
        check("/a~2", "/a~2", "-a~2");
        check("/a:b", "/a:b", "-a:b");
        check("/back\\slash", "/back\\slash", "-back-slash");
        check("C:\\Users\\foo", "C:\\Users\\foo", "C--Users-foo");
        check("c:/Users/foo/", "C:\\Users\\foo", "C--Users-foo");
        check("C:\\", "C:\\", "C--");
        check("\\\\server\\share\\x", "\\\\server\\share\\x", "--server-share-x");
    }

    #[test]
    fn paths_that_mean_no_place_are_refused() {
        for path in
            ["", "a", "./a", "../a", "/a/../b", "/a/..", "~", "C:", "C:foo", "/a\0b", "/a\nb"]
        {
            assert!(ProjectPath::parse(path).is_err(), "{path:?}");
        }
        let long = format!("/{}", "x".repeat(255));
        assert!(ProjectPath::parse(&long).unwrap().encoded().is_err());
    }

    #[test]
    fn the_name_of_a_project_is_the_end_of_its_path() {
        let name = |path: &str| ProjectPath::parse(path).unwrap().name().to_owned();
        assert_eq!(name("/a/b c/"), "b c");
        assert_eq!(name("/"), "/");
        assert_eq!(name("D:\\work\\x"), "x");
    }

    #[test]
    fn directories_are_read_as_they_are_written() {
        for name in ["-a-b-c", "-a-b-c~2", "-a~2~3", "-a~x", "-a~1", "-a~02", "~", "-a~"] {
            assert_eq!(ProjectDir::parse(name).to_string(), name);
        }
        assert_eq!(ProjectDir::parse("-a~2"), ProjectDir { encoded: "-a".into(), number: 2 });
        assert_eq!(ProjectDir::parse("-a~1").number, 1);
    }
}
