//! The state files of a workspace: Markdown with front matter whose `type` names the kind, in `workspace/` of the
//! workspace's `.linggen` directory, which is the root of the store here.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::error::LinggenError;
use super::specs::front_matter;
use super::yaml::YamlDocument;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, Name};
use everturn_store::disk::FileKind;
use everturn_store::{
    Durability, FileMode, Fingerprint, Precondition, Step, Store, StoreError, read_optional,
};

/// The ending of a state file.
const STATE_END: &str = ".md";

/// A state file of a workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct StateFile {
    /// Its name without the ending.
    pub name: String,
    /// Its kind, such as `pm_task`.
    pub kind: Option<String>,
    /// The front matter.
    pub fields: Map<String, Value>,
    /// The text below the front matter.
    pub text: String,
    /// Its path.
    pub file: FilePath,
}

fn dir() -> FilePath {
    FilePath::root().join_static("workspace")
}

fn state_path(name: &str) -> Result<FilePath, LinggenError> {
    let name = Name::parse(name.strip_suffix(STATE_END).unwrap_or(name))?;
    Ok(dir().join(&Name::parse(&format!("{name}{STATE_END}"))?))
}

fn parse(file: &FilePath, bytes: &[u8]) -> Result<StateFile, String> {
    let text = String::from_utf8_lossy(bytes);
    let (yaml, body) = front_matter(&text);
    let yaml = yaml.ok_or("it has no front matter")?;
    let yaml = YamlDocument::parse(yaml).map_err(|error| error.to_string())?;
    let fields = yaml.values().clone();
    let name = file.name().map(|name| name.to_string()).unwrap_or_default();
    Ok(StateFile {
        name: name.strip_suffix(STATE_END).unwrap_or(&name).to_owned(),
        kind: fields.get("type").and_then(Value::as_str).map(str::to_owned),
        fields,
        text: body.trim().to_owned(),
        file: file.clone(),
    })
}

/// The state files of a workspace by name, and findings about those that cannot be used.
pub fn state_files(store: &Arc<dyn Store>) -> Result<(Vec<StateFile>, Vec<Finding>), LinggenError> {
    let entries = match store.list(&dir()) {
        Err(StoreError::Missing { .. }) => return Ok((Vec::new(), Vec::new())),
        other => other?.entries,
    };
    let (mut files, mut findings) = (Vec::new(), Vec::new());
    let is_state = |name: &Name| name.as_str().ends_with(STATE_END);
    for entry in entries.iter().filter(|entry| entry.kind == FileKind::File) {
        if entry.linked || !is_state(&entry.name) {
            continue;
        }
        let file = dir().join(&entry.name);
        let Some(bytes) = read_optional(store, &file)? else { continue };
        match parse(&file, &bytes) {
            Ok(state) => files.push(state),
            Err(reason) => findings.push(Finding::new(&file, FindingCode::BadMetadata, reason)),
        }
    }
    Ok((files, findings))
}

/// The content of a state file; `None` if it does not exist.
pub fn read_state_file(
    store: &Arc<dyn Store>,
    name: &str,
) -> Result<Option<Vec<u8>>, LinggenError> {
    Ok(read_optional(store, &state_path(name)?)?)
}

/// Writes a state file, or replaces it. The text must have front matter with a `type`.
pub fn write_state_file(
    store: &Arc<dyn Store>,
    name: &str,
    text: &str,
) -> Result<StateFile, LinggenError> {
    let file = state_path(name)?;
    let state = parse(&file, text.as_bytes()).map_err(LinggenError::input)?;
    if state.kind.is_none() {
        return Err(LinggenError::input("the front matter has no type"));
    }
    let writer = store.lock(std::slice::from_ref(&file))?;
    let before = read_optional(store, &file)?;
    let expect =
        before.map_or(Precondition::Absent, |bytes| Precondition::Content(Fingerprint::of(&bytes)));
    let (bytes, mode) = (text.as_bytes().to_vec(), FileMode::Default);
    let step = Step::Replace { file, expect, bytes, mode };
    writer.commit(vec![step], Durability::Synced)?;
    writer.release()?;
    Ok(state)
}

/// Removes a state file. Returns whether there was one.
pub fn remove_state_file(store: &Arc<dyn Store>, name: &str) -> Result<bool, LinggenError> {
    let path = state_path(name)?;
    let writer = store.lock(std::slice::from_ref(&path))?;
    let is_there = read_optional(store, &path)?.is_some();
    if is_there {
        writer.commit(vec![Step::Remove { path }], Durability::Synced)?;
    }
    writer.release()?;
    Ok(is_there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use everturn_store::MemoryStore;

    #[test]
    fn state_files_are_written_listed_and_removed() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        assert_eq!(state_files(&store).unwrap().0, []);
        let text = "---\ntype: pm_task\nid: 7\n---\n\nShip it.\n";
        write_state_file(&store, "task-7", text).unwrap();
        write_state_file(&store, "task-7.md", &text.replace("Ship", "Test")).unwrap();
        let (files, findings) = state_files(&store).unwrap();
        assert!(findings.is_empty(), "{findings:?}");
        assert_eq!(files.len(), 1);
        assert_eq!((files[0].name.as_str(), files[0].text.as_str()), ("task-7", "Test it."));
        assert_eq!(files[0].kind.as_deref(), Some("pm_task"));
        assert!(remove_state_file(&store, "task-7").unwrap());
        assert!(!remove_state_file(&store, "task-7").unwrap());
        assert_eq!(read_state_file(&store, "task-7").unwrap(), None);
    }

    #[test]
    fn names_cannot_leave_the_directory_and_kinds_are_required() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let text = "---\ntype: message\n---\n";
        for name in ["../x", "a/b", "a\\b", ""] {
            assert!(write_state_file(&store, name, text).is_err(), "{name:?}");
        }
        assert!(write_state_file(&store, "x", "no front matter").is_err());
        assert!(write_state_file(&store, "x", "---\nid: 1\n---\n").is_err());
    }
}
