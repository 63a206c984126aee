//! `everturn settings`: shows and changes the settings of a campaign.

use serde_json::{Map, Value, json};

use super::Context;
use crate::campaigns::{edit_campaign, read_campaign};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;

/// Show or change the settings of a campaign
///
/// Without keys, all settings are shown. Changes are atomic, and increment the campaign's
/// settings_revision once if a value changes.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn settings camp_0001
  everturn settings camp_0001 rollback.max_checkpoints=5
  everturn settings camp_0001 context.full_context_enabled=false context.compress_enabled=true

The settings:
  context.full_context_enabled            true or false; not both of these two
  context.compress_enabled                true or false
  rules.hp_zero_ends_game                 true or false
  rollback.max_checkpoints                0 to 10
  dialog.auto_type_enabled                true or false
  and in campaigns of the second generation and later:
  dialog.strict_semantic_guard            true or false
  dialog.conflict_text_checks_enabled     true or false
  dialog.turn_profile_trace_enabled       true or false
  characters.fact_generation.draft_mode   deterministic or llm

Output with --json:
  {"session":"camp_0001","revision":1,"settings":{"rollback.max_checkpoints":5},"changed":[…]}"#)]
pub(crate) struct Args {
    /// The campaign: its ID, a path, or `latest`
    campaign: String,

    /// A key to show, or a key with its new value
    #[arg(value_name = "KEY[=VALUE]")]
    keys: Vec<String>,
}

/// Parses a value as JSON, or else takes it as a string.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let patches = args.keys.iter().filter_map(|word| word.split_once('='));
    let patches: Vec<(String, Value)> =
        patches.map(|(key, text)| (key.to_owned(), value(text))).collect();
    let mut changed = Vec::new();
    if !patches.is_empty() {
        let (found, mut campaign) = edit_campaign(context, &args.campaign)?;
        changed = campaign.patch_settings(&patches).map_err(Error::from)?;
        campaign.release().map_err(Error::from)?;
        found.root.close()?;
    }
    let campaign = read_campaign(context, &args.campaign)?;
    let all = campaign.settings().map_err(Error::from)?;
    let wanted: Vec<&str> =
        args.keys.iter().map(|word| word.split('=').next().unwrap_or(word)).collect();
    if let Some(unknown) =
        wanted.iter().find(|key| !all.iter().any(|(setting, _)| setting.key == **key))
    {
        let what = format!("unknown setting {unknown}");
        return Err(Error::new(Exit::Request, what).hint("everturn settings --help").into());
    }
    let is_wanted = |key: &str| wanted.is_empty() || wanted.contains(&key);
    let shown = all.into_iter().filter(|(setting, _)| is_wanted(setting.key));
    let shown: Map<String, Value> =
        shown.map(|(setting, value)| (setting.key.to_owned(), value)).collect();
    if context.json {
        let state = campaign.state().map_err(Error::from)?;
        let revision = state.value_at(&["settings_revision"]).and_then(|tree| tree.to_value().ok());
        let answer = json!({
            "session": campaign.id().as_str(), "revision": revision, "settings": shown,
            "changed": changed,
        });
        return writeln!(context.out, "{answer}").map(|()| Exit::Success);
    }
    for (key, value) in shown {
        writeln!(context.out, "{key}={value}")?;
    }
    Ok(Exit::Success)
}
