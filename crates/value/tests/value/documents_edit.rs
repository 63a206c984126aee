//! Single edits of documents, byte for byte, and refused edits.

#![cfg(test)]

use everturn_json::finding::FindingCode;
use everturn_json::names::FilePath;
use everturn_value::document::{Document, EditError, ParseError, PathSegment};
use serde_json::{Value, json};

/// Parses a JSON pointer; a number is an index.
fn path(pointer: &str) -> Vec<PathSegment<'_>> {
    pointer
        .split('/')
        .skip(1)
        .map(|part| part.parse().map_or(PathSegment::Key(part), PathSegment::Index))
        .collect()
}

fn document(text: &str) -> Document {
    Document::parse(text.as_bytes()).unwrap()
}

fn check_set(text: &str, at: &str, value: Value, expect: &str) {
    let mut document = document(text);
    document.set(&path(at), &value).unwrap();
    assert_eq!(document.text(), expect, "{text:?} with {at} set");
    assert_eq!(document, Document::parse_like(expect.as_bytes(), document.style()).unwrap());
    assert_eq!(document.value(&path(at)).unwrap(), Some(value));
}

#[test]
fn a_replaced_value_leaves_all_other_bytes() {
    check_set("{ \"a\" : 1.0,\"b\":1e5 }\n", "/a", json!(2), "{ \"a\" : 2,\"b\":1e5 }\n");
    check_set("[1,[2,3]]", "/1/0", json!("x"), "[1,[\"x\",3]]");
    check_set("5 \n", "", json!([1, 2]), "[\n  1,\n  2\n] \n");
    check_set("{\"\\u0061\":1}", "/a", json!(null), "{\"\\u0061\":null}");
    check_set("{\"a\":1,\"a\":2}", "/a", json!(3), "{\"a\":1,\"a\":3}");
    check_set(
        "{\n  \"a\": {\n    \"b\": 1\n  }\n}",
        "/a/b",
        json!({"c": [1, {}]}),
        "{\n  \"a\": {\n    \"b\": {\n      \"c\": [\n        1,\n        {}\n      ]\n    }\n  }\n}",
    );
}

#[test]
fn a_new_entry_goes_to_the_end_and_looks_like_the_others() {
    check_set("{\"a\":1}", "/b", json!([1, 2]), "{\"a\":1,\"b\":[1,2]}");
    check_set("{\"a\": 1}", "/b", json!([1, 2]), "{\"a\": 1, \"b\": [1, 2]}");
    check_set("{\"a\" : 1 }", "/b", json!(2), "{\"a\" : 1, \"b\" : 2 }");
    check_set("{\n\t\"a\": 1\n}", "/b", json!([2]), "{\n\t\"a\": 1,\n\t\"b\": [\n\t\t2\n\t]\n}");
    check_set("{\r\n \"a\": 1\r\n}\r\n", "/b", json!(2), "{\r\n \"a\": 1,\r\n \"b\": 2\r\n}\r\n");
    check_set(
        "{\n  \"a\": [1, 2]\n}",
        "/a/2",
        json!({"x": 3}),
        "{\n  \"a\": [1, 2, {\"x\": 3}]\n}",
    );
    check_set(
        "{\n   \"a\": 1,\n     \"b\": 2}",
        "/c",
        json!(3),
        "{\n   \"a\": 1,\n     \"b\": 2,\n     \"c\": 3}",
    );
    check_set(
        "{\"a\":\"\\u00e9\"}",
        "/é",
        json!("😀"),
        "{\"a\":\"\\u00e9\",\"\\u00e9\":\"\\ud83d\\ude00\"}",
    );
}

#[test]
fn an_empty_container_is_opened_in_the_style_of_what_is_around_it() {
    check_set("{}", "/a", json!(1), "{\n  \"a\": 1\n}");
    check_set("[ \n ]\n", "/0", json!([]), "[\n  []\n]\n");
    check_set("{\"a\":{}}", "/a/b", json!(1), "{\"a\":{\"b\":1}}");
    check_set("{\"a\": {}}", "/a/b", json!(1), "{\"a\": {\"b\": 1}}");
    check_set("{\n  \"a\": {}\n}", "/a/b", json!(1), "{\n  \"a\": {\n    \"b\": 1\n  }\n}");
    check_set("{\n  \"a\": [{}, {}]\n}", "/a/1/b", json!(1), "{\n  \"a\": [{}, {\"b\": 1}]\n}");
}

#[test]
fn missing_objects_are_made_on_the_way() {
    check_set("{\"z\":0}", "/a/b/c", json!(1), "{\"z\":0,\"a\":{\"b\":{\"c\":1}}}");
    check_set(
        "{\n  \"z\": 0\n}",
        "/a/b/c",
        json!([1]),
        "{\n  \"z\": 0,\n  \"a\": {\n    \"b\": {\n      \"c\": [\n        1\n      ]\n    }\n  }\n}",
    );
    check_set("[1, 2]", "/2/k", json!(3), "[1, 2, {\"k\": 3}]");
}

fn check_remove(text: &str, at: &str, expect: &str) {
    let mut document = document(text);
    assert!(document.remove(&path(at)).unwrap(), "{at} in {text:?}");
    assert_eq!(document.text(), expect, "{text:?} without {at}");
    assert_eq!(document.get(&path(at)).is_some(), at.ends_with("/0") && expect != "[]");
    assert_eq!(document, Document::parse_like(expect.as_bytes(), document.style()).unwrap());
}

#[test]
fn what_is_left_after_a_removal_is_tidy() {
    let three = "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n";
    check_remove(three, "/a", "{\n  \"b\": 2,\n  \"c\": 3\n}\n");
    check_remove(three, "/b", "{\n  \"a\": 1,\n  \"c\": 3\n}\n");
    check_remove(three, "/c", "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
    check_remove("{\n  \"a\": 1\n}\n", "/a", "{}\n");
    check_remove("[1, 2, 3]", "/0", "[2, 3]");
    check_remove("[ 1 , 2 , 3 ]", "/2", "[ 1 , 2 ]");
    check_remove("[1]", "/0", "[]");
    check_remove("{\"a\":{\"b\":1,\"c\":2}}", "/a/c", "{\"a\":{\"b\":1}}");
    check_remove("{\"a\":1,\"b\":2,\"\\u0061\":3,\"a\":4}", "/a", "{\"b\":2}");
}

#[test]
fn removing_what_is_not_there_changes_nothing() {
    for at in ["/x", "/a/5", "/x/y/0"] {
        let mut document = document("{\"a\":[1]}");
        assert!(!document.remove(&path(at)).unwrap(), "{at}");
        assert_eq!(document.text(), "{\"a\":[1]}");
    }
}

#[test]
fn elements_are_pushed_to_the_end() {
    let mut document = document("{\"a\":[],\"b\":[1]}");
    document.push(&path("/a"), &1).unwrap();
    document.push(&path("/a"), "two").unwrap();
    document.push(&path("/b"), &json!({})).unwrap();
    assert_eq!(document.text(), "{\"a\":[1,\"two\"],\"b\":[1,{}]}");
}

fn check_refused(text: &str, edit: fn(&mut Document) -> Result<(), EditError>, expect: &str) {
    let mut document = document(text);
    let error = edit(&mut document).unwrap_err();
    assert_eq!(error.to_string(), expect);
    assert_eq!(document.text(), text);
}

#[test]
fn edits_that_make_no_sense_are_refused_and_change_nothing() {
    let text = "{\"a\": {\"b\": 1, \"c\": [1]}, \"d/e\": \"x\"}";
    let set = |document: &mut Document, at| document.set(&path(at), &0);
    check_refused(
        text,
        |d| d.set(&path("/a/b/x/y"), &0),
        "cannot change \"/a/b/x/y\": \"/a/b\" is a number, not an object",
    );
    check_refused(
        text,
        |d| d.set(&path("/a/0"), &0),
        "cannot change \"/a/0\": \"/a\" is an object, not an array",
    );
    check_refused(
        text,
        |d| d.set(&path("/a/c/x"), &0),
        "cannot change \"/a/c/x\": \"/a/c\" is an array, not an object",
    );
    check_refused(
        text,
        |d| d.set(&["d/e".into(), 1.into()], &0),
        "cannot change \"/d~1e/1\": \"/d~1e\" is a string, not an array",
    );
    check_refused(
        text,
        |d| d.set(&path("/a/c/2"), &0),
        "cannot change \"/a/c/2\": the array has 1 elements, so there is no index 2",
    );
    check_refused(
        text,
        |d| d.set(&path("/n/m/0"), &0),
        "cannot change \"/n/m/0\": there is no array at \"/n/m\"",
    );
    check_refused(
        text,
        |d| d.push(&path("/n"), &0),
        "cannot change \"/n\": there is no array at \"/n\"",
    );
    check_refused(
        text,
        |d| d.push(&path("/a"), &0),
        "cannot change \"/a\": \"/a\" is an object, not an array",
    );
    check_refused(text, |d| d.remove(&[]).map(drop), "cannot remove the root of a document");
    check_refused(
        text,
        |d| d.remove(&path("/a/b/c")).map(drop),
        "cannot change \"/a/b/c\": \"/a/b\" is a number, not an object",
    );
    let not_json = std::collections::HashMap::from([((1, 2), 3)]);
    let mut document = document(text);
    assert!(matches!(document.set(&path("/a"), &not_json), Err(EditError::Write { .. })));
    assert!(matches!(document.set(&path("/q"), &not_json), Err(EditError::Write { .. })));
    assert_eq!(document.text(), text);
    assert!(set(&mut document, "/a").is_ok());
}

fn check_bad(bytes: &[u8], expect: &str) {
    assert_eq!(Document::parse(bytes).unwrap_err().to_string(), expect);
}

#[test]
fn a_text_that_is_not_a_document_is_refused_with_the_place() {
    check_bad(b"", "the document is empty (0 bytes without content)");
    check_bad(b"\xef\xbb\xbf \n", "the document is empty (5 bytes without content)");
    check_bad(b"\0\0\0", "the document is empty (3 bytes without content)");
    check_bad(
        b"{\n  \"\xc3\xa9\": x}",
        "not JSON in line 2, column 8, byte 10: found `x` instead of a value",
    );
    check_bad(
        b"{} {}",
        "not JSON in line 1, column 4, byte 3: found `{` instead of the end of the document",
    );
    check_bad(
        b"{}\0",
        "not JSON in line 1, column 3, byte 2: found a NUL byte instead of the end of the document",
    );
    check_bad(b"// x\n{}", "not JSON in line 1, column 1, byte 0: found `/` instead of a value");
    check_bad(
        b"\xef\xbb\xbf[1,\n",
        "not JSON in line 2, column 1, byte 7: the text ends inside an array",
    );
    check_bad(
        b"[\"a\n\"]",
        "not JSON in line 1, column 4, byte 3: control character 0x0a in a string",
    );
    check_bad(
        b"\xef\xbb\xbf[x]",
        "not JSON in line 1, column 2, byte 4: found `x` instead of a value or `]`",
    );
    check_bad(b"[\n\"\xff\"]", "not UTF-8 in line 2, byte 3");
}

#[test]
fn a_parse_error_is_a_finding_too() {
    let file = FilePath::parse("campaign.json").unwrap();
    let finding = |bytes: &[u8]| {
        let finding = Document::parse(bytes).unwrap_err().finding(&file);
        (finding.code, finding.line, finding.offset)
    };
    assert_eq!(finding(b" "), (FindingCode::EmptyDocument, None, None));
    assert_eq!(finding(b"[\n}"), (FindingCode::BadDocument, Some(2), Some(2)));
    assert_eq!(finding(b"\"\xff\""), (FindingCode::NotUtf8, Some(1), Some(1)));
    assert!(matches!(Document::parse(b""), Err(ParseError::Empty { bytes: 0 })));
}

#[test]
fn keys_that_come_twice_are_reported_and_the_last_one_is_read() {
    let document = document("{\"a\": 1,\n \"b\": {\"x\": 1, \"\\u0078\": 2}, \"a\": 3}");
    assert_eq!(document.get(&path("/a")), Some("3"));
    assert_eq!(document.get(&path("/b/x")), Some("2"));
    let findings: Vec<String> = document
        .findings(&FilePath::parse("f.json").unwrap())
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        findings,
        [
            "f.json, line 2, byte 24: duplicate key \"\\u0078\"; this value takes precedence (duplicate-key)",
            "f.json, line 2, byte 38: duplicate key \"a\"; this value takes precedence (duplicate-key)",
        ]
    );
}

#[test]
fn values_are_read_by_type_or_say_why_not() {
    let document = document(
        "{\"n\": 12345678901234567890123, \"big\": 1e999, \"s\": \"\\ud800\", \"t\": [1, 2]}",
    );
    assert_eq!(document.read::<Vec<u8>>(&path("/t")).unwrap(), Some(vec![1, 2]));
    assert_eq!(document.read::<Vec<u8>>(&path("/x")).unwrap(), None);
    assert_eq!(document.value(&path("/n")).unwrap(), Some(json!(12345678901234567890123_f64)));
    let error = |at: &str| document.value(&path(at)).unwrap_err().to_string();
    assert_eq!(
        error("/big"),
        "cannot read \"/big\" at byte 38: number out of range at line 1 column 5"
    );
    assert!(error("/s").starts_with("cannot read \"/s\" at byte 50: "), "{}", error("/s"));
    assert!(document.read::<u8>(&path("/t")).is_err());
}

#[test]
fn a_deep_document_is_read_and_edited_where_it_is_shallow() {
    let deep = ["[{\"k\":".repeat(5_000), "0".to_owned(), "}]".repeat(5_000)].concat();
    let text = format!("{{\"top\": 1, \"deep\": {deep}}}");
    let mut document = document(&text);
    assert!(document.get(&path("/deep")) == Some(deep.as_str()));
    assert_eq!(document.get(&path("/deep/0/k/0/k")).map(str::len), Some(deep.len() - 16));
    assert!(document.value(&path("/deep")).unwrap_err().to_string().contains("recursion limit"));
    document.set(&path("/top"), &2).unwrap();
    document.set(&path("/deep/0/n"), &3).unwrap();
    document.push(&path("/deep"), &4).unwrap();
    let inner = &deep[..deep.len() - 2];
    let expect = format!("{{\"top\": 2, \"deep\": {inner}, \"n\":3}}, 4]}}");
    assert!(document.text() == expect, "{:?}", &document.text()[document.text().len() - 40..]);
    assert!(document.findings(&FilePath::root()).is_empty());
    assert!(document.remove(&path("/deep")).unwrap());
    assert_eq!(document.text(), "{\"top\": 2}");
}
