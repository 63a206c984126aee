//! Edits configuration files. Everything else in the file is preserved.

use serde_json::{Value, json};

use super::{
    Config, ConfigError, ConfigLayer, ConfigSchema, fields, key_parts, parse_object, value_at,
};
use everturn_value::document::{Document, JsonStyle, PathSegment};

/// The document to edit: the file, or a new one.
fn open_document(
    schema: &ConfigSchema,
    place: &str,
    bytes: Option<&[u8]>,
) -> Result<Document, ConfigError> {
    let edit = |source| ConfigError::Edit { key: "version".to_owned(), source };
    let Some(bytes) = bytes else {
        return Document::new(&json!({"version": schema.version}), JsonStyle::PRETTY_RAW_LINE)
            .map_err(edit);
    };
    let value = parse_object(place, bytes)?;
    let shape = |reason| ConfigError::Shape { place: place.to_owned(), reason };
    let mut document = Document::parse_like(bytes, &JsonStyle::PRETTY_RAW_LINE)
        .map_err(|source| ConfigError::Parse { place: place.to_owned(), source })?;
    match value.get("version") {
        Some(version) if version.as_u64() == Some(schema.version) => {}
        Some(version) => {
            return Err(shape(format!("version is {version}, not {}", schema.version)));
        }
        None => document.set(&[PathSegment::Key("version")], &schema.version).map_err(edit)?,
    }
    Ok(document)
}

fn segments(key: &str) -> Vec<PathSegment<'_>> {
    key_parts(key).into_iter().map(PathSegment::Key).collect()
}

/// The file with a changed setting; `bytes` are its present content, if it exists.
pub fn set_value(
    schema: &ConfigSchema,
    place: &str,
    bytes: Option<&[u8]>,
    key: &str,
    value: &Value,
) -> Result<Vec<u8>, ConfigError> {
    fields::check_value(schema, key, value).map_err(|reason| ConfigError::Value { reason })?;
    let mut document = open_document(schema, place, bytes)?;
    document
        .set(&segments(key), value)
        .map_err(|source| ConfigError::Edit { key: key.to_owned(), source })?;
    Ok(document.into_bytes())
}

/// The file without a setting; `None` if it does not have it.
pub fn remove_value(
    schema: &ConfigSchema,
    place: &str,
    bytes: &[u8],
    key: &str,
) -> Result<Option<Vec<u8>>, ConfigError> {
    let mut document = open_document(schema, place, Some(bytes))?;
    let removed = document
        .remove(&segments(key))
        .map_err(|source| ConfigError::Edit { key: key.to_owned(), source })?;
    Ok(removed.then(|| document.into_bytes()))
}

/// The layer to which a change of a setting is written: the one that defines it, the project first, otherwise the layer
/// of its group.
#[must_use]
pub fn layer_for(config: &Config, key: &str) -> ConfigLayer {
    let has = |layer: ConfigLayer| {
        let mut layers = config.layers.iter().filter(|origin| origin.layer == layer);
        layers.any(|origin| value_at(&origin.value, key).is_some())
    };
    let group = key.split('.').next().unwrap_or(key);
    match () {
        () if has(ConfigLayer::Project) => ConfigLayer::Project,
        () if has(ConfigLayer::Global) => ConfigLayer::Global,
        () if config.schema.project_groups.contains(&group) => ConfigLayer::Project,
        () => ConfigLayer::Global,
    }
}
