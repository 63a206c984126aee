//! The configuration of Linggen: TOML, with an overlay of changes made at run time.

use std::path::{Path, PathBuf};

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
    /// The file that the user named in the environment.
    named: Option<PathBuf>,
    /// The file that changes are written to.
    pub(crate) to_write: PathBuf,
}

fn damaged(file: &Path, error: TomlError) -> Error {
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
    let named = search.named_file().map(PathBuf::from);
    let usual = || PathBuf::from(search.override_to_write());
    let to_write = named.clone().or_else(|| runtime.clone()).unwrap_or_else(usual);
    Ok(ConfigFiles { config, runtime, named, to_write })
}

/// Returns the configuration with all its layers.
pub(crate) fn read(
    home: &agent_homes::AgentHome,
    flags: &[(String, Value)],
) -> Result<Config, Error> {
    let mut config = Config::new(&SCHEMA);
    let ConfigFiles { config: base, runtime, .. } = files(home)?;
    for (layer, file) in [(ConfigLayer::Global, base), (ConfigLayer::Runtime, runtime)] {
        if let Some(file) = file {
            config.add_settings(layer, &file.to_string_lossy(), parse(&file)?.value());
        }
    }
    for (key, value) in flags {
        config.add_value(ConfigLayer::Flag, "--set", key, value.clone())?;
    }
    Ok(config)
}

fn parse(file: &Path) -> Result<TomlDocument, Error> {
    let bytes = agent_homes::read(file)?.unwrap_or_default();
    TomlDocument::parse(&bytes).map_err(|error| damaged(file, error))
}

/// Sets or removes a setting in the file that the user named, or in the overlay; returns its location, or `None` if there
/// was nothing to remove.
///
/// Linggen uses the first file that it finds, and nothing else. So an overlay begins as the whole configuration: one with
/// a single setting would hide all others.
pub(crate) fn change(
    home: &agent_homes::AgentHome,
    key: &str,
    value: Option<&Value>,
) -> Result<Option<(ConfigLayer, String)>, Error> {
    let ConfigFiles { config, named, to_write: file, .. } = files(home)?;
    let before = agent_homes::read(&file)?;
    if let Some(named) = named.filter(|_| before.is_none()) {
        let what = format!("LINGGEN_CONFIG names {}, which does not exist", named.display());
        return Err(Error::new(Exit::Request, what).hint("create the file, or unset the variable"));
    }
    let base = config.filter(|base| *base != file);
    let base = base.map(|base| parse(&base)).transpose()?;
    let mut toml = match (&before, &base) {
        (Some(bytes), _) => TomlDocument::parse(bytes).map_err(|error| damaged(&file, error))?,
        (None, Some(base)) => base.clone(),
        (None, None) => TomlDocument::parse(&[]).map_err(|error| damaged(&file, error))?,
    };
    let refused = |error: TomlError| Error::new(Exit::Request, error.to_string());
    match value {
        Some(value) => {
            let (group, rest) = key.split_once('.').unwrap_or((key, ""));
            let is_list =
                |base: &TomlDocument| base.value().get(group).is_some_and(Value::is_array);
            if let Some(base) = base.as_ref().filter(|base| !rest.is_empty() && is_list(base)) {
                toml.adopt(base, group);
            }
            toml.set(key, value).map_err(refused)?;
        }
        None if toml.remove(key) => {}
        None => return Ok(None),
    }
    if before.is_none() && base.is_none() && toml.value().get("models").is_none() {
        let what = format!(
            "Linggen has no configuration file yet; a file that sets only {key} would drop its default models"
        );
        return Err(Error::new(Exit::Request, what).hint("set `models` first"));
    }
    home.write(&file, before.as_deref(), toml.text().into_bytes())?;
    Ok(Some((ConfigLayer::Runtime, file.to_string_lossy().into_owned())))
}
