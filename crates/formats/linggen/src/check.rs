//! Checks a session, and the other contents of a project.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::encoding::ProjectPath;
use super::error::LinggenError;
use super::messages::finding;
use super::missions::missions;
use super::paths::{ProjectPart, SessionFile};
use super::project::read_project;
use super::runs::runs;
use super::session::{Session, SessionLocation, SessionMeta};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_session::finding_sink::FindingSink;
use everturn_session::marks;
use everturn_store::Store;

/// The checked files, and the findings.
pub struct SessionCheck {
    pub files: BTreeSet<FilePath>,
    /// The number of good records.
    pub records: u64,
    pub findings: Vec<Finding>,
}

impl Session {
    /// All findings of the session.
    pub fn check(&self) -> Result<Vec<Finding>, LinggenError> {
        Ok(self.count_and_check()?.1)
    }

    /// The number of records, and the findings.
    fn count_and_check(&self) -> Result<(u64, Vec<Finding>), LinggenError> {
        let mut findings = self.findings().to_vec();
        let file = self.file(SessionFile::Messages);
        let (mut records, mut rows) = (0, self.rows()?);
        for row in &mut rows {
            let row = row?;
            records += 1;
            if let Some(reason) = row.lacks() {
                let message = format!("linggen skips this message: {reason}");
                findings.push(finding(&file, &row, message));
            }
        }
        findings.append(&mut rows.findings);
        findings.extend(marks::check_marks(&self.store, &self.place().dir, records)?);
        let meta = self.file(SessionFile::Meta);
        for what in self.meta().map(SessionMeta::lacks).unwrap_or_default() {
            findings.push(Finding::new(&meta, FindingCode::BadMetadata, what));
        }
        match self.lineage() {
            Ok(lineage) => {
                findings.extend(lineage.and_then(|lineage| self.missing(&lineage.parent)));
            }
            Err(LinggenError::Damaged { file, reason }) => {
                findings.push(Finding::new(&file, FindingCode::BadMetadata, reason));
            }
            Err(error) => return Err(error),
        }
        Ok((records, findings))
    }

    fn missing(&self, parent: &str) -> Option<Finding> {
        let sessions = self.place().dir.parent()?;
        let there = everturn_json::names::SessionId::parse(parent)
            .ok()
            .and_then(|parent| self.store.stat(&sessions.join(parent.as_name())).ok().flatten());
        let message = format!("its parent {parent} does not exist");
        there.is_none().then(|| {
            Finding::new(&self.file(SessionFile::Lineage), FindingCode::MissingParent, message)
        })
    }
}

/// Checks the session in a directory.
pub fn check_dir(
    store: &Arc<dyn Store>,
    dir: &FilePath,
    watch: &mut dyn FindingSink,
) -> Result<SessionCheck, LinggenError> {
    let Some(place) = SessionLocation::of(dir) else {
        return Err(LinggenError::NoSession { id: dir.to_string() });
    };
    let session = Session::open(Arc::clone(store), &place)?;
    let mut files = BTreeSet::new();
    let own = [SessionFile::Meta, SessionFile::Messages].map(|file| session.file(file));
    for file in own.into_iter().chain([marks::marks_file(dir)]) {
        if store.stat(&file)?.is_some() {
            watch.file(&file);
            files.insert(file);
        }
    }
    let (records, findings) = session.count_and_check()?;
    Ok(SessionCheck { files, records, findings })
}

/// Whether a directory is that of a project.
pub fn is_project_dir(store: &Arc<dyn Store>, dir: &FilePath) -> Result<bool, LinggenError> {
    let above = dir.parent().and_then(|above| above.name());
    let projects = above.is_some_and(|above| above.as_str() == "projects");
    let has = |part: ProjectPart| Ok::<_, LinggenError>(store.stat(&part.of(dir))?.is_some());
    Ok(projects && (has(ProjectPart::Info)? || has(ProjectPart::Sessions)?))
}

/// The advice for a directory without a known project.
const CLAIM: &str =
    "set it with `everturn linggen project rehome PATH PATH`, or open the project in linggen";

/// Checks a project, apart from its sessions and from unreadable files.
pub fn check_project(store: &Arc<dyn Store>, dir: &FilePath) -> Result<Vec<Finding>, LinggenError> {
    let mut findings = Vec::new();
    let project = match read_project(store, dir) {
        Ok(project) => project,
        Err(LinggenError::Damaged { file, reason }) => {
            // Documents that are not JSON are reported elsewhere.
            if super::document::JsonDocument::read(store, &file).is_ok() {
                findings.push(Finding::new(&file, FindingCode::BadMetadata, reason));
            }
            return Ok(findings);
        }
        Err(error) => return Err(error),
    };
    let info = ProjectPart::Info.of(dir);
    let Some(path) = &project.path else {
        let what = format!("the project of this directory is not known; {CLAIM}");
        findings.push(Finding::new(&info, FindingCode::NoProject, what));
        return Ok(findings);
    };
    if !project.is_in_own_dir() {
        let what = format!("it names {path}, which belongs to another directory; {CLAIM}");
        findings.push(Finding::new(&info, FindingCode::NoProject, what));
    }
    let said =
        super::document::JsonDocument::read(store, &info)?.and_then(|info| info.string("path"));
    let is_other = |said: &String| ProjectPath::parse(said).map_or(true, |said| said != *path);
    if let Some(said) = said.filter(is_other) {
        let message =
            format!("another program wrote {said:?} here, but the directory belongs to {path}");
        findings.push(Finding::new(&info, FindingCode::WrongPlace, message));
    }
    let is_own = |repo: &str| {
        let repo = repo.trim_end_matches('/');
        repo == path.as_str() || project.formerly.iter().any(|former| former == repo)
    };
    for run in runs(store, dir)?.0 {
        let repo = run.value.get("repo_path").and_then(|repo| repo.as_str()).unwrap_or_default();
        if !repo.is_empty() && !is_own(repo) {
            let message = format!("it belongs to {repo}, but the directory belongs to {path}");
            findings.push(Finding::new(&run.file, FindingCode::WrongPlace, message));
        }
    }
    let unreadable = |finding: &Finding| finding.code != FindingCode::BadDocument;
    findings.extend(missions(store, dir)?.findings.into_iter().filter(unreadable));
    Ok(findings)
}
