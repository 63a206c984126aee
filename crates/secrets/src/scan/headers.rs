//! Secrets that are recognised by their context: headers, URLs, and tokens with a marker in the middle.

use std::ops::Range;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::boundaries::{begins_word, has_bytes_at, is_word, run_end, run_start};
use super::dummy_values::{entropy, is_dummy, is_mixed, is_reference};
use super::encoded::decode;
use super::{Certainty, SecretMatch};

const JWT: &str = "jwt";
const BEARER: &str = "bearer-token";
const BASIC: &str = "basic-auth";
const DISCORD: &str = "discord-token";
const URL: &str = "url-password";
const DATABASE: &str = "database-url";
const TELEGRAM: &str = "telegram-token";
const MAILCHIMP: &str = "mailchimp-key";
const AZURE: &str = "azure-client-secret";
const SIGNATURE: &str = "azure-signature";
const COMMAND: &str = "command-line-password";

pub(super) const FAMILIES: &[&str] =
    &[JWT, BEARER, BASIC, DISCORD, URL, DATABASE, TELEGRAM, MAILCHIMP, AZURE, SIGNATURE, COMMAND];

/// The families that are chosen by people.
pub(super) const GUESSABLE: &[&str] = &[BASIC, URL, DATABASE, COMMAND];

fn is_url_digit(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

/// A JSON Web Token: three parts separated by full stops, of which the first names the algorithm of the third.
pub(super) fn jwt(bytes: &[u8], start: Range<usize>) -> Option<SecretMatch> {
    if !begins_word(bytes, start.start) {
        return None;
    }
    let head = run_end(bytes, start.start, 2048, is_url_digit);
    let body = (bytes.get(head) == Some(&b'.'))
        .then(|| run_end(bytes, head + 1, 16 << 10, is_url_digit))?;
    let end =
        (bytes.get(body) == Some(&b'.')).then(|| run_end(bytes, body + 1, 4096, is_url_digit))?;
    let header = BASE64_URL_SAFE_NO_PAD.decode(bytes.get(start.start..head)?).ok()?;
    let says = |what: &[u8]| header.windows(what.len()).any(|window| window == what);
    let is_whole = says(b"\"alg\"") && body > head + 4 && end > body + 16;
    (is_whole && !says(b"\"none\""))
        .then(|| SecretMatch::plain(start.start..end, JWT, Certainty::Certain))
}

/// The token in an authorization header.
pub(super) fn bearer(bytes: &[u8], start: Range<usize>) -> Option<SecretMatch> {
    let is_digit = |byte: u8| is_url_digit(byte) || b".~+/=".contains(&byte);
    let mut end = run_end(bytes, start.end, 4096, is_digit);
    while end > start.end && bytes.get(end - 1) == Some(&b'.') {
        end -= 1;
    }
    let token = bytes.get(start.end..end)?;
    let is_random = (20..=4096).contains(&token.len())
        && token.iter().any(u8::is_ascii_digit)
        && entropy(token) >= 3.0
        && !is_dummy(token);
    is_random.then(|| SecretMatch::plain(start.end..end, BEARER, Certainty::Likely))
}

/// A user name and a password in base64.
pub(super) fn basic(bytes: &[u8], start: Range<usize>) -> Option<SecretMatch> {
    let end = run_end(bytes, start.end, 512, |byte| {
        byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
    });
    let run = bytes.get(start.end..end).filter(|run| (8..=512).contains(&run.len()))?;
    let decoded = decode(run)?;
    let text = str::from_utf8(&decoded).ok()?;
    let (user, password) = text.split_once(':')?;
    let fine = !user.is_empty() && !password.is_empty() && !text.contains(char::is_control);
    let dummy = is_dummy(password.as_bytes()) || is_reference(password.as_bytes());
    (fine && !dummy).then(|| SecretMatch::plain(start.end..end, BASIC, Certainty::Likely))
}

/// The token of a Discord bot, in its header.
pub(super) fn discord_bot(bytes: &[u8], start: Range<usize>) -> Option<SecretMatch> {
    let first = run_end(bytes, start.end, 30, is_url_digit);
    let second =
        (bytes.get(first) == Some(&b'.')).then(|| run_end(bytes, first + 1, 8, is_url_digit))?;
    let third =
        (bytes.get(second) == Some(&b'.')).then(|| run_end(bytes, second + 1, 40, is_url_digit))?;
    let lengths = (23..=28).contains(&(first - start.end))
        && second - first == 7
        && (28..=39).contains(&(third - second));
    let fine = lengths && is_mixed(bytes.get(start.end..third)?);
    fine.then(|| SecretMatch::plain(start.end..third, DISCORD, Certainty::Likely))
}

/// URL schemes of databases and queues.
const DATABASES: &[&str] = &[
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "mongodb",
    "mongodb+srv",
    "redis",
    "rediss",
    "amqp",
    "amqps",
    "mssql",
    "sqlserver",
    "clickhouse",
    "cockroachdb",
    "neo4j",
    "bolt",
    "couchbase",
    "nats",
    "ldap",
    "ldaps",
];

/// The password in a URL.
pub(super) fn url(bytes: &[u8], at: Range<usize>) -> Option<SecretMatch> {
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-".contains(&byte);
    let scheme = bytes.get(run_start(bytes, at.start, 24, is_scheme)..at.start)?;
    let is_inside = |byte: u8| !byte.is_ascii_whitespace() && !b"/?#@:\"'<>\\`".contains(&byte);
    let user = run_end(bytes, at.end, 128, is_inside);
    if bytes.get(user) != Some(&b':') {
        return None;
    }
    let end = run_end(bytes, user + 1, 256, is_inside);
    let host = bytes.get(end + 1).copied().unwrap_or(b' ');
    if bytes.get(end) != Some(&b'@') || !(host.is_ascii_alphanumeric() || host == b'[') {
        return None;
    }
    let password = bytes.get(user + 1..end)?;
    let same = bytes.get(at.end..user) == Some(password);
    if password.len() < 4 || same || is_dummy(password) || is_reference(password) {
        return None;
    }
    let scheme = String::from_utf8_lossy(scheme).to_ascii_lowercase();
    let is_database =
        DATABASES.iter().any(|it| scheme == *it || scheme.starts_with(&format!("{it}+")));
    let family = if is_database { DATABASE } else { URL };
    Some(SecretMatch::plain(user + 1..end, family, Certainty::Likely))
}

/// The number of a Telegram bot, a colon, and its token.
pub(super) fn telegram(bytes: &[u8], at: Range<usize>) -> Option<SecretMatch> {
    let start = run_start(bytes, at.start, 10, |byte| byte.is_ascii_digit());
    let end = run_end(bytes, at.start + 1, 35, is_url_digit);
    let in_address = has_bytes_at(bytes, start.saturating_sub(3), b"bot");
    let fine = (8..=10).contains(&(at.start - start))
        && end - at.start - 1 == 35
        && (in_address || begins_word(bytes, start))
        && is_mixed(bytes.get(at.end..end)?)
        && !is_dummy(bytes.get(at.end..end)?);
    fine.then(|| SecretMatch::plain(start..end, TELEGRAM, Certainty::Likely))
}

/// A Mailchimp key: digits and a region.
pub(super) fn mailchimp(bytes: &[u8], at: Range<usize>) -> Option<SecretMatch> {
    let start = run_start(bytes, at.start, 32, |byte| {
        byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
    });
    let end = run_end(bytes, at.end, 2, |byte| byte.is_ascii_digit());
    let follows = bytes.get(end).copied().unwrap_or(b' ');
    let fine = at.start - start == 32
        && (1..=2).contains(&(end - at.end))
        && begins_word(bytes, start)
        && !is_word(follows)
        && !is_dummy(bytes.get(start..at.start)?);
    fine.then(|| SecretMatch::plain(start..end, MAILCHIMP, Certainty::Likely))
}

/// An Azure secret with `Q~` after its first four characters.
pub(super) fn azure_client(bytes: &[u8], at: Range<usize>) -> Option<SecretMatch> {
    let is_letter = |byte: u8| is_word(byte) || b"~.-".contains(&byte);
    let start = at.start.checked_sub(4)?;
    let end = run_end(bytes, at.end, 40, is_letter);
    let end = if bytes.get(end - 1) == Some(&b'.') { end - 1 } else { end };
    let before = bytes.get(start..at.start)?;
    let fine = before.iter().copied().all(is_letter)
        && before.last().is_some_and(u8::is_ascii_digit)
        && (31..=34).contains(&(end - at.end))
        && begins_word(bytes, start)
        && !is_dummy(bytes.get(at.end..end)?);
    fine.then(|| SecretMatch::plain(start..end, AZURE, Certainty::Likely))
}

/// The signature of an Azure URL, which grants access by itself.
pub(super) fn azure_signature(bytes: &[u8], at: Range<usize>) -> Option<SecretMatch> {
    let before = bytes.get(..at.start)?;
    if ![&b"?"[..], b"&", b"&amp;", b"\\u0026"].iter().any(|it| before.ends_with(it)) {
        return None;
    }
    let end =
        run_end(bytes, at.end, 120, |byte| byte.is_ascii_alphanumeric() || b"%+/=".contains(&byte));
    let near = bytes.get(at.start.saturating_sub(600)..bytes.len().min(end + 300))?;
    let has = |what: &[u8]| near.windows(what.len()).any(|window| window == what);
    let value = bytes.get(at.end..end)?;
    let fine = (43..=120).contains(&value.len()) && has(b"sv=") && has(b"se=") && !is_dummy(value);
    fine.then(|| SecretMatch::plain(at.end..end, SIGNATURE, Certainty::Likely))
}

/// The password after a user name, as in `curl`.
pub(super) fn command_line(bytes: &[u8], at: Range<usize>) -> Option<SecretMatch> {
    let line = bytes.get(at.start.saturating_sub(300)..at.start)?;
    let line = line.rsplit(|byte| *byte == b'\n').next()?;
    let is_curl = line.windows(5).any(|window| window == b"curl " || window == b"wget ");
    let quote = run_end(bytes, at.end, 3, |byte| b"\"'\\".contains(&byte));
    let is_inside = |byte: u8| !byte.is_ascii_whitespace() && !b"\"'\\:".contains(&byte);
    let user = run_end(bytes, quote, 64, is_inside);
    let end = run_end(bytes, user + 1, 128, is_inside);
    let password = bytes.get(user + 1..end)?;
    let fine = is_curl
        && begins_word(bytes, at.start)
        && user > quote
        && bytes.get(user) == Some(&b':')
        && password.len() >= 4
        && !is_dummy(password)
        && !is_reference(password);
    fine.then(|| SecretMatch::plain(user + 1..end, COMMAND, Certainty::Possible))
}
