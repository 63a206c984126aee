//! [`StoreSource`]: a file of a store as the source of a scan.

use std::io;
use std::sync::Arc;

use super::{Store, StoreError};
use everturn_json::jsonl::ByteSource;
use everturn_json::names::FilePath;

/// A file of a store, read in chunks.
pub struct StoreSource {
    store: Arc<dyn Store>,
    file: FilePath,
    len: u64,
}

impl StoreSource {
    /// Opens a file with its present length.
    pub fn open(store: &Arc<dyn Store>, file: &FilePath) -> Result<StoreSource, StoreError> {
        let stat = store.stat(file)?.ok_or_else(|| StoreError::Missing { path: file.clone() })?;
        StoreError::check_kind(file, &stat)?;
        Ok(StoreSource { store: Arc::clone(store), file: file.clone(), len: stat.len })
    }

    /// Reads the whole content.
    pub fn read_all(&self) -> io::Result<Vec<u8>> {
        self.store.read(&self.file, 0..self.len).map_err(io::Error::other)
    }
}

impl ByteSource for StoreSource {
    fn len(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let end = offset.saturating_add(buf.len() as u64).min(self.len);
        let bytes = self.store.read(&self.file, offset..end).map_err(io::Error::other)?;
        let count = bytes.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..count), bytes.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }
}
