//! The versions of a message: the swipes of SillyTavern are the regenerations of a chat log, in both directions.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use everturn_value::tree::{JsonTree, ValueKind};

/// The elements of a list, or none.
fn elements(tree: &JsonTree, path: &[&str]) -> Vec<JsonTree> {
    let list = tree.value_at(path).filter(|list| list.kind() == ValueKind::Array);
    list.map(|list| list.children()).unwrap_or_default().into_iter().map(|(_, one)| one).collect()
}

/// The metadata of a chat log's message for a record of SillyTavern: its other versions, its tokens, how long it took,
/// and whether it is hidden from the model.
pub(super) fn tavern_metadata(record: &JsonTree) -> Map<String, Value> {
    let mut metadata = Map::new();
    let history = earlier_versions(record);
    if !history.is_empty() {
        metadata.insert("is_regenerated".to_owned(), json!(true));
        metadata.insert("regeneration_history".to_owned(), Value::Array(history));
    }
    let tokens = record.text_at(&["extra", "token_count"]);
    let tokens = tokens.and_then(|tokens| tokens.parse::<u64>().ok());
    metadata.extend(tokens.map(|tokens| ("tokens".to_owned(), json!(tokens))));
    let time = |key: &str| record.string_at(&[key])?.parse::<Timestamp>().ok();
    if let (Some(start), Some(end)) = (time("gen_started"), time("gen_finished")) {
        let taken = end.as_millisecond().saturating_sub(start.as_millisecond()).max(0);
        metadata.insert("processing_time_ms".to_owned(), json!(taken));
    }
    if record.text_at(&["is_system"]).as_deref() == Some("true") {
        metadata.insert("is_hidden".to_owned(), json!(true));
    }
    metadata
}

/// The versions that are not the message itself, in order.
fn earlier_versions(record: &JsonTree) -> Vec<Value> {
    let said = record.string_at(&["mes"]).unwrap_or_default();
    let texts: Vec<String> = elements(record, &["swipes"])
        .iter()
        .filter_map(|swipe| swipe.string_at::<&str>(&[]))
        .collect();
    let chosen = record.text_at(&["swipe_id"]).and_then(|id| id.parse::<usize>().ok());
    let agrees = |at: &usize| texts.get(*at) == Some(&said);
    let chosen = chosen.filter(agrees).or_else(|| texts.iter().position(|text| *text == said));
    let infos = elements(record, &["swipe_info"]);
    let versions = texts.iter().enumerate().filter(|(at, _)| Some(*at) != chosen);
    let version = |(at, text): (usize, &String)| {
        let time = infos.get(at).and_then(|info| info.string_at(&["send_date"]));
        let time = time.and_then(|time| time.parse::<Timestamp>().ok());
        let mut version = Map::new();
        version.extend(time.map(|time| ("timestamp".to_owned(), json!(time.to_string()))));
        version.insert("content".to_owned(), json!({"text": text}));
        Value::Object(version)
    };
    versions.map(version).collect()
}

/// The swipes of a message of a chat log that was regenerated: its versions, oldest first, and itself as the chosen one.
pub(super) fn tavern_swipes(message: &JsonTree, text: &str) -> Option<(Vec<String>, usize)> {
    let history = elements(message, &["metadata", "regeneration_history"]);
    let version = |one: &JsonTree| {
        let plain = one.string_at::<&str>(&[]);
        let content =
            || one.string_at(&["content", "text"]).or_else(|| one.string_at(&["content"]));
        plain.or_else(content).or_else(|| one.string_at(&["text"]))
    };
    let mut swipes: Vec<String> = history.iter().filter_map(version).collect();
    let chosen = swipes.len();
    swipes.push(text.to_owned());
    (chosen > 0).then_some((swipes, chosen))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(record: &str) -> Value {
        Value::Object(tavern_metadata(&JsonTree::parse(record).unwrap()))
    }

    #[test]
    fn swipes_become_earlier_versions() {
        let record = r#"{"mes":"B","swipes":["A","B","C"],"swipe_id":1,
            "swipe_info":[{"send_date":"2024-01-02T10:00:00Z"}],"extra":{"token_count":7},
            "gen_started":"2024-01-02T10:00:00.000Z","gen_finished":"2024-01-02T10:00:01.500Z"}"#;
        assert_eq!(
            metadata(record),
            json!({
                "is_regenerated": true,
                "regeneration_history": [
                    {"timestamp": "2024-01-02T10:00:00Z", "content": {"text": "A"}},
                    {"content": {"text": "C"}},
                ],
                "tokens": 7,
                "processing_time_ms": 1500,
            })
        );
        assert_eq!(metadata(r#"{"mes":"A","swipes":["A"],"swipe_id":0}"#), json!({}));
        assert_eq!(metadata(r#"{"mes":"A","is_system":true}"#), json!({"is_hidden": true}));
    }

    #[test]
    fn a_message_that_differs_from_its_versions_keeps_them_all() {
        let found = metadata(r#"{"mes":"X","swipes":["A","B"],"swipe_id":1}"#);
        assert_eq!(found["regeneration_history"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn earlier_versions_become_swipes() {
        let message = r#"{"metadata":{"regeneration_history":["A",{"content":{"text":"B"}}]}}"#;
        let swipes = tavern_swipes(&JsonTree::parse(message).unwrap(), "C");
        assert_eq!(swipes, Some((vec!["A".to_owned(), "B".to_owned(), "C".to_owned()], 2)));
        assert_eq!(tavern_swipes(&JsonTree::object(), "C"), None);
    }
}
