//! `everturn settings`: shows and changes the settings of a campaign or a chat log.

use everturn::chatlog::{ChatError, ChatLog, ChatWriter};
use everturn::format::{Feature, SessionError};
use everturn::tree::JsonTree;
use serde_json::{Map, Value, json};

use super::Context;
use crate::campaigns::{edit_campaign, read_campaign};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::escape_controls;
use crate::sessions::FoundSession;
use crate::settings;

/// Show or change the settings of a campaign or a chat log
///
/// Without keys, all settings are shown. Changes are atomic, and increment the settings_revision of
/// a campaign once if a value changes.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn settings camp_0001
  everturn settings camp_0001 rollback.max_checkpoints=5
  everturn settings camp_0001 context.full_context_enabled=false context.compress_enabled=true
  everturn settings tale metadata.title='The Long Night' session.settings.model=gpt-4o

The settings of a campaign:
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

The settings of a chat log, by their place in the document:
  metadata.title, metadata.series
  session.protagonist.name, session.protagonist.character_card_id
  session.lorebook_id, session.support_tools (JSON)
  session.settings.model, temperature, max_tokens, narrator_prompt, system_prompt, theme_id
  export.export_settings.include_metadata, include_tool_snapshots, include_ooc_messages,
  formatting_style

Output with --json:
  {"session":"camp_0001","revision":1,"settings":{"rollback.max_checkpoints":5},"changed":[…]}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    #[arg(value_name = "SESSION")]
    campaign: String,

    /// A key to show, or a key with its new value
    #[arg(value_name = "KEY[=VALUE]")]
    keys: Vec<String>,
}

/// Parses a value as JSON, or else takes it as a string.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// The objects whose members can be set in a chat log, and the members of others.
const CHAT_OBJECTS: &[&str] =
    &["session.protagonist", "session.settings", "export.export_settings"];
const CHAT_MEMBERS: &[&str] =
    &["metadata.title", "metadata.series", "session.lorebook_id", "session.support_tools"];

fn chat_failed(found: &FoundSession, error: ChatError) -> Error {
    found.failed(SessionError::from(error))
}

/// Returns whether a key names a setting of a chat log.
fn is_chat_setting(key: &str) -> bool {
    let member = |object: &str| key.strip_prefix(object)?.strip_prefix('.');
    CHAT_MEMBERS.contains(&key)
        || CHAT_OBJECTS.iter().any(|object| member(object).is_some_and(|name| !name.is_empty()))
}

/// Returns the value of a setting of a chat log. Most are strings; numbers, booleans, lists, and settings that the format
/// does not know are JSON.
fn chat_value(key: &str, text: &str) -> JsonTree {
    let string = JsonTree::from_value(text).unwrap_or_else(|_| JsonTree::null());
    let is_text = key.starts_with("metadata.")
        || key.starts_with("session.protagonist.")
        || key.ends_with("_prompt")
        || key.ends_with("_id")
        || key.ends_with(".model")
        || key.ends_with(".formatting_style");
    match is_text {
        true => string,
        false => JsonTree::parse(text).unwrap_or(string),
    }
}

/// Sets the settings of a chat log, all or none.
fn change_chat(context: &Context, name: &str, patches: &[(&str, &str)]) -> Result<(), Error> {
    let found = context.find_to_write(name)?;
    let store = found.root.store();
    let mut writer =
        ChatWriter::open(&store, &found.place.path).map_err(|error| chat_failed(&found, error))?;
    let values: Vec<(Vec<&str>, JsonTree)> = patches
        .iter()
        .map(|(key, text)| (key.split('.').collect(), chat_value(key, text)))
        .collect();
    writer.set_all(&values, settings::now()).map_err(|error| chat_failed(&found, error))?;
    writer.finish().map_err(|error| chat_failed(&found, error))?;
    drop(store);
    found.root.close()
}

/// Shows or changes the settings of a chat log.
fn run_chat(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let patches: Vec<(&str, &str)> =
        args.keys.iter().filter_map(|word| word.split_once('=')).collect();
    let wanted: Vec<&str> =
        args.keys.iter().map(|word| word.split('=').next().unwrap_or(word)).collect();
    if let Some(unknown) = wanted.iter().find(|key| !is_chat_setting(key)) {
        let what = format!("unknown setting {unknown}");
        return Err(Error::new(Exit::Request, what).hint("everturn settings --help").into());
    }
    if !patches.is_empty() {
        change_chat(context, &args.campaign, &patches)?;
    }
    let found = context.find_to_read(&args.campaign)?;
    let store = found.root.store();
    let log =
        ChatLog::open(&store, &found.place.path).map_err(|error| chat_failed(&found, error))?;
    let head = log.head();
    let mut all: Vec<(String, JsonTree)> = Vec::new();
    for key in CHAT_MEMBERS.iter().chain(CHAT_OBJECTS) {
        let path: Vec<&str> = key.split('.').collect();
        let Some(value) = head.value_at(&path) else { continue };
        match CHAT_OBJECTS.contains(key) {
            true => all.extend(
                value.children().into_iter().map(|(name, value)| (format!("{key}.{name}"), value)),
            ),
            false => all.push(((*key).to_owned(), value)),
        }
    }
    all.retain(|(key, _)| wanted.is_empty() || wanted.contains(&key.as_str()));
    if context.json {
        let value = |tree: JsonTree| tree.to_value().unwrap_or(Value::Null);
        let shown: Map<String, Value> =
            all.into_iter().map(|(key, tree)| (key, value(tree))).collect();
        let changed: Vec<&str> = patches.iter().map(|(key, _)| *key).collect();
        let answer = json!({"session": found.place.id, "settings": shown, "changed": changed});
        return writeln!(context.out, "{answer}").map(|()| Exit::Success);
    }
    for (key, value) in all {
        writeln!(context.out, "{}", escape_controls(&format!("{key}={}", value.to_line())))?;
    }
    Ok(Exit::Success)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    if context
        .find_to_read(&args.campaign)
        .is_ok_and(|found| found.layout.has(Feature::ContextWindow))
    {
        return run_chat(args, context);
    }
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
