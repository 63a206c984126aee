//! What the user's environment adds to an address, as other programs of PostgreSQL do: variables, service files and
//! password files.

use std::io;
use std::path::{Path, PathBuf};

use crate::address::AddressError;

/// The environment of the user. The program provides it, because this crate reads none.
pub struct ServerEnvironment<'a> {
    /// Returns an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Reads a file. Returns its text, and whether other users can read it.
    pub read_file: &'a dyn Fn(&Path) -> io::Result<(String, bool)>,
}

impl ServerEnvironment<'_> {
    /// An environment without variables and files.
    #[must_use]
    pub fn empty() -> ServerEnvironment<'static> {
        ServerEnvironment {
            variable: &|_| None,
            read_file: &|_| Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn home_file(&self, name: &str) -> Option<PathBuf> {
        Some(Path::new(&(self.variable)("HOME")?).join(name))
    }

    /// Reads a file that the user named, or one at its usual place, which may be missing.
    fn text(
        &self,
        named: Option<&str>,
        usual: Option<PathBuf>,
    ) -> Result<Option<(PathBuf, String, bool)>, AddressError> {
        let Some(path) = named.map(PathBuf::from).or(usual) else { return Ok(None) };
        match (self.read_file)(&path) {
            Ok((text, is_open)) => Ok(Some((path, text, is_open))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => Ok(None),
            Err(error) => Err(AddressError::File {
                path: path.display().to_string(),
                cause: error.to_string(),
            }),
        }
    }

    /// Reads the certificates of a file.
    pub(crate) fn certificates(&self, path: &str) -> Result<String, AddressError> {
        let found = self.text(Some(path), None)?;
        Ok(found.map(|(_, text, _)| text).unwrap_or_default())
    }

    /// The settings of a service: `key=value` lines below `[NAME]`.
    pub(crate) fn service(&self, name: &str) -> Result<Vec<(String, String)>, AddressError> {
        let named = (self.variable)("PGSERVICEFILE");
        let found = self.text(named.as_deref(), self.home_file(".pg_service.conf"))?;
        let unknown = || AddressError::Service(name.to_owned());
        let (_, text, _) = found.ok_or_else(unknown)?;
        let mut lines = text.lines().map(str::trim);
        lines.find(|line| *line == format!("[{name}]")).ok_or_else(unknown)?;
        let settings = lines
            .take_while(|line| !line.starts_with('['))
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once('='));
        Ok(settings.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect())
    }

    /// The password for a connection, from a password file.
    pub(crate) fn password(
        &self,
        named: Option<&str>,
        [host, port, db, user]: [&str; 4],
    ) -> Result<Option<String>, AddressError> {
        let variable = (self.variable)("PGPASSFILE");
        let found = self.text(named.or(variable.as_deref()), self.home_file(".pgpass"))?;
        let Some((path, text, is_open)) = found else { return Ok(None) };
        if is_open {
            return Err(AddressError::OpenFile(path.display().to_string()));
        }
        let wanted = [host, port, db, user];
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let fields = password_fields(line);
            let [head @ .., password] = fields.as_slice() else { continue };
            let fits = |(field, wanted): (&String, &&str)| field == "*" || field == wanted;
            if head.len() == wanted.len() && head.iter().zip(&wanted).all(fits) {
                return Ok(Some(password.clone()));
            }
        }
        Ok(None)
    }
}

/// Splits a line at its colons; a backslash makes the next character part of a field. The last of the five fields goes to
/// the end of the line.
fn password_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        let is_last = fields.len() == 5;
        let literal = if c == '\\' { characters.next() } else { None };
        match (fields.last_mut(), literal) {
            (Some(field), Some(literal)) => field.push(literal),
            (Some(_), None) if c == ':' && !is_last => fields.push(String::new()),
            (Some(field), None) => field.push(c),
            (None, _) => {}
        }
    }
    fields
}
