//! [`JsonObject`]: builds JSON objects on one line, in which stored values keep their text.

use everturn::tree::JsonTree;
use jiff::Timestamp;

/// A JSON object under construction.
pub(crate) struct JsonObject(String);

impl JsonObject {
    pub(crate) fn new() -> JsonObject {
        JsonObject("{".to_owned())
    }

    /// Adds a member whose value already is JSON.
    pub(crate) fn raw(mut self, key: &str, json: &str) -> JsonObject {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&quoted(key));
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    pub(crate) fn text(self, key: &str, text: &str) -> JsonObject {
        self.raw(key, &quoted(text))
    }

    pub(crate) fn number(self, key: &str, number: u64) -> JsonObject {
        self.raw(key, &number.to_string())
    }

    pub(crate) fn tree(self, key: &str, tree: &JsonTree) -> JsonObject {
        self.raw(key, &tree.to_line())
    }

    /// Adds a time, or `null`.
    pub(crate) fn time(self, key: &str, time: Option<Timestamp>) -> JsonObject {
        match time {
            Some(time) => self.text(key, &time.to_string()),
            None => self.raw(key, "null"),
        }
    }

    pub(crate) fn close(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

fn quoted(text: &str) -> String {
    // Serializing a string cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_one_line_whatever_is_in_it() {
        assert_eq!(JsonObject::new().close(), "{}");
        let tree = JsonTree::parse("{\n \"n\": 1.50, \"half\": \"\\ud800\"}").unwrap();
        let object = JsonObject::new().text("a\n", "日本").number("n", 7).tree("t", &tree);
        let line = object.time("when", None).close();
        assert_eq!(
            line,
            "{\"a\\n\":\"日本\",\"n\":7,\"t\":{\"n\":1.50,\"half\":\"\\ud800\"},\"when\":null}"
        );
    }
}
