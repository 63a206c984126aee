//! Agents and skills: Markdown files with YAML front matter, from several directories of which later ones win.
//!
//! [`specs`] searches each [`SpecDir`] and returns a [`SpecListing`] of [`Spec`] values.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::error::LinggenError;
use super::yaml::{YamlDocument, YamlError};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, Name, SessionId};
use everturn_session::repair::{allocate_originals_for, original_path};
use everturn_store::disk::FileKind;
use everturn_store::{Durability, FileMode, Precondition, Step, Store, StoreError};

/// The kind of a spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecKind {
    /// Agents: `{name}.md`, with a name, a description and tools.
    Agent,
    /// Skills: `{name}.md` or `{name}/SKILL.md`, with a name and a description.
    Skill,
}

impl SpecKind {
    fn required(self) -> &'static [&'static str] {
        match self {
            SpecKind::Agent => &["name", "description", "tools"],
            SpecKind::Skill => &["name", "description"],
        }
    }
}

/// The kind of directory that contains a spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecSource {
    /// The home.
    Global,
    /// The home of a program with compatible skills.
    Compatible,
    /// The workspace.
    Project,
}

/// A directory to search.
pub struct SpecDir {
    /// The kind of the directory.
    pub source: SpecSource,
    /// The store that contains it.
    pub store: Arc<dyn Store>,
    /// Its path in the store.
    pub dir: FilePath,
}

/// An agent or a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Its id: the name in lower case.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// The front matter.
    pub fields: Map<String, Value>,
    /// The text after the front matter.
    pub body: String,
    /// The kind of directory that contains it.
    pub source: SpecSource,
    /// The path of its file.
    pub file: FilePath,
}

/// The specs by id, and the findings.
#[derive(Debug, Clone, Default)]
pub struct SpecListing {
    /// The agents or skills.
    pub specs: BTreeMap<String, Spec>,
    /// Files that could not be used.
    pub findings: Vec<Finding>,
}

/// Splits a text into the YAML between two lines of `---` and the rest. A text without them has no YAML.
///
/// ```
/// use everturn_linggen::front_matter;
///
/// let (yaml, body) = front_matter("---\nname: a --- b\n---\nWords\n");
/// assert_eq!((yaml, body), (Some("name: a --- b\n"), "Words\n"));
/// ```
#[must_use]
pub fn front_matter(text: &str) -> (Option<&str>, &str) {
    let content = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = content.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return (None, text);
    };
    let mut at = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            let body = content.get(at + line.len()..).unwrap_or_default();
            return (content.get(first.len()..at), body);
        }
        at += line.len();
    }
    (None, text)
}

/// Finds agents or skills. Of several with the same id, the one in the last directory counts.
pub fn specs(kind: SpecKind, dirs: &[SpecDir]) -> Result<SpecListing, LinggenError> {
    let mut found = SpecListing::default();
    for dir in dirs {
        for file in files(kind, dir, &mut found.findings)? {
            let Ok(text) = String::from_utf8(dir.store.read(&file, 0..u64::MAX)?) else {
                found.findings.push(Finding::new(&file, FindingCode::NotUtf8, "it is not UTF-8"));
                continue;
            };
            match read(kind, dir.source, &file, &text) {
                Ok(spec) => drop(found.specs.insert(spec.id.clone(), spec)),
                Err(reason) => {
                    found.findings.push(Finding::new(&file, FindingCode::BadMetadata, reason));
                }
            }
        }
    }
    Ok(found)
}

/// The name of the directory in the home that has the specs of a kind.
fn dir_name(kind: SpecKind) -> &'static str {
    match kind {
        SpecKind::Agent => "agents",
        SpecKind::Skill => "skills",
    }
}

/// The file of a new agent or skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecShape {
    /// `{id}.md`.
    Flat,
    /// `{id}/SKILL.md`, with room for other files of a skill.
    Nested,
}

/// Adds an agent or a skill to the home. An existing one of the same name is an error, and so is a nested agent.
pub fn add_spec(
    store: &Arc<dyn Store>,
    kind: SpecKind,
    shape: SpecShape,
    text: &str,
) -> Result<Spec, LinggenError> {
    let dir = FilePath::root().join_static(dir_name(kind));
    let writer = store.lock(std::slice::from_ref(&dir))?;
    let mut spec = read(kind, SpecSource::Global, &dir, text).map_err(LinggenError::input)?;
    spec.file = match (shape, kind) {
        (SpecShape::Flat, _) => dir.join(&Name::parse(&format!("{}.md", spec.id))?),
        (SpecShape::Nested, SpecKind::Skill) => {
            dir.join(&Name::parse(&spec.id)?).join_static("SKILL.md")
        }
        (SpecShape::Nested, SpecKind::Agent) => {
            return Err(LinggenError::input("an agent is one file"));
        }
    };
    let here = SpecDir { source: SpecSource::Global, store: Arc::clone(store), dir };
    if let Some(other) = specs(kind, &[here])?.specs.get(&spec.id) {
        return Err(LinggenError::input(format!("{} exists in {}", spec.id, other.file)));
    }
    let step = Step::Replace {
        file: spec.file.clone(),
        expect: Precondition::Absent,
        bytes: text.as_bytes().to_vec(),
        mode: FileMode::Default,
    };
    writer.commit(vec![step], Durability::Synced)?;
    writer.release()?;
    Ok(spec)
}

/// Moves an agent or a skill of the home to the trash. Returns its new path; `None` if there is no such one.
pub fn remove_spec(
    store: &Arc<dyn Store>,
    kind: SpecKind,
    name: &str,
    now: Timestamp,
) -> Result<Option<FilePath>, LinggenError> {
    let dir = FilePath::root().join_static(dir_name(kind));
    let owner = SessionId::parse(dir_name(kind))?;
    let trash = allocate_originals_for(store, &owner, "removed", now)?;
    let writer = store.lock(&[dir.clone(), trash.clone()])?;
    let here = SpecDir { source: SpecSource::Global, store: Arc::clone(store), dir: dir.clone() };
    let found = specs(kind, &[here])?.specs.remove(&name.to_lowercase());
    let Some(spec) = found else {
        writer.release()?;
        return Ok(None);
    };
    // A skill in a directory of its own may have other files there.
    let from = spec.file.parent().filter(|own| *own != dir).unwrap_or(spec.file);
    let to = original_path(&trash, &from);
    let step = Step::Rename { from, to: to.clone() };
    writer.commit(vec![step], Durability::Synced)?;
    writer.release()?;
    Ok(Some(to))
}

fn files(
    kind: SpecKind,
    dir: &SpecDir,
    findings: &mut Vec<Finding>,
) -> Result<Vec<FilePath>, LinggenError> {
    let listing = match dir.store.list(&dir.dir) {
        Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
        listing => listing?,
    };
    let mut files = Vec::new();
    for entry in listing.entries {
        let path = dir.dir.join(&entry.name);
        match entry.kind {
            FileKind::File if entry.name.as_str().ends_with(".md") => files.push(path),
            FileKind::Dir if kind == SpecKind::Skill => {
                let inner = path.join_static("SKILL.md");
                files.extend(dir.store.stat(&inner)?.map(|_| inner));
            }
            FileKind::LinkOutside => {
                let message = "is a link that points outside the root, and is ignored";
                findings.push(Finding::new(&path, FindingCode::LinkOutside, message));
            }
            _ => {}
        }
    }
    Ok(files)
}

fn read(kind: SpecKind, source: SpecSource, file: &FilePath, text: &str) -> Result<Spec, String> {
    let (yaml, body) = front_matter(text);
    let yaml = yaml.ok_or("the front matter is not enclosed in `---` lines")?;
    let yaml = YamlDocument::parse(yaml).map_err(|error: YamlError| error.to_string())?;
    let missing = |key: &&&str| yaml.values().get(**key).is_none_or(Value::is_null);
    if let Some(key) = kind.required().iter().find(missing) {
        return Err(format!("it has no {key}"));
    }
    let name = yaml.string("name").ok_or("its name is not a string")?;
    Ok(Spec {
        id: name.to_lowercase(),
        description: yaml.string("description").unwrap_or_default(),
        name,
        fields: yaml.values().clone(),
        body: body.to_owned(),
        source,
        file: file.clone(),
    })
}
