//! The selection of a narrator ([`NarratorArgs`]), and the configuration of its endpoint ([`EndpointConfig`]).

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use everturn::config::ConfigLayer;
use serde::Deserialize;

use super::client::{host_of, is_local_host};
use super::key::ApiKey;
use crate::error::Error;
use crate::exit::Exit;
use crate::{agent_homes, settings};

/// Who tells the story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NarratorKind {
    /// Built into the program: no model, no network
    Embedded,
    /// A model behind a chat/completions endpoint
    Openai,
}

/// The narrator options from the command line and the environment. Missing values may come from elsewhere: see
/// [`NarratorArgs::or`].
///
/// Keys are never passed as arguments, because all users of a machine can see arguments.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Deserialize)]
#[command(next_help_heading = "Narrator")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NarratorArgs {
    /// The narrator: `embedded` needs nothing else, `openai` is any chat/completions endpoint
    #[arg(long, value_enum, env = "EVERTURN_NARRATOR", hide_env_values = true, value_name = "WHO")]
    #[serde(rename = "who")]
    pub(crate) narrator: Option<NarratorKind>,

    /// The base URL of the endpoint, such as http://localhost:11434/v1
    #[arg(long, env = "EVERTURN_NARRATOR_URL", hide_env_values = true, value_name = "URL")]
    #[serde(rename = "url")]
    pub(crate) narrator_url: Option<String>,

    /// The name of the model at the endpoint
    #[arg(long, env = "EVERTURN_NARRATOR_MODEL", hide_env_values = true, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// The sampling temperature, from 0 to 2
    #[arg(
        long,
        env = "EVERTURN_NARRATOR_TEMPERATURE",
        hide_env_values = true,
        value_name = "NUMBER"
    )]
    pub(crate) temperature: Option<f64>,

    /// The maximum number of tokens of an answer [default: 1024]
    #[arg(
        long,
        env = "EVERTURN_NARRATOR_MAX_TOKENS",
        hide_env_values = true,
        value_name = "NUMBER"
    )]
    pub(crate) max_tokens: Option<u32>,

    /// The maximum number of tokens of a request and its answer [default: 8192]
    #[arg(
        long,
        env = "EVERTURN_NARRATOR_CONTEXT_TOKENS",
        hide_env_values = true,
        value_name = "NUMBER"
    )]
    pub(crate) context_tokens: Option<u32>,

    /// The seconds without any data after which a request fails [default: 120]
    #[arg(long, env = "EVERTURN_NARRATOR_TIMEOUT", hide_env_values = true, value_name = "SECONDS")]
    #[serde(rename = "timeout")]
    pub(crate) narrator_timeout: Option<f64>,

    /// A file with the key of the endpoint, not readable by other users
    ///
    /// The first of these is used: EVERTURN_NARRATOR_KEY, this file, the key of `everturn
    /// credentials set narrator`, OPENAI_API_KEY.
    #[arg(long, env = "EVERTURN_NARRATOR_KEY_FILE", hide_env_values = true, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
}

impl NarratorArgs {
    /// Fills missing values from the group `narrator` of the user's configuration.
    ///
    /// The configuration of a project counts only if the user trusts it: its author must not decide where the player's
    /// key is sent.
    pub(crate) fn with_config_defaults(&self) -> Result<NarratorArgs, Error> {
        let Some(home) = agent_homes::own_home() else { return Ok(self.clone()) };
        let layers = home.config(&[])?.explain("narrator");
        let is_file = |layer| matches!(layer, ConfigLayer::Project | ConfigLayer::Global);
        let Some(stored) = layers.into_iter().find(|origin| is_file(origin.layer)) else {
            return Ok(self.clone());
        };
        let stored: NarratorArgs = serde_json::from_value(stored.value).map_err(|cause| {
            wrong("invalid narrator settings").caused_by(cause).hint("everturn config get narrator")
        })?;
        Ok(self.clone().or(stored))
    }

    /// Fills missing values from another source.
    fn or(self, other: NarratorArgs) -> NarratorArgs {
        NarratorArgs {
            narrator: self.narrator.or(other.narrator),
            narrator_url: self.narrator_url.or(other.narrator_url),
            model: self.model.or(other.model),
            temperature: self.temperature.or(other.temperature),
            max_tokens: self.max_tokens.or(other.max_tokens),
            context_tokens: self.context_tokens.or(other.context_tokens),
            narrator_timeout: self.narrator_timeout.or(other.narrator_timeout),
            key_file: self.key_file.or(other.key_file),
        }
    }
}

/// The name of the key among the secrets of the home.
const SECRET: &str = "narrator";

/// The default URL: that of Ollama on this machine.
const USUAL_URL: &str = "http://localhost:11434/v1";

/// The complete configuration of an endpoint.
#[derive(Debug, Clone)]
pub(super) struct EndpointConfig {
    /// The full URL of requests.
    pub(super) url: String,
    pub(super) model: String,
    pub(super) temperature: Option<f64>,
    pub(super) max_tokens: u32,
    pub(super) context_tokens: u32,
    pub(super) timeout: Duration,
    pub(super) key: Option<ApiKey>,
}

fn wrong(what: impl Into<String>) -> Error {
    Error::new(Exit::Request, what)
}

impl EndpointConfig {
    pub(super) fn of(args: &NarratorArgs) -> Result<EndpointConfig, Error> {
        let url = address(args.narrator_url.as_deref().unwrap_or(USUAL_URL))?;
        let model = args.model.clone().unwrap_or_default();
        if model.trim().is_empty() {
            return Err(wrong("the narrator needs a model")
                .hint("name one with --model NAME or EVERTURN_NARRATOR_MODEL"));
        }
        let temperature = args.temperature;
        if temperature.is_some_and(|heat| !(0.0..=2.0).contains(&heat)) {
            return Err(wrong("the temperature is not a number from 0 to 2"));
        }
        let seconds = args.narrator_timeout.unwrap_or(120.0);
        let timeout = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
        let timeout =
            timeout.ok_or_else(|| wrong("the timeout is not a number of seconds above 0"))?;
        let (max_tokens, context_tokens) =
            (args.max_tokens.unwrap_or(1024), args.context_tokens.unwrap_or(8192));
        if max_tokens == 0 || max_tokens >= context_tokens {
            return Err(wrong(format!(
                "an answer of {max_tokens} tokens does not fit into {context_tokens} tokens with its request"
            )));
        }
        let key = key(args, &url)?;
        Ok(EndpointConfig { url, model, temperature, max_tokens, context_tokens, timeout, key })
    }
}

/// Returns the key from the environment, a file, or the secrets of the home.
fn key(args: &NarratorArgs, url: &str) -> Result<Option<ApiKey>, Error> {
    let key = given_key(args)?;
    if key.is_some() && !is_private(url) && !settings::is_set(CONSENT) {
        let host = host_of(url);
        return Err(wrong(format!("the key would be sent to {host} unencrypted"))
            .hint(format!("use an https URL, or set {CONSENT}=1 if the network is trusted")));
    }
    // This key was not given for Everturn alone, so it is never sent over a network unencrypted.
    match settings::variable("OPENAI_API_KEY").filter(|_| key.is_none() && is_private(url)) {
        Some(key) => ApiKey::parse(&key, "OPENAI_API_KEY").map(Some),
        None => Ok(key),
    }
}

/// The variable by which the user allows that the key is sent unencrypted.
const CONSENT: &str = "EVERTURN_NARRATOR_PLAIN_HTTP";

/// Returns the key that was given for Everturn.
fn given_key(args: &NarratorArgs) -> Result<Option<ApiKey>, Error> {
    if let Some(key) = settings::variable("EVERTURN_NARRATOR_KEY") {
        return ApiKey::parse(&key, "EVERTURN_NARRATOR_KEY").map(Some);
    }
    if let Some(file) = args.key_file.as_deref() {
        return ApiKey::read(file).map(Some);
    }
    if let Some(key) =
        agent_homes::own_home().map(|home| home.secret(SECRET)).transpose()?.flatten()
    {
        return ApiKey::parse(key.reveal(), "the secret of the narrator").map(Some);
    }
    Ok(None)
}

/// Returns whether data sent to a URL cannot be read on the way.
fn is_private(url: &str) -> bool {
    url.starts_with("https://") || is_local_host(host_of(url))
}

/// Returns the URL of an endpoint, from its base URL.
fn address(base: &str) -> Result<String, Error> {
    const PATH: &str = "/chat/completions";
    let base = base.trim().trim_end_matches('/');
    let rest = base.strip_prefix("http://").or_else(|| base.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    if host.is_empty() || base.contains(char::is_whitespace) {
        return Err(wrong("the address of the narrator is not an http or https URL")
            .hint("give one such as http://localhost:11434/v1"));
    }
    if host.contains('@') {
        return Err(wrong("the address of the narrator has a password in it")
            .hint("give the key in EVERTURN_NARRATOR_KEY or with --key-file FILE"));
    }
    Ok(if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed_and_bad_ones_refused() {
        for (base, expect) in [
            ("http://localhost:11434/v1", Some("http://localhost:11434/v1/chat/completions")),
            ("https://api.example.org/v1/", Some("https://api.example.org/v1/chat/completions")),
            ("http://h/v1/chat/completions", Some("http://h/v1/chat/completions")),
            ("http://h", Some("http://h/chat/completions")),
            ("localhost:11434", None),
            ("ftp://h/v1", None),
            ("http://", None),
            ("http://h /v1", None),
            ("https://user:secret@h/v1", None),
        ] {
            assert_eq!(address(base).ok().as_deref(), expect, "{base}");
        }
        assert!(!address("https://user:secret@h/v1").unwrap_err().to_string().contains("secret"));
    }

    #[test]
    fn what_is_sent_in_plain_sight_is_known() {
        for (url, expect) in [
            ("https://api.example.org/v1", true),
            ("http://localhost:11434/v1", true),
            ("http://127.0.0.1/v1", true),
            ("http://192.168.1.4:8000/v1", false),
            ("http://localhost.example.org/v1", false),
        ] {
            assert_eq!(is_private(url), expect, "{url}");
        }
    }

    #[test]
    fn what_was_not_said_is_taken_from_elsewhere() {
        let stored = r#"{"who": "openai", "model": "small", "max_tokens": 9}"#;
        let stored: NarratorArgs = serde_json::from_str(stored).unwrap();
        let said = NarratorArgs { model: Some("large".to_owned()), ..NarratorArgs::default() };
        let both = said.or(stored);
        assert_eq!(
            (both.narrator, both.model.as_deref(), both.max_tokens),
            (Some(NarratorKind::Openai), Some("large"), Some(9))
        );
        assert!(serde_json::from_str::<NarratorArgs>(r#"{"modell": "x"}"#).is_err());
    }

    #[track_caller]
    fn refused(change: impl FnOnce(&mut NarratorArgs), expect: &str) {
        let mut args = NarratorArgs {
            narrator: Some(NarratorKind::Openai),
            model: Some("m".to_owned()),
            ..NarratorArgs::default()
        };
        change(&mut args);
        assert_eq!(EndpointConfig::of(&args).unwrap_err().to_string(), expect);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        refused(|args| args.model = None, "the narrator needs a model");
        refused(|args| args.temperature = Some(2.5), "the temperature is not a number from 0 to 2");
        refused(
            |args| args.temperature = Some(f64::NAN),
            "the temperature is not a number from 0 to 2",
        );
        for seconds in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            refused(
                |args| args.narrator_timeout = Some(seconds),
                "the timeout is not a number of seconds above 0",
            );
        }
        refused(
            |args| args.max_tokens = Some(8192),
            "an answer of 8192 tokens does not fit into 8192 tokens with its request",
        );
    }
}
