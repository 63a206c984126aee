//! Plays a turn: [`play`] asks the narrator, runs its tool calls, and checks its answer against the state.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conflict::{
    AnswerContext, CharacterFacts, Conflict, ConflictReport, find_result_conflicts,
    find_text_conflicts,
};
use super::dialog::{self, DialogSource, DialogType};
use super::document_view::{CampaignView, strings};
use super::draft::CampaignDraft;
use super::error::{RulesError, WorldError};
use super::generation::{Generation, RuleSet};
use super::narrator::{Narrator, NarratorError, NarratorOutput, NarratorRequest};
use super::progress;
use super::row::RowFields;
use super::settings::TEXT_CHECKS;
use super::stamp::stamp;
use super::tools::{
    self, AppliedCall, FailedCall, RefusalReason, ToolCall, ToolContext, WorldReader,
};
use everturn_json::names::SessionId;
use everturn_value::tree::JsonTree;

/// How often a narrator that contradicts the state is asked again.
pub const MAX_RETRIES: usize = 2;

/// A request that has failed in this many consecutive rows is rejected.
const REPEATS: usize = 3;

/// The inputs of a turn.
pub struct TurnSetup<'a> {
    /// The campaign's document.
    pub campaign: &'a JsonTree,
    /// The player's input.
    pub user_input: &'a str,
    /// The actor, if it is not the active one.
    pub actor: Option<&'a str>,
    /// The number of the turn.
    pub turn: u64,
    /// The last rows of the log, oldest first.
    pub recent: &'a [JsonTree],
    /// Reads the stored worlds.
    pub worlds: WorldReader<'a>,
    /// The time of the turn.
    pub now: Timestamp,
    /// The seed for the IDs of new actors.
    pub seed: u64,
}

/// The result of a turn.
pub struct PlayedTurn {
    /// The document with the changes of the turn.
    pub draft: CampaignDraft,
    /// The row for the log.
    pub row: Value,
}

/// Plays a turn. Nothing is stored.
pub fn play(
    setting: &TurnSetup<'_>,
    narrator: &mut dyn Narrator,
) -> Result<PlayedTurn, RulesError> {
    let mut draft = CampaignDraft::new(setting.campaign.clone());
    draft.ensure_minimum()?;
    let actor = resolve_actor(draft.view(), setting.actor)?;
    let now = stamp(setting.now);
    let start = draft.savepoint();
    let mut report: Option<ConflictReport> = None;
    for retry in 0..=MAX_RETRIES {
        let view = draft.view();
        let output = narrator.narrate(&NarratorRequest {
            user_input: setting.user_input,
            actor: &actor,
            campaign: view.tree,
            generation: view.generation,
            turn: setting.turn,
            recent: setting.recent,
            recalled: &[],
            retry,
            conflicts: report.as_ref().map_or(&[], |report| &report.conflicts),
        })?;
        let stage = ToolContext {
            draft: &mut draft,
            actor: &actor,
            worlds: setting.worlds,
            now: &now,
            seed: setting.seed,
        };
        let AnswerAttempt { kind, calls, applied, failed, conflicts } =
            attempt(stage, setting.recent, &output)?;
        let text = output.text.as_str();
        if !conflicts.is_empty() {
            draft.revert_to(start)?;
            report = Some(ConflictReport { retries: retry.min(MAX_RETRIES), conflicts });
            continue;
        }
        progress::advance(&mut draft, setting.turn, retry)?;
        progress::mark_end(&mut draft, setting.now)?;
        let report = report.map(|report| ConflictReport { retries: retry, ..report });
        let told = RowFields {
            turn: setting.turn,
            time: &now,
            user_input: setting.user_input,
            kind,
            text,
            calls: &calls,
            applied: &applied,
            failed: &failed,
            report: report.as_ref(),
            actor: &actor,
        };
        let row = told.to_value(draft.view());
        return Ok(PlayedTurn { draft, row });
    }
    let none = || ConflictReport { retries: MAX_RETRIES, conflicts: Vec::new() };
    Err(RulesError::Conflicts { report: report.unwrap_or_else(none) })
}

/// Returns a narrator's answer to an input of the active actor. It is not checked, and has no effect.
pub fn preview(
    campaign: &JsonTree,
    user_input: &str,
    turn: u64,
    recent: &[JsonTree],
    narrator: &mut dyn Narrator,
) -> Result<NarratorOutput, RulesError> {
    let mut draft = CampaignDraft::new(campaign.clone());
    draft.ensure_minimum()?;
    let view = draft.view();
    let request = NarratorRequest {
        user_input,
        actor: &view.active_actor().unwrap_or_default(),
        campaign: view.tree,
        generation: view.generation,
        turn,
        recent,
        recalled: &[],
        retry: 0,
        conflicts: &[],
    };
    Ok(narrator.narrate(&request)?)
}

/// The result of trying an answer.
struct AnswerAttempt {
    kind: (DialogType, DialogSource),
    calls: Vec<ToolCall>,
    applied: Vec<AppliedCall>,
    failed: Vec<FailedCall>,
    conflicts: Vec<Conflict>,
}

/// Runs the calls of an answer on a draft, and checks the answer against the result.
fn attempt(
    mut stage: ToolContext<'_>,
    recent: &[JsonTree],
    output: &NarratorOutput,
) -> Result<AnswerAttempt, RulesError> {
    let view = stage.draft.view();
    let strict = has_guards(view) && view.is_on("dialog.strict_semantic_guard");
    let kind = dialog::resolve(output.dialog_type.as_deref(), strict)?;
    let calls = output.tool_calls.iter().filter_map(ToolCall::parse).collect();
    let (mut calls, mut failed) = reject_repeats(view, recent, calls);
    let before = CharacterFacts::of(view);
    let came_from = view.position(stage.actor);
    let (mut applied, more) = tools::execute(&mut stage, &mut calls)?;
    failed.extend(more);
    for change in &output.changes {
        if !change.is_allowed() {
            let path = change.path.join(".");
            return Err(NarratorError::new(format!("the narrator may not change {path}")).into());
        }
        stage.draft.set(&change.path, &change.value)?;
    }
    applied.extend(bring_followers(stage.draft, stage.actor, came_from.as_deref())?);
    let after = stage.draft.view();
    let dependencies = AnswerContext {
        text: &output.text,
        dialog_type: kind.0,
        applied: &applied,
        failed: &failed,
        before: &before,
        after,
    };
    let conflicts = if checks_words(after) {
        find_text_conflicts(&dependencies)
    } else {
        find_result_conflicts(&dependencies, stage.actor)
    };
    Ok(AnswerAttempt { kind, calls, applied, failed, conflicts })
}

/// Returns whether a member of the party follows the acting one: by ID, or by the character that the actor plays.
pub(crate) fn is_follower(
    view: CampaignView<'_>,
    followers: &BTreeSet<String>,
    member: &str,
) -> bool {
    let character = view.tree.string_at(&["actors", member, "meta", "character_id"]);
    let is_named =
        followers.contains(member) || character.is_some_and(|it| followers.contains(&it));
    is_named && view.state(member) == "alive"
}

/// Moves the members of the party who follow the actor (`everturn.world.followers`) along with a move.
fn bring_followers(
    draft: &mut CampaignDraft,
    actor: &str,
    from: Option<&str>,
) -> Result<Vec<AppliedCall>, RulesError> {
    let view = draft.view();
    let (Some(from), Some(to)) = (from, view.position(actor)) else { return Ok(Vec::new()) };
    let listed = view.tree.value_at(&["everturn", "world", "followers"]);
    let followers: BTreeSet<String> =
        listed.map(|list| strings(&list)).unwrap_or_default().into_iter().collect();
    if from == to || followers.is_empty() {
        return Ok(Vec::new());
    }
    let is_meant = |member: &String| {
        member != actor
            && view.position(member).as_deref() == Some(from)
            && is_follower(view, &followers, member)
    };
    let coming: Vec<String> = view.party().into_iter().filter(is_meant).collect();
    let mut moves = Vec::new();
    for member in coming {
        let args = json!({"actor_id": member, "from_area_id": from, "to_area_id": to});
        let result = match draft.view().generation.rules() {
            RuleSet::First => json!({"to_area_id": to}),
            RuleSet::Second => json!({"from_area_id": from, "to_area_id": to}),
        };
        draft.set_position(&member, &to)?;
        let args = args.as_object().cloned().unwrap_or_default();
        moves.push(AppliedCall { tool: "move".to_owned(), args, result });
    }
    Ok(moves)
}

/// The effect that an answer would have.
pub(crate) struct Rehearsal {
    /// Whether every call would succeed, and nothing would contradict the state.
    pub(crate) is_clean: bool,
    pub(crate) applied: Vec<AppliedCall>,
    /// The document after the calls.
    pub(crate) after: JsonTree,
}

/// Tries an answer to a request without any effect. Returns `None` if it cannot be tried. A rehearsal sees no stored
/// worlds.
pub(crate) fn rehearse(
    request: &NarratorRequest<'_>,
    output: &NarratorOutput,
) -> Option<Rehearsal> {
    let mut draft = CampaignDraft::new(request.campaign.clone());
    let worlds = |_: &SessionId| -> Result<Option<JsonTree>, WorldError> { Ok(None) };
    let stage =
        ToolContext { draft: &mut draft, actor: request.actor, worlds: &worlds, now: "", seed: 0 };
    let tried = attempt(stage, request.recent, output).ok()?;
    let is_clean = tried.failed.is_empty() && tried.conflicts.is_empty();
    Some(Rehearsal { is_clean, applied: tried.applied, after: draft.into_parts().0 })
}

fn has_guards(view: CampaignView<'_>) -> bool {
    view.generation.rules() == RuleSet::Second
}

/// Returns whether the text is checked: in the first generation unless the setting is off, between the generations
/// never, in later ones if the setting is on.
pub(crate) fn checks_words(view: CampaignView<'_>) -> bool {
    (view.generation == Generation::First || has_guards(view)) && view.is_on(TEXT_CHECKS)
}

/// Returns the actor, if they can act.
fn resolve_actor(view: CampaignView<'_>, wanted: Option<&str>) -> Result<String, RulesError> {
    let actor = wanted.map(str::to_owned).or_else(|| view.active_actor()).unwrap_or_default();
    let party = view.party();
    if !party.contains(&actor) {
        return Err(RulesError::NotInParty { actor });
    }
    if let Some(reason) = progress::end_reason(view) {
        return Err(RulesError::Ended { reason });
    }
    let somebody_could = || party.iter().any(|peer| *peer != actor && view.state(peer) == "alive");
    if has_guards(view) && view.state(&actor) == "unconscious" && somebody_could() {
        return Err(RulesError::Unconscious { actor });
    }
    Ok(actor)
}

/// Rejects requests that failed in each of the last rows. Only the second rules do so.
fn reject_repeats(
    view: CampaignView<'_>,
    recent: &[JsonTree],
    calls: Vec<ToolCall>,
) -> (Vec<ToolCall>, Vec<FailedCall>) {
    let last = recent.get(recent.len().saturating_sub(REPEATS)..).unwrap_or_default();
    if !has_guards(view) || last.len() < REPEATS || calls.is_empty() {
        return (calls, Vec::new());
    }
    let failures: Vec<Vec<String>> = last.iter().map(failed_requests).collect();
    let is_repeat = |call: &ToolCall| {
        let signature = call.signature();
        failures.iter().all(|failures| failures.contains(&signature))
    };
    let (away, kept): (Vec<ToolCall>, Vec<ToolCall>) = calls.into_iter().partition(is_repeat);
    let away = away.iter().map(|call| FailedCall::of(call, RefusalReason::RepeatIllegalRequest));
    (kept, away.collect())
}

/// Returns the requests of a row whose tools failed in it.
fn failed_requests(row: &JsonTree) -> Vec<String> {
    let list = |path: &[&str]| row.value_at(path).map(|list| list.children()).unwrap_or_default();
    let failed = list(&["tool_feedback", "failed_calls"]);
    let tools: Vec<String> =
        failed.iter().filter_map(|(_, call)| call.string_at(&["tool"])).collect();
    let calls = list(&["assistant_structured", "tool_calls"]);
    let calls = calls.iter().filter_map(|(_, call)| ToolCall::parse(call));
    calls.filter(|call| tools.contains(&call.tool)).map(|call| call.signature()).collect()
}
