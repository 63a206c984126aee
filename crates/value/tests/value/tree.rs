//! Trees: lookups in texts, writing in every style, and the canonical form.

#![cfg(test)]

use everturn_json::json;
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::document::{Document, Indent, JsonLayout, JsonStyle, LineEnding, NonAscii};
use everturn_value::tree::{JsonTree, ValueKind, canonical_text, digest};
use serde_json::json;

fn tree(text: &str) -> JsonTree {
    JsonTree::parse(text).unwrap_or_else(|bad| panic!("{bad} in {text}"))
}

/// Expands the containers on `path`, without changing anything.
fn touch(tree: &mut JsonTree, path: &[&str]) {
    let value = tree.value_at(path).unwrap();
    Delta::set(DeltaPath::array(path.to_vec()), value).apply(tree).unwrap();
}

#[test]
fn values_are_found_by_their_path() {
    let state = tree(
        "\t{ \"a\" : [ 1 , {\"b\":\"}]\\\"\"} ,[] ] ,\r\n\"\\u0063\":1.50,\"x\\\"\":{\"\":null}, \"0\":7} \n",
    );
    for (path, expect) in [
        (&["a", "0"][..], Some("1")),
        (&["a", "1", "b"], Some("\"}]\\\"\"")),
        (&["a", "1"], Some("{\"b\":\"}]\\\"\"}")),
        (&["a", "2"], Some("[]")),
        (&["a", "3"], None),
        (&["a", "00"], None),
        (&["a", "+1"], None),
        (&["a", ""], None),
        (&["a", "2", "0"], None),
        (&["c"], Some("1.50")),
        (&["c", "0"], None),
        (&["\\u0063"], None),
        (&["x\"", ""], Some("null")),
        (&["0"], Some("7")),
        (
            &[],
            Some(
                "{\"a\":[1,{\"b\":\"}]\\\"\"},[]],\"\\u0063\":1.50,\"x\\\"\":{\"\":null},\"0\":7}",
            ),
        ),
    ] {
        assert_eq!(state.text_at(path).as_deref(), expect, "at {path:?}");
        let mut apart = state.clone();
        touch(&mut apart, &["a", "1", "b"]);
        touch(&mut apart, &["x\"", ""]);
        assert_eq!(apart.text_at(path).as_deref(), expect, "at {path:?}, taken apart");
    }
    assert_eq!(state.string_at(&["a", "1", "b"]).as_deref(), Some("}]\""));
    assert_eq!(state.string_at(&["c"]), None);
    assert_eq!(state.len_at(&["a"]), Some(3));
    assert_eq!(state.len_at(&["a", "2"]), Some(0));
    assert_eq!(state.len_at(&["c"]), None);
    assert_eq!(state.len_at::<&str>(&[]), Some(4));
    let keys: Vec<String> = state.children().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["a", "c", "x\"", "0"]);
    let elements = state.value_at(&["a"]).unwrap().children();
    let kinds: Vec<(&str, ValueKind)> =
        elements.iter().map(|(at, v)| (at.as_str(), v.kind())).collect();
    assert_eq!(
        kinds,
        [("0", ValueKind::Number), ("1", ValueKind::Object), ("2", ValueKind::Array)]
    );
    assert_eq!(state.to_value().unwrap()["a"][1]["b"], "}]\"");
}

#[test]
fn texts_that_are_not_one_value_are_refused_with_the_place() {
    for (text, at) in [
        ("", 0),
        (" \n", 2),
        ("{", 1),
        ("[1,]", 3),
        ("1 2", 2),
        ("{} ,", 3),
        // A form feed and a vertical tab are not white space in JSON.
        ("\u{c}1", 0),
        ("1\u{c}", 1),
        ("\u{b}1", 0),
        ("[\u{c}]", 1),
        ("\u{feff}1", 0),
        ("\u{a0}1", 0),
        ("[\"\n\"]", 2),
        ("01", 1),
    ] {
        assert_eq!(
            JsonTree::parse(text).map(|tree| tree.to_line()).unwrap_err().at,
            at,
            "{text:?}"
        );
    }
    let bad = JsonTree::parse("[1 2]").unwrap_err();
    assert!(matches!(bad.reason, json::JsonErrorKind::Unexpected { byte: b'2', .. }));
}

#[test]
fn the_last_of_the_same_keys_counts() {
    let state = tree(r#"{"a":1,"b":{"x":1},"\u0061":2,"b":{"y":{"z":1,"z":2}}}"#);
    assert_eq!(state.text_at(&["a"]).as_deref(), Some("2"));
    assert_eq!(state.text_at(&["b", "y", "z"]).as_deref(), Some("2"));
    assert_eq!(state.text_at(&["b", "x"]), None);
    assert_eq!(state.len_at::<&str>(&[]), Some(2));
    assert_eq!(canonical_text(&state), r#"{"a":2,"b":{"y":{"z":2}}}"#);
    let mut apart = state.clone();
    touch(&mut apart, &["b", "y", "z"]);
    assert_eq!(apart.to_line(), r#"{"a":2,"b":{"y":{"z":2}}}"#);
    assert!(apart.is_same(&state));
    let mut state = state;
    Delta::set(DeltaPath::dotted("a"), tree("3")).apply(&mut state).unwrap();
    assert_eq!(state.text_at(&["a"]).as_deref(), Some("3"));
}

/// Strings, backslashes and marks at every offset relative to the blocks in which a text is read.
#[test]
fn marks_inside_of_strings_are_never_taken_for_others() {
    for shift in 0..140 {
        let filler = "x".repeat(shift);
        for tricky in ["{[,:]}", "\\\"", "\\\\", "\\\\\\\"]", "\\\\\\\\", "é😀\\u005d"] {
            let members = [("k", "[1,{\"n\":[]}]"), (tricky, "\"v]\""), ("e", "2")];
            let joined: Vec<String> =
                members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            let text = format!("[\"{filler}{tricky}\",{{{}}},\"{tricky}\"]", joined.join(","));
            let state = tree(&text);
            assert_eq!(state.to_line(), text);
            assert_eq!(state.len_at::<&str>(&[]), Some(3), "{text}");
            assert_eq!(state.len_at(&["1"]), Some(3), "{text}");
            assert_eq!(state.text_at(&["1", "e"]).as_deref(), Some("2"), "{text}");
            assert_eq!(state.text_at(&["2"]), Some(format!("\"{tricky}\"")), "{text}");
            let pretty = state.to_text(&JsonStyle::PRETTY_RAW);
            assert_eq!(tree(&pretty).to_line(), text);
        }
    }
}

fn styles() -> Vec<JsonStyle> {
    let mut styles = Vec::new();
    let layouts = [JsonLayout::Compact, JsonLayout::Spaced].into_iter();
    let indents = [Indent::Spaces(0), Indent::Spaces(2), Indent::Spaces(5), Indent::Tab];
    for layout in layouts.chain(indents.map(JsonLayout::Pretty)) {
        for non_ascii in [NonAscii::Raw, NonAscii::Escaped] {
            for line_end in [LineEnding::Lf, LineEnding::CrLf] {
                for bom in [false, true] {
                    let final_newline = !bom;
                    styles.push(JsonStyle { layout, non_ascii, line_end, final_newline, bom });
                }
            }
        }
    }
    styles
}

#[test]
fn a_tree_is_written_as_a_new_document_would_be() {
    let values = [
        json!({"a": [1, 2.5, {}, [], [[]], {"b": {"c": null}}], "é\u{7f}": "😀\u{7f}\u{80}x", "": true}),
        json!([[], [{}], {"k": []}, "a\n\"\\\u{1}"]),
        json!({}),
        json!("né"),
        json!(17),
    ];
    for value in &values {
        for style in styles() {
            let expect = Document::new(value, style).unwrap();
            let made = JsonTree::from_value(value).unwrap();
            assert_eq!(made.to_text(&style), expect.text(), "{style:?}");
            let text = expect.text().strip_prefix('\u{feff}').unwrap_or(expect.text());
            let read = tree(text);
            assert_eq!(read.to_text(&style), expect.text(), "{style:?} again");
            for other in styles() {
                let expect = Document::new(value, other).unwrap();
                // Existing escapes are preserved.
                if style.non_ascii == NonAscii::Raw || other.non_ascii == NonAscii::Escaped {
                    assert_eq!(read.to_text(&other), expect.text(), "{style:?} to {other:?}");
                }
            }
            if value.get("a").is_some() {
                let mut apart = read.clone();
                touch(&mut apart, &["a", "5", "b", "c"]);
                touch(&mut apart, &["a", "4", "0"]);
                assert_eq!(apart.to_text(&style), expect.text(), "{style:?}, taken apart");
            }
        }
    }
}

#[test]
fn numbers_and_escapes_keep_their_spelling() {
    let text = "{\"n\":[1.0,1E5,-0,1e-7,0.10,12345678901234567890123456789012345678901234567890],\
                \"s\":\"\\u0041\\/\\ud800 é\"}";
    assert_eq!(tree(text).to_line(), text);
    let spaced: String = text.replace(',', " \r\n,\t").replace(':', "\n: ");
    let mut state = tree(&spaced);
    assert_eq!(state.to_line(), text);
    touch(&mut state, &["n", "3"]);
    assert_eq!(state.to_line(), text);
    let pretty = state.to_text(&JsonStyle::PRETTY_RAW);
    assert_eq!(tree(&pretty).to_line(), text);
}

#[test]
fn values_nested_deep_overflow_nothing() {
    const DEPTH: usize = 10_000;
    for (open, inner, close) in
        [("[", "1", "]"), ("{\"a\":", "{}", "}"), ("[[],{\"k\":", "0", "}]")]
    {
        let text = format!("{}{inner}{}", open.repeat(DEPTH), close.repeat(DEPTH));
        let state = tree(&text);
        assert_eq!(state.to_line(), text);
        assert_eq!(canonical_text(&state), text);
        assert!(state.is_same(&tree(&text.replace(':', " : "))));
        assert!(!state.is_same(&tree(&format!("{}2{}", open.repeat(DEPTH), close.repeat(DEPTH)))));
        let pretty = state.to_text(&JsonStyle::PRETTY_RAW);
        assert!(pretty.len() < 40 * text.len(), "{} bytes", pretty.len());
        assert_eq!(tree(&pretty).to_line(), text);
        assert_eq!(state.clone().len_at::<&str>(&[]), Some(if open.len() > 6 { 2 } else { 1 }));
        assert!(state.to_value().is_err());
    }
    // Anything worse than linear time or memory would be noticed here.
    let text = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let state = tree(&text);
    assert_eq!(state.to_text(&JsonStyle::COMPACT).len(), text.len());
    assert!(state.to_text(&JsonStyle::PRETTY_RAW).len() < 3 * text.len());
    assert_eq!(digest(&state), digest(&state.clone()));
}

#[track_caller]
fn check_canonical(text: &str, expect: &str) {
    assert_eq!(canonical_text(&tree(text)), expect, "of {text}");
    // The canonical text is its own canonical text.
    assert_eq!(canonical_text(&tree(expect)), expect);
}

#[test]
fn numbers_are_written_as_ecmascript_prints_them() {
    for (text, expect) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("0e5", "0"),
        ("1.0", "1"),
        ("-1.50", "-1.5"),
        ("1e0", "1"),
        ("4.50", "4.5"),
        ("2e-3", "0.002"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1e-7"),
        ("0.00000123", "0.00000123"),
        ("0.000000123", "1.23e-7"),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("1.5e300", "1.5e+300"),
        ("123456789012345680000.0", "123456789012345680000"),
        ("1E30", "1e+30"),
        ("333333333.33333329", "333333333.3333333"),
        ("0.1e1", "1"),
        ("1e-400", "0"),
        ("5e-324", "5e-324"),
        ("4.9406564584124654e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("-1e-7", "-1e-7"),
        ("9007199254740991", "9007199254740991"),
        // The rest deviates from RFC 8785, so that different integers stay different.
        ("9007199254740993", "9007199254740993"),
        ("123456789012345678901", "123456789012345678901"),
        ("1000000000000000000000", "1e+21"),
        ("-1000000000000000000000", "-1e+21"),
        ("1000000000000000000001", "1000000000000000000001"),
        ("1e400", "1e400"),
    ] {
        check_canonical(text, expect);
    }
    let huge = "9".repeat(400);
    check_canonical(&huge, &huge);
}

#[test]
fn strings_have_the_fewest_escapes() {
    for (text, expect) in [
        (r#""\u0041\/\u00e9\ud83d\ude00\u007f""#, "\"A/é😀\u{7f}\""),
        (r#""\b\f\n\r\t\"\\""#, r#""\b\f\n\r\t\"\\""#),
        (r#""\u0008\u000C\u000a\u000D\u0009\u0022\u005C""#, r#""\b\f\n\r\t\"\\""#),
        (r#""\u0000\u001F\u001b""#, r#""\u0000\u001f\u001b""#),
        ("\"\u{2028}\u{80}\"", "\"\u{2028}\u{80}\""),
        (r#""\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/""#, r#""€$\u000f\nA'B\"\\\\\"/""#),
        // A lone surrogate cannot be written in UTF-8, so it stays an escape.
        (r#""\uD800\uDFFFx\uD800""#, "\"\u{103ff}x\\ud800\""),
        (r#""\uDFFF\uD800""#, r#""\udfff\ud800""#),
    ] {
        check_canonical(text, expect);
        check_canonical(&format!("{{{text}:[{text}]}}"), &format!("{{{expect}:[{expect}]}}"));
    }
}

#[test]
fn members_are_sorted_by_utf16_units() {
    for (text, expect) in [
        (r#"{"b":1,"a":2,"":3}"#, r#"{"":3,"a":2,"b":1}"#),
        (r#"{"aa":1,"a":2,"B":3,"10":4,"1":5}"#, r#"{"1":5,"10":4,"B":3,"a":2,"aa":1}"#),
        (
            r#"{"\ue000":1,"😀":2,"\uffff":3,"\ud7ff":4,"é":5,"\u0080":6,"\r":7,"1":8}"#,
            "{\"\\r\":7,\"1\":8,\"\u{80}\":6,\"é\":5,\"\u{d7ff}\":4,\"😀\":2,\"\u{e000}\":1,\"\u{ffff}\":3}",
        ),
        ("{\"x\u{e000}\":1,\"x😀\":2,\"x😁\":3}", "{\"x😀\":2,\"x😁\":3,\"x\u{e000}\":1}"),
        (
            r#"[{"b":{"d":1,"c":2},"a":[{"z":1,"y":2}]}]"#,
            r#"[{"a":[{"y":2,"z":1}],"b":{"c":2,"d":1}}]"#,
        ),
        // Escapes are resolved before sorting.
        (r#"{"\u0062":1,"a":2,"\\":3,"]":4}"#, r#"{"\\":3,"]":4,"a":2,"b":1}"#),
        (r#"{"a":1,"b":2,"\u0061":3,"b":4,"a":5}"#, r#"{"a":5,"b":4}"#),
    ] {
        check_canonical(text, expect);
    }
}

#[test]
fn the_digest_is_that_of_the_value_and_not_of_its_spelling() {
    let text = r#"{"b":[1.0,"\u00e9"],"a":{"y":null,"x":1e2}}"#;
    let state = tree(text);
    // Of {"a":{"x":100,"y":null},"b":[1,"é"]}.
    let expect = "sha256:43466beac48889302ab6d87c2001d50073f6e06398a70f6ce7f8fb9693c8d749";
    assert_eq!(digest(&state).to_string(), expect);
    for style in styles() {
        let written = state.to_text(&style);
        let again = tree(written.strip_prefix('\u{feff}').unwrap_or(&written));
        assert_eq!(digest(&again).to_string(), expect, "{style:?}");
    }
    let mut apart = state.clone();
    touch(&mut apart, &["b", "0"]);
    touch(&mut apart, &["a", "x"]);
    assert_eq!(digest(&apart).to_string(), expect);
    Delta::set(DeltaPath::dotted("a.y"), tree("false")).apply(&mut apart).unwrap();
    assert_ne!(digest(&apart), digest(&state));
    let nothing = "sha256:74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b";
    assert_eq!(digest(&JsonTree::null()).to_string(), nothing);
}
