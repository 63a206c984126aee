//! How clients name a session: `SOURCE:FORMAT:ID`, or its ID alone if that is unique.
//!
//! A key is looked up in a list of sessions and never becomes a path. If a source has several sessions of one format
//! with the same ID, `~` and a part of a hash follow.

use std::collections::HashMap;

use everturn::model::SessionRef;
use sha2::{Digest, Sha256};

/// The key of a session whose ID is unique in its source and format.
fn plain_key(source: &str, format: &str, id: &str) -> String {
    format!("{source}:{format}:{id}")
}

/// The first digits of a hash.
pub(crate) fn short_hash(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Assigns keys to sessions.
#[derive(Debug, Default)]
pub(crate) struct KeyAssigner {
    counts: HashMap<String, usize>,
}

impl KeyAssigner {
    /// Counts the sessions of each plain key.
    pub(crate) fn new<'s>(
        sessions: impl Iterator<Item = (&'s str, &'s str, &'s SessionRef)>,
    ) -> KeyAssigner {
        let mut counts = HashMap::new();
        for (source, format, place) in sessions {
            *counts.entry(plain_key(source, format, &place.id)).or_insert(0) += 1;
        }
        KeyAssigner { counts }
    }

    /// The key of a session; `stable` tells sessions with the same ID apart, also after they were moved.
    pub(crate) fn key(&self, source: &str, format: &str, id: &str, stable: &str) -> String {
        let key = plain_key(source, format, id);
        match self.counts.get(&key) {
            Some(count) if *count > 1 => format!("{key}~{}", short_hash(stable.as_bytes())),
            _ => key,
        }
    }
}

#[cfg(test)]
mod tests {
    use everturn::names::FilePath;

    use super::*;

    #[test]
    fn keys_are_unique() {
        let place =
            |path: &str| SessionRef { id: "a".to_owned(), path: FilePath::parse(path).unwrap() };
        let (one, two) = (place("one/a"), place("two/a"));
        let keys = KeyAssigner::new([("root", "game", &one)].into_iter());
        assert_eq!(keys.key("root", "game", "a", "one/a"), "root:game:a");
        let keys = KeyAssigner::new([("root", "game", &one), ("root", "game", &two)].into_iter());
        let (one, two) =
            (keys.key("root", "game", "a", "one/a"), keys.key("root", "game", "a", "two/a"));
        assert!(one != two && one.starts_with("root:game:a~"), "{one} {two}");
    }
}
