//! The tools that a narrator may call, and the checks before they run.

mod actors;
mod health;
mod inventory;
mod map;
mod movement;
mod scene;
mod worlds;

use serde_json::{Map, Value, json};

use super::draft::CampaignDraft;
use super::error::{RulesError, WorldError};
use super::generation::RuleSet;
use everturn_json::names::SessionId;
use everturn_value::delta::DeltaError;
use everturn_value::tree::JsonTree;

/// The arguments of a call.
pub type ToolArgs = Map<String, Value>;

/// A tool call of a narrator.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The ID that the narrator gave it.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// The arguments.
    pub args: ToolArgs,
    /// Why the narrator calls the tool.
    pub reason: Option<String>,
}

impl ToolCall {
    /// Parses a call. Returns `None` if the value is not a call.
    pub(crate) fn parse(tree: &JsonTree) -> Option<ToolCall> {
        let Ok(Value::Object(mut fields)) = tree.to_value() else { return None };
        let mut text = |key: &str| match fields.remove(key) {
            Some(Value::String(text)) => Some(Some(text)),
            None | Some(Value::Null) => Some(None),
            Some(_) => None,
        };
        let (id, tool, reason) = (text("id")??, text("tool")??, text("reason")?);
        match fields.remove("args") {
            Some(Value::Object(args)) => Some(ToolCall { id, tool, args, reason }),
            _ => None,
        }
    }

    /// Returns the call in the form of the log.
    pub(crate) fn to_value(&self) -> Value {
        json!({"id": self.id, "tool": self.tool, "args": self.args, "reason": self.reason})
    }

    /// Returns a key that identifies repeated requests.
    pub(crate) fn signature(&self) -> String {
        signature(&self.tool, &self.args)
    }
}

/// Returns a key that identifies repeated requests: the tool and the arguments, whatever their order.
pub(crate) fn signature(tool: &str, args: &ToolArgs) -> String {
    let both = super::draft::tree_of(&json!({"tool": tool, "args": args}));
    everturn_value::tree::canonical_text(&both)
}

/// A call that succeeded.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedCall {
    /// The name of the tool.
    pub tool: String,
    /// The arguments.
    pub args: ToolArgs,
    /// The result of the tool.
    pub result: Value,
}

impl AppliedCall {
    /// Returns the action in the form of the log.
    pub(crate) fn to_value(&self, time: &str) -> Value {
        json!({"tool": self.tool, "args": self.args, "result": self.result, "timestamp": time})
    }
}

/// Why a call was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// The campaign does not allow the tool.
    ToolNotAllowed,
    /// Invalid arguments, detected before the tool ran.
    MalformedActor,
    /// The call names another actor than the one that acts.
    ActorContextMismatch,
    /// The state of the actor does not allow the call.
    ActorStateRestricted,
    /// The state of the actor is unknown.
    InvalidActorState,
    /// The same call failed in each of the last rows.
    RepeatIllegalRequest,
    /// Invalid arguments, detected by the tool.
    InvalidArgs,
    /// Neither the call nor the campaign names a world.
    WorldIdMissing,
}

impl RefusalReason {
    /// Returns the status and the reason used in the log.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            RefusalReason::ToolNotAllowed => ("rejected", "tool_not_allowed"),
            RefusalReason::MalformedActor => ("rejected", "invalid_args"),
            RefusalReason::ActorContextMismatch => ("rejected", "actor_context_mismatch"),
            RefusalReason::ActorStateRestricted => ("rejected", "actor_state_restricted"),
            RefusalReason::InvalidActorState => ("rejected", "invalid_actor_state"),
            RefusalReason::RepeatIllegalRequest => ("rejected", "repeat_illegal_request"),
            RefusalReason::InvalidArgs => ("error", "invalid_args"),
            RefusalReason::WorldIdMissing => ("error", "world_id_missing"),
        }
    }
}

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedCall {
    /// The ID of the call.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// Why it failed.
    pub reason: RefusalReason,
}

impl FailedCall {
    pub(crate) fn of(call: &ToolCall, reason: RefusalReason) -> FailedCall {
        FailedCall { id: call.id.clone(), tool: call.tool.clone(), reason }
    }

    /// Returns the failure in the form of the log.
    pub(crate) fn to_value(&self) -> Value {
        let (status, reason) = self.reason.words();
        json!({"id": self.id, "tool": self.tool, "status": status, "reason": reason})
    }
}

/// Why a tool failed.
#[derive(Debug)]
pub(crate) enum ToolFailure {
    /// The call is invalid.
    Refused(RefusalReason),
    /// The turn cannot be played.
    Broken(RulesError),
}

impl From<DeltaError> for ToolFailure {
    fn from(error: DeltaError) -> ToolFailure {
        ToolFailure::Broken(error.into())
    }
}

impl From<RefusalReason> for ToolFailure {
    fn from(reason: RefusalReason) -> ToolFailure {
        ToolFailure::Refused(reason)
    }
}

/// Reads a stored world. Returns `None` if there is none with this ID.
pub type WorldReader<'a> = &'a dyn Fn(&SessionId) -> Result<Option<JsonTree>, WorldError>;

/// The context in which tools run.
pub(crate) struct ToolContext<'a> {
    pub(crate) draft: &'a mut CampaignDraft,
    /// The actor.
    pub(crate) actor: &'a str,
    pub(crate) worlds: WorldReader<'a>,
    /// The time in the form of the files.
    pub(crate) now: &'a str,
    /// The seed for new IDs.
    pub(crate) seed: u64,
}

type ToolFn = fn(&mut ToolContext<'_>, &ToolArgs) -> Result<Value, ToolFailure>;

/// Every tool, with its implementation by the first and by the second rules.
const TOOLS: &[(&str, Option<ToolFn>, Option<ToolFn>)] = &[
    ("move", Some(movement::go_from), Some(movement::go)),
    ("hp_delta", Some(health::change), Some(health::change)),
    ("inventory_add", None, Some(inventory::add)),
    ("map_generate", Some(map::first), Some(map::generate)),
    ("move_options", Some(movement::options), Some(movement::options)),
    ("world_generate", None, Some(worlds::generate)),
    ("actor_spawn", None, Some(actors::spawn)),
    (SCENE_ACTION, None, Some(scene::act)),
];

/// The tool that only documents with entities have.
pub(crate) const SCENE_ACTION: &str = "scene_action";

/// Returns the tools that a new campaign with these rules allows.
#[must_use]
pub fn default_allowlist(rules: RuleSet) -> Vec<&'static str> {
    match rules {
        RuleSet::First => vec!["move", "hp_delta", "map_generate"],
        RuleSet::Second => known_tools(rules),
    }
}

/// Returns the tools that new campaigns with these rules may allow.
#[must_use]
pub fn known_tools(rules: RuleSet) -> Vec<&'static str> {
    let known = TOOLS.iter().filter(|(_, first, second)| match rules {
        RuleSet::First => first.is_some(),
        RuleSet::Second => second.is_some(),
    });
    known.map(|(name, ..)| *name).filter(|name| *name != SCENE_ACTION).collect()
}

/// Runs calls in order, each on the result of those before it. Some may fail while others succeed.
pub(crate) fn execute(
    stage: &mut ToolContext<'_>,
    calls: &mut [ToolCall],
) -> Result<(Vec<AppliedCall>, Vec<FailedCall>), RulesError> {
    let (mut applied, mut failed) = (Vec::new(), Vec::new());
    for call in calls {
        let mark = stage.draft.savepoint();
        match execute_call(stage, call) {
            Ok(result) => {
                let (tool, args) = (call.tool.clone(), call.args.clone());
                applied.push(AppliedCall { tool, args, result });
            }
            Err(ToolFailure::Refused(reason)) => {
                stage.draft.revert_to(mark)?;
                failed.push(FailedCall::of(call, reason));
            }
            Err(ToolFailure::Broken(error)) => return Err(error),
        }
    }
    Ok((applied, failed))
}

/// Creates the areas of a recorded `map_generate` call again, and returns the result of the call. Returns `None` if the
/// call is not possible.
pub fn replay_map_call(draft: &mut CampaignDraft, args: &ToolArgs) -> Option<Value> {
    let worlds = |_: &SessionId| -> Result<Option<JsonTree>, WorldError> { Ok(None) };
    let rules = draft.view().generation.rules();
    let mut stage = ToolContext { draft, actor: "", worlds: &worlds, now: "", seed: 0 };
    let made = match rules {
        RuleSet::First => map::first(&mut stage, args),
        RuleSet::Second => map::generate(&mut stage, args),
    };
    made.ok()
}

fn execute_call(stage: &mut ToolContext<'_>, call: &mut ToolCall) -> Result<Value, ToolFailure> {
    let view = stage.draft.view();
    let rules = view.generation.rules();
    if !view.allowlist().contains(&call.tool) {
        return Err(RefusalReason::ToolNotAllowed.into());
    }
    if rules == RuleSet::Second {
        check_actor(stage.actor, &mut call.args)?;
    }
    check_state(&view.state(stage.actor), stage.actor, call)?;
    let known = TOOLS.iter().find(|(name, ..)| *name == call.tool);
    let tool = known.and_then(|(_, first, second)| match rules {
        RuleSet::First => *first,
        RuleSet::Second => *second,
    });
    let tool = tool.ok_or(RefusalReason::InvalidArgs)?;
    tool(stage, &call.args)
}

/// Checks the actor of a call, which is optional but must be correct. Whitespace around the ID is removed.
fn check_actor(actor: &str, args: &mut ToolArgs) -> Result<(), RefusalReason> {
    let Some(given) = args.get_mut("actor_id") else { return Ok(()) };
    let trimmed = given.as_str().map(str::trim).filter(|id| !id.is_empty());
    let trimmed = trimmed.ok_or(RefusalReason::MalformedActor)?;
    if trimmed != actor {
        return Err(RefusalReason::ActorContextMismatch);
    }
    *given = Value::from(actor);
    Ok(())
}

/// Checks the state of the actor: alive allows everything, dying only healing oneself, any other state nothing.
fn check_state(state: &str, actor: &str, call: &ToolCall) -> Result<(), RefusalReason> {
    match state {
        "alive" => Ok(()),
        "dying" => {
            let on_self = text(&call.args, "target_character_id") == Some(actor);
            let heals = call.args.get("delta").and_then(whole).is_some_and(|delta| delta > 0);
            let allowed = call.tool == "hp_delta" && on_self && heals;
            if allowed { Ok(()) } else { Err(RefusalReason::ActorStateRestricted) }
        }
        "unconscious" | "restrained_permanent" | "dead" => Err(RefusalReason::ActorStateRestricted),
        _ => Err(RefusalReason::InvalidActorState),
    }
}

/// Returns an integer. As in the upstream program, `true` is 1 and `false` is 0.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Bool(value) => Some(i64::from(*value)),
        value => value.as_i64(),
    }
}

/// Returns a string argument.
fn text<'a>(args: &'a ToolArgs, key: &str) -> Option<&'a str> {
    args.get(key).and_then(Value::as_str)
}

/// Returns an optional boolean argument.
fn flag(args: &ToolArgs, key: &str, default: bool) -> Result<bool, RefusalReason> {
    match args.get(key) {
        None => Ok(default),
        Some(Value::Bool(value)) => Ok(*value),
        Some(_) => Err(RefusalReason::InvalidArgs),
    }
}
