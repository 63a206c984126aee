//! Builds objects on one line: [`LineBuilder`].

use everturn_value::tree::{JsonTree, TextSlice, TreeNode};

/// Builds an object on one line, field by field.
pub(super) struct LineBuilder(String);

impl LineBuilder {
    pub(super) fn new() -> LineBuilder {
        LineBuilder("{".to_owned())
    }

    pub(super) fn field(&mut self, key: &str, json: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        push_string(&mut self.0, key);
        self.0.push(':');
        self.0.push_str(json);
    }

    pub(super) fn string(&mut self, key: &str, text: &str) {
        self.field(key, &serde_json::to_string(text).unwrap_or_default());
    }

    /// Adds a text, or `null` if there is none.
    pub(super) fn optional_string(&mut self, key: &str, text: Option<&str>) {
        match text {
            Some(text) => self.string(key, text),
            None => self.field(key, "null"),
        }
    }

    /// Adds a value, or `null` if there is none.
    pub(super) fn optional_tree(&mut self, key: &str, tree: Option<&JsonTree>) {
        let text = tree.map_or_else(|| "null".to_owned(), JsonTree::to_line);
        self.field(key, &text);
    }

    pub(super) fn list(&mut self, key: &str, list: &[JsonTree]) {
        let texts: Vec<String> = list.iter().map(JsonTree::to_line).collect();
        self.field(key, &format!("[{}]", texts.join(",")));
    }

    fn close(mut self) -> String {
        self.0.push('}');
        self.0
    }

    /// Returns the object as a line, with its newline.
    pub(super) fn into_line(self) -> String {
        let mut line = self.close();
        line.push('\n');
        line
    }

    /// Returns the object as a value.
    pub(super) fn into_tree(self) -> JsonTree {
        JsonTree(TreeNode::Text(TextSlice::from_text(self.close())))
    }
}

/// Adds a text in quotes.
pub(super) fn push_string(out: &mut String, text: &str) {
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}
