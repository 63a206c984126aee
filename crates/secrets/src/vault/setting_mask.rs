//! Masks the secrets in settings, by the names of settings and by the rules that find secrets in text.

use serde_json::{Map, Value};

use super::Secret;
use crate::scan::SecretRules;

/// Words in the name of a setting, a flag or a parameter that mark its value as secret.
const SECRET_WORDS: [&str; 17] = [
    "key",
    "keys",
    "apikey",
    "token",
    "tokens",
    "secret",
    "secrets",
    "password",
    "passwd",
    "pass",
    "passphrase",
    "pwd",
    "credential",
    "credentials",
    "bearer",
    "auth",
    "authorization",
];

/// Groups of settings whose values are often secrets, whatever their names.
const SECRET_GROUPS: [&str; 3] = ["headers", "env", "cookies"];

/// Masks the strings in a value that are, or may be, secrets.
///
/// ```
/// use everturn_secrets::vault::mask_setting;
/// use serde_json::json;
///
/// let server = json!({"url": "https://x", "headers": {"X-Key": "0123456789abcdefghij"}});
/// assert_eq!(mask_setting("server", &server), json!({"url": "https://x", "headers": {"X-Key": "***ghij"}}));
/// assert_eq!(mask_setting("mcp.servers.x.api_key", &json!("short")), json!("***"));
/// assert_eq!(mask_setting("args", &json!(["--token", "hunter2"])), json!(["--token", "***"]));
/// ```
#[must_use]
pub fn mask_setting(key: &str, value: &Value) -> Value {
    let names: Vec<&str> = key.split('.').collect();
    let is_group = |name: &&str| SECRET_GROUPS.contains(&name.to_lowercase().as_str());
    // The number of an element says nothing; its list has the name.
    let last = names.iter().rev().find(|name| name.parse::<usize>().is_err());
    let hidden = last.is_some_and(|name| is_telling(name)) || names.iter().any(is_group);
    mask_value(hidden, value)
}

/// Values of settings are at most 127 levels deep, so the recursion is bounded.
fn mask_value(hidden: bool, value: &Value) -> Value {
    match value {
        Value::String(text) if hidden => mask_whole(text).into(),
        Value::String(text) => mask_text(text).into(),
        Value::Array(list) => {
            let mut after_flag = false;
            let mut masked = Vec::with_capacity(list.len());
            for value in list {
                masked.push(mask_value(hidden || after_flag, value));
                let flag = value.as_str().and_then(|text| text.strip_prefix('-'));
                after_flag = flag.is_some_and(|flag| !flag.contains('=') && is_telling(flag));
            }
            masked.into()
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| {
                let is_group = SECRET_GROUPS.contains(&key.to_lowercase().as_str());
                (key.clone(), mask_value(hidden || is_group || is_telling(key), value))
            })
            .collect::<Map<String, Value>>()
            .into(),
        other => other.clone(),
    }
}

fn mask_whole(text: &str) -> String {
    Secret(text.to_owned()).to_string()
}

/// Whether a name has a word that marks its value as secret.
fn is_telling(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        let starts_word = letter.is_uppercase() && was_lower;
        if !letter.is_alphanumeric() || starts_word {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase() || letter.is_numeric();
    }
    words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
}

/// Masks the secrets in a text: the password and the parameters of an address, the value of a flag, and whatever the
/// rules find.
fn mask_text(text: &str) -> String {
    if let Some((flag, value)) = text.split_once('=')
        && flag.starts_with('-')
        && is_telling(flag)
    {
        return format!("{flag}={}", mask_whole(value));
    }
    let text = if text.contains("://") { mask_address(text) } else { text.to_owned() };
    SecretRules::standard().mask(&text).0.into_owned()
}

/// Masks the password in an address, and the parameters whose names tell.
fn mask_address(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let host = match host.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) => format!("{name}:***@{host}"),
            None => format!("***@{host}"),
        },
        None => host.to_owned(),
    };
    let path = match path.split_once('?') {
        Some((path, parameters)) => {
            let (parameters, fragment) = match parameters.split_once('#') {
                Some((parameters, fragment)) => (parameters, format!("#{fragment}")),
                None => (parameters, String::new()),
            };
            let masked = parameters.split('&').map(|one| match one.split_once('=') {
                Some((name, _)) if is_telling(name) => format!("{name}=***"),
                _ => one.to_owned(),
            });
            format!("{path}?{}{fragment}", masked.collect::<Vec<_>>().join("&"))
        }
        None => path.to_owned(),
    };
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "tables are easier to read without ampersands"
    )]
    fn check(key: &str, value: Value, expect: Value) {
        assert_eq!(mask_setting(key, &value), expect, "{key}");
    }

    #[test]
    fn names_of_every_spelling_tell() {
        for name in [
            "key",
            "pass",
            "private_key",
            "credential",
            "bearer",
            "apiKey",
            "X-Api-Key",
            "authToken",
        ] {
            check(name, json!("hunter2"), json!("***"));
            check("server", json!({name: "hunter2"}), json!({name: "***"}));
        }
        for name in ["keyboard", "monkey", "passage", "author", "name", "model.reasoning"] {
            check(name, json!("hunter2"), json!("hunter2"));
        }
        check("models.0.api_key", json!("hunter2"), json!("***"));
        check("keys.0", json!("hunter2"), json!("***"));
        check("max_tokens", json!(4096), json!(4096));
    }

    #[test]
    fn addresses_and_arguments_are_masked_in_part() {
        check(
            "url",
            json!("http://user:PASS@h:1/p?token=abc&x=1#f"),
            json!("http://user:***@h:1/p?token=***&x=1#f"),
        );
        check("url", json!("https://ghp@h/"), json!("https://***@h/"));
        check("url", json!("https://h/a@b"), json!("https://h/a@b"));
        check(
            "args",
            json!(["--token", "abc", "--port", "1", "--api-key=abc", "-v"]),
            json!(["--token", "***", "--port", "1", "--api-key=***", "-v"]),
        );
        let found = mask_setting("note", &json!("AKIAIOSFODNN7QZXCVBN and more"));
        assert!(!found.to_string().contains("AKIAIOSFODNN7"), "{found}");
    }
}
