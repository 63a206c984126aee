//! Finds the agents and skills of Linggen, and which of them count.

use std::path::{Path, PathBuf};

use everturn::linggen::{Spec, SpecDir, SpecKind, SpecSource, specs};
use everturn::names::FilePath;

use super::project_path;
use crate::context::Context;
use crate::error::Error;
use crate::findings::print_findings;
use crate::{agent_homes, settings};

/// An agent or a skill, where it is, and whether it counts.
pub(crate) struct FoundSpec {
    pub(crate) spec: Spec,
    pub(crate) path: PathBuf,
    pub(crate) counts: bool,
}

/// Returns the directories to search; later ones win.
fn directories(
    kind: SpecKind,
    context: &Context,
    workspace: Option<&Path>,
) -> Result<Vec<(SpecSource, PathBuf)>, Error> {
    let home = context.root_dir()?;
    let workspace = PathBuf::from(project_path(workspace)?.as_str());
    let mut dirs = Vec::new();
    match kind {
        SpecKind::Agent => {
            dirs.push((SpecSource::Global, home.join("agents")));
            dirs.push((SpecSource::Project, workspace.join("agents")));
        }
        SpecKind::Skill => {
            dirs.push((SpecSource::Global, home.join("skills")));
            let user = settings::variable("HOME").map(PathBuf::from);
            for program in [".claude", ".codex"] {
                let dir = user.as_ref().map(|user| user.join(program).join("skills"));
                dirs.extend(dir.map(|dir| (SpecSource::Compatible, dir)));
            }
            // In the user's home directory, that is the directory of the home.
            let own = workspace.join(".linggen").join("skills");
            if dirs.iter().all(|(_, dir)| *dir != own) {
                dirs.push((SpecSource::Project, own));
            }
        }
    }
    Ok(dirs)
}

/// Returns all agents or skills, each with the ones that it hides before it.
pub(crate) fn find_all(
    kind: SpecKind,
    context: &Context,
    workspace: Option<&Path>,
) -> Result<Vec<FoundSpec>, Error> {
    let mut all: Vec<FoundSpec> = Vec::new();
    for (source, dir) in directories(kind, context, workspace)? {
        let Some(store) = agent_homes::open_if_present(&dir)? else { continue };
        let found = specs(kind, &[SpecDir { source, store, dir: FilePath::root() }])?;
        print_findings(&found.findings);
        for spec in found.specs.into_values() {
            for hidden in all.iter_mut().filter(|other| other.spec.id == spec.id) {
                hidden.counts = false;
            }
            let path = dir.join(spec.file.as_str());
            all.push(FoundSpec { spec, path, counts: true });
        }
    }
    all.sort_by(|a, b| a.spec.id.cmp(&b.spec.id));
    Ok(all)
}
