//! The items of a thread.

use std::time::Instant;

use everturn::thread::{RecordType, ThreadRecord};
use everturn::tree::JsonTree;
use everturn_requests::{ErrorCode, RequestError};
use serde_json::json;

use super::{ThreadBinding, list, session_error};

fn parse(text: &str) -> Result<JsonTree, RequestError> {
    JsonTree::parse(text).map_err(|error| RequestError::new(ErrorCode::BadJson, error.to_string()))
}

fn conflict(what: &str) -> RequestError {
    RequestError::new(ErrorCode::Conflict, what)
}

impl ThreadBinding {
    /// The item records, in order. Empty if the thread does not exist.
    pub fn items(&self) -> Result<String, RequestError> {
        let items = self.read(|thread| {
            let items = thread.records().iter().filter(|record| record.kind == RecordType::Item);
            Ok(list(items.map(|record| record.tree.to_line())))
        })?;
        Ok(items.unwrap_or_else(|| "[]".to_owned()))
    }

    /// Keeps the first `keep` items, removes the others, and appends `records`, in one commit. Returns the removed items.
    pub fn replace_items(&self, keep: usize, records: &[&str]) -> Result<String, RequestError> {
        let (mut seen, mut removed) = (0, Vec::new());
        self.retain(records, |record| {
            if record.kind != RecordType::Item {
                return true;
            }
            seen += 1;
            let is_kept = seen <= keep;
            if !is_kept {
                removed.push(record.tree.to_line());
            }
            is_kept
        })?;
        Ok(list(removed))
    }

    /// Removes the last item and returns it; `None` if there is none.
    pub fn pop_item(&self) -> Result<Option<String>, RequestError> {
        self.access.with(|access| {
            if !access.lock(self.wait, None)? {
                return Ok(None);
            }
            let now = access.root.now();
            let writer = access.writer()?;
            let items = writer.thread().records().iter();
            let mut items = items.filter(|record| record.kind == RecordType::Item);
            let count = items.clone().count();
            let Some(last) = items.next_back().map(|record| record.tree.to_line()) else {
                return Ok(None);
            };
            let mut seen = 0;
            let keep = |record: &ThreadRecord| {
                seen += usize::from(record.kind == RecordType::Item);
                record.kind != RecordType::Item || seen < count
            };
            writer.retain(keep, &[], now).map_err(session_error)?;
            access.used = Instant::now();
            Ok(Some(last))
        })
    }

    /// Replaces the last items in one commit. Fails with a conflict, and changes nothing, if the last items are not
    /// `expected`, the JSON of the objects in their member `item`.
    ///
    /// `operation` is an idempotency key and the digest of the whole change. A change that is sent again is applied
    /// once, and false is returned. A key with another digest is a conflict.
    pub fn replace_suffix(
        &self,
        header: &str,
        (expected, records): (&[&str], &[&str]),
        operation: Option<(&str, &str)>,
    ) -> Result<bool, RequestError> {
        let expected = expected.iter().map(|text| parse(text));
        let expected: Vec<JsonTree> = expected.collect::<Result<_, _>>()?;
        let mut add = Vec::new();
        if let Some((key, digest)) = operation {
            let record = json!({"type": "operation", "operation": key, "digest": digest});
            add.push(record.to_string());
        }
        // The key is before the items, so a rewind that keeps one of them keeps the key.
        add.extend(records.iter().map(|text| (*text).to_owned()));
        let add: Vec<&str> = add.iter().map(String::as_str).collect();
        self.access.with(|access| {
            access.lock(self.wait, Some(header))?;
            let now = access.root.now();
            let writer = access.writer()?;
            let all = writer.thread().records();
            if let Some((key, digest)) = operation
                && let Some(stored) = find_operation(all, key)
            {
                return match stored.text("digest").as_deref() == Some(digest) {
                    true => Ok(false),
                    false => Err(conflict("the operation was applied with another change")),
                };
            }
            let items: Vec<&ThreadRecord> = all.iter().filter(is_item).collect();
            let keep = items.len().checked_sub(expected.len());
            let keep = keep.filter(|keep| {
                let mut last = items.iter().skip(*keep).zip(&expected);
                let is_same = |(stored, wanted): (&&ThreadRecord, &JsonTree)| {
                    stored.tree.value_at(&["item"]).is_some_and(|item| item.is_same(wanted))
                };
                last.all(is_same)
            });
            let keep = keep.ok_or_else(|| conflict("the last items are not the expected ones"))?;
            let mut seen = 0;
            let is_kept = |record: &ThreadRecord| {
                seen += usize::from(is_item(&record));
                !is_item(&record) || seen <= keep
            };
            writer.retain(is_kept, &add, now).map_err(session_error)?;
            access.used = Instant::now();
            Ok(true)
        })
    }

    /// Removes all items, and the idempotency keys of changes of items.
    pub fn clear_items(&self) -> Result<(), RequestError> {
        let is_removed =
            |kind: RecordType| matches!(kind, RecordType::Item | RecordType::Operation);
        self.retain(&[], |record| !is_removed(record.kind)).map(drop)
    }
}

fn is_item(record: &&ThreadRecord) -> bool {
    record.kind == RecordType::Item
}

fn find_operation<'a>(records: &'a [ThreadRecord], key: &str) -> Option<&'a ThreadRecord> {
    let mut operations = records.iter().filter(|record| record.kind == RecordType::Operation);
    operations.find(|record| record.text("operation").as_deref() == Some(key))
}
