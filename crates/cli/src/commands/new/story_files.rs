//! Character cards and lorebooks as parts of a new campaign.

use std::path::{Path, PathBuf};

use everturn::card::CharacterCard;
use everturn::lorebook::Lorebook;
use serde_json::{Value, json};

use crate::error::Error;
use crate::exit::Exit;

use super::super::import::read;

/// What the files of a story say.
#[derive(Debug, Default)]
pub(in crate::commands) struct StoryFiles {
    /// The characters, as fields of a new campaign.
    pub(in crate::commands) characters: Vec<Value>,
    pub(in crate::commands) lorebooks: Vec<Value>,
    /// The scenario of the first card that has one.
    pub(in crate::commands) premise: Option<String>,
}

fn unusable(path: &Path, cause: &dyn std::fmt::Display) -> Error {
    Error::new(Exit::Request, format!("cannot use {}: {cause}", path.display()))
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

impl StoryFiles {
    /// Reads cards (JSON or PNG) and lorebooks (JSON).
    pub(in crate::commands) fn read(
        cards: &[PathBuf],
        lorebooks: &[PathBuf],
    ) -> Result<StoryFiles, Error> {
        let mut files = StoryFiles::default();
        for path in cards {
            let card = CharacterCard::read(&read(path)?, &stem(path));
            let card = card.map_err(|cause| unusable(path, &cause))?;
            let scenario = card.names("the player").substitute(card.scenario.trim());
            if files.premise.is_none() && !scenario.is_empty() {
                files.premise = Some(scenario);
            }
            let about = card.prompt("the player");
            let name = card.display_name().trim().to_owned();
            files.characters.push(json!({"name": name, "description": about}));
            files.lorebooks.extend(card.book.and_then(|book| book.raw.to_value().ok()));
        }
        for path in lorebooks {
            let book = Lorebook::read(&read(path)?, &stem(path));
            let book = book.map_err(|cause| unusable(path, &cause))?;
            files.lorebooks.extend(book.raw.to_value().ok());
        }
        Ok(files)
    }
}
