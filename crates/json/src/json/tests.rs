//! Tests the scanner with tables of texts, and against serde_json with random ones.

use proptest::prelude::*;

use super::*;

/// Feeds `text` in pieces of `size` and returns the result, with the position of the end.
fn run(text: &[u8], size: usize) -> Result<(Completeness, u64), JsonError> {
    let mut scanner = Scanner::new();
    let mut used = 0;
    for chunk in text.chunks(size) {
        match scanner.feed(chunk)? {
            ScanProgress::More => used += chunk.len() as u64,
            ScanProgress::End(last) => {
                used += last as u64;
                break;
            }
        }
    }
    Ok((scanner.finish(), used))
}

fn check(text: &str, expect: Result<(Completeness, u64), u64>) {
    for size in [1, 2, 3, 7, text.len().max(1)] {
        let got = run(text.as_bytes(), size).map_err(|bad| bad.at);
        assert_eq!(got, expect, "{text:?} in pieces of {size}");
    }
}

#[test]
fn a_value_ends_where_its_grammar_ends() {
    check(r#"{"a":[1,2,{"b":null}]}"#, Ok((Completeness::Complete, 22)));
    check(" [] x", Ok((Completeness::Complete, 3)));
    check("{}{}", Ok((Completeness::Complete, 2)));
    check("true false", Ok((Completeness::Complete, 4)));
    check("\"a\\u12aF\\n\" ", Ok((Completeness::Complete, 11)));
    check("-0.5E+10,", Ok((Completeness::Complete, 8)));
    check("12", Ok((Completeness::Complete, 2)));
    check("01", Ok((Completeness::Complete, 1)));
}

#[test]
fn a_value_that_could_go_on_is_incomplete() {
    for text in [
        "{", "[", "[1", "[1,", "{\"a", "{\"a\"", "{\"a\":", "\"\\", "\"\\u00", "-", "1.", "1e",
        "nul",
    ] {
        check(text, Ok((Completeness::Incomplete, text.len() as u64)));
    }
    check("", Ok((Completeness::Empty, 0)));
    check(" \r\n\t", Ok((Completeness::Empty, 4)));
}

#[test]
fn a_break_of_the_grammar_is_placed_at_its_byte() {
    for (text, at) in [
        ("x", 0),
        ("[1,]", 3),
        ("[,1]", 1),
        ("{,}", 1),
        ("{\"a\":1,}", 7),
        ("{a:1}", 1),
        ("{\"a\" 1}", 5),
        ("{\"a\":}", 5),
        ("[1}", 2),
        ("{\"a\":1]", 6),
        ("[01]", 2),
        ("[-01]", 3),
        ("[1.e]", 3),
        ("[-a]", 2),
        ("[+1]", 1),
        ("[1e+]", 4),
        ("\"a\nb\"", 2),
        ("\"a\0\"", 2),
        ("\"\\x\"", 2),
        ("\"\\u12g4\"", 5),
        ("nulL", 3),
        ("// c", 0),
        ("'a'", 0),
        ("[NaN]", 1),
        ("\u{feff}{}", 0),
        ("\u{b}1", 0),
    ] {
        check(text, Err(at));
    }
}

#[test]
fn an_error_stays_until_the_scanner_is_reset() {
    let mut scanner = Scanner::new();
    let bad = scanner.feed(b"[x").unwrap_err();
    assert_eq!(scanner.feed(b"1]"), Err(bad));
    assert_eq!(scanner.finish(), Completeness::Incomplete);
    scanner.reset();
    assert_eq!(scanner.feed(b"1]"), Ok(ScanProgress::End(1)));
    assert_eq!(scanner.feed(b"]"), Ok(ScanProgress::End(0)));
}

#[test]
fn nothing_of_one_value_is_left_for_the_next() {
    for left in ["{\"ke", "{\"a\":tr", "[[[", "\"\\u1", "12", "{}"] {
        for next in ["\"text\"", "{\"a\":1}", "true"] {
            let mut scanner = Scanner::new();
            scanner.feed(left.as_bytes()).unwrap();
            scanner.reset();
            let end = Ok(ScanProgress::End(next.len()));
            assert_eq!(scanner.feed(next.as_bytes()), end, "{left} before {next}");
        }
    }
}

#[test]
fn a_newline_inside_a_value_is_an_error_on_a_line_only() {
    let text = b"{\"a\":\n1}";
    assert_eq!(Scanner::new().feed(text), Ok(ScanProgress::End(8)));
    assert_eq!(Scanner::single_line().feed(text).unwrap_err().at, 5);
}

#[test]
fn nesting_is_deep_but_not_without_bounds() {
    for depth in [10_000, 1_000_000] {
        let text = ["[".repeat(depth), "]".repeat(depth)].concat();
        assert_eq!(run(text.as_bytes(), 65_536), Ok((Completeness::Complete, 2 * depth as u64)));
        let text = ["{\"a\":".repeat(depth), "1".to_owned(), "}".repeat(depth)].concat();
        assert_eq!(run(text.as_bytes(), 65_536), Ok((Completeness::Complete, text.len() as u64)));
    }
    let bad = run(&vec![b'['; MAX_DEPTH + 1], 65_536).unwrap_err();
    assert_eq!(bad, JsonError { at: MAX_DEPTH as u64, reason: JsonErrorKind::TooDeep });
}

#[test]
fn reasons_are_words() {
    let words = |text: &str| run(text.as_bytes(), 9).unwrap_err().to_string();
    assert_eq!(words("[1 2]"), "found `2` instead of `,` or `]` at byte 3");
    assert_eq!(words("\"\u{1}"), "control character 0x01 in a string at byte 1");
    assert_eq!(words("\"\\ "), "a space in an escape at byte 2");
}

/// Whether serde_json accepts `text` as JSON when it only has to skip it.
fn serde_takes(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Whether the scanner accepts all of `text` as JSON.
fn scanner_takes(text: &str, size: usize) -> bool {
    match run(text.as_bytes(), size) {
        Ok((Completeness::Complete, end)) => {
            let rest = &text[usize::try_from(end).unwrap()..];
            rest.bytes().all(|byte| b" \t\r\n".contains(&byte))
        }
        _ => false,
    }
}

/// Texts made of pieces of JSON, most of them nearly valid.
fn almost_json() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"a\":",
        "1",
        "0",
        "-",
        ".5",
        "e",
        "E+1",
        "true",
        "false",
        "null",
        "nul",
        " ",
        "\n",
        "\t",
        "\\n",
        "\\u00e9",
        "\\u12",
        "\\",
        "é",
        "\u{1}",
        "/",
        "{\"k\":[1,2]}",
        "[{}]",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Valid texts, with at most one byte changed.
fn json_with_a_mistake() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|b| b.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        (-1e9..1e9).prop_map(|n: f64| format!("{n:e}")),
        ".{0,6}".prop_map(|s: String| serde_json::to_string(&s).unwrap()),
    ];
    let tree = leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|v| format!("[{}]", v.join(" ,"))),
            prop::collection::vec(("[a-c]{0,2}", inner), 0..5).prop_map(|members| {
                let members: Vec<String> =
                    members.into_iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
                format!("{{{}}}", members.join(",\n"))
            }),
        ]
    });
    let mistake = prop::option::of((
        any::<prop::sample::Index>(),
        prop::sample::select(b"{}[]:,\"\\01e. x\n".to_vec()),
    ));
    (tree, mistake).prop_map(|(text, mistake)| {
        let Some((place, byte)) = mistake else { return text };
        let mut bytes = text.into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        // A character that lost a byte becomes another one, which is just as good for the test.
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn agree(text: &str) {
    let expect = serde_takes(text);
    for size in [1, 3, text.len().max(1)] {
        assert_eq!(scanner_takes(text, size), expect, "{text:?} in pieces of {size}");
    }
    for size in [1, 2, 5] {
        let (whole, pieces) = (run(text.as_bytes(), text.len().max(1)), run(text.as_bytes(), size));
        assert_eq!(pieces, whole, "{text:?} in pieces of {size}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn almost_json_gets_the_verdict_of_serde_json(text in almost_json()) {
        agree(&text);
    }

    #[test]
    fn json_and_its_misprints_get_the_verdict_of_serde_json(text in json_with_a_mistake()) {
        agree(&text);
    }
}

#[test]
fn half_surrogate_pairs_huge_numbers_and_depth_are_json() {
    let deep = ["[".repeat(2000), "]".repeat(2000)].concat();
    for text in ["\"\\ud800\"", "\"\\udc00x\"", "[1e999999]", "-12345678901234567890123", &deep] {
        assert!(scanner_takes(text, 1), "{text}");
        agree(text);
    }
}
