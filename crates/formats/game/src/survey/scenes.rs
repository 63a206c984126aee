//! Surveys scenes: compares their files with the changes, and checks the scenes that turns refer to.

use super::Survey;
use super::documents::DocumentResult;
use crate::error::GameError;
use crate::files::list_dir;
use crate::paths::{join_names, scene_path};
use crate::scenes::scene_id_of;
use crate::state::GameState;
use everturn_json::finding::FindingCode;
use everturn_json::names::{FilePath, SceneId};
use everturn_value::tree::JsonTree;

impl Survey<'_> {
    fn scene_file(&self, id: &str) -> Option<FilePath> {
        scene_path(&self.session.dir, &SceneId::parse(id).ok()?).ok()
    }

    /// Records a change of the scene; the previous one has ended if its ID differs.
    pub(super) fn scene_changed(&mut self, before: &JsonTree, now: &JsonTree, turn: u64) {
        let (was, is) = (scene_id_of(before), scene_id_of(now));
        if let Some(id) = &is {
            self.facts.scenes_begun.entry(id.clone()).or_insert(turn);
        }
        if let Some(id) = was.filter(|was| Some(was) != is.as_ref()) {
            self.facts.scenes_over.insert(id, everturn_value::tree::digest(before));
        }
    }

    /// Records that a snapshot replaces the replayed state.
    pub(super) fn scene_passed(&mut self, before: Option<&GameState>, now: &GameState) {
        if before.is_some_and(|before| scene_id_of(&before.scene) == scene_id_of(&now.scene)) {
            return;
        }
        if let Some(id) = scene_id_of(&now.scene) {
            self.facts.scenes_begun.entry(id).or_insert(0);
        }
    }

    /// Checks all scenes that have files, and those that should have one.
    pub(super) fn scene_files(&mut self) -> Result<(), GameError> {
        let dir = join_names(&self.session.dir, &["scenes"]);
        let listed = list_dir(&self.session.store, &dir).map_err(GameError::from);
        let mut there = std::collections::BTreeSet::new();
        for path in self.readable(&dir, listed)?.unwrap_or_default() {
            let name = path.name().map(|name| name.to_string()).unwrap_or_default();
            let Some(stem) = name.strip_suffix(".json").filter(|stem| stem.starts_with("scene-"))
            else {
                continue;
            };
            // The current one was read with the states.
            let current = self.facts.covered.contains(&path);
            let known = self
                .facts
                .scenes_begun
                .keys()
                .find(|id| self.scene_file(id).as_ref() == Some(&path));
            let id = known.cloned().unwrap_or_else(|| stem.to_owned());
            there.insert(path.clone());
            if !current {
                self.scene_document(&id, &path)?;
            }
        }
        if self.blind {
            return Ok(());
        }
        let written = self.facts.stored.turn.unwrap_or(0);
        for (id, begun) in self.facts.scenes_begun.clone() {
            let Some(path) = self.scene_file(&id).filter(|path| !there.contains(path)) else {
                continue;
            };
            // A scene that started after the states were written gets its file with the next ones.
            if begun <= written {
                self.facts.wrong_scenes.insert(id);
                self.note(&path, FindingCode::SceneDiffers, "the scene file is missing");
            }
        }
        for (id, finding) in std::mem::take(&mut self.facts.recount.scenes_named) {
            let known = self.facts.scenes_begun.contains_key(&id);
            if !known && self.scene_file(&id).is_none_or(|path| !there.contains(&path)) {
                self.report(finding);
            }
        }
        Ok(())
    }

    fn scene_document(&mut self, id: &str, path: &FilePath) -> Result<(), GameError> {
        let scene = match self.document(path)? {
            DocumentResult::Good(scene, _) => scene,
            DocumentResult::Missing | DocumentResult::Bad => {
                if self.facts.scenes_begun.contains_key(id) {
                    self.facts.wrong_scenes.insert(id.to_owned());
                }
                return Ok(());
            }
        };
        if let (Some(own), Some(session)) = (&self.place.id, scene.string_at(&["sessionId"]))
            && *own != session
            && !self.inherited
        {
            self.note(path, FindingCode::WrongPlace, format!("it belongs to session {session}"));
        }
        if self.facts.repeated.contains(path) && self.facts.scenes_over.contains_key(id) {
            self.facts.wrong_scenes.insert(id.to_owned());
        }
        self.scene_range(&scene, path);
        let over = self.facts.scenes_over.get(id);
        if over.is_some_and(|over| !self.blind && *over != everturn_value::tree::digest(&scene)) {
            self.facts.wrong_scenes.insert(id.to_owned());
            self.note(
                path,
                FindingCode::SceneDiffers,
                "it differs from the scene that the changes produce",
            );
        }
        Ok(())
    }

    fn scene_range(&mut self, scene: &JsonTree, path: &FilePath) {
        let number =
            |at: &str| -> Option<u64> { scene.text_at(&["time", "turnRange", at])?.parse().ok() };
        let (first, last) = (number("0"), number("1"));
        let end = self.facts.recount.last().unwrap_or(0).max(self.facts.recount.last_change);
        let beyond = |turn: Option<u64>| turn.is_some_and(|turn| turn > end) && !self.blind;
        let backwards = first.zip(last).is_some_and(|(first, last)| last < first);
        let over = scene.string_at(&["status"]).as_deref() == Some("completed");
        if backwards || beyond(first) || beyond(last) || (over && first.is_some() && last.is_none())
        {
            let text = scene.text_at(&["time", "turnRange"]).unwrap_or_default();
            self.note(
                path,
                FindingCode::SceneRange,
                format!("the turn range {text} of the scene is invalid"),
            );
        }
    }
}
