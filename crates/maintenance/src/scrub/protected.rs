//! Values that must stay as they are, byte for byte: signatures, and what they were made over.

use std::ops::Range;

/// Fields whose values nobody but their maker may change.
const SIGNED: &[&str] = &[
    "signature",
    "thoughtSignature",
    "thought_signature",
    "encrypted_content",
    "encryptedContent",
];

/// A field whose value a signature beside it was made over.
const THINKING: &[&str] = &["thinking", "reasoning"];

/// The ranges of such values in a text of JSON. Strings in which JSON is escaped are not looked into.
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

/// Whether a signature stands on the same line.
fn is_signed(bytes: &[u8], range: &Range<usize>, signatures: &[Range<usize>]) -> bool {
    let is_end = |byte: &u8| *byte == b'\n';
    let before = bytes.get(..range.start).unwrap_or_default();
    let start = before.iter().rposition(is_end).map_or(0, |at| at + 1);
    let after = bytes.get(range.end..).unwrap_or_default();
    let end = after.iter().position(is_end).map_or(bytes.len(), |at| range.end + at);
    // A document on many lines has its signature near.
    let near = start.saturating_sub(400)..end.saturating_add(4000);
    signatures.iter().any(|signature| near.contains(&signature.start) && signature.len() > 2)
}

/// The strings that are values of a key, with their quotes.
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

/// Where the string ends whose text begins at this place, behind its quote.
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
