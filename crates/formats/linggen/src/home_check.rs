//! Checks the files of a home that belong to no project: configuration, agents, skills, newer missions, the PID file.

use std::sync::Arc;

use super::error::LinggenError;
use super::specs::{SpecDir, SpecKind, SpecSource, front_matter, specs};
use super::toml_document::TomlDocument;
use super::yaml::YamlDocument;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_store::disk::FileKind;
use everturn_store::{Store, StoreError, read_optional};

/// Whether a directory is a home: it has projects, and something that only a home has.
#[must_use]
pub fn is_home_dir(store: &Arc<dyn Store>, dir: &FilePath) -> bool {
    let has =
        |name: &'static str| store.stat(&dir.join_static(name)).is_ok_and(|stat| stat.is_some());
    let is_named = dir.name().is_some_and(|name| name.as_str() == ".linggen");
    let parts = ["agents", "skills", "plans", "ling.pid"].into_iter().filter(|name| has(name));
    (has("projects") || is_named || dir.is_root()) && (has("config") || parts.count() > 0)
}

/// Checks these files. Documents and lines are checked elsewhere.
pub fn check_home_files(
    store: &Arc<dyn Store>,
    dir: &FilePath,
) -> Result<Vec<Finding>, LinggenError> {
    let mut findings = Vec::new();
    for file in files_in(store, &dir.join_static("config"), ".toml")? {
        let bytes = store.read(&file, 0..u64::MAX)?;
        if let Err(error) = TomlDocument::parse(&bytes) {
            findings.push(Finding::new(&file, FindingCode::BadSetting, error.to_string()));
        }
    }
    for (kind, name) in [(SpecKind::Agent, "agents"), (SpecKind::Skill, "skills")] {
        let (store, dir) = (Arc::clone(store), dir.join_static(name));
        let found = specs(kind, &[SpecDir { source: SpecSource::Global, store, dir }])?;
        findings.extend(found.findings);
    }
    let pid = dir.join_static("ling.pid");
    if let Some(bytes) = read_optional(store, &pid)?
        && String::from_utf8_lossy(&bytes).trim().parse::<u32>().is_err()
    {
        findings.push(Finding::new(&pid, FindingCode::BadSetting, "it is not a number"));
    }
    let missions = dir.join_static("missions");
    let listing = match store.list(&missions) {
        Err(StoreError::Missing { .. }) => return Ok(findings),
        listing => listing?,
    };
    for entry in listing.entries.iter().filter(|entry| entry.kind == FileKind::Dir) {
        let file = missions.join(&entry.name).join_static("mission.md");
        let Some(bytes) = read_optional(store, &file)? else { continue };
        let text = String::from_utf8_lossy(&bytes);
        if let Err(error) = YamlDocument::parse(front_matter(&text).0.unwrap_or_default()) {
            findings.push(Finding::new(&file, FindingCode::BadMetadata, error.to_string()));
        }
    }
    Ok(findings)
}

fn files_in(
    store: &Arc<dyn Store>,
    dir: &FilePath,
    end: &str,
) -> Result<Vec<FilePath>, LinggenError> {
    let listing = match store.list(dir) {
        Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
        listing => listing?,
    };
    let files = listing.entries.iter().filter(|entry| entry.kind == FileKind::File);
    let files = files.filter(|entry| entry.name.as_str().ends_with(end));
    Ok(files.map(|entry| dir.join(&entry.name)).collect())
}
