//! `projects.json`: the approval mode of each project.

use std::fmt;
use std::sync::Arc;

use super::error::CodeliaError;
use everturn_json::names::FilePath;
use everturn_store::read_optional;
use everturn_store::{Durability, FileMode, Fingerprint, Precondition, Step, Store};
use everturn_value::document::{Document, JsonStyle, PathSegment};
use everturn_value::tree::{JsonTree, ValueKind};

/// How much an agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalMode {
    /// As little as possible.
    Minimal,
    /// The usual actions of a trusted project.
    Trusted,
    /// Everything.
    FullAccess,
}

impl ApprovalMode {
    /// All modes.
    pub const ALL: [ApprovalMode; 3] =
        [ApprovalMode::Minimal, ApprovalMode::Trusted, ApprovalMode::FullAccess];

    /// Parses a mode. An unknown word is an error, never a weaker or stronger mode.
    pub fn parse(word: &str) -> Result<ApprovalMode, CodeliaError> {
        let known = ApprovalMode::ALL.into_iter().find(|mode| mode.as_str() == word);
        known.ok_or_else(|| {
            let what = "is not an approval mode; known modes: minimal, trusted, full-access";
            CodeliaError::input(format!("{word:?} {what}"))
        })
    }

    /// The name of the mode.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ApprovalMode::Minimal => "minimal",
            ApprovalMode::Trusted => "trusted",
            ApprovalMode::FullAccess => "full-access",
        }
    }
}

impl fmt::Display for ApprovalMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The approval modes of projects.
#[derive(Debug, Clone)]
pub struct ProjectPolicies {
    file: FilePath,
    /// The document that was read, or `None` if there is no file.
    document: Option<Document>,
    /// The mode of projects without one of their own.
    pub default: Option<ApprovalMode>,
    /// The modes of projects, by their real paths.
    pub projects: Vec<(String, ApprovalMode)>,
}

impl ProjectPolicies {
    /// The name of the file.
    pub const FILE: &'static str = "projects.json";

    /// Reads the policies below the root of a store. Invalid content is an error.
    pub fn read(store: &Arc<dyn Store>) -> Result<ProjectPolicies, CodeliaError> {
        ProjectPolicies::read_at(store, &FilePath::parse(ProjectPolicies::FILE)?)
    }

    pub(super) fn read_at(
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<ProjectPolicies, CodeliaError> {
        let Some(bytes) = read_optional(store, file)? else {
            let (default, projects) = (None, Vec::new());
            return Ok(ProjectPolicies { file: file.clone(), document: None, default, projects });
        };
        let damaged = |reason: String| CodeliaError::damaged(file, reason);
        let document = Document::parse_like(&bytes, &JsonStyle::PRETTY_RAW_LINE)
            .map_err(|error| damaged(error.to_string()))?;
        let tree = JsonTree::parse(document.get(&[]).unwrap_or_default())
            .map_err(|error| damaged(error.to_string()))?;
        if tree.kind() != ValueKind::Object {
            return Err(damaged(format!("it is {}, not an object", tree.kind())));
        }
        match tree.text_at(&["version"]).as_deref() {
            Some("1") => {}
            Some(other) => return Err(damaged(format!("version is {other}, not 1"))),
            None => return Err(damaged("version is missing".to_owned())),
        }
        // A policy without a mode decides nothing.
        let policy =
            |place: &str, policy: &JsonTree| -> Result<Option<ApprovalMode>, CodeliaError> {
                if policy.kind() != ValueKind::Object {
                    return Err(damaged(format!("{place} is {}, not an object", policy.kind())));
                }
                let Some(mode) = policy.value_at(&["approval_mode"]) else { return Ok(None) };
                let mode = mode.string_at::<&str>(&[]).unwrap_or_else(|| mode.to_line());
                let mode = ApprovalMode::parse(&mode);
                mode.map(Some).map_err(|error| damaged(format!("{place}: {error}")))
            };
        let default = match tree.value_at(&["default"]) {
            Some(found) => policy("default", &found)?,
            None => None,
        };
        let mut projects = Vec::new();
        match tree.value_at(&["projects"]) {
            None => {}
            Some(found) if found.kind() == ValueKind::Object => {
                for (path, found) in found.children() {
                    let mode = policy(&format!("projects[{path:?}]"), &found)?;
                    projects.extend(mode.map(|mode| (path, mode)));
                }
            }
            Some(found) => {
                return Err(damaged(format!("projects is {}, not an object", found.kind())));
            }
        }
        Ok(ProjectPolicies { file: file.clone(), document: Some(document), default, projects })
    }

    /// The mode set for this project itself.
    #[must_use]
    pub fn of(&self, project: &str) -> Option<ApprovalMode> {
        self.projects.iter().find(|(path, _)| path == project).map(|(_, mode)| *mode)
    }

    /// Sets the mode of a project, or the default. Unknown fields stay.
    pub fn set(
        &mut self,
        store: &Arc<dyn Store>,
        project: Option<&str>,
        mode: ApprovalMode,
    ) -> Result<(), CodeliaError> {
        self.change(store, project, Some(mode)).map(drop)
    }

    /// Removes the mode of a project, or the default. Returns whether there was one. Unknown fields stay.
    pub fn remove(
        &mut self,
        store: &Arc<dyn Store>,
        project: Option<&str>,
    ) -> Result<bool, CodeliaError> {
        self.change(store, project, None)
    }

    fn change(
        &mut self,
        store: &Arc<dyn Store>,
        project: Option<&str>,
        mode: Option<ApprovalMode>,
    ) -> Result<bool, CodeliaError> {
        let writer = store.lock(std::slice::from_ref(&self.file))?;
        let expect = match &self.document {
            Some(document) => Precondition::Content(Fingerprint::of(document.text().as_bytes())),
            None => Precondition::Absent,
        };
        let wrong =
            |error: everturn_value::document::EditError| CodeliaError::input(error.to_string());
        let mut document = match &self.document {
            Some(document) => document.clone(),
            None => Document::new(&serde_json::json!({"version": 1}), JsonStyle::PRETTY_RAW_LINE)
                .map_err(wrong)?,
        };
        let key = PathSegment::Key;
        let place = match project {
            Some(path) => vec![key("projects"), key(path), key("approval_mode")],
            None => vec![key("default"), key("approval_mode")],
        };
        let is_changed = match mode {
            Some(mode) => document.set(&place, mode.as_str()).map(|()| true).map_err(wrong)?,
            None => document.remove(&place).map_err(wrong)?,
        };
        if !is_changed {
            writer.release()?;
            return Ok(false);
        }
        let (file, bytes) = (self.file.clone(), document.text().as_bytes().to_vec());
        let step = Step::Replace { file, expect, bytes, mode: FileMode::OwnerOnly };
        writer.commit(vec![step], Durability::Synced)?;
        writer.release()?;
        *self = ProjectPolicies::read_at(store, &self.file)?;
        Ok(true)
    }
}
