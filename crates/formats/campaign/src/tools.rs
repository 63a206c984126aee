//! The tools that a narrator may call, and the checks before they are carried out.

mod actors;
mod health;
mod inventory;
mod map;
mod movement;
mod worlds;

use serde_json::{Map, Value, json};

use super::draft::Draft;
use super::error::CampaignError;
use super::generation::Rules;
use everturn_json::names::SessionId;
use everturn_value::delta::DeltaError;
use everturn_value::tree::Tree;

/// The arguments of a call.
pub(crate) type Args = Map<String, Value>;

/// A call as a narrator made it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) args: Args,
    pub(crate) reason: Option<String>,
}

impl Call {
    /// The call that a value is; nothing, if it is none.
    pub(crate) fn parse(tree: &Tree) -> Option<Call> {
        let Ok(Value::Object(mut fields)) = tree.to_value() else { return None };
        let mut text = |key: &str| match fields.remove(key) {
            Some(Value::String(text)) => Some(Some(text)),
            None | Some(Value::Null) => Some(None),
            Some(_) => None,
        };
        let (id, tool, reason) = (text("id")??, text("tool")??, text("reason")?);
        match fields.remove("args") {
            Some(Value::Object(args)) => Some(Call { id, tool, args, reason }),
            _ => None,
        }
    }

    /// The call as the log has it.
    pub(crate) fn to_value(&self) -> Value {
        json!({"id": self.id, "tool": self.tool, "args": self.args, "reason": self.reason})
    }

    /// What makes two calls the same request.
    pub(crate) fn signature(&self) -> String {
        signature(&self.tool, &self.args)
    }
}

/// What makes two calls the same request: the tool and the arguments, whatever their order.
pub(crate) fn signature(tool: &str, args: &Args) -> String {
    let both = super::draft::tree_of(&json!({"tool": tool, "args": args}));
    everturn_value::tree::canonical(&both)
}

/// A call that was carried out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Applied {
    pub(crate) tool: String,
    pub(crate) args: Args,
    pub(crate) result: Value,
}

impl Applied {
    /// The action as the log has it.
    pub(crate) fn to_value(&self, time: &str) -> Value {
        json!({"tool": self.tool, "args": self.args, "result": self.result, "timestamp": time})
    }
}

/// Why a call was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    ToolNotAllowed,
    /// Arguments that do not fit, found before the tool was asked.
    MalformedActor,
    ActorContextMismatch,
    ActorStateRestricted,
    InvalidActorState,
    RepeatIllegalRequest,
    InvalidArgs,
    WorldIdMissing,
}

impl Reason {
    /// The status and the reason that the log has.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Reason::ToolNotAllowed => ("rejected", "tool_not_allowed"),
            Reason::MalformedActor => ("rejected", "invalid_args"),
            Reason::ActorContextMismatch => ("rejected", "actor_context_mismatch"),
            Reason::ActorStateRestricted => ("rejected", "actor_state_restricted"),
            Reason::InvalidActorState => ("rejected", "invalid_actor_state"),
            Reason::RepeatIllegalRequest => ("rejected", "repeat_illegal_request"),
            Reason::InvalidArgs => ("error", "invalid_args"),
            Reason::WorldIdMissing => ("error", "world_id_missing"),
        }
    }
}

/// A call that was not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) reason: Reason,
}

impl Failed {
    pub(crate) fn of(call: &Call, reason: Reason) -> Failed {
        Failed { id: call.id.clone(), tool: call.tool.clone(), reason }
    }

    /// The failure as the log has it.
    pub(crate) fn to_value(&self) -> Value {
        let (status, reason) = self.reason.words();
        json!({"id": self.id, "tool": self.tool, "status": status, "reason": reason})
    }
}

/// Why a tool does not do its work.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The call is to blame.
    Refused(Reason),
    /// The campaign or the store is.
    Broken(CampaignError),
}

impl From<DeltaError> for Stop {
    fn from(error: DeltaError) -> Stop {
        Stop::Broken(error.into())
    }
}

impl From<Reason> for Stop {
    fn from(reason: Reason) -> Stop {
        Stop::Refused(reason)
    }
}

/// Reads a world that is stored.
pub(crate) type Worlds<'a> = &'a dyn Fn(&SessionId) -> Result<Option<Tree>, CampaignError>;

/// Where tools work.
pub(crate) struct Stage<'a> {
    pub(crate) draft: &'a mut Draft,
    /// Who acts.
    pub(crate) actor: &'a str,
    pub(crate) worlds: Worlds<'a>,
    /// The time, as the files have it.
    pub(crate) now: &'a str,
    /// What new ids follow from.
    pub(crate) seed: u64,
}

type Tool = fn(&mut Stage<'_>, &Args) -> Result<Value, Stop>;

/// Every tool, and what it does by the first rules and by the second.
const TOOLS: &[(&str, Option<Tool>, Option<Tool>)] = &[
    ("move", Some(movement::go_from), Some(movement::go)),
    ("hp_delta", Some(health::change), Some(health::change)),
    ("inventory_add", None, Some(inventory::add)),
    ("map_generate", Some(map::first), Some(map::generate)),
    ("move_options", Some(movement::options), Some(movement::options)),
    ("world_generate", None, Some(worlds::generate)),
    ("actor_spawn", None, Some(actors::spawn)),
];

/// The tools that a new campaign with these rules allows.
pub(crate) fn default_allowlist(rules: Rules) -> Vec<&'static str> {
    match rules {
        Rules::First => vec!["move", "hp_delta", "map_generate"],
        Rules::Second => TOOLS.iter().map(|(name, ..)| *name).collect(),
    }
}

/// The tools that there are by these rules.
#[cfg(test)]
pub(crate) fn known_tools(rules: Rules) -> Vec<&'static str> {
    let known = TOOLS.iter().filter(|(_, first, second)| match rules {
        Rules::First => first.is_some(),
        Rules::Second => second.is_some(),
    });
    known.map(|(name, ..)| *name).collect()
}

/// Carries out calls in their order, each on what the ones before it left. Some may fail and others not.
pub(crate) fn execute(
    stage: &mut Stage<'_>,
    calls: &mut [Call],
) -> Result<(Vec<Applied>, Vec<Failed>), CampaignError> {
    let (mut applied, mut failed) = (Vec::new(), Vec::new());
    for call in calls {
        let mark = stage.draft.mark();
        match one(stage, call) {
            Ok(result) => {
                let (tool, args) = (call.tool.clone(), call.args.clone());
                applied.push(Applied { tool, args, result });
            }
            Err(Stop::Refused(reason)) => {
                stage.draft.take_back(mark)?;
                failed.push(Failed::of(call, reason));
            }
            Err(Stop::Broken(error)) => return Err(error),
        }
    }
    Ok((applied, failed))
}

fn one(stage: &mut Stage<'_>, call: &mut Call) -> Result<Value, Stop> {
    let view = stage.draft.view();
    let rules = view.generation.rules();
    if !view.allowlist().contains(&call.tool) {
        return Err(Reason::ToolNotAllowed.into());
    }
    if rules == Rules::Second {
        check_actor(stage.actor, &mut call.args)?;
    }
    check_state(&view.state(stage.actor), stage.actor, call)?;
    let known = TOOLS.iter().find(|(name, ..)| *name == call.tool);
    let tool = known.and_then(|(_, first, second)| match rules {
        Rules::First => *first,
        Rules::Second => *second,
    });
    let tool = tool.ok_or(Reason::InvalidArgs)?;
    tool(stage, &call.args)
}

/// A call may say who acts, and then must say it right. Space around the id is taken off.
fn check_actor(actor: &str, args: &mut Args) -> Result<(), Reason> {
    let Some(given) = args.get_mut("actor_id") else { return Ok(()) };
    let trimmed = given.as_str().map(str::trim).filter(|id| !id.is_empty());
    let trimmed = trimmed.ok_or(Reason::MalformedActor)?;
    if trimmed != actor {
        return Err(Reason::ActorContextMismatch);
    }
    *given = Value::from(actor);
    Ok(())
}

/// Who is alive may do everything, who is dying may only heal themselves, and nobody else anything.
fn check_state(state: &str, actor: &str, call: &Call) -> Result<(), Reason> {
    match state {
        "alive" => Ok(()),
        "dying" => {
            let on_self = text(&call.args, "target_character_id") == Some(actor);
            let heals = call.args.get("delta").and_then(whole).is_some_and(|delta| delta > 0);
            let allowed = call.tool == "hp_delta" && on_self && heals;
            if allowed { Ok(()) } else { Err(Reason::ActorStateRestricted) }
        }
        "unconscious" | "restrained_permanent" | "dead" => Err(Reason::ActorStateRestricted),
        _ => Err(Reason::InvalidActorState),
    }
}

/// A whole number. As in the program, `true` is 1 and `false` is 0.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Bool(value) => Some(i64::from(*value)),
        value => value.as_i64(),
    }
}

/// An argument that is a text.
fn text<'a>(args: &'a Args, key: &str) -> Option<&'a str> {
    args.get(key).and_then(Value::as_str)
}

/// An argument that is `true` or `false`, and need not be there.
fn flag(args: &Args, key: &str, default: bool) -> Result<bool, Reason> {
    match args.get(key) {
        None => Ok(default),
        Some(Value::Bool(value)) => Ok(*value),
        Some(_) => Err(Reason::InvalidArgs),
    }
}
