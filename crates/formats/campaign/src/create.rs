//! Creates campaigns: [`create`] with the parameters in [`NewCampaign`].

mod parameters;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::document::CampaignDocument;
use super::error::CampaignError;
use super::lifecycle::archived;
use super::log::OWN;
use super::paths::{CampaignFile, archive_file, campaign_dir, campaign_id, campaign_number};
use super::session::all_ids;
use everturn_json::names::SessionId;
use everturn_rpg::document_view::{DEFAULT_HP, DEFAULT_STATE, FIRST_AREA};
use everturn_rpg::generation::{Generation, RuleSet};
use everturn_rpg::settings::default_settings;
use everturn_rpg::stamp::stamp;
use everturn_rpg::starter::{new_actor, new_milestone, sized_map};
use everturn_rpg::tools::{default_allowlist, known_tools};
use everturn_session::trash;
use everturn_store::{Durability, FileMode, Precondition, Step, Store, StoreError, Writer};

/// How many IDs are tried before giving up because other processes hold all of them.
const CLAIMS: u64 = 64;

/// The parameters of a new campaign.
#[derive(Debug, Clone)]
pub struct NewCampaign {
    /// Its ID; defaults to the next free one.
    pub id: Option<SessionId>,
    /// The IDs of the party.
    pub party: Vec<String>,
    /// The active actor; defaults to the first of the party.
    pub actor: Option<String>,
    /// The ID of the world.
    pub world: String,
    /// The ID of the map.
    pub map: String,
    /// The generation of its document.
    pub generation: Generation,
    /// The title; lists show the goal if there is none.
    pub title: Option<String>,
    /// The beginning of the story, for narrators.
    pub premise: Option<String>,
    /// The goal.
    pub goal: Option<String>,
    /// The tone of the story, for narrators.
    pub tone: Option<String>,
    /// The language of the story: a code or a name.
    pub language: Option<String>,
    /// What is known of members of the party; others have no description and the default hit points.
    pub characters: Vec<NewCharacter>,
    /// The map; empty for the default one. The party starts in the first area.
    pub areas: Vec<NewArea>,
    /// The number of areas of the default map.
    pub map_size: Option<i64>,
    /// The allowed tools; defaults to those of the rules.
    pub allowlist: Option<Vec<String>>,
    /// Lorebooks, for narrators that are models.
    pub lorebooks: Vec<Value>,
}

/// A character of a new campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCharacter {
    /// The ID.
    pub id: String,
    /// The name, if it is not the ID.
    pub name: String,
    /// A description for narrators.
    pub description: String,
    /// The hit points, which are also the most that the character can have.
    pub hp: i64,
}

impl Default for NewCharacter {
    fn default() -> NewCharacter {
        let (id, name, description) = Default::default();
        NewCharacter { id, name, description, hp: DEFAULT_HP }
    }
}

/// An area of the map of a new campaign.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewArea {
    /// The ID.
    pub id: String,
    /// The name.
    pub name: String,
    /// The description.
    pub description: String,
    /// The area that it belongs to, or empty.
    pub parent: String,
    /// The areas to which a road leads. Roads lead both ways under the first rules.
    pub roads: Vec<String>,
}

/// The size of the smallest and of the largest default map.
const LEAST_AREAS: i64 = 2;
const MOST_AREAS: i64 = 1000;

impl Default for NewCampaign {
    fn default() -> NewCampaign {
        NewCampaign {
            id: None,
            party: vec!["pc_001".to_owned(), "pc_002".to_owned()],
            actor: None,
            world: "world_001".to_owned(),
            map: "map_001".to_owned(),
            generation: Generation::First,
            title: None,
            premise: None,
            goal: None,
            tone: None,
            language: None,
            characters: Vec::new(),
            areas: Vec::new(),
            map_size: None,
            allowlist: None,
            lorebooks: Vec::new(),
        }
    }
}

impl NewCampaign {
    /// Returns the document.
    fn document(&self, id: &SessionId, now: Timestamp) -> Result<Value, CampaignError> {
        let actor = self.actor.as_ref().or(self.party.first()).cloned().unwrap_or_default();
        if !self.party.contains(&actor) {
            return Err(CampaignError::NotInParty { actor });
        }
        let different: std::collections::BTreeSet<&String> = self.party.iter().collect();
        if different.len() < self.party.len() || self.party.iter().any(|id| id.trim().is_empty()) {
            return Err(CampaignError::input("the ids of a party must be distinct and not empty"));
        }
        if let Some(size) = self.map_size.filter(|size| *size < LEAST_AREAS || *size > MOST_AREAS) {
            let what = format!("a map has {LEAST_AREAS} to {MOST_AREAS} areas, not {size}");
            return Err(CampaignError::input(what));
        }
        let known = known_tools(self.generation.rules());
        let is_unknown = |tool: &&String| !known.contains(&tool.as_str());
        if let Some(tool) = self.allowlist.iter().flatten().find(is_unknown) {
            let what = format!("unknown tool {tool:?}; the tools are {}", known.join(", "));
            return Err(CampaignError::input(what));
        }
        Ok(self.skeleton(id, &stamp(now)))
    }

    /// Returns the document without validation.
    pub(crate) fn skeleton(&self, id: &SessionId, created: &str) -> Value {
        let actor = self.actor.as_ref().or(self.party.first());
        let (generation, rules) = (self.generation, self.generation.rules());
        let mut document = json!({
            "id": id.as_str(),
            "selected": {
                "world_id": self.world,
                "map_id": self.map,
                "party_character_ids": self.party,
                "active_actor_id": actor,
            },
            "settings_snapshot": default_settings(rules),
            "settings_revision": 0,
            "allowlist": default_allowlist(rules),
            "map": self.map_value(),
        });
        let Value::Object(fields) = &mut document else { return document };
        let mut put = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
        if let Some(allowed) = &self.allowlist {
            put("allowlist", json!(allowed));
        }
        let each = |value: &dyn Fn(&str) -> Value| -> Value {
            self.party.iter().map(|id| (id.clone(), value(id))).collect::<Map<_, _>>().into()
        };
        let everybody = |value: Value| each(&|_| value.clone());
        let start = self.areas.first().map_or(FIRST_AREA, |area| &area.id);
        let facts = match rules {
            RuleSet::First => [
                everybody(start.into()),
                each(&|id| self.character(id).hp.into()),
                everybody(DEFAULT_STATE.into()),
            ],
            RuleSet::Second => {
                put("actors", each(&|id| self.actor_value(id, start)));
                [(); 3].map(|()| json!({}))
            }
        };
        if generation == Generation::Between {
            let [positions, ..] = &facts;
            let nowhere = everybody(Value::Null);
            let state = json!({"positions": positions, "positions_parent": positions, "positions_child": nowhere});
            put("state", state);
        }
        for (key, fact) in ["positions", "hp", "character_states"].into_iter().zip(facts) {
            put(key, fact);
        }
        let goal = self.goal.as_deref().unwrap_or("Define the main objective");
        put("goal", json!({"text": goal, "status": "active"}));
        put("milestone", new_milestone(rules));
        if rules == RuleSet::Second {
            put("lifecycle", json!({"ended": false, "reason": null, "ended_at": null}));
        }
        put("created_at", created.into());
        let own = self.own_fields();
        if !own.is_empty() {
            put(OWN, own.into());
        }
        document
    }

    fn character(&self, id: &str) -> NewCharacter {
        let known = self.characters.iter().find(|character| character.id == id);
        known.cloned().unwrap_or_default()
    }

    /// Returns an actor of the second rules.
    fn actor_value(&self, id: &str, start: &str) -> Value {
        let mut actor = new_actor(start);
        if let Value::Object(fields) = &mut actor {
            fields.insert("hp".to_owned(), self.character(id).hp.into());
        }
        actor
    }

    /// Returns the map in the form of the generation.
    fn map_value(&self) -> Value {
        if self.areas.is_empty() {
            let size = self.map_size.and_then(|size| usize::try_from(size).ok());
            return sized_map(self.generation, size.unwrap_or(2));
        }
        let mut areas = Map::new();
        let mut connections = Vec::new();
        for area in &self.areas {
            let name = if area.name.is_empty() { &area.id } else { &area.name };
            let parent = Some(area.parent.as_str()).filter(|parent| !parent.is_empty());
            let mut value = json!({"id": area.id, "name": name, "parent_area_id": parent});
            if let Value::Object(fields) = &mut value {
                if !area.description.is_empty() || self.generation.rules() == RuleSet::Second {
                    fields.insert("description".to_owned(), area.description.as_str().into());
                }
                if self.generation.has_one_way_roads() {
                    fields.insert("reachable_area_ids".to_owned(), json!(area.roads));
                }
            }
            areas.insert(area.id.clone(), value);
            for to in &area.roads {
                connections.push(json!({"from_area_id": area.id, "to_area_id": to}));
            }
        }
        json!({"areas": areas, "connections": connections})
    }

    /// Returns what the documents of the program have no fields for.
    fn own_fields(&self) -> Map<String, Value> {
        let mut own = Map::new();
        for (key, text) in [
            ("title", &self.title),
            ("premise", &self.premise),
            ("tone", &self.tone),
            ("language", &self.language),
        ] {
            if let Some(text) = text {
                own.insert(key.to_owned(), text.as_str().into());
            }
        }
        let characters: Map<String, Value> = self
            .characters
            .iter()
            .map(|one| {
                let about = json!({"name": one.name, "description": one.description, "hp": one.hp});
                (one.id.clone(), about)
            })
            .collect();
        if !characters.is_empty() {
            own.insert("characters".to_owned(), characters.into());
        }
        if !self.lorebooks.is_empty() {
            own.insert("lorebooks".to_owned(), self.lorebooks.clone().into());
        }
        own
    }
}

/// Creates a campaign, and returns its ID.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_campaign::{Campaign, NewCampaign, create};
/// use everturn_store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let id = create(&store, &NewCampaign::default(), "2026-01-14T16:05:00Z".parse()?)?;
/// assert_eq!(id.as_str(), "camp_0001");
/// assert_eq!(Campaign::open(store, &id)?.party()?, ["pc_001", "pc_002"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create(
    store: &Arc<dyn Store>,
    new: &NewCampaign,
    now: Timestamp,
) -> Result<SessionId, CampaignError> {
    let mut writer = store.lock(&[])?;
    let id = claim(store, &mut *writer, new.id.as_ref())?;
    let stored = CampaignDocument::new(&new.document(&id, now)?)
        .ok_or_else(|| CampaignError::input("the campaign cannot be written"))?;
    let file = CampaignFile::Campaign.in_dir(&campaign_dir(&id));
    let (expect, mode) = (Precondition::Absent, FileMode::Default);
    let step = Step::Replace { file, expect, bytes: stored.bytes(), mode };
    writer.commit(vec![step], Durability::Synced)?;
    writer.release()?;
    Ok(id)
}

/// Adds a campaign that does not exist yet to the scopes of a writer: the requested one, or the next free one.
pub(crate) fn claim(
    store: &Arc<dyn Store>,
    writer: &mut dyn Writer,
    wanted: Option<&SessionId>,
) -> Result<SessionId, CampaignError> {
    if let Some(id) = wanted {
        writer.add_scopes(&[campaign_dir(id)])?;
        if store.stat(&campaign_dir(id))?.is_some() || store.stat(&archive_file(id)?)?.is_some() {
            writer.release_added_scopes()?;
            return Err(CampaignError::Taken { id: id.clone() });
        }
        return Ok(id.clone());
    }
    // An archived or trashed campaign may be restored and needs its ID then.
    let resting = trash::list_trash_names(store)?.into_iter().map(|name| name.id);
    let resting = resting.chain(archived(store)?);
    let taken: Vec<SessionId> = all_ids(store)?.into_iter().chain(resting).collect();
    let highest = taken.iter().filter_map(|id| campaign_number(id.as_str())).max().unwrap_or(0);
    let mut busy = None;
    for step in 1..=CLAIMS {
        let id = SessionId::parse(&campaign_id(highest.saturating_add(step)))?;
        match writer.add_scopes(&[campaign_dir(&id)]) {
            // Another process is about to create the same one.
            Err(error @ StoreError::Busy { .. }) => busy = Some(error),
            Err(error) => return Err(error.into()),
            Ok(()) => {
                if store.stat(&campaign_dir(&id))?.is_none() {
                    return Ok(id);
                }
                writer.release_added_scopes()?;
            }
        }
    }
    let nothing_free = || CampaignError::input("no free id was found for a new campaign");
    Err(busy.map_or_else(nothing_free, CampaignError::from))
}
