//! [`NativeThread`]: a thread of an agent framework.

use std::sync::Arc;

use everturn_bindings::ThreadBinding;
use napi::bindgen_prelude::Result;
use napi_derive::napi;

use crate::blocking::blocking;

/// A thread. Records and values are JSON text.
#[napi]
pub struct NativeThread {
    pub(crate) thread: Arc<ThreadBinding>,
}

fn texts(records: &[String]) -> Vec<&str> {
    records.iter().map(String::as_str).collect()
}

#[napi]
impl NativeThread {
    /// Appends records in one commit.
    #[napi]
    pub async fn append(&self, header: String, records: Vec<String>) -> Result<()> {
        let thread = Arc::clone(&self.thread);
        blocking(move || thread.append(&header, &texts(&records))).await
    }

    /// Whether the thread exists.
    #[napi]
    pub async fn exists(&self) -> Result<bool> {
        let thread = Arc::clone(&self.thread);
        blocking(move || thread.exists()).await
    }

    /// The item records.
    #[napi]
    pub async fn items(&self) -> Result<String> {
        let thread = Arc::clone(&self.thread);
        blocking(move || thread.items()).await
    }

    /// The checkpoints without their values.
    #[napi]
    pub async fn checkpoints(&self, namespace: Option<String>) -> Result<String> {
        let thread = Arc::clone(&self.thread);
        blocking(move || thread.checkpoints(namespace.as_deref())).await
    }

    /// A checkpoint with its values and writes.
    #[napi]
    pub async fn checkpoint(
        &self,
        namespace: String,
        id: Option<String>,
    ) -> Result<Option<String>> {
        let thread = Arc::clone(&self.thread);
        blocking(move || thread.checkpoint(&namespace, id.as_deref())).await
    }

    /// The channels whose version is not stored.
    #[napi]
    pub async fn missing_versions(
        &self,
        namespace: String,
        versions: String,
    ) -> Result<Vec<String>> {
        let thread = Arc::clone(&self.thread);
        blocking(move || thread.missing_versions(&namespace, &versions)).await
    }

    /// Removes checkpoints, given as pairs of namespace and ID.
    #[napi]
    pub async fn remove_checkpoints(&self, remove: Vec<Vec<String>>) -> Result<u32> {
        let thread = Arc::clone(&self.thread);
        let pair = |pair: Vec<String>| {
            let mut parts = pair.into_iter();
            (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
        };
        let remove: Vec<(String, String)> = remove.into_iter().map(pair).collect();
        let removed = blocking(move || thread.remove_checkpoints(&remove)).await?;
        Ok(u32::try_from(removed).unwrap_or(u32::MAX))
    }

    /// Keeps the first items and replaces the others.
    #[napi]
    pub async fn replace_items(&self, keep: u32, records: Vec<String>) -> Result<String> {
        let thread = Arc::clone(&self.thread);
        blocking(move || thread.replace_items(keep as usize, &texts(&records))).await
    }

    /// Replaces the last items, if they are the expected ones. `operation` is an idempotency key and a digest.
    #[napi]
    pub async fn replace_suffix(
        &self,
        header: String,
        expected: Vec<String>,
        records: Vec<String>,
        operation: Option<Vec<String>>,
    ) -> Result<bool> {
        let thread = Arc::clone(&self.thread);
        let work = move || {
            let key = operation
                .as_ref()
                .and_then(|parts| Some((parts.first()?.as_str(), parts.get(1)?.as_str())));
            thread.replace_suffix(&header, (&texts(&expected), &texts(&records)), key)
        };
        blocking(work).await
    }

    /// Removes all items.
    #[napi]
    pub async fn clear_items(&self) -> Result<()> {
        let thread = Arc::clone(&self.thread);
        blocking(move || thread.clear_items()).await
    }

    /// Removes the last item and returns it.
    #[napi]
    pub async fn pop_item(&self) -> Result<Option<String>> {
        let thread = Arc::clone(&self.thread);
        blocking(move || thread.pop_item()).await
    }

    /// Copies the thread.
    #[napi]
    pub async fn copy_to(&self, key: String) -> Result<bool> {
        let thread = Arc::clone(&self.thread);
        blocking(move || thread.copy_to(&key)).await
    }

    /// Moves the thread to the trash.
    #[napi]
    pub async fn trash(&self) -> Result<Option<String>> {
        let thread = Arc::clone(&self.thread);
        blocking(move || thread.trash()).await
    }

    /// Releases the lock.
    #[napi]
    pub async fn release(&self) -> Result<()> {
        let thread = Arc::clone(&self.thread);
        blocking(move || thread.release()).await
    }
}
