//! Values that must not change: signatures, and the values that they sign.

use std::ops::Range;

/// Fields whose values only their author may change.
const SIGNED: &[&str] = &[
    "signature",
    "thoughtSignature",
    "thought_signature",
    "encrypted_content",
    "encryptedContent",
];

/// Fields whose values a signature beside them covers.
const THINKING: &[&str] = &["thinking", "reasoning"];

/// The ranges of protected values in JSON text. JSON that is escaped in strings is not searched.
pub(super) fn protected(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = SIGNED.iter().flat_map(|key| values(bytes, key)).collect();
    if ranges.iter().any(|range| range.len() > 2) {
        for range in THINKING.iter().flat_map(|key| values(bytes, key)) {
            if is_signed(bytes, &range, &ranges) {
                ranges.push(range);
            }
        }
    }
    ranges.sort_by_key(|range| range.start);
    ranges
}

/// Whether a signature is on the same line.
fn is_signed(bytes: &[u8], range: &Range<usize>, signatures: &[Range<usize>]) -> bool {
    let is_end = |byte: &u8| *byte == b'\n';
    let before = bytes.get(..range.start).unwrap_or_default();
    let start = before.iter().rposition(is_end).map_or(0, |at| at + 1);
    let after = bytes.get(range.end..).unwrap_or_default();
    let end = after.iter().position(is_end).map_or(bytes.len(), |at| range.end + at);
    // In a pretty-printed document the signature is nearby.
    let near = start.saturating_sub(400)..end.saturating_add(4000);
    signatures.iter().any(|signature| near.contains(&signature.start) && signature.len() > 2)
}

/// The string values of a key, with their quotes.
fn values(bytes: &[u8], key: &str) -> Vec<Range<usize>> {
    let name = format!("\"{key}\"");
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = find(bytes, at, name.as_bytes()) {
        at = next + name.len();
        let space = |from: usize| {
            let rest = bytes.get(from..).unwrap_or_default();
            from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
        };
        let colon = space(at);
        let start = space(colon + 1);
        if bytes.get(colon) != Some(&b':') || bytes.get(start) != Some(&b'"') {
            continue;
        }
        let Some(end) = string_end(bytes, start + 1) else { break };
        found.push(start..end);
        at = end;
    }
    found
}

fn find(bytes: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(what.len()).position(|window| window == what).map(|at| from + at)
}

/// The end of a string, after its closing quote. `from` is the first byte of its text.
fn string_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_and_what_they_sign_are_left_alone() {
        let check = |text: &str, expect: &[&str]| {
            let found: Vec<&str> =
                protected(text.as_bytes()).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, expect, "{text}");
        };
        check(r#"{"thinking":"a\"b","signature":"S1"}"#, &[r#""a\"b""#, r#""S1""#]);
        check(r#"{"thinking": "a", "signature": ""}"#, &[r#""""#]);
        check(r#"{"thinking":"a"}"#, &[]);
        check(r#"{"thoughtSignature" : "x"}"#, &[r#""x""#]);
        check("{\"thinking\":\"a\"}\n{\"text\":\"b\"}", &[]);
        check(r#"{"signature":5,"text":"signature"}"#, &[]);
    }
}
