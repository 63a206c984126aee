//! The values of channels: stored whole, or as what was added to a list since an earlier version.
//!
//! In a stored checkpoint, `values` has for each new channel version either `{"version", "value"}` or
//! `{"version", "base", "keep", "add"}`: the first `keep` elements of the version `base`, and then `add`. A version is
//! looked up in the checkpoint itself, and then in earlier ones of the same namespace, the last one first.

use std::collections::HashMap;

use crate::record::ThreadRecord;
use everturn_session::format::SessionError;
use everturn_value::tree::{JsonTree, ValueKind};

/// Identifies a version of a channel: namespace, channel, version as JSON text.
type VersionKey = (String, String, String);

/// One stored version of a channel.
#[derive(Debug, Clone)]
struct StoredValue {
    /// The position of its checkpoint among all records.
    position: usize,
    record: JsonTree,
    /// The size of the value that was last stored whole, and of all additions since.
    whole: usize,
    added: usize,
}

/// All stored versions of all channels of a thread.
#[derive(Debug, Default)]
pub(crate) struct ChannelValues {
    versions: HashMap<VersionKey, Vec<StoredValue>>,
    /// The version of each channel that was stored last.
    latest: HashMap<(String, String), String>,
    /// The elements of that version as text, of channels whose last version is a list.
    lists: HashMap<(String, String), Vec<String>>,
}

/// The elements of a list as text; `None` if it is not a list.
fn element_texts(list: &JsonTree) -> Option<Vec<String>> {
    let is_list = list.kind() == ValueKind::Array;
    is_list.then(|| list.children().iter().map(|(_, element)| element.to_line()).collect())
}

impl ChannelValues {
    /// Adds the values that a checkpoint stores.
    pub(crate) fn add(&mut self, position: usize, checkpoint: &ThreadRecord) {
        let ns = checkpoint.namespace();
        let stored = checkpoint.tree.value_at(&["values"]).map(|all| all.children());
        for (channel, record) in stored.unwrap_or_default() {
            let Some(version) = record.value_at(&["version"]) else { continue };
            let size = record.to_line().len();
            let base = record.value_at(&["base"]).map(|base| base.to_line());
            let base = base.and_then(|base| self.find(&ns, &channel, &base, position));
            let (whole, added) = match base {
                Some(base) => (base.whole, base.added + size),
                None => (size, 0),
            };
            self.add_elements((ns.clone(), channel.clone()), &record);
            let key = (ns.clone(), channel.clone(), version.to_line());
            let value = StoredValue { position, record, whole, added };
            self.versions.entry(key).or_default().push(value);
            self.latest.insert((ns.clone(), channel), version.to_line());
        }
    }

    /// Keeps the elements of a list that is stored after the last version of its channel.
    fn add_elements(&mut self, key: (String, String), record: &JsonTree) {
        let before = self.lists.remove(&key);
        let elements = match record.value_at(&["value"]) {
            Some(value) => element_texts(&value),
            None => {
                let base = record.value_at(&["base"]).map(|base| base.to_line());
                let before =
                    before.filter(|_| base.is_some() && base == self.latest.get(&key).cloned());
                let keep = record.value_at(&["keep"]).and_then(|keep| keep.to_line().parse().ok());
                let add = record.value_at(&["add"]).and_then(|add| element_texts(&add));
                before.zip(keep).zip(add).map(|((mut elements, keep), add)| {
                    elements.truncate(keep);
                    elements.extend(add);
                    elements
                })
            }
        };
        if let Some(elements) = elements {
            self.lists.insert(key, elements);
        }
    }

    /// The last stored value of a version before a position.
    fn find(&self, ns: &str, channel: &str, version: &str, end: usize) -> Option<&StoredValue> {
        let key = (ns.to_owned(), channel.to_owned(), version.to_owned());
        self.versions.get(&key)?.iter().rev().find(|value| value.position < end)
    }

    /// Whether a version of a channel is stored.
    pub(crate) fn contains(&self, ns: &str, channel: &str, version: &str) -> bool {
        self.find(ns, channel, version, usize::MAX).is_some()
    }

    /// The value of a version, as the checkpoint at `position` sees it; `None` if it has none.
    pub(crate) fn resolve(
        &self,
        ns: &str,
        channel: &str,
        version: &str,
        position: usize,
    ) -> Result<Option<JsonTree>, SessionError> {
        let Some(mut stored) = self.find(ns, channel, version, position.saturating_add(1)) else {
            return Ok(None);
        };
        let mut additions = Vec::new();
        loop {
            if let Some(value) = stored.record.value_at(&["value"]) {
                return match additions.is_empty() {
                    true => Ok(Some(value)),
                    false => Ok(Some(join(&value, &additions))),
                };
            }
            let damaged = || {
                let what = format!(
                    "channel {channel:?}: version {version} refers to a version that is missing"
                );
                SessionError::damaged(what)
            };
            let base = stored.record.value_at(&["base"]).ok_or_else(damaged)?.to_line();
            let keep = stored.record.value_at(&["keep"]).ok_or_else(damaged)?.to_line();
            let keep: usize = keep.parse().map_err(|_| damaged())?;
            let add = stored.record.value_at(&["add"]).ok_or_else(damaged)?;
            additions.push((keep, add));
            stored = self.find(ns, channel, &base, stored.position).ok_or_else(damaged)?;
        }
    }

    /// What a new checkpoint stores of a value; `None` if its version is stored already with this value.
    pub(crate) fn encode(
        &self,
        ns: &str,
        channel: &str,
        version: &JsonTree,
        value: &JsonTree,
    ) -> Result<Option<JsonTree>, SessionError> {
        let (name, end) = (version.to_line(), usize::MAX - 1);
        if self.resolve(ns, channel, &name, end)?.is_some_and(|known| known.is_same(value)) {
            return Ok(None);
        }
        let whole = || {
            let value = ("value".to_owned(), value.clone());
            JsonTree::from_members([("version".to_owned(), version.clone()), value])
        };
        let key = (ns.to_owned(), channel.to_owned());
        let lists = self.latest.get(&key).zip(self.lists.get(&key)).zip(element_texts(value));
        let Some(((base, old), new)) = lists else { return Ok(Some(whole())) };
        let is_same = |old: &str, new: &str| {
            let value = JsonTree::from_trusted_str;
            old == new || value(old).is_same(&value(new))
        };
        let keep = old.iter().zip(&new).take_while(|(old, new)| is_same(old, new)).count();
        let add = new.get(keep..).unwrap_or_default().join(",");
        let add = JsonTree::from_trusted_str(&format!("[{add}]"));
        let sums = self.find(ns, channel, base, end).map(|base| (base.whole, base.added));
        // All additions together stay smaller than the value that they extend, so a log grows like its contents.
        let is_small =
            sums.is_some_and(|(whole, added)| added + add.to_line().len() < whole.max(1024));
        if keep == 0 || !is_small {
            return Ok(Some(whole()));
        }
        let number = JsonTree::from_trusted_str(&keep.to_string());
        Ok(Some(JsonTree::from_members([
            ("version".to_owned(), version.clone()),
            ("base".to_owned(), JsonTree::from_trusted_str(base)),
            ("keep".to_owned(), number),
            ("add".to_owned(), add),
        ])))
    }
}

/// Applies additions, the last one first, to a list.
fn join(value: &JsonTree, additions: &[(usize, JsonTree)]) -> JsonTree {
    let mut elements: Vec<JsonTree> = value.children().into_iter().map(|(_, one)| one).collect();
    for (keep, add) in additions.iter().rev() {
        elements.truncate(*keep);
        elements.extend(add.children().into_iter().map(|(_, one)| one));
    }
    array(elements.iter())
}

/// An array of values.
pub(crate) fn array<'t>(elements: impl Iterator<Item = &'t JsonTree>) -> JsonTree {
    let texts: Vec<String> = elements.map(JsonTree::to_line).collect();
    JsonTree::from_trusted_str(&format!("[{}]", texts.join(",")))
}
