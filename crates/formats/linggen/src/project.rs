//! Projects: which directory belongs to which path.
//!
//! `project.json` names the project of a directory. Programs rewrite it whenever they open a project, and ignore that
//! paths may be encoded alike; in that case `everturn.json` beside it names the first project, and takes precedence.
//!
//! [`Project`] is a directory with its path, and [`ProjectListing`] all of them.

mod rehome;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::document::JsonDocument;
use super::encoding::{ProjectDir, ProjectPath};
use super::error::LinggenError;
use super::paths::{ProjectPart, projects_dir};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_store::disk::FileKind;
use everturn_store::{Durability, FileMode, Step, Store, StoreError};

pub use rehome::{RehomePlan, plan_rehome, rehome};

/// A project's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The path of the directory.
    pub dir: FilePath,
    /// The path of the project, if known.
    pub path: Option<ProjectPath>,
    /// The name of the project.
    pub name: String,
    /// When it was added, or last opened.
    pub opened: Option<Timestamp>,
    /// Its former paths.
    pub formerly: Vec<String>,
}

impl Project {
    /// Whether its directory is named after its path, or after a former one.
    pub(crate) fn is_in_own_dir(&self) -> bool {
        let dir = self.dir.name().map(|name| ProjectDir::parse(name.as_str()).encoded);
        let Some(dir) = dir else { return true };
        let formerly = self.formerly.iter().filter_map(|path| ProjectPath::parse(path).ok());
        let mut paths = self.path.iter().cloned().chain(formerly);
        paths.any(|path| is_encoded(&path, &dir))
    }
}

/// Whether a path is encoded as `dir`; other programs also encode a trailing separator.
pub(crate) fn is_encoded(path: &ProjectPath, dir: &str) -> bool {
    path.encoded().is_ok_and(|name| {
        let name = name.as_str();
        name == dir || dir.strip_suffix('-') == Some(name)
    })
}

/// All projects of a home, and the findings.
#[derive(Debug, Clone, Default)]
pub struct ProjectListing {
    /// The projects, by the names of their directories.
    pub projects: Vec<Project>,
    /// Projects that are unreadable or invalid.
    pub findings: Vec<Finding>,
}

/// The directories of all projects.
pub(crate) fn project_dirs(
    store: &Arc<dyn Store>,
    findings: &mut Vec<Finding>,
) -> Result<Vec<FilePath>, LinggenError> {
    dirs_in(store, &projects_dir(), findings)
}

/// The subdirectories of a directory; a missing one has none. Unusable entries become findings.
pub(crate) fn dirs_in(
    store: &Arc<dyn Store>,
    dir: &FilePath,
    findings: &mut Vec<Finding>,
) -> Result<Vec<FilePath>, LinggenError> {
    let listing = match store.list(dir) {
        Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
        listing => listing?,
    };
    for (name, reason) in listing.refused {
        let message = format!("contains {name:?}, which is ignored: {reason}");
        findings.push(Finding::new(dir, FindingCode::BadName, message));
    }
    let mut dirs = Vec::with_capacity(listing.entries.len());
    for entry in listing.entries {
        match entry.kind {
            FileKind::Dir => dirs.push(dir.join(&entry.name)),
            FileKind::LinkOutside => {
                let message = "is a link that points outside the home, and is ignored";
                findings.push(Finding::new(
                    &dir.join(&entry.name),
                    FindingCode::LinkOutside,
                    message,
                ));
            }
            _ => {}
        }
    }
    Ok(dirs)
}

/// All projects of a home. An unreadable one does not hide the others.
pub fn projects(store: &Arc<dyn Store>) -> Result<ProjectListing, LinggenError> {
    let mut found = ProjectListing::default();
    for dir in project_dirs(store, &mut found.findings)? {
        match read_project(store, &dir) {
            Ok(project) => found.projects.push(project),
            Err(LinggenError::Damaged { file, reason }) => {
                found.findings.push(Finding::new(&file, FindingCode::BadMetadata, reason));
                found.projects.push(unnamed_project(dir));
            }
            Err(error) => return Err(error),
        }
    }
    let twice = |at: usize, project: &Project| {
        let later = found.projects.get(at + 1..).unwrap_or_default();
        later.iter().find(|other| other.path == project.path && project.path.is_some()).cloned()
    };
    let mut findings = Vec::new();
    for (at, project) in found.projects.iter().enumerate() {
        if let Some(other) = twice(at, project) {
            let message = format!("{} claims the same project", other.dir);
            findings.push(Finding::new(&project.dir, FindingCode::SessionTwice, message));
        }
    }
    found.findings.append(&mut findings);
    Ok(found)
}

pub(crate) fn unnamed_project(dir: FilePath) -> Project {
    let name = dir.name().map(|name| name.to_string()).unwrap_or_default();
    Project { dir, path: None, name, opened: None, formerly: Vec::new() }
}

/// Reads the project that a directory belongs to.
pub(crate) fn read_project(
    store: &Arc<dyn Store>,
    dir: &FilePath,
) -> Result<Project, LinggenError> {
    let mut project = unnamed_project(dir.clone());
    let path_in = |stored: &JsonDocument| -> Result<Option<ProjectPath>, LinggenError> {
        let Some(path) = stored.string("path") else { return Ok(None) };
        let parsed = ProjectPath::parse(&path);
        parsed.map(Some).map_err(|error| LinggenError::damaged(&stored.file, error))
    };
    if let Some(info) = JsonDocument::read(store, &ProjectPart::Info.of(dir))? {
        project.path = path_in(&info)?;
        project.name = info.string("name").unwrap_or(project.name);
        let seconds = info.get("added_at").and_then(|seconds| seconds.as_i64());
        project.opened = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    }
    if let Some(owner) = JsonDocument::read(store, &ProjectPart::Owner.of(dir))? {
        if let Some(path) = path_in(&owner)? {
            if project.path.as_ref() != Some(&path) {
                path.name().clone_into(&mut project.name);
            }
            project.path = Some(path);
        }
        let formerly = owner.get("formerly");
        let formerly = formerly.as_ref().and_then(|paths| paths.as_array());
        let paths = formerly.into_iter().flatten().filter_map(|path| path.as_str());
        project.formerly = paths.map(str::to_owned).collect();
    }
    Ok(project)
}

/// The location of a project.
pub(crate) enum ProjectLocation {
    /// An existing project.
    Is(Project),
    /// None yet; this directory is free.
    Free(FilePath),
    /// This directory exists, and nothing names its project.
    Unclaimed(FilePath),
}

/// Locates the directory of a project.
pub(crate) fn locate(
    store: &Arc<dyn Store>,
    path: &ProjectPath,
) -> Result<ProjectLocation, LinggenError> {
    let encoded = path.encoded()?.to_string();
    let mut home = None;
    for number in 1_u32.. {
        let dir = projects_dir().join(&ProjectDir { encoded: encoded.clone(), number }.name()?);
        if store.stat(&dir)?.is_none() {
            home = home.or(Some(ProjectLocation::Free(dir)));
            break;
        }
        let project = read_project(store, &dir)?;
        match &project.path {
            Some(owner) if owner == path => return Ok(ProjectLocation::Is(project)),
            Some(_) => {}
            None => home = home.or(Some(ProjectLocation::Unclaimed(dir))),
        }
    }
    // Its directory may have another name, for example if it was made for a path with a trailing slash.
    let mut others = projects(store)?.projects.into_iter();
    if let Some(project) = others.find(|project| project.path.as_ref() == Some(path)) {
        return Ok(ProjectLocation::Is(project));
    }
    home.ok_or_else(|| {
        LinggenError::input(format!("no free directory name for the project {path}"))
    })
}

/// The project of a path, if there is one.
pub fn find_project(
    store: &Arc<dyn Store>,
    path: &ProjectPath,
) -> Result<Option<Project>, LinggenError> {
    Ok(match locate(store, path)? {
        ProjectLocation::Is(project) => Some(project),
        ProjectLocation::Free(_) | ProjectLocation::Unclaimed(_) => None,
    })
}

/// How often another process may be faster.
const TRIES: usize = 16;

/// The project of a path, created if necessary. No two paths ever get the same directory.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_linggen::{ProjectPath, open_project};
/// use everturn_store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let dir = |path: &str| -> Result<String, everturn_linggen::LinggenError> {
///     Ok(open_project(&store, &ProjectPath::parse(path)?, now)?.dir.to_string())
/// };
/// assert_eq!(dir("/a/b-c")?, "projects/-a-b-c");
/// assert_eq!(dir("/a-b/c")?, "projects/-a-b-c~2");
/// assert_eq!(dir("/a/b-c")?, "projects/-a-b-c");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_project(
    store: &Arc<dyn Store>,
    path: &ProjectPath,
    now: Timestamp,
) -> Result<Project, LinggenError> {
    let mut tries = 0;
    loop {
        let (dir, steps) = match locate(store, path)? {
            ProjectLocation::Is(project) => return Ok(project),
            ProjectLocation::Unclaimed(dir) => (dir.clone(), vec![info(path, &dir, now)?]),
            ProjectLocation::Free(dir) => {
                let mut steps = vec![info(path, &dir, now)?];
                steps.extend(claim_first(store, path, &dir)?);
                (dir, steps)
            }
        };
        let scopes: Vec<FilePath> = steps.iter().flat_map(|step| step.paths().cloned()).collect();
        let claimed = store.lock(&scopes).and_then(|writer| {
            writer.commit(steps, Durability::Synced)?;
            writer.release()
        });
        tries += 1;
        match claimed {
            Ok(()) => return read_project(store, &dir),
            // Another process was faster; the next attempt sees whose directory it is now.
            Err(StoreError::Taken { .. } | StoreError::Changed { .. }) if tries < TRIES => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The step that names the project of a directory.
fn info(path: &ProjectPath, dir: &FilePath, now: Timestamp) -> Result<Step, LinggenError> {
    let value = json!({"path": path.as_str(), "name": path.name(), "added_at": now.as_second()});
    Ok(JsonDocument::new(&ProjectPart::Info.of(dir), &value)?.step(FileMode::Default))
}

/// If a project does not get the directory that other programs would give it, records the owner of that directory
/// there, because those programs will overwrite its `project.json`.
fn claim_first(
    store: &Arc<dyn Store>,
    path: &ProjectPath,
    dir: &FilePath,
) -> Result<Option<Step>, LinggenError> {
    let first = projects_dir().join(&path.encoded()?);
    let file = ProjectPart::Owner.of(&first);
    if first == *dir || store.stat(&file)?.is_some() {
        return Ok(None);
    }
    let Some(owner) = read_project(store, &first)?.path else { return Ok(None) };
    let note = JsonDocument::new(&file, &json!({"path": owner.as_str()}))?;
    Ok(Some(note.step(FileMode::Default)))
}
