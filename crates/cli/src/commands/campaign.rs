//! `everturn campaign`: what only campaigns have.

use everturn::campaign::{CampaignError, CampaignWriter, Turn};
use everturn::names::SessionId;
use everturn::store::StoreError;
use serde_json::json;

use super::Context;
use crate::campaigns::try_open;
use crate::error::{Error, Stop};
use crate::exit::Exit;
use crate::json::Object;
use crate::{input, settings};

/// Replay recorded answers through a campaign, or choose who acts
///
/// What a campaign has in common with other sessions is done by the commands for all of them: show, state,
/// append, undo, rewind, fork and so on. `everturn settings` changes its settings.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn campaign replay-outputs camp_0001 < outputs.jsonl
  everturn campaign actor camp_0001 pc_002")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    ReplayOutputs(Replay),
    Actor(Actor),
}

/// Play turns with answers of a narrator that were recorded
///
/// Each line on stdin is a turn. It is played by the rules: calls are checked, answers that contradict the
/// state are refused and the next one is taken, and the row is stored. Each line is answered by one line.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn campaign replay-outputs camp_0001 < outputs.jsonl

A line:
  {"user_input":"I go on.","actor_id":"pc_001",
   "outputs":[{"assistant_text":"You walk.","dialog_type":"scene_description",
     "tool_calls":[{"id":"call_001","tool":"move","args":{…}}]}]}
  One output is used each time the narrator is asked: at most three.

The answer:
  {"ok":true,"row":{…}} with the row as it was stored, or
  {"ok":false,"error":"…"}, with "conflict_report" if all outputs contradicted the state"#)]
struct Replay {
    /// The campaign: an id or the beginning of one, a path, or `latest`
    campaign: String,
}

/// Show or choose the active actor
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn campaign actor camp_0001
  everturn campaign actor camp_0001 pc_002

The answer with --json:
  {"session":"camp_0001","active_actor_id":"pc_002","party":["pc_001","pc_002"]}"#)]
struct Actor {
    /// The campaign: an id or the beginning of one, a path, or `latest`
    campaign: String,

    /// Who acts from now on
    #[arg(value_name = "ID")]
    actor: Option<String>,
}

/// Plays one line; the writer is taken when it is free, and kept.
fn play(
    line: &str,
    number: u64,
    open: &dyn Fn() -> Result<CampaignWriter, CampaignError>,
    writer: &mut Option<CampaignWriter>,
) -> Result<String, CampaignError> {
    let turn = Turn::parse(line)?;
    let campaign = match writer {
        Some(campaign) => campaign,
        None => writer.insert(open()?),
    };
    let now = settings::now();
    let seed = u64::try_from(now.as_nanosecond()).unwrap_or_default().wrapping_add(number);
    let played = turn.play(campaign, seed, now)?;
    crate::sessions::report(&played.findings);
    Ok(Object::new().raw("ok", "true").tree("row", &played.row).close())
}

fn refused(error: CampaignError) -> String {
    let report = match &error {
        CampaignError::Conflicts { report } => Some(report.to_value().to_string()),
        _ => None,
    };
    let answer = Object::new().raw("ok", "false").text("error", &Error::from(error).to_string());
    match report {
        Some(report) => answer.raw("conflict_report", &report).close(),
        None => answer.close(),
    }
}

fn replay(args: &Replay, context: &mut Context) -> Result<Exit, Stop> {
    let found = context.find_campaign(&args.campaign)?;
    let id = SessionId::parse(&found.place.id).map_err(Error::from)?;
    let open = || try_open(&found, &id);
    let (mut writer, mut exit) = (None, Exit::Fine);
    for line in input::lines() {
        let (number, line) = line?;
        let answer = match play(&line, number, &open, &mut writer) {
            Ok(answer) => answer,
            Err(error) => {
                match &error {
                    CampaignError::Store(StoreError::Busy { .. }) => exit = Exit::Busy,
                    // Whatever else the store refuses, it will refuse the next turn, too.
                    CampaignError::Store(_) => return Err(Error::from(error).into()),
                    _ => {}
                }
                refused(error)
            }
        };
        writeln!(context.out, "{answer}")?;
        // The answer is a promise, and a promise that stays in a buffer helps nobody.
        context.out.flush()?;
    }
    if let Some(campaign) = writer {
        campaign.release().map_err(Error::from)?;
    }
    found.root.close()?;
    Ok(exit)
}

fn actor(args: &Actor, context: &mut Context) -> Result<Exit, Stop> {
    if let Some(actor) = &args.actor {
        let (found, mut campaign) = context.edit_campaign(&args.campaign)?;
        campaign.select_actor(actor).map_err(Error::from)?;
        campaign.release().map_err(Error::from)?;
        found.root.close()?;
    }
    let campaign = context.read_campaign(&args.campaign)?;
    let active = campaign.active_actor().map_err(Error::from)?;
    if context.json {
        let party = campaign.party().map_err(Error::from)?;
        let id = campaign.id().as_str();
        let answer = json!({"session": id, "active_actor_id": active, "party": party});
        writeln!(context.out, "{answer}")?;
    } else {
        writeln!(context.out, "{}", active.unwrap_or_default())?;
    }
    Ok(Exit::Fine)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    match &args.what {
        What::ReplayOutputs(args) => replay(args, context),
        What::Actor(args) => actor(args, context),
    }
}
