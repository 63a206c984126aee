//! The document of a campaign, as text and as a tree.

use serde_json::Value;

use super::error::CampaignError;
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_store::Fingerprint;
use everturn_value::delta::{DeltaOp, diff};
use everturn_value::document::{Document, JsonStyle, PathSegment};
use everturn_value::tree::{JsonTree, ValueKind};

/// A document that was read, or is to be written.
#[derive(Debug, Clone)]
pub(crate) struct CampaignDocument {
    document: Document,
    pub(crate) tree: JsonTree,
}

impl CampaignDocument {
    /// Parses a file, which must contain an object.
    pub(crate) fn parse(file: &FilePath, bytes: &[u8]) -> Result<CampaignDocument, CampaignError> {
        let damaged = |reason: String| CampaignError::damaged(file, reason);
        let document = Document::parse_like(bytes, &JsonStyle::PRETTY_ASCII)
            .map_err(|error| damaged(error.to_string()))?;
        let text = document.get(&[]).unwrap_or_default().to_owned();
        let end = text.len();
        let tree = JsonTree::from_trusted(text.into(), 0..end);
        if tree.kind() != ValueKind::Object {
            return Err(damaged(format!("it is {}, not an object", tree.kind())));
        }
        Ok(CampaignDocument { document, tree })
    }

    /// Creates a document in the style of the upstream program.
    pub(crate) fn new(value: &Value) -> Option<CampaignDocument> {
        let document = Document::new(value, JsonStyle::PRETTY_ASCII).ok()?;
        let tree = JsonTree::parse(document.text()).ok()?;
        Some(CampaignDocument { document, tree })
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.document.text().as_bytes().to_vec()
    }

    /// Returns one finding for every duplicate key.
    pub(crate) fn findings(&self, file: &FilePath) -> Vec<Finding> {
        self.document.findings(file)
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.document.text().as_bytes())
    }

    /// Returns the document with new content. Only the differences are rewritten.
    pub(crate) fn with(&self, tree: JsonTree) -> CampaignDocument {
        let document = self.edited(&tree).unwrap_or_else(|| {
            let text = tree.to_text(self.document.style());
            let written = Document::parse_like(text.as_bytes(), self.document.style());
            written.unwrap_or_else(|_| self.document.clone())
        });
        CampaignDocument { document, tree }
    }

    /// Returns the text with the changes made in place, or `None` if that is not possible.
    fn edited(&self, tree: &JsonTree) -> Option<Document> {
        let mut document = self.document.clone();
        for delta in diff(&self.tree, tree) {
            let mut path: Vec<PathSegment<'_>> = Vec::new();
            for segment in delta.path.segments() {
                let is_array = document.get(&path).is_some_and(|text| text.starts_with('['));
                path.push(match is_array {
                    true => PathSegment::Index(segment.parse().ok()?),
                    false => PathSegment::Key(segment),
                });
            }
            let value = delta.value.as_ref().map(|value| value.to_value().ok());
            match (delta.op, value.flatten()) {
                (DeltaOp::Set, Some(value)) => document.set(&path, &value).ok()?,
                (DeltaOp::Push, Some(value)) => document.push(&path, &value).ok()?,
                (DeltaOp::Delete, _) => drop(document.remove(&path).ok()?),
                _ => return None,
            }
        }
        let text = document.get(&[])?.to_owned();
        let written = JsonTree::parse(text).ok()?;
        written.is_same(tree).then_some(document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_different_is_written_anew() {
        let file = FilePath::parse("campaign.json").unwrap();
        let text = "{ \"a\": [1,2],\n  \"b\": {\"x\": 1.50}, \"c\": \"\\u00e9\" }\n";
        let stored = CampaignDocument::parse(&file, text.as_bytes()).unwrap();
        assert_eq!(stored.bytes(), text.as_bytes());
        let after =
            JsonTree::parse(r#"{"a":[1,2,3],"b":{"x":1.50},"c":"ü","d":{"e":null}}"#).unwrap();
        let written = stored.with(after.clone());
        let shown = String::from_utf8(written.bytes()).unwrap();
        assert!(
            shown.starts_with("{ \"a\": [1,2,3],\n  \"b\": {\"x\": 1.50}, \"c\": \"\\u00fc\""),
            "{shown}"
        );
        assert!(JsonTree::parse(shown.trim().to_owned()).unwrap().is_same(&after), "{shown}");
    }

    #[test]
    fn what_is_no_object_is_damaged() {
        let file = FilePath::parse("campaign.json").unwrap();
        for text in ["", "[]", "{", "{}x", "\0\0", "\"a\""] {
            assert!(CampaignDocument::parse(&file, text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
