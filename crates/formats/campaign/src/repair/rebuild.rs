//! Rebuilds an unreadable document from other files.

use serde_json::{Value, json};

use crate::NewCampaign;
use crate::document::CampaignDocument;
use crate::error::CampaignError;
use crate::history::overlay;
use crate::log::{ChangeKind, ChangeRecord};
use crate::session::{Campaign, read_optional};
use everturn_rpg::document_view::CampaignView;
use everturn_rpg::draft::{CampaignDraft, tree_of};
use everturn_rpg::row::turn_id;
use everturn_rpg::starter::new_actor;
use everturn_rpg::summary::{characters, disagreement};
use everturn_value::tree::JsonTree;

/// Returns the document, and a description of its source.
pub(super) fn document(campaign: &Campaign) -> Result<(JsonTree, String), CampaignError> {
    if let Some(known) = known_document(campaign)? {
        return Ok(known);
    }
    let Some(last) = campaign.last_row()? else {
        let file = campaign.file(super::CampaignFile::Campaign);
        let reason = "there are no rows, changes or checkpoints to restore it from";
        return Err(CampaignError::damaged(&file, reason));
    };
    let state = from_rows(campaign, &last.row)?;
    let what = format!(
        "it is composed from the rows of the log; settings, goal and map are only known as far as {} has them",
        turn_id(last.turn)
    );
    Ok((state, what))
}

/// Returns the document from a checkpoint or from the changes, if they lead to it.
pub(super) fn known_document(
    campaign: &Campaign,
) -> Result<Option<(JsonTree, String)>, CampaignError> {
    let mut changes = Vec::new();
    for change in campaign.changes()? {
        changes.push(change?);
    }
    let found = match from_checkpoint(campaign, &changes)? {
        None => from_base(&changes),
        found => found,
    };
    let Some((mut state, mut what)) = found else { return Ok(None) };
    if let Some(last) = campaign.last_row()?
        && disagreement(CampaignView::new(&state), &last.row).is_some()
    {
        state = overlay(state, &last.row)?;
        what.push_str(&format!(", with the characters from {}", turn_id(last.turn)));
    }
    // The changes of a branch started under the ID of another campaign.
    let mut draft = CampaignDraft::new(state);
    draft.set(&["id"], campaign.id.as_str())?;
    Ok(Some((draft.into_parts().0, what)))
}

/// Returns the document from the newest checkpoint from which the changes lead to the end.
fn from_checkpoint(
    campaign: &Campaign,
    changes: &[ChangeRecord],
) -> Result<Option<(JsonTree, String)>, CampaignError> {
    for checkpoint in campaign.checkpoints()?.into_iter().rev() {
        let file = checkpoint.path(&campaign.dir);
        let Some(bytes) = read_optional(&campaign.store, &file)? else { continue };
        let Ok(stored) = CampaignDocument::parse(&file, &bytes) else { continue };
        let own = |change: &ChangeRecord| change.kind.has_row() && change.turn == checkpoint.turn;
        let after = changes.iter().rposition(own).map_or(changes.len(), |at| at + 1);
        if let Some(state) = apply_changes(stored.tree, changes.get(after..).unwrap_or_default()) {
            let what =
                format!("it is restored from the checkpoint of {}", turn_id(checkpoint.turn));
            return Ok(Some((state, what)));
        }
    }
    Ok(None)
}

/// Returns the last base document, with all changes since then.
fn from_base(changes: &[ChangeRecord]) -> Option<(JsonTree, String)> {
    let bases = changes.iter().enumerate().rev();
    for (at, base) in bases.filter(|(_, change)| change.kind == ChangeKind::Base) {
        let state = base.deltas.first().and_then(|delta| delta.value.clone())?;
        if let Some(state) = apply_changes(state, changes.get(at + 1..).unwrap_or_default()) {
            return Some((state, "it is restored from the changes".to_owned()));
        }
    }
    None
}

fn apply_changes(mut state: JsonTree, changes: &[ChangeRecord]) -> Option<JsonTree> {
    for delta in changes.iter().flat_map(|change| &change.deltas) {
        delta.apply(&mut state).ok()?;
    }
    Some(state)
}

/// Returns an approximation from the rows alone.
fn from_rows(campaign: &Campaign, last: &JsonTree) -> Result<JsonTree, CampaignError> {
    let party = characters(last);
    let actor = last.string_at(&["state_summary", "active_actor_id"]);
    let actor = actor.filter(|actor| party.contains(actor));
    let new = NewCampaign { party, actor, ..NewCampaign::default() };
    let time = last.string_at(&["timestamp"]).unwrap_or_default();
    let mut document = new.skeleton(&campaign.id, &time);
    let has = |key: &str| last.value_at(&["state_summary", key]).is_some();
    if let Value::Object(fields) = &mut document {
        let revision = last.value_at(&["settings_revision"]).and_then(|tree| tree.to_value().ok());
        fields.insert("settings_revision".to_owned(), revision.unwrap_or_else(|| json!(0)));
        if has("inventories") {
            let actors = characters(last).into_iter().map(|actor| (actor, new_actor("")));
            fields.insert("actors".to_owned(), Value::Object(actors.collect()));
            for map in ["positions", "hp", "character_states"] {
                fields.insert(map.to_owned(), json!({}));
            }
        } else if has("positions_parent") {
            fields.insert("state".to_owned(), json!({}));
        }
    }
    let mut draft = CampaignDraft::new(tree_of(&document));
    for row in campaign.rows()? {
        for area in areas_of(&row?.row) {
            add_area(&mut draft, &area)?;
        }
    }
    overlay(draft.into_parts().0, last)
}

/// Returns every area that a row mentions.
fn areas_of(row: &JsonTree) -> Vec<String> {
    let children =
        |path: &[&str]| row.value_at(path).map(|tree| tree.children()).unwrap_or_default();
    let text = |tree: &JsonTree| tree.string_at::<&str>(&[]);
    let positions = children(&["state_summary", "positions"]);
    let mut areas: Vec<String> = positions.iter().filter_map(|(_, area)| text(area)).collect();
    for (_, action) in children(&["applied_actions"]) {
        areas.extend(action.string_at(&["result", "new_area_id"]));
        let made = action.value_at(&["result", "created_area_ids"]).map(|made| made.children());
        areas.extend(made.unwrap_or_default().iter().filter_map(|(_, area)| text(area)));
    }
    areas
}

fn add_area(draft: &mut CampaignDraft, id: &str) -> Result<(), CampaignError> {
    if draft.view().has_area(id) {
        return Ok(());
    }
    let mut area = json!({"id": id, "name": id, "parent_area_id": null});
    if let (Value::Object(fields), true) = (&mut area, draft.view().generation.has_one_way_roads())
    {
        fields.insert("reachable_area_ids".to_owned(), json!([]));
    }
    Ok(draft.set(&["map", "areas", id], &area)?)
}
