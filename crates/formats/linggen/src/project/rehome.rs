//! Moves projects to another path: everything of the old path goes to the new one, with ids and history.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::{Project, ProjectLocation, locate, unnamed_project};
use crate::document::JsonDocument;
use crate::encoding::ProjectPath;
use crate::error::LinggenError;
use crate::missions::missions;
use crate::paths::ProjectPart;
use everturn_json::names::FilePath;
use everturn_store::{Durability, FileMode, Step, Store, StoreError};

/// The plan, or the result, of a move to another path.
#[derive(Debug, Clone)]
pub struct RehomePlan {
    /// The project before the move.
    pub from: Project,
    /// Its new path.
    pub to: ProjectPath,
    /// Its new directory.
    pub dir: FilePath,
    /// The moves, each from and to.
    pub moves: Vec<(FilePath, FilePath)>,
    /// Files that stay where they are, because their names are taken at the target.
    pub stays: Vec<FilePath>,
    /// Missions that end, because a newer one is active.
    pub ends: Vec<FilePath>,
}

/// Plans the move of a project to another path; changes nothing.
///
/// A directory without a named project belongs to `from`, which may then equal `to`.
///
/// If the new path already has a project, because a program was started there since, both are merged; files with the
/// same name in both stay where they are.
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
        // The caller claims the directory by naming the path.
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
        ends: Vec::new(),
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

/// Plans the moves into an existing directory.
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
    plan.ends = surplus_missions(store, &[&plan.from.dir, &plan.dir])?;
    Ok(())
}

/// The active missions of projects that become one, except the newest.
fn surplus_missions(
    store: &Arc<dyn Store>,
    projects: &[&FilePath],
) -> Result<Vec<FilePath>, LinggenError> {
    let mut active = Vec::new();
    for project in projects {
        let found = missions(store, project)?.missions;
        active.extend(found.into_iter().filter(|mission| mission.active));
    }
    active.sort_by_key(|mission| std::cmp::Reverse(mission.created));
    Ok(active.into_iter().skip(1).map(|mission| mission.file).collect())
}

/// Moves a project to another path, in one commit. Sessions, runs and missions keep their ids.
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
        return Err(LinggenError::input("the project was changed in the meantime; try again"));
    }
    let whole = plan.moves.iter().any(|(from, _)| *from == plan.from.dir);
    // A directory that is moved as a whole is changed first, and takes its documents with it.
    let documents = if whole { &plan.from.dir } else { &plan.dir };
    let mut steps = owner_steps(store, &plan, documents, now)?;
    for file in &plan.ends {
        let Some(mut mission) = JsonDocument::read(store, file)? else { continue };
        mission.set("active", &false)?;
        steps.push(mission.step(FileMode::Default));
    }
    steps.extend(
        plan.moves.iter().map(|(from, to)| Step::Rename { from: from.clone(), to: to.clone() }),
    );
    let leftover = if whole { None } else { leftover_step(store, &plan)? };
    writer.commit(steps, Durability::Synced)?;
    // A crash before this leaves an empty project, which moves with the next rehome.
    if let Some(leftover) = leftover {
        writer.commit(vec![leftover], Durability::Synced)?;
    }
    writer.release()?;
    Ok(plan)
}

/// The step that removes the directory of a project after all of its contents have moved. If anything else is in it, it
/// stays.
fn leftover_step(store: &Arc<dyn Store>, plan: &RehomePlan) -> Result<Option<Step>, LinggenError> {
    if plan.dir == plan.from.dir {
        return Ok(None);
    }
    let documents = [ProjectPart::Info, ProjectPart::Owner].map(|part| part.of(&plan.from.dir));
    for entry in store.list(&plan.from.dir)?.entries {
        let path = plan.from.dir.join(&entry.name);
        if documents.contains(&path) {
            continue;
        }
        let is_emptied = |part: &ProjectPart| part.of(&plan.from.dir) == path;
        let stays = plan.stays.iter().any(|file| file.is_within(&path));
        if stays || !ProjectPart::DIRS.iter().any(is_emptied) {
            return Ok(None);
        }
    }
    Ok(Some(Step::Remove { path: plan.from.dir.clone() }))
}

/// The steps that record the new path of the project, and the former one.
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
