//! The schema and the code name the same requests, fields and codes.

use everturn_requests::{ErrorCode, Request};
use serde_json::Value;

use crate::conversation::{SCHEMA_VALUE, mismatch};

/// The fields that the code accepts, from the message about an unknown one.
fn accepted_fields(name: &str) -> Vec<String> {
    let message = Request::parse(name, r#"{"no such field":1}"#).unwrap_err().message;
    let mut fields: Vec<String> =
        message.split('`').skip(3).step_by(2).map(str::to_owned).collect();
    fields.sort();
    fields
}

#[test]
fn the_schema_has_every_request_with_every_field() {
    for name in Request::NAMES {
        let request = &SCHEMA_VALUE["$defs"][format!("request_{name}")];
        assert_eq!(request["properties"]["request"]["const"], *name, "{name}");
        let properties = request["properties"].as_object().unwrap().keys();
        let mut fields: Vec<String> =
            properties.filter(|key| *key != "id" && *key != "request").cloned().collect();
        fields.sort();
        assert_eq!(fields, accepted_fields(name), "{name}");
    }
    let listed = SCHEMA_VALUE["$defs"]["request"]["oneOf"].as_array().unwrap();
    assert_eq!(listed.len(), Request::NAMES.len());
}

#[test]
fn the_schema_and_the_page_have_every_code() {
    let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    let listed = SCHEMA_VALUE["$defs"]["error"]["properties"]["code"]["enum"].as_array().unwrap();
    let listed: Vec<&str> = listed.iter().filter_map(Value::as_str).collect();
    assert_eq!(listed, codes);
    let page = include_str!("../../../../docs/protocol.md");
    for code in codes {
        assert!(page.contains(&format!("| `{code}` |")), "{code}");
    }
    for name in Request::NAMES {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn the_examples_of_the_page_fit_the_schema() {
    let page = include_str!("../../../../docs/protocol.md");
    let is_line = |line: &&str| line.starts_with("{\"");
    let (mut requests, mut answers) = (0, 0);
    for line in page.lines().filter(is_line) {
        let value: Value = serde_json::from_str(line).unwrap();
        let part = if value.get("request").is_some() { "request" } else { "answer" };
        assert_eq!(mismatch(&value, part), None, "{line}");
        if part == "request" { requests += 1 } else { answers += 1 }
    }
    assert!(requests > 10 && answers > 10, "{requests} requests, {answers} answers");
}

#[test]
fn the_schema_refuses_what_the_code_refuses() {
    for line in [
        r#"{"request":"dance"}"#,
        r#"{"request":"info","turn":1}"#,
        r#"{"request":"append"}"#,
        r#"{"request":"append","data":1}"#,
        r#"{"request":"append","data":{},"key":""}"#,
        r#"{"request":"entries","limit":1001}"#,
        r#"{"request":"rewind","turn":-1}"#,
        r#"{"request":"info","id":null}"#,
    ] {
        let value = serde_json::from_str(line).unwrap();
        assert!(mismatch(&value, "request").is_some(), "{line}");
    }
    for line in [r#"{"ok":{}}"#, r#"{"error":{"code":"odd","message":""}}"#, "{}"] {
        let value = serde_json::from_str(line).unwrap();
        assert!(mismatch(&value, "answer").is_some(), "{line}");
    }
}
