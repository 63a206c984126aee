//! Projects that were moved: what belongs to the old path goes to the new one, ids and history with it.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::{Project, ProjectLocation, locate, unnamed_project};
use crate::document::JsonDocument;
use crate::encoding::ProjectPath;
use crate::error::LinggenError;
use crate::paths::ProjectPart;
use everturn_json::names::FilePath;
use everturn_store::{Durability, FileMode, Step, Store, StoreError};

/// What giving a project another path does, or has done.
#[derive(Debug, Clone)]
pub struct RehomePlan {
    /// The project as it was.
    pub from: Project,
    /// The path that it gets.
    pub to: ProjectPath,
    /// The directory that it gets.
    pub dir: FilePath,
    /// What is moved, and where to.
    pub moves: Vec<(FilePath, FilePath)>,
    /// What stays where it is, because its name is taken there.
    pub stays: Vec<FilePath>,
}

/// Says what giving a project another path would do, and does nothing.
///
/// A directory of which nothing says whose it is belongs to `from`, which may then be the same as `to`.
///
/// If the new path has a project already, because a program was started there since, both become one; what has
/// the same name in both stays where it is.
pub fn plan_rehome(
    store: &Arc<dyn Store>,
    from: &ProjectPath,
    to: &ProjectPath,
) -> Result<RehomePlan, LinggenError> {
    let project = match locate(store, from)? {
        ProjectLocation::Is(_) if from == to => {
            return Err(LinggenError::input(format!("{from} and {to} are the same path")));
        }
        ProjectLocation::Is(project) => project,
        // Whoever names the path says whose directory it is.
        ProjectLocation::Unclaimed(dir) => {
            Project { path: Some(from.clone()), ..unnamed_project(dir) }
        }
        ProjectLocation::Free(_) => return Err(LinggenError::NoProject { path: from.to_string() }),
    };
    let mut plan = RehomePlan {
        from: project,
        to: to.clone(),
        dir: FilePath::root(),
        moves: Vec::new(),
        stays: Vec::new(),
    };
    match locate(store, to)? {
        ProjectLocation::Free(dir) => {
            plan.moves.push((plan.from.dir.clone(), dir.clone()));
            plan.dir = dir;
        }
        ProjectLocation::Is(Project { dir, .. }) | ProjectLocation::Unclaimed(dir)
            if dir == plan.from.dir =>
        {
            plan.dir = dir;
        }
        ProjectLocation::Is(Project { dir, .. }) | ProjectLocation::Unclaimed(dir) => {
            plan.dir = dir;
            merge(store, &mut plan)?;
        }
    }
    Ok(plan)
}

/// Plans the moves into a directory that is there.
fn merge(store: &Arc<dyn Store>, plan: &mut RehomePlan) -> Result<(), LinggenError> {
    for part in ProjectPart::DIRS {
        let source = part.of(&plan.from.dir);
        let listing = match store.list(&source) {
            Err(StoreError::Missing { .. }) => continue,
            listing => listing?,
        };
        for entry in listing.entries {
            let from = source.join(&entry.name);
            let to = part.of(&plan.dir).join(&entry.name);
            match store.stat(&to)? {
                None => plan.moves.push((from, to)),
                Some(_) => plan.stays.push(from),
            }
        }
    }
    Ok(())
}

/// Gives a project another path, in one commit. Sessions, runs and missions keep their ids.
pub fn rehome(
    store: &Arc<dyn Store>,
    from: &ProjectPath,
    to: &ProjectPath,
    now: Timestamp,
) -> Result<RehomePlan, LinggenError> {
    let plan = plan_rehome(store, from, to)?;
    let mut scopes = vec![plan.from.dir.clone()];
    scopes.extend(Some(plan.dir.clone()).filter(|dir| *dir != plan.from.dir));
    let writer = store.lock(&scopes)?;
    let again = plan_rehome(store, from, to)?;
    if (&again.moves, &again.dir) != (&plan.moves, &plan.dir) {
        return Err(LinggenError::input("the project was changed meanwhile; try again"));
    }
    let whole = plan.moves.iter().any(|(from, _)| *from == plan.from.dir);
    // A directory that is moved as a whole is changed first, and takes its documents with it.
    let documents = if whole { &plan.from.dir } else { &plan.dir };
    let mut steps = owner_steps(store, &plan, documents, now)?;
    steps.extend(
        plan.moves.iter().map(|(from, to)| Step::Rename { from: from.clone(), to: to.clone() }),
    );
    writer.commit(steps, Durability::Synced)?;
    writer.release()?;
    Ok(plan)
}

/// The steps that say whose directory it is now, and whose it was.
fn owner_steps(
    store: &Arc<dyn Store>,
    plan: &RehomePlan,
    dir: &FilePath,
    now: Timestamp,
) -> Result<Vec<Step>, LinggenError> {
    let mut info = JsonDocument::read_or_new(store, &ProjectPart::Info.of(dir))?;
    info.set("path", plan.to.as_str())?;
    info.set("name", plan.to.name())?;
    if info.get("added_at").is_none() {
        info.set("added_at", &now.as_second())?;
    }
    let mut owner = JsonDocument::read_or_new(store, &ProjectPart::Owner.of(dir))?;
    let old = plan.from.path.as_ref().map(|path| path.as_str().to_owned());
    let before = owner.get("formerly");
    let before = before.as_ref().and_then(|paths| paths.as_array()).cloned().unwrap_or_default();
    let mut formerly = before;
    let more = plan.from.formerly.iter().cloned().chain(old).map(|path| json!(path));
    for path in more {
        if !formerly.contains(&path) && path != json!(plan.to.as_str()) {
            formerly.push(path);
        }
    }
    owner.set("path", plan.to.as_str())?;
    owner.set("formerly", &formerly)?;
    Ok(vec![info.step(FileMode::Default), owner.step(FileMode::Default)])
}
