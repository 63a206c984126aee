//! Completes turns that start or end a scene with the changes for it.

use std::borrow::Cow;

use jiff::Timestamp;

use super::GameWriter;
use crate::error::GameError;
use crate::paths::{scene_file, scene_path};
use crate::scenes::{END, NewScene, START, SceneEnd, scene_id_of};
use crate::state::Scope;
use crate::turn::{Event, TurnInput};
use everturn_json::names::SceneId;
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::tree::JsonTree;

/// The start or end of a scene in a turn.
struct SceneTransition {
    /// Its ID, if the turn has it.
    id: Option<SceneId>,
    /// The position of the event, counted from 1.
    event: Option<usize>,
    description: String,
}

/// Finds the start or end of a scene in the events and state changes of a turn.
fn scene_transition(input: &TurnInput, kind: &str) -> Result<Option<SceneTransition>, GameError> {
    let is_it = |tree: &&JsonTree| tree.string_at(&["type"]).as_deref() == Some(kind);
    let event = input.events.iter().position(|event| is_it(&event));
    let stated = input.state_changes.iter().find(is_it);
    let happened = event.and_then(|at| input.events.get(at));
    if happened.is_none() && stated.is_none() {
        return Ok(None);
    }
    let id = stated.into_iter().chain(happened).find_map(|tree| tree.value_at(&["sceneId"]));
    let id = match id.filter(|id| !id.is_null()) {
        None => None,
        Some(id) => {
            let text = id.string_at::<&str>(&[]);
            let wrong = || GameError::input(format!("{kind}: sceneId is {}", id.kind()));
            Some(SceneId::parse(&text.ok_or_else(wrong)?)?)
        }
    };
    let description = happened.map(Event::of).map(|event| event.description).unwrap_or_default();
    Ok(Some(SceneTransition { id, event: event.map(|at| at + 1), description }))
}

/// Returns whether a turn changes a field of the scene, or all of it.
fn changes_scene(input: &TurnInput, key: &str) -> bool {
    let scenes = input.groups.iter().filter(|given| given.group.scope == Scope::Scene);
    let mut deltas = scenes.flat_map(|given| &given.group.deltas);
    deltas.any(|delta| delta.path.segments().first().is_none_or(|first| &**first == key))
}

fn with_scene_changes(input: TurnInput, event: Option<usize>, deltas: Vec<Delta>) -> TurnInput {
    let mut input = input.changing(Scope::Scene, deltas);
    if let Some(last) = input.groups.last_mut() {
        last.event = event;
    }
    input
}

impl GameWriter {
    /// Returns the turn with the scene changes that its events imply, unless it has them itself: for a scene that ends,
    /// and for one that starts, before which the active one ends.
    pub(super) fn with_scenes<'i>(
        &self,
        input: &'i TurnInput,
        now: Timestamp,
    ) -> Result<Cow<'i, TurnInput>, GameError> {
        if !self.session.rules().has_scene_files() {
            return Ok(Cow::Borrowed(input));
        }
        let own = input.scene.as_deref().map(SceneId::parse).transpose()?;
        if let Some(id) = &own {
            scene_file(id)?;
        }
        let (start, end) = (scene_transition(input, START)?, scene_transition(input, END)?);
        let start = start.filter(|_| !changes_scene(input, "sceneId"));
        let goes_on = self.active_scene().filter(|_| !changes_scene(input, "status"));
        let over = goes_on.filter(|scene| {
            let is_it = |id: &SceneId| scene_id_of(scene).as_deref() == Some(id.as_str());
            start.is_some() || end.as_ref().is_some_and(|end| end.id.as_ref().is_none_or(is_it))
        });
        if start.is_none() && over.is_none() {
            return Ok(Cow::Borrowed(input));
        }
        let (turn, mut input) = (self.turn() + 1, input.clone());
        let time = input.game_time.clone().unwrap_or_else(|| self.game_time.clone());
        if let Some(scene) = over {
            let event = end.as_ref().or(start.as_ref()).and_then(|told| told.event);
            let description = end.map(|end| end.description).unwrap_or_default();
            let end = SceneEnd { description, ..SceneEnd::default() };
            input = with_scene_changes(input, event, end.deltas(&scene, turn, &time));
        }
        if let Some(start) = start {
            let id = match start.id.or(own) {
                Some(id) => id,
                None => self.next_scene_id(now)?,
            };
            self.must_be_new(&id)?;
            let session = self.session.id.as_str();
            let document = NewScene::new("exploration").document(&id, session, turn, &time);
            input = with_scene_changes(
                input,
                start.event,
                vec![Delta::set(DeltaPath::root(), document)],
            );
        }
        Ok(Cow::Owned(input))
    }

    /// Fails if a scene with this ID exists.
    pub(super) fn must_be_new(&self, id: &SceneId) -> Result<(), GameError> {
        let is_current = self.scene_id().as_deref() == Some(id.as_str());
        if is_current || self.has_scene(id)? {
            return Err(GameError::input(format!("scene {id} already exists")));
        }
        Ok(())
    }

    pub(super) fn has_scene(&self, id: &SceneId) -> Result<bool, GameError> {
        let place = scene_path(&self.session.dir, id)?;
        Ok(self.session.store.stat(&place)?.is_some())
    }

    /// Checks that the scene of a turn exists: the active one, an earlier one, or one that the turn starts.
    pub(super) fn check_scene_of(
        &self,
        input: &TurnInput,
        before: Option<&str>,
    ) -> Result<(), GameError> {
        let has_files = self.session.rules().has_scene_files();
        let Some(id) = input.scene.as_deref().filter(|_| has_files) else { return Ok(()) };
        let known = before == Some(id)
            || scene_id_of(&self.state.scene).as_deref() == Some(id)
            || self.meta.text(&["current", "sceneId"]).as_deref() == Some(id)
            || self.has_scene(&SceneId::parse(id)?)?;
        if known {
            return Ok(());
        }
        Err(GameError::input(format!(
            "there is no scene {id}: start it with `everturn scene start --id {id}`, or with an event {START:?} in a \
             turn"
        )))
    }
}
