//! IDs of frameworks as names of directories. Frameworks allow any text as the ID of a thread.

use everturn::names::SessionId;
use everturn_requests::{ErrorCode, RequestError};

/// The ID of the thread on disk: letters, digits, `-` and `_` as they are, and every other byte as `+` and two
/// hexadecimal digits.
pub(crate) fn thread_id(key: &str) -> Result<SessionId, RequestError> {
    let mut name = String::new();
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            other => name.push_str(&format!("+{other:02x}")),
        }
    }
    // The name of the most recently changed session, and names that some systems reserve.
    let parsed = match name.as_str() {
        "" => SessionId::parse(""),
        "latest" => SessionId::parse("+6catest"),
        _ => SessionId::parse(&name).or_else(|_| SessionId::parse(&format!("+{name}"))),
    };
    parsed.map_err(|error| {
        RequestError::new(ErrorCode::BadRequest, format!("the thread ID {key:?}: {error}"))
    })
}

/// The ID that a framework gave to a thread.
pub(crate) fn thread_key(id: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), id.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let code =
            code.filter(|_| *first == b'+').and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            // A `+` that is not a code stands before a reserved name.
            None => {
                bytes.extend((*first != b'+').then_some(*first));
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_can_be_read_back() {
        for key in ["a", "user/7", "a.b", "..", "latest", "6f9c-1", "+", "+2f", "ü x", "nul", "CON"]
        {
            let id = thread_id(key).map(|id| id.to_string());
            assert_eq!(id.as_deref().map(thread_key), Ok(key.to_owned()), "{id:?}");
        }
        assert!(thread_id("").is_err());
        assert!(thread_id(&"x".repeat(300)).is_err());
    }
}
