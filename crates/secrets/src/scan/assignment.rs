//! Values that are assigned to names such as `password` or `api_key`.

use std::ops::Range;

use super::boundaries::{has_bytes_at, is_word, run_end, run_start};
use super::dummy_values::{character_classes, entropy, is_dummy, is_mixed, is_reference};
use super::named::family_of;
use super::{Certainty, SecretMatch};

/// Names that announce a secret, in the spellings that programs and people use.
pub(super) const NAMES: &[&str] = &[
    "password",
    "Password",
    "PASSWORD",
    "passwd",
    "PASSWD",
    "passphrase",
    "Passphrase",
    "PASSPHRASE",
    "pwd",
    "Pwd",
    "PWD",
    "secret",
    "Secret",
    "SECRET",
    "token",
    "Token",
    "TOKEN",
    "api_key",
    "API_KEY",
    "apiKey",
    "ApiKey",
    "APIKey",
    "apikey",
    "APIKEY",
    "api-key",
    "Api-Key",
    "API-KEY",
    "access_key",
    "ACCESS_KEY",
    "accessKey",
    "AccessKey",
    "access-key",
    "private_key",
    "PRIVATE_KEY",
    "privateKey",
    "PrivateKey",
    "secret_key",
    "SECRET_KEY",
    "secretKey",
    "SecretKey",
    "account_key",
    "ACCOUNT_KEY",
    "accountKey",
    "auth_key",
    "AUTH_KEY",
    "encryption_key",
    "ENCRYPTION_KEY",
    "signing_key",
    "SIGNING_KEY",
    "credential",
    "CREDENTIAL",
    "_auth",
    "_AUTH",
];

const PASSWORD: &str = "password-assignment";
const KEY: &str = "key-assignment";
const AWS: &str = "aws-secret-key";
const LINE: &str = "env-line";

pub(super) const FAMILIES: &[&str] = &[PASSWORD, KEY, AWS, LINE];

/// Words before a name that change its meaning: page tokens, parser tokens, counts.
const OTHERS: &[&str] = &[
    "page",
    "next",
    "continuation",
    "cancel",
    "cancellation",
    "sync",
    "start",
    "end",
    "stop",
    "first",
    "last",
    "prev",
    "eos",
    "bos",
    "pad",
    "unk",
    "sep",
    "mask",
    "per",
    "max",
    "min",
    "num",
    "total",
    "sub",
    "special",
    "syntax",
    "delimiter",
];

/// The maximum length of a value.
const LONGEST: usize = 256;

/// The value that is assigned to the name in this range, if it looks like a secret.
pub(super) fn check_assignment(bytes: &[u8], name: Range<usize>) -> Option<SecretMatch> {
    let start = run_start(bytes, name.start, 64, |byte| is_word(byte) || b"-.".contains(&byte));
    let prefix = bytes.get(start..name.start)?;
    if is_other(prefix) || in_placeholder(bytes, start) {
        return None;
    }
    let (after, sign) = find_sign(bytes, name.end)?;
    let (value, quoted) = find_value(bytes, after)?;
    let text = bytes.get(value.clone())?;
    if text.is_empty() || is_reference(text) || is_dummy(text) || is_called(bytes, value.end) {
        return None;
    }
    let whole = bytes.get(start..name.end)?.to_ascii_lowercase();
    let word = bytes.get(name)?.to_ascii_lowercase();
    let is_password = word.starts_with(b"pass") || word == b"pwd";
    if is_aws(prefix, &word, text) {
        return Some(SecretMatch::plain(value, AWS, Certainty::Likely));
    }
    if let Some(family) = family_of(&whole, text)
        && (is_mixed(text) || !text.iter().any(u8::is_ascii_lowercase))
        && entropy(text) >= 2.5
    {
        return Some(SecretMatch::plain(value, family, Certainty::Possible));
    }
    if sign == AssignmentSign::Equals && is_own_line(bytes, start, prefix) && is_line_value(text) {
        return Some(SecretMatch::plain(value, LINE, Certainty::Possible));
    }
    let random = match (is_password, quoted) {
        (true, true) => text.len() >= 6 && character_classes(text) >= 2 && entropy(text) >= 2.3,
        (true, false) => {
            text.len() >= 8
                && character_classes(text) >= 2
                && entropy(text) >= 2.6
                && has_digit(text)
        }
        (false, _) => {
            text.len() >= 16
                && character_classes(text) >= 2
                && entropy(text) >= 3.0
                && has_digit(text)
        }
    };
    let family = if is_password { PASSWORD } else { KEY };
    (random && !is_path(text)).then(|| SecretMatch::plain(value, family, Certainty::Possible))
}

fn has_digit(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit)
}

/// Whether a value is a path or URL: several names with slashes or dots between them.
fn is_path(text: &[u8]) -> bool {
    let names = |sign: u8| text.iter().filter(|byte| **byte == sign).count();
    has_bytes_at(text, 0, b"http")
        || has_bytes_at(text, 0, b"./")
        || names(b'/') > 2 && names(b'.') > 0
}

/// Whether the words before a name show that it is not a secret.
fn is_other(prefix: &[u8]) -> bool {
    let lower = prefix.to_ascii_lowercase();
    let end = lower.iter().rposition(|byte| !b"_-.".contains(byte)).map_or(0, |at| at + 1);
    let words = lower.get(..end).unwrap_or_default();
    OTHERS.iter().any(|other| {
        let Some(before) = words.strip_suffix(other.as_bytes()) else { return false };
        // A short one must be a word: `eosToken` and `EOS_TOKEN`, but not `SPLUNK_TOKEN`.
        let begins = prefix.get(before.len()).is_some_and(u8::is_ascii_uppercase)
            && prefix.get(before.len().wrapping_sub(1)).is_some_and(u8::is_ascii_lowercase);
        other.len() > 3 || begins || !before.last().is_some_and(u8::is_ascii_alphabetic)
    })
}

/// Forty characters with a name that makes them the secret half of a key.
fn is_aws(prefix: &[u8], word: &[u8], text: &[u8]) -> bool {
    let before = prefix.to_ascii_lowercase();
    let about =
        before.ends_with(b"secret_") || before.ends_with(b"secret") || before.starts_with(b"aws");
    let is_key = word.ends_with(b"key");
    let digits = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    about && is_key && text.len() == 40 && text.iter().all(digits) && character_classes(text) >= 3
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AssignmentSign {
    Equals,
    Colon,
}

/// The separators between a name and its value.
const SIGNS: &[(&[u8], AssignmentSign)] = &[
    (b":=", AssignmentSign::Equals),
    (b"=>", AssignmentSign::Colon),
    (b"==", AssignmentSign::Colon),
    (b"=", AssignmentSign::Equals),
    (b"\\u003d", AssignmentSign::Equals),
    (b"\\u003D", AssignmentSign::Equals),
    (b"%3D", AssignmentSign::Equals),
    (b"%3d", AssignmentSign::Equals),
    (b":", AssignmentSign::Colon),
    (b"%3A", AssignmentSign::Colon),
];

/// The separator after a name, and the start of the value.
fn find_sign(bytes: &[u8], from: usize) -> Option<(usize, AssignmentSign)> {
    let at = |place: usize| {
        SIGNS.iter().find(|(text, _)| has_bytes_at(bytes, place, text)).map(|it| (place, it))
    };
    let behind = || {
        let closing = run_end(bytes, from, 6, |byte| b"\"'`\\])*".contains(&byte));
        at(run_end(bytes, closing, 8, |byte| byte == b' ' || byte == b'\t'))
    };
    let (place, (text, sign)) = at(from).or_else(behind)?;
    let is_space = |byte: u8| byte == b' ' || byte == b'\t' || byte == b'*';
    Some((run_end(bytes, place + text.len(), 8, is_space), *sign))
}

/// Whether a position is inside one of our placeholders, whose words announce a secret.
fn in_placeholder(bytes: &[u8], at: usize) -> bool {
    let from = at.saturating_sub(48);
    let near = bytes.get(from..bytes.len().min(at + 7)).unwrap_or_default();
    let is_open = |it: &[u8]| it.ends_with(b"secret:") && matches!(it.first(), Some(b'[' | b'('));
    let open = near.windows(8).rposition(is_open);
    let closed = |byte: &u8| matches!(byte, b']' | b')');
    open.is_some_and(|open| !near.get(open..at - from).unwrap_or_default().iter().any(closed))
}

/// The value at this position, without quotes, and whether it was quoted.
fn find_value(bytes: &[u8], from: usize) -> Option<(Range<usize>, bool)> {
    let open = run_end(bytes, from, 6, |byte| byte == b'\\');
    let quote = bytes.get(open).copied().filter(|byte| b"\"'`".contains(byte));
    let Some(quote) = quote else {
        let ends = |byte: u8| byte.is_ascii_whitespace() || b"\"'`,;&<>()]}\\|".contains(&byte);
        let end = run_end(bytes, from, LONGEST, |byte| !ends(byte) && !byte.is_ascii_control());
        // A trailing full stop belongs to the sentence.
        let end = if bytes.get(end.saturating_sub(1)) == Some(&b'.') { end - 1 } else { end };
        return (end > from && end - from <= LONGEST).then_some((from..end, false));
    };
    let start = open + 1;
    let is_inside = |byte: u8| byte != quote && byte != b'\\' && !byte.is_ascii_whitespace();
    let end = run_end(bytes, start, LONGEST, is_inside);
    let closed = bytes.get(end).is_some_and(|byte| *byte == quote || *byte == b'\\');
    (closed && end - start <= LONGEST).then_some((start..end, true))
}

/// Whether the value is a function name, or is indexed.
fn is_called(bytes: &[u8], end: usize) -> bool {
    matches!(bytes.get(end), Some(b'(' | b'['))
}

/// Whether an assignment of a shell or of a settings file begins at this position.
fn is_own_line(bytes: &[u8], start: usize, prefix: &[u8]) -> bool {
    let is_loud = prefix
        .iter()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_');
    let before = bytes.get(..start).unwrap_or_default();
    let starts: [&[u8]; 7] = [b"\n", b"\\n", b"export ", b"set ", b"ENV ", b"-e ", b"--env "];
    is_loud
        && !prefix.is_empty()
        && (before.is_empty() || starts.iter().any(|it| before.ends_with(it)))
}

/// Whether such a value is more than an ordinary word.
fn is_line_value(text: &[u8]) -> bool {
    text.len() >= 6
        && entropy(text) >= 2.0
        && (character_classes(text) >= 2 || text.contains(&b'-'))
}
