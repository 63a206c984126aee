//! `scene-index.json`: the scenes, with their turns and places.

use serde_json::Value;

use super::IndexError;
use super::text::{self, Fields, MOST_NAME, Page, clip, quote, width};
use super::thinned::{AROUND, Listed, NUMBER, Thinned};

/// The budget of `scenes`, in bytes.
const MOST_SCENES: usize = 300_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scenes {
    scenes: Thinned<Scene>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Scene {
    id: String,
    kind: String,
    first: u64,
    /// The last turn, if the scene has ended.
    last: Option<u64>,
    location: String,
}

impl Scenes {
    pub(super) fn new() -> Scenes {
        Scenes { scenes: Thinned::new(MOST_SCENES) }
    }

    pub(super) fn start(&mut self, id: &str, kind: &str, turn: u64, location: &str) {
        let [id, kind, location] =
            [id, kind, location].map(|text| clip(text, MOST_NAME).into_owned());
        self.scenes.push(Scene { id, kind, first: turn, last: None, location });
    }

    pub(super) fn end(&mut self, id: &str, turn: u64) {
        let id = clip(id, MOST_NAME);
        if let Some(scene) = self.scenes.find(|scene| scene.id == id) {
            scene.last = Some(turn.max(scene.first));
        }
    }

    /// Ends the newest scene that goes on.
    pub(super) fn end_newest(&mut self, turn: u64) {
        if let Some(scene) = self.scenes.find(|scene| scene.last.is_none()) {
            scene.last = Some(turn.max(scene.first));
        }
    }

    pub(super) fn write(&self, page: &mut Page, through: u64) {
        page.plain("totalScenes", self.scenes.total());
        page.plain("throughTurn", through);
        self.scenes.write(page, "scenes");
    }

    pub(super) fn read(fields: &Fields) -> Result<Scenes, IndexError> {
        let scenes: Thinned<Scene> = Thinned::read(fields, "scenes", MOST_SCENES)?;
        if fields.number("totalScenes")? != scenes.total() {
            return Err(fields.bad("totalScenes"));
        }
        Ok(Scenes { scenes })
    }

    /// How many scenes are listed.
    #[cfg(test)]
    pub(super) fn listed(&self) -> usize {
        self.scenes.entries().len()
    }
}

impl Listed for Scene {
    fn line(&self) -> String {
        let [id, kind, location] = [&self.id, &self.kind, &self.location].map(|text| quote(text));
        let (first, last) =
            (self.first, self.last.map_or("null".to_owned(), |last| last.to_string()));
        format!(
            "{{ \"sceneId\": {id}, \"type\": {kind}, \"turnRange\": [{first}, {last}], \"location\": {location} }}"
        )
    }

    fn read(entry: &Value) -> Option<Scene> {
        let (first, last) = match entry.get("turnRange")?.as_array()?.as_slice() {
            [first, Value::Null] => (first.as_u64()?, None),
            _ => text::range(entry, "turnRange").map(|(first, last)| (first, Some(last)))?,
        };
        let name = |key| text::string(entry, key, MOST_NAME);
        let (id, kind, location) = (name("sceneId")?, name("type")?, name("location")?);
        Some(Scene { id, kind, first, last, location })
    }

    fn weight(&self) -> usize {
        const FIXED: usize =
            r#"{ "sceneId": "", "type": "", "turnRange": [, ], "location": "" }"#.len();
        let texts = width(&self.id) + width(&self.kind) + width(&self.location);
        FIXED + texts + 2 * NUMBER + AROUND
    }
}
