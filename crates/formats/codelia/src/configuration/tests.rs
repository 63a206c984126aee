//! Tables of configuration layers and their results.

use serde_json::{Value, json};

use super::SCHEMA;
use everturn_settings::config::{Config, ConfigLayer, layer_for, remove_value, set_value};

fn config(global: &str, project: &str) -> Config {
    let mut config = Config::new(&SCHEMA);
    for (layer, text) in [(ConfigLayer::Global, global), (ConfigLayer::Project, project)] {
        if !text.is_empty() {
            config.add_file(layer, &layer.to_string(), text.as_bytes()).unwrap();
        }
    }
    config
}

#[expect(clippy::needless_pass_by_value, reason = "a table reads better without ampersands")]
fn check(global: &str, project: &str, key: &str, expect: Value) {
    let with_version = |text: &str| match text {
        "" => String::new(),
        _ => format!("{{\"version\":1,{text}}}"),
    };
    let config = config(&with_version(global), &with_version(project));
    assert_eq!(config.get(key).unwrap_or(Value::Null), expect, "{key} of {global} and {project}");
}

#[test]
fn layers_are_merged_field_by_field() {
    let global = r#""model":{"provider":"anthropic","name":"a"}"#;
    check("", "", "model", json!({"provider":"openai","name":"gpt-4.1-mini","reasoning":"medium"}));
    check(global, "", "model", json!({"provider":"anthropic","name":"a","reasoning":"medium"}));
    check(
        global,
        r#""model":{"reasoning":"high"}"#,
        "model",
        json!({"provider":"anthropic","name":"a","reasoning":"high"}),
    );
    check(global, r#""model":{"name":"b"}"#, "model.provider", json!("anthropic"));
    check(r#""x":{"y":[1,2]}"#, r#""x":{"y":[3]}"#, "x.y", json!([3]));
    check(r#""x":{"y":1}"#, r#""x":3"#, "x", json!(3));
    check("", "", "nothing.here", Value::Null);
}

#[test]
fn some_groups_are_merged_otherwise() {
    let rule = |tool: &str| format!(r#"{{"tool":"{tool}"}}"#);
    let allow = |tools: &[&str]| {
        let rules: Vec<String> = tools.iter().map(|tool| rule(tool)).collect();
        format!(r#""permissions":{{"allow":[{}]}}"#, rules.join(","))
    };
    check(
        &allow(&["a", "b"]),
        &allow(&["b", "c"]),
        "permissions.allow",
        json!([{"tool":"a"},{"tool":"b"},{"tool":"b"},{"tool":"c"}]),
    );
    check(
        r#""mcp":{"servers":{"one":{"url":"u","headers":{"a":"b"}},"two":{"url":"t"}}}"#,
        r#""mcp":{"servers":{"one":{"command":"c"}}}"#,
        "mcp.servers",
        json!({"one":{"command":"c"},"two":{"url":"t"}}),
    );
    let checks = |mode: &str, command: &str| {
        format!(
            r#""execution_environment":{{"startup_checks":{{"mode":"{mode}","commands":["{command}"]}}}}"#
        )
    };
    let key = "execution_environment.startup_checks.commands";
    check(&checks("replace", "a"), &checks("append", "b"), key, json!(["a", "b"]));
    check(&checks("append", "a"), &checks("replace", "b"), key, json!(["b"]));
}

#[test]
fn every_layer_counts_before_those_below_it() {
    use ConfigLayer::{Default, Environment, Flag, Global, Project};
    let mut config = config(
        r#"{"version":1,"model":{"name":"global"}}"#,
        r#"{"version":1,"model":{"name":"project"}}"#,
    );
    let names = |config: &Config| {
        let said = config.explain("model.name");
        said.iter().map(|origin| origin.layer).collect::<Vec<_>>()
    };
    assert_eq!(config.get("model.name"), Some(json!("project")));
    config.add_value(Flag, "--set", "model.name", json!("flag")).unwrap();
    config.add_value(Environment, "VAR", "model.name", json!("variable")).unwrap();
    assert_eq!(config.get("model.name"), Some(json!("flag")));
    assert_eq!(names(&config), [Flag, Environment, Project, Global, Default]);
    config.add_value(Flag, "--set", "model.name", json!("later")).unwrap();
    assert_eq!(config.get("model.name"), Some(json!("later")));
}

#[test]
fn a_version_that_is_not_understood_is_an_error() {
    for text in ["{}", r#"{"version":2}"#, r#"{"version":"1"}"#, "[]", "", "{\"version\":1"] {
        let mut config = Config::new(&SCHEMA);
        assert!(
            config.add_file(ConfigLayer::Global, "config.json", text.as_bytes()).is_err(),
            "{text}"
        );
    }
}

fn problems(text: &str) -> Vec<String> {
    Config::find_problems(&SCHEMA, format!("{{\"version\":1,{text}}}").as_bytes())
}

#[test]
fn no_mistake_in_a_rule_permits_more() {
    let bad = r#""permissions":{"allow":[{"tool":"skill_load","skill_name":"no such name!"},
        {"tool":"bash","command":7},{"tool":""},{"command":"ls"},3,{"tool":"read"}],
        "deny":[{"tool":"skill_load","skill_name":""},{"tool":"bash","command":7},4]}"#;
    check(bad, "", "permissions.allow", json!([{"tool": "read"}]));
    check(bad, "", "permissions.deny", json!([{"tool": "skill_load"}, {"tool": "bash"}]));
    assert_eq!(problems(bad).len(), 8, "{:?}", problems(bad));
    assert_eq!(
        problems(r#""permissions":{"allow":[{"tool":"bash","command_glob":"git *"}]}"#),
        [""; 0]
    );
}

#[test]
fn what_is_not_what_it_may_be_is_said_and_left_out() {
    assert_eq!(problems(r#""model":{"name":7}"#), ["model.name is a number, not a string"]);
    assert_eq!(problems(r#""model":[]"#), ["model is an array, not an object"]);
    assert_eq!(
        problems(r#""mcp":{"servers":{"a b":{}}}"#),
        ["mcp.servers: \"a b\" is not a server"]
    );
    check(r#""model":{"name":7}"#, "", "model.name", json!("gpt-4.1-mini"));
    check(r#""unknown":{"kept":[1]}"#, "", "unknown.kept", json!([1]));
}

#[test]
fn a_change_touches_nothing_else() {
    let before = "{\n  \"version\": 1,\n  \"x\": {\"b\": 1.0, \"a\":2},\n  \"model\": {\n    \"name\": \"a\"\n  }\n}\n";
    let change = |bytes: Option<&[u8]>, key: &str, value: Value| {
        set_value(&SCHEMA, "config.json", bytes, key, &value)
            .map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let after = change(Some(before.as_bytes()), "model.name", json!("b")).unwrap();
    assert_eq!(after, before.replace("\"a\"\n", "\"b\"\n"));
    assert_eq!(
        change(None, "model.fast", json!(true)).unwrap(),
        "{\n  \"version\": 1,\n  \"model\": {\n    \"fast\": true\n  }\n}\n"
    );
    // The program refuses a file without a version; a change adds one.
    let added = change(Some(b"{\"a\": 1}"), "tui.theme", json!("dark")).unwrap();
    assert!(added.contains("\"version\": 1") && added.contains("\"a\": 1"), "{added}");
    assert!(change(Some(b"{\"version\": 2}"), "tui.theme", json!("dark")).is_err());
    assert!(change(None, "model.name", json!(7)).is_err());
    assert!(change(None, "version", json!(2)).is_err());
    assert!(change(None, "model..name", json!("x")).is_err());
    assert!(change(None, "", json!("x")).is_err());
    assert_eq!(remove_value(&SCHEMA, "", before.as_bytes(), "nothing").unwrap(), None);
    let gone = remove_value(&SCHEMA, "", before.as_bytes(), "model.name").unwrap().unwrap();
    assert!(!String::from_utf8(gone).unwrap().contains("name"));
}

#[test]
fn a_change_goes_where_the_setting_is_or_belongs() {
    let none = config("", "");
    let expect = |config: &Config, key: &str, layer: ConfigLayer| {
        assert_eq!(layer_for(config, key), layer, "{key}");
    };
    for key in ["model.name", "experimental.x", "tui.theme", "other"] {
        expect(&none, key, ConfigLayer::Global);
    }
    for key in
        ["permissions.allow", "mcp.servers", "skills.x", "execution_environment.x", "search.x"]
    {
        expect(&none, key, ConfigLayer::Project);
    }
    let sticky = config(
        r#"{"version":1,"search":{"mode":"a"},"model":{"name":"g"}}"#,
        r#"{"version":1,"model":{"name":"p"}}"#,
    );
    expect(&sticky, "search.mode", ConfigLayer::Global);
    expect(&sticky, "model.name", ConfigLayer::Project);
    expect(&sticky, "model.provider", ConfigLayer::Global);
}
