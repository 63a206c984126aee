//! Turns the player's intent into an answer: [`reply_to`] returns a [`Reply`].

mod advice;
mod conversation;
mod fight;
mod go;
mod look;
mod things;

use serde_json::{Value, json};

use super::intent::{Intent, MoveTarget};
use super::scene::Scene;
use super::words::phrases::{HELD, LISTENED, PROMPTS, STRUGGLING, UNABLE, WAITED};
use crate::dialog::DialogType;
use crate::draft::tree_of;
use crate::generation::RuleSet;
use crate::narrator::NarratorOutput;

/// An answer that is being assembled.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    kind: DialogType,
    paragraphs: Vec<String>,
    calls: Vec<Value>,
}

impl Reply {
    pub(super) fn new(kind: DialogType) -> Reply {
        Reply { kind, paragraphs: Vec::new(), calls: Vec::new() }
    }

    /// Starts a paragraph.
    pub(super) fn line(mut self, text: impl Into<String>) -> Reply {
        self.paragraphs.push(text.into());
        self
    }

    /// Continues the paragraph.
    pub(super) fn and(mut self, text: impl AsRef<str>) -> Reply {
        match self.paragraphs.last_mut() {
            Some(last) => {
                last.push(' ');
                last.push_str(text.as_ref());
            }
            None => self.paragraphs.push(text.as_ref().to_owned()),
        }
        self
    }

    /// Adds a tool call.
    pub(super) fn call(mut self, tool: &str, args: &Value, reason: &str) -> Reply {
        let id = format!("call_{:03}", self.calls.len() + 1);
        self.calls.push(json!({"id": id, "tool": tool, "args": args, "reason": reason}));
        self
    }

    pub(super) fn output(self) -> NarratorOutput {
        let paragraphs = self.paragraphs.into_iter().filter(|text| !text.trim().is_empty());
        NarratorOutput {
            text: paragraphs.collect::<Vec<_>>().join("\n\n"),
            dialog_type: Some(self.kind.as_str().to_owned()),
            tool_calls: self.calls.iter().map(tree_of).collect(),
        }
    }
}

/// Formats a list: `a`, `a and b`, `a, b and c`.
fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// Returns a noun with its article.
fn some(thing: &str) -> String {
    let vowel = thing.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']);
    match thing {
        _ if thing.starts_with("the ") || thing.ends_with("beads") => thing.to_owned(),
        _ if vowel => format!("an {thing}"),
        _ => format!("a {thing}"),
    }
}

fn points(count: i64) -> String {
    if count == 1 { "1 hit point".to_owned() } else { format!("{count} hit points") }
}

impl Scene<'_> {
    /// Returns whether a tool may be called now.
    fn may(&self, tool: &str) -> bool {
        let first_has_none = matches!(tool, "inventory_add" | "actor_spawn" | "move_options")
            && self.view.generation.rules() == RuleSet::First;
        let is_listed = self.view.allowlist().iter().any(|allowed| allowed == tool);
        is_listed && !first_has_none && self.view.state(self.actor()) == "alive"
    }

    fn prompt(&self) -> &'static str {
        self.dice.of("prompt").pick(PROMPTS)
    }
}

/// Returns the answer to an intent.
pub(super) fn reply_to(scene: &Scene<'_>, intent: &Intent) -> Reply {
    let intent = &meant_here(scene, intent);
    match scene.view.state(scene.actor()).as_str() {
        "alive" => {}
        "dying" if matches!(intent, Intent::Rest(_)) => {
            return fight::hold_on(scene).unwrap_or_else(|| unable(scene, STRUGGLING));
        }
        state if !only_asks(intent) => {
            let texts = if state == "dying" { STRUGGLING } else { UNABLE };
            return unable(scene, texts);
        }
        _ => {}
    }
    let described = || Reply::new(DialogType::SceneDescription);
    match intent {
        Intent::Look => look::around(scene),
        Intent::Examine(object) => look::closer(scene, object),
        Intent::Listen => described()
            .line(scene.say(LISTENED))
            .and(scene.place.sense(scene.dice))
            .and(scene.prompt()),
        Intent::Go(target) => go::towards(scene, target),
        Intent::Ways => go::ways(scene),
        Intent::Explore => go::explore(scene),
        Intent::Attack => fight::attack(scene),
        Intent::Rest(object) => fight::rest(scene, object),
        Intent::Search => things::search(scene),
        Intent::Take(object) => things::take(scene, object),
        Intent::Inventory => things::inventory(scene),
        Intent::Talk(object) => conversation::with(scene, object),
        Intent::Recruit => conversation::recruit(scene),
        Intent::Rules(object) => advice::rules(object),
        Intent::Summary => advice::summary(scene),
        Intent::Goal => advice::goal(scene),
        Intent::Help => advice::help(scene),
        Intent::Status => advice::status(scene),
        Intent::Wait => described().line(scene.say(WAITED)).and(scene.place.sense(scene.dice)),
        Intent::Hold => {
            Reply::new(DialogType::ActionPrompt).line(scene.say(HELD)).and(scene.prompt())
        }
        Intent::Act(act) => described().line(scene.say(act.lines)),
        Intent::Yes | Intent::Unclear(_) => advice::unclear(scene),
    }
}

fn unable(scene: &Scene<'_>, texts: &[&'static str]) -> Reply {
    Reply::new(DialogType::ActionPrompt).line(scene.say(texts))
}

/// Adapts an intent to the scene: the name of an adjacent place means to go there.
fn meant_here(scene: &Scene<'_>, intent: &Intent) -> Intent {
    match intent {
        Intent::Unclear(words) if !scene.exits_named(words).is_empty() => {
            Intent::Go(MoveTarget::Named(words.clone()))
        }
        // An exit that was just found is the offer.
        Intent::Yes if scene.past.last().is_some_and(|past| past.intent == Intent::Explore) => {
            Intent::Go(MoveTarget::Onward)
        }
        other => other.clone(),
    }
}

/// Returns whether a character who cannot act may still do this.
fn only_asks(intent: &Intent) -> bool {
    matches!(
        intent,
        Intent::Look
            | Intent::Listen
            | Intent::Ways
            | Intent::Rules(_)
            | Intent::Summary
            | Intent::Goal
            | Intent::Help
            | Intent::Inventory
            | Intent::Status
    )
}
