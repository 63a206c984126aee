//! Titles that the user has given to sessions with `everturn rename`, of any program.
//!
//! They are in the file `titles.json` beside the configuration: the title by format and ID. No session is changed.

use std::collections::BTreeMap;

use everturn_catalog::CatalogSession;

use crate::agent_homes;
use crate::error::Error;
use crate::exit::Exit;

/// The name of the file.
const FILE: &str = "titles.json";

/// The titles by `FORMAT:ID`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct GivenTitles(BTreeMap<String, String>);

fn key(layout: &str, id: &str) -> String {
    format!("{layout}:{id}")
}

impl GivenTitles {
    /// Reads the titles; there are none without a home.
    pub(crate) fn load() -> Result<GivenTitles, Error> {
        let Some(home) = agent_homes::own_home() else { return Ok(GivenTitles::default()) };
        let file = home.dirs.config_dir.join(FILE);
        match agent_homes::read(&file)? {
            Some(bytes) => GivenTitles::parse(&bytes, &file.to_string_lossy()),
            None => Ok(GivenTitles::default()),
        }
    }

    fn parse(bytes: &[u8], file: &str) -> Result<GivenTitles, Error> {
        let titles = serde_json::from_slice(bytes).map_err(|cause| {
            Error::new(Exit::Damaged, format!("{file} cannot be read"))
                .caused_by(cause)
                .hint("it has the titles given by `everturn rename`; correct it or remove it")
        })?;
        Ok(GivenTitles(titles))
    }

    /// Returns the title of a session, if the user has given it one.
    pub(crate) fn of(&self, layout: &str, id: &str) -> Option<&str> {
        self.0.get(&key(layout, id)).map(String::as_str)
    }

    /// Replaces the titles of sessions that have been given one.
    pub(crate) fn apply(&self, sessions: &mut [CatalogSession]) {
        if self.0.is_empty() {
            return;
        }
        for session in sessions {
            let summary = &mut session.summary;
            if let Some(title) = self.of(summary.layout, &summary.session.id) {
                title.clone_into(&mut summary.title);
            }
        }
    }
}

/// Gives a session a title, or takes it away again. Returns the title that it had been given before.
pub(crate) fn give(layout: &str, id: &str, title: Option<&str>) -> Result<Option<String>, Error> {
    let Some(home) = agent_homes::own_home() else {
        return Err(
            Error::new(Exit::Request, "there is no home directory for titles").hint("set HOME")
        );
    };
    let file = home.dirs.config_dir.join(FILE);
    let before = agent_homes::read(&file)?;
    let mut titles = match &before {
        Some(bytes) => GivenTitles::parse(bytes, &file.to_string_lossy())?,
        None => GivenTitles::default(),
    };
    let key = key(layout, id);
    let old = match title {
        Some(title) => titles.0.insert(key, title.to_owned()),
        None => titles.0.remove(&key),
    };
    if old.as_deref() == title {
        return Ok(old);
    }
    let text = serde_json::to_string_pretty(&titles.0).map_err(|cause| {
        Error::new(Exit::Internal, "the titles cannot be written").caused_by(cause)
    })?;
    home.write(&file, before.as_deref(), (text + "\n").into_bytes())?;
    Ok(old)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_found_by_format_and_id() {
        let titles = GivenTitles::parse(br#"{"codex:a":"One"}"#, "titles.json").unwrap();
        assert_eq!(titles.of("codex", "a"), Some("One"));
        assert_eq!(titles.of("claude-code", "a"), None);
        let damaged = GivenTitles::parse(b"[]", "titles.json").unwrap_err();
        assert_eq!(damaged.exit(), Exit::Damaged);
    }
}
