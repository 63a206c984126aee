//! The stored world of a campaign: [`WorldRecord`] is the field `everturn.world` of the document.
//!
//! Only what a turn changes is written, so fields of other programs survive.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::narrator::{DocumentChange, NarratorError};
use everturn_value::tree::{JsonTree, ValueKind};

/// Where the world is stored.
pub(super) const WORLD: [&str; 2] = ["everturn", "world"];

/// The location of things that are gone.
pub(super) const GONE: &str = "gone";

/// The world of a campaign.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WorldRecord {
    pub(super) version: u32,
    pub(super) seed: u64,
    pub(super) language: String,
    pub(super) quest: QuestRecord,
    pub(super) places: BTreeMap<String, PlaceRecord>,
    pub(super) people: BTreeMap<String, PersonRecord>,
    pub(super) foes: BTreeMap<String, FoeRecord>,
    pub(super) items: BTreeMap<String, ItemRecord>,
    /// The members of the party who follow the acting one, by ID or character ID.
    pub(super) followers: BTreeSet<String>,
    /// What was mentioned last: an ID of an item, a person or a foe.
    pub(super) last_thing: String,
    pub(super) last_person: String,
    /// The area to which the narrator has just pointed: "yes" leads there.
    pub(super) offer: String,
    /// The input to which the narrator answered "which one?": the next input may name it.
    pub(super) asked: String,
    /// The area from which each actor came last.
    pub(super) came_from: BTreeMap<String, String>,
    /// How often each dying actor failed to hold on; 3 is the end.
    pub(super) slips: BTreeMap<String, u32>,
}

/// The quest and its progress.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct QuestRecord {
    pub(super) id: String,
    pub(super) status: String,
    /// The number of steps done.
    pub(super) step: u32,
    pub(super) giver: String,
    pub(super) informant: String,
    pub(super) rival: String,
    pub(super) relic: String,
    pub(super) means: String,
    pub(super) guardian: String,
    /// The name that calms the guardian.
    pub(super) password: String,
    pub(super) obstacle: String,
    /// The areas of the quest: `home`, `haunt`, `den`, `vault`. One that is missing is not on the map yet.
    pub(super) sites: BTreeMap<String, String>,
    pub(super) heard: bool,
    pub(super) located: bool,
    /// Whether the obstacle has been seen.
    pub(super) spotted: bool,
    pub(super) passed: bool,
    pub(super) attempts: u32,
}

/// A place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PlaceRecord {
    pub(super) name: String,
    pub(super) kind: String,
    /// The number of its prefix and noun, if the name is one of ours.
    pub(super) title: Option<(usize, usize)>,
    pub(super) seen: bool,
    pub(super) searched: bool,
    /// The direction of each way, clockwise from north.
    pub(super) ways: BTreeMap<String, usize>,
}

/// A person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PersonRecord {
    pub(super) name: String,
    pub(super) role: String,
    /// The area, or `gone`.
    pub(super) at: String,
    pub(super) mood: i64,
    pub(super) met: bool,
    pub(super) follows: bool,
    /// What was done to them.
    pub(super) remembers: Vec<String>,
}

/// A foe.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct FoeRecord {
    pub(super) name: String,
    pub(super) at: String,
    pub(super) strength: i64,
    /// Whether it has begun to fight.
    pub(super) awake: bool,
    /// How it ended: `beaten`, `bribed`, `calmed`, or empty.
    pub(super) outcome: String,
}

/// An item.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ItemRecord {
    pub(super) name: String,
    /// The kind in the tables, or empty for an item of the campaign.
    pub(super) kind: String,
    /// An area, a character, a person, or `gone`.
    pub(super) at: String,
    pub(super) hidden: bool,
    pub(super) lit: bool,
    /// Whether it says where the relic is.
    pub(super) clue: bool,
}

impl WorldRecord {
    /// Reads the stored world. Returns `None` if there is none.
    pub(super) fn read(campaign: &JsonTree) -> Result<Option<WorldRecord>, NarratorError> {
        let Some(stored) = campaign.value_at(&WORLD).filter(|stored| !stored.is_null()) else {
            return Ok(None);
        };
        let unreadable = |cause: serde_json::Error| {
            NarratorError::new(format!("the stored world (everturn.world) cannot be read: {cause}"))
        };
        if stored.kind() != ValueKind::Object {
            return Err(NarratorError::new("the stored world (everturn.world) is not an object"));
        }
        let value = stored.to_value().map_err(unreadable)?;
        let world: WorldRecord = serde_json::from_value(value).map_err(unreadable)?;
        if world.version > 1 {
            let version = world.version;
            return Err(NarratorError::new(format!(
                "the stored world (everturn.world) has version {version}; this program knows version 1"
            )));
        }
        Ok(Some(world))
    }

    /// Returns the changes from a stored world to this one.
    pub(super) fn changes_since(&self, before: Option<&WorldRecord>) -> Vec<DocumentChange> {
        let value = |world: &WorldRecord| serde_json::to_value(world).unwrap_or_default();
        let mut changes = Vec::new();
        let mut path: Vec<String> = WORLD.map(str::to_owned).to_vec();
        match before {
            Some(before) => compare(&value(before), &value(self), &mut path, &mut changes),
            None => changes.push(DocumentChange { path, value: value(self) }),
        }
        changes
    }
}

/// Collects the values that differ. Objects are compared by field; a field that is gone replaces its object.
fn compare(
    before: &Value,
    after: &Value,
    path: &mut Vec<String>,
    changes: &mut Vec<DocumentChange>,
) {
    if before == after {
        return;
    }
    let whole = || DocumentChange { path: path.clone(), value: after.clone() };
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        changes.push(whole());
        return;
    };
    if old.keys().any(|key| !new.contains_key(key)) {
        changes.push(whole());
        return;
    }
    for (key, value) in new {
        path.push(key.clone());
        match old.get(key) {
            Some(known) => compare(known, value, path, changes),
            None => changes.push(DocumentChange { path: path.clone(), value: value.clone() }),
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_written() {
        let mut before = WorldRecord { version: 1, seed: 7, ..WorldRecord::default() };
        before.items.insert("item_1".to_owned(), ItemRecord::default());
        let mut after = before.clone();
        assert!(after.changes_since(Some(&before)).is_empty());
        after.items.entry("item_1".to_owned()).or_default().at = "pc_001".to_owned();
        after.followers.insert("pc_002".to_owned());
        let mut paths: Vec<String> =
            after.changes_since(Some(&before)).iter().map(|change| change.path.join(".")).collect();
        paths.sort();
        assert_eq!(paths, ["everturn.world.followers", "everturn.world.items.item_1.at"]);
        assert_eq!(after.changes_since(None).len(), 1);
    }

    #[test]
    fn a_world_that_cannot_be_read_is_an_error() {
        let read = |text: &str| WorldRecord::read(&JsonTree::parse(text).unwrap());
        assert_eq!(read("{}").unwrap(), None);
        assert_eq!(read(r#"{"everturn":{"world":null}}"#).unwrap(), None);
        assert!(read(r#"{"everturn":{"world":{"seed":3,"strange":[1]}}}"#).unwrap().is_some());
        for wrong in ["[]", "{\"seed\":\"x\"}", "{\"version\":2}"] {
            assert!(read(&format!("{{\"everturn\":{{\"world\":{wrong}}}}}")).is_err(), "{wrong}");
        }
    }
}
