//! Rebuilds the document that names the project of a directory.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::FileRepair;
use crate::document::JsonDocument;
use crate::encoding::{ProjectDir, ProjectPath};
use crate::error::LinggenError;
use crate::paths::ProjectPart;
use crate::project::{is_encoded, read_project};
use crate::runs::runs;
use everturn_json::names::FilePath;
use everturn_session::repair::find_value_after;
use everturn_store::{Store, read_optional};
use everturn_value::document::{Document, JsonStyle};

/// The repair of a project's document, if it needs one.
pub(super) fn repair_project(
    store: &Arc<dyn Store>,
    dir: &FilePath,
    now: Timestamp,
) -> Result<Option<FileRepair>, LinggenError> {
    let file = ProjectPart::Info.of(dir);
    let Some(bytes) = read_optional(store, &file)? else { return Ok(None) };
    let document = Document::parse(&bytes).ok();
    let clean = document.as_ref().is_some_and(|document| document.findings(&file).is_empty());
    let is_good = match read_project(store, dir) {
        Ok(project) => clean && project.path.is_some() && project.is_in_own_dir(),
        Err(LinggenError::Damaged { file: damaged, .. }) if damaged == file => false,
        // Another document is damaged; this one is left alone.
        Err(LinggenError::Damaged { .. }) => clean,
        Err(error) => return Err(error),
    };
    if is_good {
        return Ok(None);
    }
    let mut fields = document
        .and_then(|document| document.value(&[]).ok().flatten())
        .and_then(|value| value.as_object().cloned())
        .unwrap_or_default();
    let Some(path) = owner(store, dir, &bytes)? else {
        let says = fields.get("path").and_then(Value::as_str).map(ProjectPath::parse);
        if clean && says.is_some_and(|path| path.is_ok()) {
            // The path may be right and the directory name wrong: this cannot be decided automatically.
            return Ok(None);
        }
        let what = "moved out, because it does not name the project; set it with `everturn linggen project rehome \
                    PATH PATH`";
        return Ok(Some(FileRepair { file, what: what.to_owned(), bytes: None }));
    };
    complete(&mut fields, &bytes, &path, now);
    let document = Document::new(&fields, JsonStyle::PRETTY_RAW)?;
    let what = format!("rebuilt for the project {path}");
    Ok(Some(FileRepair { file, what, bytes: Some(document.into_bytes()) }))
}

/// Fills in the fields of a project's document from its remains.
fn complete(fields: &mut Map<String, Value>, bytes: &[u8], path: &ProjectPath, now: Timestamp) {
    let known = std::mem::take(fields);
    let left = |key: &str| find_value_after(bytes, key).and_then(|tree| tree.to_value().ok());
    let value = |key: &str| known.get(key).cloned().or_else(|| left(key));
    let name = value("name").filter(Value::is_string).unwrap_or_else(|| path.name().into());
    let added = value("added_at").filter(Value::is_i64).unwrap_or_else(|| now.as_second().into());
    fields.insert("path".to_owned(), path.as_str().into());
    fields.insert("name".to_owned(), name);
    fields.insert("added_at".to_owned(), added);
    for (key, value) in known {
        fields.entry(key).or_insert(value);
    }
}

/// The path of the project, from any source that matches the name of the directory.
fn owner(
    store: &Arc<dyn Store>,
    dir: &FilePath,
    bytes: &[u8],
) -> Result<Option<ProjectPath>, LinggenError> {
    let encoded = dir.name().map(|name| ProjectDir::parse(name.as_str()).encoded);
    let encoded = encoded.unwrap_or_default();
    let mut said: Vec<String> = Vec::new();
    said.extend(find_value_after(bytes, "path").and_then(|tree| tree.string_at::<&str>(&[])));
    match JsonDocument::read(store, &ProjectPart::Owner.of(dir)) {
        Ok(owner) => said.extend(owner.and_then(|owner| owner.string("path"))),
        Err(LinggenError::Damaged { .. }) => {}
        Err(error) => return Err(error),
    }
    for run in runs(store, dir)?.0 {
        said.extend(run.value.get("repo_path").and_then(Value::as_str).map(str::to_owned));
    }
    // A name without a second separator stands for one path only.
    let one = encoded.strip_prefix('-').filter(|rest| !rest.contains('-'));
    said.extend(one.map(|rest| format!("/{rest}")));
    let mut paths = said.iter().filter_map(|path| ProjectPath::parse(path).ok());
    Ok(paths.find(|path| is_encoded(path, &encoded)))
}
