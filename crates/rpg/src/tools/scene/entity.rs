//! [`SceneEntity`]: a thing or a person in a scene, as the third generation stores it under `entities`.

use serde_json::{Map, Value, json};

use super::quantity;
use crate::document_view::CampaignView;
use everturn_value::tree::JsonTree;

/// The kinds of entities that can be carried.
const PORTABLE: [&str; 3] = ["item", "object", "container"];

/// An entity, as it was and as it is now.
#[derive(Debug, Clone)]
pub(super) struct SceneEntity {
    id: String,
    before: Map<String, Value>,
    fields: Map<String, Value>,
}

/// Returns an entity of a campaign.
pub(super) fn entity(view: CampaignView<'_>, id: &str) -> Option<SceneEntity> {
    view.tree.value_at(&["entities", id]).and_then(|tree| SceneEntity::read(id, &tree))
}

/// Returns all entities of a campaign.
pub(super) fn entities(view: CampaignView<'_>) -> Vec<SceneEntity> {
    let all = view.tree.value_at(&["entities"]).map(|all| all.children()).unwrap_or_default();
    all.iter().filter_map(|(id, tree)| SceneEntity::read(id, tree)).collect()
}

impl SceneEntity {
    /// Reads an entity, with defaults for missing fields. Returns `None` if it is not an object.
    fn read(id: &str, tree: &JsonTree) -> Option<SceneEntity> {
        let Ok(Value::Object(mut fields)) = tree.to_value() else { return None };
        for (key, default) in [
            ("kind", json!("object")),
            ("tags", json!([])),
            ("verbs", json!([])),
            ("state", json!({})),
            ("props", json!({})),
        ] {
            fields.entry(key).or_insert(default);
        }
        Some(SceneEntity { id: id.to_owned(), before: fields.clone(), fields })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    fn text(&self, key: &str) -> &str {
        self.fields.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn label(&self) -> String {
        self.text("label").to_owned()
    }

    pub(super) fn kind(&self) -> &str {
        self.text("kind")
    }

    /// Returns the type and the ID of its location.
    pub(super) fn location(&self) -> Option<(String, String)> {
        let loc = self.fields.get("loc")?;
        let part = |key: &str| loc.get(key).and_then(Value::as_str).map(str::to_owned);
        Some((part("type")?, part("id")?))
    }

    pub(super) fn is_with(&self, actor: &str) -> bool {
        self.location() == Some(("actor".to_owned(), actor.to_owned()))
    }

    pub(super) fn is_portable(&self) -> bool {
        PORTABLE.contains(&self.kind())
    }

    pub(super) fn mass(&self) -> f64 {
        let mass = self.fields.get("props").and_then(|props| props.get("mass"));
        mass.and_then(Value::as_f64).filter(|mass| *mass > 0.0).unwrap_or(1.0)
    }

    pub(super) fn verbs(&self) -> Vec<String> {
        words(self.fields.get("verbs"))
    }

    pub(super) fn blocked_verbs(&self) -> Vec<String> {
        words(self.state("blocked_verbs"))
    }

    fn state(&self, key: &str) -> Option<&Value> {
        self.fields.get("state").and_then(|state| state.get(key))
    }

    /// Returns whether a switch of the state is `true`.
    pub(super) fn is_on(&self, key: &str) -> bool {
        self.state(key) == Some(&Value::Bool(true))
    }

    /// Returns whether a value of the state counts as true in the upstream program.
    pub(super) fn is_truthy(&self, key: &str) -> bool {
        match self.state(key) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(value)) => *value,
            Some(Value::Number(number)) => number.as_f64() != Some(0.0),
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(list)) => !list.is_empty(),
            Some(Value::Object(fields)) => !fields.is_empty(),
        }
    }

    /// Returns the hint of an entity, with a space before it.
    pub(super) fn hint(&self) -> String {
        let hint = self.state("hint").and_then(Value::as_str).map(str::trim).unwrap_or_default();
        if hint.is_empty() { String::new() } else { format!(" {hint}") }
    }

    /// Returns the item in it, and how many there are.
    pub(super) fn contents(&self) -> Option<(String, i64)> {
        let item = self.state("inventory_item_id").and_then(Value::as_str).map(str::trim);
        let item = item.filter(|item| !item.is_empty())?;
        Some((item.to_owned(), quantity(self.state("inventory_quantity"))?))
    }

    pub(super) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.fields.insert(key.to_owned(), value.into());
    }

    pub(super) fn set_state(&mut self, key: &str, value: bool) {
        if let Some(Value::Object(state)) = self.fields.get_mut("state") {
            state.insert(key.to_owned(), value.into());
        }
    }

    /// Puts it into the hands of an actor.
    pub(super) fn pick_up(&mut self, actor: &str) {
        let mut verbs = self.verbs();
        verbs.retain(|verb| verb != "take" && verb != "detach");
        if !verbs.iter().any(|verb| verb == "drop") {
            verbs.push("drop".to_owned());
        }
        self.set("loc", json!({"type": "actor", "id": actor}));
        self.set("verbs", verbs);
    }

    /// Puts it into an area.
    pub(super) fn put_down(&mut self, area: &str) {
        let mut verbs = self.verbs();
        verbs.retain(|verb| verb != "drop");
        if self.is_portable() && !verbs.iter().any(|verb| verb == "take") {
            verbs.push("take".to_owned());
        }
        self.set("loc", json!({"type": "area", "id": area}));
        self.set("verbs", verbs);
    }

    /// Returns the fields that have changed.
    pub(super) fn changes(&self) -> Map<String, Value> {
        let changed =
            self.fields.iter().filter(|(key, value)| self.before.get(*key) != Some(value));
        changed.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

/// Returns the different words of a list, in lower case.
fn words(list: Option<&Value>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        let word = word.trim().to_lowercase();
        if !word.is_empty() && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}
