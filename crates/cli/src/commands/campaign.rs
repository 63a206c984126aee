//! `everturn campaign`: commands for campaigns only.

use everturn::campaign::{CampaignError, CampaignWriter, Narrator, ScriptedTurn, Submission};
use everturn::names::SessionId;
use everturn::store::StoreError;
use serde_json::json;

use super::Context;
use crate::campaigns::{edit_campaign, find_campaign, read_campaign, try_open};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::json::JsonObject;
use crate::narrator::{NarrationEvent, NarratorArgs};
use crate::output::Output;
use crate::{input, settings};

/// Run scripted turns, replay answers, choose the actor, or upgrade
///
/// The commands for all sessions also work on campaigns: show, state, append, undo, rewind, fork
/// and so on. `everturn settings` changes the settings of a campaign.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn campaign submit camp_0001 < script.txt
  everturn campaign replay-outputs camp_0001 < outputs.jsonl
  everturn campaign actor camp_0001 pc_002
  everturn campaign upgrade camp_0001")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: CampaignCommand,
}

#[derive(Debug, clap::Subcommand)]
enum CampaignCommand {
    Submit(SubmitArgs),
    ReplayOutputs(ReplayOutputsArgs),
    Actor(ActorArgs),
    Upgrade(UpgradeArgs),
}

/// Play turns: each line on stdin is the input of the player
///
/// The narrator answers, its tool calls are checked and executed, and the row is stored. One line
/// is printed for each input line. A turn that fails changes nothing, and its line can be sent
/// again.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn campaign submit camp_0001 < script.txt
  everturn campaign submit camp_0001 --narrator openai --model llama3.2

Output:
  {"ok":true,"row":{…}} with the stored row, or
  {"ok":false,"error":"…"}, with "conflict_report" if all answers contradicted the state"#)]
struct SubmitArgs {
    /// The campaign: its ID, a path, or `latest`
    campaign: String,

    /// The actor of the turns; default: the active actor
    #[arg(long, value_name = "ID")]
    actor: Option<String>,

    /// The random seed of the embedded narrator
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    narrator: NarratorArgs,
}

/// Play turns with recorded answers of a narrator
///
/// Each line on stdin is a turn. The usual checks apply: tool calls are checked, an answer that
/// contradicts the state is rejected and the next one is used, and the row is stored. One line is
/// printed for each input line.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn campaign replay-outputs camp_0001 < outputs.jsonl

A line:
  {"user_input":"I go on.","actor_id":"pc_001",
   "outputs":[{"assistant_text":"You walk.","dialog_type":"scene_description",
     "tool_calls":[{"id":"call_001","tool":"move","args":{…}}]}]}
  Each request to the narrator uses one output; at most three are used.

Output:
  {"ok":true,"row":{…}} with the stored row, or
  {"ok":false,"error":"…"}, with "conflict_report" if all outputs contradicted the state"#)]
struct ReplayOutputsArgs {
    /// The campaign: its ID, a path, or `latest`
    campaign: String,
}

/// Show or set the active actor
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn campaign actor camp_0001
  everturn campaign actor camp_0001 pc_002

Output with --json:
  {"session":"camp_0001","active_actor_id":"pc_002","party":["pc_001","pc_002"]}"#)]
struct ActorArgs {
    /// The campaign: its ID, a path, or `latest`
    campaign: String,

    /// The new active actor
    #[arg(value_name = "ID")]
    actor: Option<String>,
}

/// Upgrade a campaign to rules version 2
///
/// Rules version 2 has inventories, new companions and generated worlds. Everything in the campaign
/// is kept, and connections still lead both ways. Programs that only know rules version 1 cannot
/// play it afterwards. A rewind to an earlier turn reverts the upgrade.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn campaign upgrade camp_0001

Output with --json:
  {"session":"camp_0001","upgraded":true}"#)]
struct UpgradeArgs {
    /// The campaign: its ID, a path, or `latest`
    campaign: String,
}

/// The source of the answers of a turn.
enum AnswerSource {
    /// The input line itself.
    Recorded,
    /// A narrator, asked on behalf of this actor.
    Asked(Box<dyn Narrator>, Option<String>),
}

fn opened<'w>(
    writer: &'w mut Option<CampaignWriter>,
    open: &dyn Fn() -> Result<CampaignWriter, CampaignError>,
) -> Result<&'w mut CampaignWriter, CampaignError> {
    Ok(match writer {
        Some(campaign) => campaign,
        None => writer.insert(open()?),
    })
}

/// Plays one line; the writer is acquired when it is free, and kept.
fn play(
    (number, line): (u64, &str),
    source: &mut AnswerSource,
    open: &dyn Fn() -> Result<CampaignWriter, CampaignError>,
    writer: &mut Option<CampaignWriter>,
) -> Result<String, CampaignError> {
    let now = settings::now();
    let seed = u64::try_from(now.as_nanosecond()).unwrap_or_default().wrapping_add(number);
    let played = match source {
        AnswerSource::Recorded => {
            ScriptedTurn::parse(line)?.play(opened(writer, open)?, seed, now)?
        }
        AnswerSource::Asked(narrator, actor) => {
            let submission = Submission { user_input: line, actor: actor.as_deref(), seed };
            opened(writer, open)?.submit(&submission, narrator.as_mut(), now)?
        }
    };
    print_findings(&played.findings);
    Ok(JsonObject::new().raw("ok", "true").tree("row", &played.row).close())
}

/// Returns the contradictions because of which a turn was refused.
fn conflict_report(error: &CampaignError) -> Option<String> {
    match error {
        CampaignError::Conflicts { report } => Some(report.to_value().to_string()),
        _ => None,
    }
}

fn refused(report: Option<String>, error: &Error) -> String {
    let answer = JsonObject::new().raw("ok", "false").text("error", &error.to_string());
    match report {
        Some(report) => answer.raw("conflict_report", &report).close(),
        None => answer.close(),
    }
}

fn submit(args: &SubmitArgs, context: &mut Context) -> Result<Exit, EarlyExit> {
    let warning = |shown: NarrationEvent<'_>| {
        if let NarrationEvent::Remark(warning) = shown {
            Output::status(warning);
        }
    };
    let narrator = args.narrator.with_config_defaults()?.build(args.seed, Box::new(warning))?;
    turns(&args.campaign, AnswerSource::Asked(narrator, args.actor.clone()), context)
}

/// Plays a turn for each line on stdin.
fn turns(
    campaign: &str,
    mut source: AnswerSource,
    context: &mut Context,
) -> Result<Exit, EarlyExit> {
    let found = find_campaign(context, campaign)?;
    let id = SessionId::parse(&found.place.id).map_err(Error::from)?;
    let open = || try_open(&found, &id);
    let (mut writer, mut exit) = (None, Exit::Success);
    for line in input::lines() {
        let (number, line) = line?;
        let answer = match play((number, &line), &mut source, &open, &mut writer) {
            Ok(answer) => answer,
            Err(error) => {
                let is_busy = matches!(&error, CampaignError::Store(StoreError::Busy { .. }));
                let is_store = matches!(&error, CampaignError::Store(_));
                let (report, error) = (conflict_report(&error), Error::from(error));
                if is_store && !is_busy {
                    // It would also affect the next turn.
                    return Err(error.into());
                }
                if exit == Exit::Success {
                    exit = error.exit();
                }
                refused(report, &error)
            }
        };
        writeln!(context.out, "{answer}")?;
        // The output acknowledges a durable turn, so it must not stay in a buffer.
        context.out.flush()?;
    }
    if let Some(campaign) = writer {
        campaign.release().map_err(Error::from)?;
    }
    found.root.close()?;
    Ok(exit)
}

fn actor(args: &ActorArgs, context: &mut Context) -> Result<Exit, EarlyExit> {
    if let Some(actor) = &args.actor {
        let (found, mut campaign) = edit_campaign(context, &args.campaign)?;
        campaign.select_actor(actor).map_err(Error::from)?;
        campaign.release().map_err(Error::from)?;
        found.root.close()?;
    }
    let campaign = read_campaign(context, &args.campaign)?;
    let active = campaign.active_actor().map_err(Error::from)?;
    if context.json {
        let party = campaign.party().map_err(Error::from)?;
        let id = campaign.id().as_str();
        let answer = json!({"session": id, "active_actor_id": active, "party": party});
        writeln!(context.out, "{answer}")?;
    } else {
        writeln!(context.out, "{}", active.unwrap_or_default())?;
    }
    Ok(Exit::Success)
}

fn upgrade(args: &UpgradeArgs, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (found, mut campaign) = edit_campaign(context, &args.campaign)?;
    let id = campaign.campaign().id().clone();
    let upgraded = campaign.upgrade().map_err(Error::from)?;
    campaign.release().map_err(Error::from)?;
    if context.json {
        writeln!(context.out, "{}", json!({"session": id.as_str(), "upgraded": upgraded}))?;
    } else if upgraded {
        writeln!(context.out, "upgraded {id} to rules version 2")?;
    } else {
        writeln!(context.out, "{id} already has rules version 2")?;
    }
    found.root.close()?;
    Ok(Exit::Success)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    match &args.what {
        CampaignCommand::Submit(args) => submit(args, context),
        CampaignCommand::ReplayOutputs(args) => {
            turns(&args.campaign, AnswerSource::Recorded, context)
        }
        CampaignCommand::Actor(args) => actor(args, context),
        CampaignCommand::Upgrade(args) => upgrade(args, context),
    }
}
