//! The configuration of Linggen: TOML, with an overlay of changes made at run time.

use std::path::PathBuf;

use everturn::config::{Config, ConfigLayer};
use everturn::linggen::{ConfigSearch, SCHEMA, TomlDocument, TomlError};
use serde_json::Value;

use crate::error::Error;
use crate::exit::Exit;
use crate::{agent_homes, settings};

/// The configuration file and its overlay.
pub(crate) struct ConfigFiles {
    pub(crate) config: Option<PathBuf>,
    pub(crate) runtime: Option<PathBuf>,
    /// The file that changes are written to.
    pub(crate) to_write: PathBuf,
}

fn damaged(file: &std::path::Path, error: TomlError) -> Error {
    Error::new(Exit::Damaged, format!("{} cannot be used", file.display())).caused_by(error)
}

fn first(files: Vec<String>) -> Result<Option<PathBuf>, Error> {
    for file in files.into_iter().map(PathBuf::from) {
        if agent_homes::read(&file)?.is_some() {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Locates the files in the usual order.
pub(crate) fn files(home: &agent_homes::AgentHome) -> Result<ConfigFiles, Error> {
    let own = home.dirs.state_dir.to_string_lossy();
    let (named, here, user) = settings::linggen_search();
    let search =
        ConfigSearch { named: named.as_deref(), current_dir: &here, home: &own, user_home: &user };
    let config = first(search.files())?;
    let beside = config.as_ref().map(|file| file.to_string_lossy().into_owned());
    let runtime = first(search.overrides(beside.as_deref()))?;
    let to_write = runtime.clone().unwrap_or_else(|| PathBuf::from(search.override_to_write()));
    Ok(ConfigFiles { config, runtime, to_write })
}

/// Returns the configuration with all its layers.
pub(crate) fn read(
    home: &agent_homes::AgentHome,
    flags: &[(String, Value)],
) -> Result<Config, Error> {
    let mut config = Config::new(&SCHEMA);
    let ConfigFiles { config: base, runtime, .. } = files(home)?;
    for (layer, file) in [(ConfigLayer::Global, base), (ConfigLayer::Runtime, runtime)] {
        let Some(file) = file else { continue };
        let bytes = agent_homes::read(&file)?.unwrap_or_default();
        let toml = TomlDocument::parse(&bytes).map_err(|error| damaged(&file, error))?;
        config.add_settings(layer, &file.to_string_lossy(), toml.value());
    }
    for (key, value) in flags {
        config.add_value(ConfigLayer::Flag, "--set", key, value.clone())?;
    }
    Ok(config)
}

/// Sets or removes a setting in the overlay; returns its location, or `None` if there was nothing to remove.
pub(crate) fn change(
    home: &agent_homes::AgentHome,
    key: &str,
    value: Option<&Value>,
) -> Result<Option<(ConfigLayer, String)>, Error> {
    let file = files(home)?.to_write;
    let before = agent_homes::read(&file)?;
    let mut toml = TomlDocument::parse(before.as_deref().unwrap_or_default())
        .map_err(|error| damaged(&file, error))?;
    let refused = |error: TomlError| Error::new(Exit::Request, error.to_string());
    match value {
        Some(value) => toml.set(key, value).map_err(refused)?,
        None if toml.remove(key) => {}
        None => return Ok(None),
    }
    agent_homes::write(&file, before.as_deref(), toml.text().into_bytes())?;
    Ok(Some((ConfigLayer::Runtime, file.to_string_lossy().into_owned())))
}
