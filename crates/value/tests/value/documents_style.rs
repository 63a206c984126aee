//! The styles of JSON files: detected, preserved, and written.

#![cfg(test)]

use everturn_value::document::{
    Document, Indent, JsonLayout, JsonStyle, LineEnding, NonAscii, PathSegment, render_line,
};
use serde_json::{Value, json, value::RawValue};

const KEY: &[PathSegment<'_>] = &[PathSegment::Key("new")];

fn styles() -> Vec<JsonStyle> {
    let mut all = Vec::new();
    for layout in [
        JsonLayout::Compact,
        JsonLayout::Spaced,
        JsonLayout::Pretty(Indent::Spaces(0)),
        JsonLayout::Pretty(Indent::Spaces(2)),
        JsonLayout::Pretty(Indent::Spaces(4)),
        JsonLayout::Pretty(Indent::Tab),
    ] {
        for non_ascii in [NonAscii::Raw, NonAscii::Escaped] {
            for line_end in [LineEnding::Lf, LineEnding::CrLf] {
                for (final_newline, bom) in
                    [(false, false), (true, false), (false, true), (true, true)]
                {
                    all.push(JsonStyle { layout, non_ascii, line_end, final_newline, bom });
                }
            }
        }
    }
    all
}

fn sample() -> Value {
    json!({
        "name": "Ünïcode 😀",
        "list": [1, [], {}, [2, {"a": null}]],
        "deep": {"er": {"est": true}},
        "text": "a\"b\\c\n",
    })
}

#[test]
fn a_new_document_has_the_style_it_was_given_and_shows_it() {
    for style in styles() {
        let document = Document::new(&sample(), style).unwrap();
        let parsed = Document::parse_like(document.text().as_bytes(), &style).unwrap();
        assert_eq!(*parsed.style(), style, "{}", document.text());
        assert_eq!(parsed, document);
        assert_eq!(parsed.value(&[]).unwrap(), Some(sample()));
        // The text shows its style, except for the line ending of a text without lines.
        let seen = *Document::parse(document.text().as_bytes()).unwrap().style();
        if document.text().contains('\n') {
            assert_eq!(seen, style);
        } else {
            assert_eq!(seen, JsonStyle { line_end: LineEnding::Lf, ..style });
        }
    }
}

#[test]
fn a_value_that_is_set_is_read_back_in_every_style_and_written_as_the_whole_would_be() {
    for style in styles() {
        let mut whole = sample();
        whole["new"] = sample();
        whole["list"][1] = sample();
        let mut document = Document::new(&sample(), style).unwrap();
        document.set(KEY, &sample()).unwrap();
        document.set(&["list".into(), 1.into()], &sample()).unwrap();
        assert_eq!(document, Document::new(&whole, style).unwrap());
        assert_eq!(document.value(KEY).unwrap(), Some(sample()));
        document.remove(KEY).unwrap();
        document.set(&["list".into(), 1.into()], &json!([])).unwrap();
        assert_eq!(document, Document::new(&sample(), style).unwrap());
    }
}

#[test]
fn an_untouched_document_is_saved_as_it_was() {
    for text in [
        "{}",
        " \n[ ]\r\n\t",
        "\u{feff}{\"a\":1}",
        "{\"n\":[1.0,1e5,-0,12345678901234567890123,1E+2]}",
        "{ \"a\" :\n\n1 , \"a\":2,\t\"\\u0061\\/\\ud800\":\"\\u00E9é\\u007f\" }\n\n",
        "[\n      1,\n  2\n\t]",
        "\"just text\"",
        "  17",
        "null\n",
    ] {
        let document = Document::parse(text.as_bytes()).unwrap();
        assert_eq!(document.text(), text);
        assert_eq!(document.into_bytes(), text.as_bytes());
    }
}

fn check_style(text: &str, expect: JsonStyle) {
    assert_eq!(*Document::parse(text.as_bytes()).unwrap().style(), expect, "{text:?}");
}

#[test]
fn the_style_is_seen_where_the_text_shows_it() {
    let tab = JsonLayout::Pretty(Indent::Tab);
    let spaced = JsonStyle { layout: JsonLayout::Spaced, ..JsonStyle::PRETTY_RAW };
    check_style("{}", JsonStyle::PRETTY_RAW);
    check_style(
        "{}\r\n",
        JsonStyle { line_end: LineEnding::CrLf, final_newline: true, ..JsonStyle::PRETTY_RAW },
    );
    check_style("{\"a\":1}", JsonStyle::COMPACT);
    check_style("[1,2]", JsonStyle::COMPACT);
    check_style("[1, 2]", spaced);
    check_style("[[[{\"a\": 1}]]]", spaced);
    check_style("{\n\t\"a\": 1\n}\n", JsonStyle { layout: tab, ..JsonStyle::PRETTY_RAW_LINE });
    check_style("{\n  \"a\": \"\\u00e9\"\n}", JsonStyle::PRETTY_ASCII);
    check_style("{\n  \"a\": \"\\u00e9 é\"\n}", JsonStyle::PRETTY_RAW);
    check_style("{\n  \"a\": \"\\u001f \\\\u00e9\"\n}", JsonStyle::PRETTY_RAW);
    check_style("{\n  \"a\": \"\\\\\\u00e9\"\n}", JsonStyle::PRETTY_ASCII);
    let ascii = Document::parse_like(b"{\"a\":\"b\"}", &JsonStyle::SPACED_ASCII).unwrap();
    assert_eq!(
        *ascii.style(),
        JsonStyle { layout: JsonLayout::Compact, ..JsonStyle::SPACED_ASCII }
    );
}

#[test]
fn styles_look_as_their_programs_write_them() {
    let value = json!({
        "id": 7,
        "empty": [{}, []],
        "text": "\u{7f} é 😀 \u{8}\u{c}\n\r\t\u{0}\u{1f}\u{2028}\"\\/",
        "x": 1.5,
    });
    let check = |style: JsonStyle, expect: &str| {
        assert_eq!(Document::new(&value, style).unwrap().text(), expect);
    };
    // The first two were printed by Python's json.dumps.
    check(
        JsonStyle::SPACED_ASCII,
        concat!(
            r#"{"id": 7, "empty": [{}, []], "text": "\u007f \u00e9 \ud83d\ude00 \b\f\n\r\t\u0000\u001f"#,
            r#"\u2028\"\\/", "x": 1.5}"#,
        ),
    );
    check(
        JsonStyle::PRETTY_ASCII,
        concat!(
            "{\n  \"id\": 7,\n  \"empty\": [\n    {},\n    []\n  ],\n  \"text\": ",
            r#""\u007f \u00e9 \ud83d\ude00 \b\f\n\r\t\u0000\u001f\u2028\"\\/""#,
            ",\n  \"x\": 1.5\n}",
        ),
    );
    let raw = concat!(
        "{\n  \"id\": 7,\n  \"empty\": [\n    {},\n    []\n  ],\n  \"text\": ",
        "\"\u{7f} é 😀 \\b\\f\\n\\r\\t\\u0000\\u001f\u{2028}\\\"\\\\/\"",
        ",\n  \"x\": 1.5\n}",
    );
    check(JsonStyle::PRETTY_RAW, raw);
    check(JsonStyle::PRETTY_RAW_LINE, &format!("{raw}\n"));
    assert_eq!(serde_json::to_string_pretty(&value).unwrap(), raw);
    check(JsonStyle::COMPACT, &serde_json::to_string(&value).unwrap());
}

#[test]
fn a_record_is_always_one_line() {
    let pretty = RawValue::from_string("{\n  \"a\": [\r\n1]\n}".to_owned()).unwrap();
    for style in styles() {
        for text in [render_line(&sample(), &style).unwrap(), render_line(&pretty, &style).unwrap()]
        {
            assert!(!text.contains(['\n', '\r']), "{text}");
        }
        assert_eq!(
            serde_json::from_str::<Value>(&render_line(&sample(), &style).unwrap()).unwrap(),
            sample()
        );
    }
    let record = json!({"a": [1, 2]});
    assert_eq!(render_line(&record, &JsonStyle::COMPACT).unwrap(), r#"{"a":[1,2]}"#);
    assert_eq!(render_line(&record, &JsonStyle::PRETTY_ASCII).unwrap(), r#"{"a": [1, 2]}"#);
}

#[test]
fn a_value_given_as_text_is_inserted_as_it_is() {
    let number = RawValue::from_string("12345678901234567890123.10".to_owned()).unwrap();
    let mut document = Document::parse(b"{\n  \"a\": 1.0\n}").unwrap();
    document.set(KEY, &number).unwrap();
    assert_eq!(document.text(), "{\n  \"a\": 1.0,\n  \"new\": 12345678901234567890123.10\n}");
}
