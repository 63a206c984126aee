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

/// The items of a list in a document; `None` if there is no such setting.
fn items_at(
    document: &Document,
    place: &str,
    key: &str,
) -> Result<Option<Vec<Value>>, ConfigError> {
    let Some(text) = document.get(&segments(key)) else { return Ok(None) };
    match serde_json::from_str(text) {
        Ok(Value::Array(items)) => Ok(Some(items)),
        _ => {
            let reason = format!("{key} is not a list in {place}");
            Err(ConfigError::Value { reason })
        }
    }
}

/// The file with an item at the end of a list, which is created if necessary; the other items stay as they are written.
/// `None` if the list has the item already.
pub fn add_item(
    schema: &ConfigSchema,
    place: &str,
    bytes: Option<&[u8]>,
    key: &str,
    item: &Value,
) -> Result<Option<Vec<u8>>, ConfigError> {
    let alone = Value::Array(vec![item.clone()]);
    fields::check_value(schema, key, &alone).map_err(|reason| ConfigError::Value { reason })?;
    let mut document = open_document(schema, place, bytes)?;
    let edited = match items_at(&document, place, key)? {
        None => document.set(&segments(key), &alone),
        Some(items) if items.contains(item) => return Ok(None),
        Some(_) => document.push(&segments(key), item),
    };
    edited.map_err(|source| ConfigError::Edit { key: key.to_owned(), source })?;
    Ok(Some(document.into_bytes()))
}

/// The file without an item of a list; the other items stay as they are written. `None` if the list does not have it.
pub fn remove_item(
    schema: &ConfigSchema,
    place: &str,
    bytes: &[u8],
    key: &str,
    item: &Value,
) -> Result<Option<Vec<u8>>, ConfigError> {
    let mut document = open_document(schema, place, Some(bytes))?;
    let mut is_changed = false;
    while let Some(at) = items_at(&document, place, key)?
        .and_then(|items| items.iter().position(|other| other == item))
    {
        let mut path = segments(key);
        path.push(PathSegment::Index(at));
        let removed = document.remove(&path);
        removed.map_err(|source| ConfigError::Edit { key: key.to_owned(), source })?;
        is_changed = true;
    }
    Ok(is_changed.then(|| document.into_bytes()))
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
