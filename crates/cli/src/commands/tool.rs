//! `everturn tool`: changes the support tools of a chat log.

use everturn::chatlog::{ChatError, ChatWriter, FiredTrigger, TagAction, ToolTag};
use everturn::format::{Feature, SessionError};
use serde_json::{Value, json};

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::output::{Output, escape_controls};
use crate::sessions::FoundSession;
use crate::settings;

/// Change a support tool of a chat log
///
/// A change is recorded as a snapshot of the tool after the last message, with its cause, just as
/// if the narrator had made it with a tag. `everturn state` shows the values.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn tool set tale death-counter 3 --cause 'Corrected by the player'
  everturn tool add tale timeline-log 'Timeline 2: Woke up'

Output with --json:
  {"session":"tale","turn":40,"snapshot":"snapshot-0007",
   "triggers":[{"component":"sanity","action":"notify","message":"…"}]}
  on one line; "snapshot" is null if the value was the same"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: ToolCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ToolCommand {
    /// Set the value of a component
    #[command(after_help = "Examples:
  everturn tool set tale death-counter 3 --cause 'Corrected by the player'")]
    Set(ToolChangeArgs),
    /// Add an element to a list
    #[command(after_help = "Examples:
  everturn tool add tale timeline-log 'Timeline 2: Woke up'")]
    Add(ToolChangeArgs),
}

#[derive(Debug, clap::Args)]
struct ToolChangeArgs {
    /// The session: its ID, a path, or `latest`
    session: String,

    /// The ID of the component
    component: String,

    /// The value, or the element of a list
    value: String,

    /// The cause of the change
    #[arg(long, value_name = "TEXT", default_value = "Changed by the player")]
    cause: String,

    /// The ID of the tool; default: the first one that has the component
    #[arg(long, value_name = "ID")]
    tool: Option<String>,
}

fn failed(found: &FoundSession, error: ChatError) -> Error {
    found.failed(SessionError::from(error))
}

fn trigger(fired: &FiredTrigger) -> Value {
    json!({"component": fired.component, "action": fired.action, "message": fired.message})
}

fn change(
    args: &ToolChangeArgs,
    action: TagAction,
    context: &mut Context,
) -> Result<Exit, EarlyExit> {
    let found = context.find_to_write(&args.session)?;
    found.layout.require(Feature::SupportTools).map_err(Error::from)?;
    let store = found.root.store();
    let mut writer =
        ChatWriter::open(&store, &found.place.path).map_err(|error| failed(&found, error))?;
    if writer.log().is_empty() {
        let what = "the chat log has no messages yet";
        return Err(Error::new(Exit::Request, what).hint("append a message first").into());
    }
    let tag = ToolTag::new(action, &args.component, &args.value, Some(&args.cause));
    let tag = ToolTag { tool: args.tool.clone(), ..tag };
    let done = writer.update_tool(&tag, settings::now()).map_err(|error| failed(&found, error))?;
    writer.finish().map_err(|error| failed(&found, error))?;
    drop(store);
    found.root.close()?;
    let id = &found.place.id;
    let snapshot = Some(&done.id).filter(|id| !id.is_empty());
    if context.json {
        let triggers: Vec<Value> = done.fired.iter().map(trigger).collect();
        let answer = json!({
            "session": id, "turn": done.number, "snapshot": snapshot, "triggers": triggers,
        });
        writeln!(context.out, "{answer}")?;
    } else {
        let line = match snapshot {
            Some(snapshot) => format!("{id} turn {} {snapshot}", done.number),
            None => format!("{id}: {} has that value already", args.component),
        };
        writeln!(context.out, "{}", escape_controls(&line))?;
    }
    context.out.flush()?;
    print_findings(&done.findings);
    if !context.json {
        for fired in &done.fired {
            let FiredTrigger { component, action, message, .. } = fired;
            Output::status(&format!("triggered: {component} {action}: {message}"));
        }
    }
    Ok(Exit::Success)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    match &args.what {
        ToolCommand::Set(args) => change(args, TagAction::Update, context),
        ToolCommand::Add(args) => change(args, TagAction::Add, context),
    }
}
