//! Rebuilds an unreadable document from other files.

use serde_json::{Value, json};

use super::remains::{DocumentRemains, FillSource};
use crate::NewCampaign;
use crate::check::{dangling, faults};
use crate::document::CampaignDocument;
use crate::error::CampaignError;
use crate::history::overlay;
use crate::log::{ChangeKind, ChangeRecord};
use crate::session::{Campaign, read_optional};
use everturn_rpg::document_view::{CampaignView, strings};
use everturn_rpg::draft::{CampaignDraft, tree_of};
use everturn_rpg::generation::Generation;
use everturn_rpg::row::turn_id;
use everturn_rpg::summary::{characters, disagreement};
use everturn_rpg::tools::replay_map_call;
use everturn_value::tree::JsonTree;

/// Returns the document, and a description of its source. `remains` is what is left of the damaged one.
pub(super) fn document(
    campaign: &Campaign,
    remains: &DocumentRemains,
) -> Result<(JsonTree, String), CampaignError> {
    if remains.is_whole() && dangling(CampaignView::new(&remains.tree)).is_empty() {
        let what = "other bytes after the document are removed".to_owned();
        return Ok((remains.tree.clone(), what));
    }
    let (from, source, what) = match (known_document(campaign)?, campaign.last_row()?) {
        (Some((known, what)), _) => (known, FillSource::Known, what),
        (None, Some(last)) => {
            let what = format!(
                "it is composed from the rows of the log; settings, goal and map are only known as far as {} has them",
                turn_id(last.turn)
            );
            (from_rows(campaign, remains, &last.row)?, FillSource::Rows, what)
        }
        (None, None) => {
            if remains.is_empty() {
                let file = campaign.file(super::CampaignFile::Campaign);
                let reason = "there are no rows, changes or checkpoints to restore it from";
                return Err(CampaignError::damaged(&file, reason));
            }
            let generation = generation_of(&remains.tree, None);
            let party = CampaignView::new(&remains.tree).party();
            let party = if party.is_empty() { NewCampaign::default().party } else { party };
            let new = NewCampaign { party, generation, ..NewCampaign::default() };
            let created = remains.tree.string_at(&["created_at"]).unwrap_or_default();
            let skeleton = tree_of(&new.skeleton(&campaign.id, &created));
            (skeleton, FillSource::Defaults, "what is missing got its default".to_owned())
        }
    };
    let what = match remains.is_empty() {
        true => what,
        false => format!("every readable value is kept; of the rest, {what}"),
    };
    let tree = fill_references(campaign, remains.fill(&from, source)?, &from, source)?;
    Ok((tree, what))
}

/// Adds what the document refers to and lacks: damage can take whole lines, which leaves no gap.
fn fill_references(
    campaign: &Campaign,
    tree: JsonTree,
    from: &JsonTree,
    source: FillSource,
) -> Result<JsonTree, CampaignError> {
    let missing = dangling(CampaignView::new(&tree));
    if missing.is_empty() {
        return Ok(tree);
    }
    let mut remains = DocumentRemains { tree, gaps: Vec::new() };
    for reference in missing {
        remains.add_gap(reference.place.iter().map(|key| (*key).to_owned()).collect());
    }
    let filled = remains.fill(from, source)?;
    let is_sound = |tree: &JsonTree| faults(CampaignView::new(tree), &campaign.id).is_empty();
    // A reference that nothing explains is damaged itself.
    let knows_better = source == FillSource::Known && is_sound(from) && !is_sound(&filled);
    Ok(if knows_better { from.clone() } else { filled })
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

/// Returns the generation of a document of which only a part is left: the part that tells it may be missing.
fn generation_of(remains: &JsonTree, last: Option<&JsonTree>) -> Generation {
    let says = |key: &str| last.is_some_and(|row| row.value_at(&["state_summary", key]).is_some());
    let has_setting = |path: &[&str]| remains.value_at(path).is_some();
    let is_second = says("inventories")
        || has_setting(&["settings_snapshot", "characters"])
        || has_setting(&["settings_snapshot", "dialog", "strict_semantic_guard"]);
    match Generation::of(remains) {
        Generation::First | Generation::Between if is_second => Generation::Second,
        Generation::First if says("positions_parent") => Generation::Between,
        found => found,
    }
}

/// Returns an approximation from the rows alone. `remains` is what is left of the damaged document.
fn from_rows(
    campaign: &Campaign,
    remains: &DocumentRemains,
    last: &JsonTree,
) -> Result<JsonTree, CampaignError> {
    let party = characters(last);
    let actor = last.string_at(&["state_summary", "active_actor_id"]);
    let actor = actor.filter(|actor| party.contains(actor));
    let generation = generation_of(&remains.tree, Some(last));
    let new = NewCampaign { party, actor, generation, ..NewCampaign::default() };
    let first = campaign.rows()?.next().transpose()?;
    let time = first.and_then(|first| first.row.string_at(&["timestamp"])).unwrap_or_default();
    let mut draft = CampaignDraft::new(tree_of(&new.skeleton(&campaign.id, &time)));
    if let Some(revision) = last.value_at(&["settings_revision"]) {
        draft.set(&["settings_revision"], &revision.to_value().unwrap_or_default())?;
    }
    if !CampaignView::new(&remains.tree).areas().is_empty() {
        // It had a map of its own.
        draft.set(&["map", "areas"], &json!({}))?;
        draft.set(&["map", "connections"], &json!([]))?;
    }
    for row in campaign.rows()? {
        recover_map(&mut draft, &row?.row)?;
    }
    let inventories = last.value_at(&["state_summary", "inventories"]);
    for (actor, inventory) in inventories.map(|all| all.children()).unwrap_or_default() {
        if draft.view().tree.value_at(&["actors", &actor]).is_some() {
            draft
                .set(&["actors", &actor, "inventory"], &inventory.to_value().unwrap_or_default())?;
        }
    }
    overlay(draft.into_parts().0, last)
}

/// Adds to the map what a row says about it: areas that were created, roads that were used, and places of characters.
fn recover_map(draft: &mut CampaignDraft, row: &JsonTree) -> Result<(), CampaignError> {
    let children =
        |path: &[&str]| row.value_at(path).map(|tree| tree.children()).unwrap_or_default();
    let text = |tree: &JsonTree| tree.string_at::<&str>(&[]);
    for (_, action) in children(&["applied_actions"]) {
        let said = |part: &str, key: &str| action.string_at(&[part, key]);
        match said_tool(&action).as_str() {
            "map_generate" => recover_areas(draft, &action)?,
            "move" => {
                let from = said("args", "from_area_id").or(said("result", "from_area_id"));
                if let (Some(from), Some(to)) = (from, said("result", "to_area_id")) {
                    add_area(draft, &from)?;
                    add_area(draft, &to)?;
                    add_road(draft, &from, &to)?;
                }
            }
            _ => {}
        }
    }
    for (_, area) in children(&["state_summary", "positions"]) {
        if let Some(area) = text(&area) {
            add_area(draft, &area)?;
        }
    }
    let said = |key: &str| row.string_at(&["state_summary", key]);
    if let Some(area) = said("active_area_id").filter(|area| draft.view().has_area(area)) {
        for (key, field) in
            [("active_area_name", "name"), ("active_area_description", "description")]
        {
            if let Some(known) = said(key) {
                draft.set(&["map", "areas", &area, field], &known)?;
            }
        }
    }
    Ok(())
}

fn said_tool(action: &JsonTree) -> String {
    action.string_at(&["tool"]).unwrap_or_default()
}

/// Adds the areas that a call has created. The tool creates the same areas again if the map is as it was then.
fn recover_areas(draft: &mut CampaignDraft, action: &JsonTree) -> Result<(), CampaignError> {
    let value = |key: &str| action.value_at(&[key]).and_then(|part| part.to_value().ok());
    let result = value("result").unwrap_or_default();
    if let Some(Value::Object(args)) = value("args") {
        let mut again = draft.clone();
        if replay_map_call(&mut again, &args).is_some_and(|same| same == result) {
            *draft = again;
            return Ok(());
        }
    }
    let parent = action.string_at(&["args", "parent_area_id"]);
    let made = action.value_at(&["result", "created_area_ids"]);
    let made = made.map(|made| strings(&made)).unwrap_or_default();
    for area in made.into_iter().chain(action.string_at(&["result", "new_area_id"])) {
        add_area(draft, &area)?;
        if let Some(parent) = &parent {
            add_area(draft, parent)?;
            draft.set(&["map", "areas", &area, "parent_area_id"], parent)?;
            add_road(draft, parent, &area)?;
        }
    }
    Ok(())
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

/// Adds a road, unless it is known.
fn add_road(draft: &mut CampaignDraft, from: &str, to: &str) -> Result<(), CampaignError> {
    let view = draft.view();
    if view.roads(from).iter().any(|known| known == to) {
        return Ok(());
    }
    if view.generation.has_one_way_roads() {
        draft.push(&["map", "areas", from, "reachable_area_ids"], to)?;
    }
    Ok(draft.push(&["map", "connections"], &json!({"from_area_id": from, "to_area_id": to}))?)
}
