//! [`Blocks`]: the content of a disk, in blocks that are shared between copies until they are written.

use std::collections::HashMap;
use std::sync::Arc;

/// The size of a block in bytes.
pub(crate) const BLOCK: usize = 4096;

/// A sparse disk. Blocks that were never written read as zeros, and a copy costs one pointer per block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    blocks: HashMap<u64, Arc<[u8; BLOCK]>>,
}

/// Splits `length` bytes at `offset` into pieces that lie in one block each: (block, start, length).
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let block_size = BLOCK as u64;
    let mut at = offset;
    let mut left = length;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let start = usize::try_from(at % block_size).unwrap_or(0);
        let count = left.min(BLOCK - start);
        let piece = (at / block_size, start, count);
        at += count as u64;
        left -= count;
        Some(piece)
    })
}

impl Blocks {
    /// Returns the bytes at `offset`.
    pub(crate) fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length);
        for (block, start, count) in pieces(offset, length) {
            match self.blocks.get(&block).and_then(|block| block.get(start..start + count)) {
                Some(content) => bytes.extend_from_slice(content),
                None => bytes.resize(bytes.len() + count, 0),
            }
        }
        bytes
    }

    /// Writes `bytes` at `offset`.
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let mut rest = bytes;
        for (block, start, count) in pieces(offset, bytes.len()) {
            let (now, later) = rest.split_at(count);
            rest = later;
            let block = self.blocks.entry(block).or_insert_with(|| Arc::new([0; BLOCK]));
            if let Some(target) = Arc::make_mut(block).get_mut(start..start + count) {
                target.copy_from_slice(now);
            }
        }
    }

    /// Returns the written blocks, in order, for saving them.
    pub(crate) fn written(&self) -> Vec<(u64, &[u8; BLOCK])> {
        let mut blocks: Vec<_> = self.blocks.iter().map(|(at, block)| (*at, &**block)).collect();
        blocks.sort_unstable_by_key(|(at, _)| *at);
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_across_blocks_are_read_back() {
        let mut blocks = Blocks::default();
        blocks.write(4090, b"twelve bytes");
        assert_eq!(blocks.read(4089, 14), b"\0twelve bytes\0");
    }

    #[test]
    fn a_copy_does_not_see_later_writes() {
        let mut blocks = Blocks::default();
        blocks.write(0, b"old");
        let copy = blocks.clone();
        blocks.write(0, b"new");
        assert_eq!((copy.read(0, 3), blocks.read(0, 3)), (b"old".to_vec(), b"new".to_vec()));
    }
}
