//! Creates campaigns: [`create`] with the parameters in [`NewCampaign`].

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::document::CampaignDocument;
use super::error::CampaignError;
use super::lifecycle::archived;
use super::paths::{CampaignFile, archive_file, campaign_dir, campaign_id, campaign_number};
use super::session::all_ids;
use everturn_json::names::SessionId;
use everturn_rpg::document_view::{DEFAULT_HP, DEFAULT_STATE, FIRST_AREA};
use everturn_rpg::generation::{Generation, RuleSet};
use everturn_rpg::stamp::stamp;
use everturn_rpg::starter::{default_settings, new_actor, starter_map};
use everturn_rpg::tools::default_allowlist;
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
}

impl Default for NewCampaign {
    fn default() -> NewCampaign {
        NewCampaign {
            id: None,
            party: vec!["pc_001".to_owned(), "pc_002".to_owned()],
            actor: None,
            world: "world_001".to_owned(),
            map: "map_001".to_owned(),
            generation: Generation::First,
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
            "map": starter_map(generation),
        });
        let Value::Object(fields) = &mut document else { return document };
        let mut put = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
        let everybody = |value: Value| -> Value {
            self.party.iter().map(|id| (id.clone(), value.clone())).collect::<Map<_, _>>().into()
        };
        let facts = match rules {
            RuleSet::First => {
                [FIRST_AREA.into(), DEFAULT_HP.into(), DEFAULT_STATE.into()].map(everybody)
            }
            RuleSet::Second => {
                put("actors", everybody(new_actor(FIRST_AREA)));
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
        put("goal", json!({"text": "Define the main objective", "status": "active"}));
        put("milestone", new_milestone(rules));
        if rules == RuleSet::Second {
            put("lifecycle", json!({"ended": false, "reason": null, "ended_at": null}));
        }
        put("created_at", created.into());
        document
    }
}

/// Returns the milestone of a new campaign.
fn new_milestone(rules: RuleSet) -> Value {
    match rules {
        RuleSet::First => json!({"current": "intro", "last_advanced_turn": 0}),
        RuleSet::Second => json!({
            "current": "intro",
            "last_advanced_turn": 0,
            "turn_trigger_interval": 6,
            "pressure": 0,
            "pressure_threshold": 2,
            "summary": "",
        }),
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
