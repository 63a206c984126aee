//! `scene-index.json`: the scenes, with their turns and locations.

use serde_json::Value;

use super::IndexError;
use super::text::{self, IndexFields, IndexText, MOST_NAME, clip, quote, width};
use super::thinned_list::{AROUND, ListEntry, NUMBER, ThinnedList};

/// The budget of `scenes`, in bytes.
const MOST_SCENES: usize = 300_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SceneIndex {
    scenes: ThinnedList<SceneListing>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SceneListing {
    id: String,
    kind: String,
    first: u64,
    /// The last turn, if the scene has ended.
    last: Option<u64>,
    location: String,
}

impl SceneIndex {
    pub(super) fn new() -> SceneIndex {
        SceneIndex { scenes: ThinnedList::new(MOST_SCENES) }
    }

    pub(super) fn start(&mut self, id: &str, kind: &str, turn: u64, location: &str) {
        let [id, kind, location] =
            [id, kind, location].map(|text| clip(text, MOST_NAME).into_owned());
        self.scenes.push(SceneListing { id, kind, first: turn, last: None, location });
    }

    pub(super) fn end(&mut self, id: &str, turn: u64) {
        let id = clip(id, MOST_NAME);
        if let Some(scene) = self.scenes.find(|scene| scene.id == id) {
            scene.last = Some(turn.max(scene.first));
        }
    }

    /// Returns whether a scene is listed.
    pub(super) fn has(&mut self, id: &str) -> bool {
        let id = clip(id, MOST_NAME);
        self.scenes.find(|scene| scene.id == id).is_some()
    }

    /// Sets the type and location of a scene that has none.
    pub(super) fn describe(&mut self, id: &str, kind: &str, location: &str) {
        let id = clip(id, MOST_NAME);
        let blank = |scene: &SceneListing| scene.kind.is_empty() && scene.location.is_empty();
        if let Some(scene) = self.scenes.find(|scene| scene.id == id && blank(scene)) {
            scene.kind = clip(kind, MOST_NAME).into_owned();
            scene.location = clip(location, MOST_NAME).into_owned();
        }
    }

    /// Sets the last turn of a scene, or reopens it.
    pub(super) fn set_end(&mut self, id: &str, last: Option<u64>) {
        let id = clip(id, MOST_NAME);
        if let Some(scene) = self.scenes.find(|scene| scene.id == id) {
            scene.last = last.map(|last| last.max(scene.first));
        }
    }

    /// Ends the newest open scene.
    pub(super) fn end_newest(&mut self, turn: u64) {
        if let Some(scene) = self.scenes.find(|scene| scene.last.is_none()) {
            scene.last = Some(turn.max(scene.first));
        }
    }

    pub(super) fn write(&self, page: &mut IndexText, through: u64) {
        page.plain("totalScenes", self.scenes.total());
        page.plain("throughTurn", through);
        self.scenes.write(page, "scenes");
    }

    pub(super) fn read(fields: &IndexFields) -> Result<SceneIndex, IndexError> {
        let scenes: ThinnedList<SceneListing> = ThinnedList::read(fields, "scenes", MOST_SCENES)?;
        if fields.number("totalScenes")? != scenes.total() {
            return Err(fields.bad("totalScenes"));
        }
        Ok(SceneIndex { scenes })
    }

    /// Returns how many scenes are listed.
    #[cfg(test)]
    pub(super) fn listed(&self) -> usize {
        self.scenes.entries().len()
    }
}

impl ListEntry for SceneListing {
    fn line(&self) -> String {
        let [id, kind, location] = [&self.id, &self.kind, &self.location].map(|text| quote(text));
        let (first, last) =
            (self.first, self.last.map_or("null".to_owned(), |last| last.to_string()));
        format!(
            "{{ \"sceneId\": {id}, \"type\": {kind}, \"turnRange\": [{first}, {last}], \"location\": {location} }}"
        )
    }

    fn read(entry: &Value) -> Option<SceneListing> {
        let (first, last) = match entry.get("turnRange")?.as_array()?.as_slice() {
            [first, Value::Null] => (first.as_u64()?, None),
            _ => text::range(entry, "turnRange").map(|(first, last)| (first, Some(last)))?,
        };
        let name = |key| text::string(entry, key, MOST_NAME);
        let (id, kind, location) = (name("sceneId")?, name("type")?, name("location")?);
        Some(SceneListing { id, kind, first, last, location })
    }

    fn weight(&self) -> usize {
        const FIXED: usize =
            r#"{ "sceneId": "", "type": "", "turnRange": [, ], "location": "" }"#.len();
        let texts = width(&self.id) + width(&self.kind) + width(&self.location);
        FIXED + texts + 2 * NUMBER + AROUND
    }
}
