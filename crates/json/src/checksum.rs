//! The one checksum of the code base: CRC-64/NVME, which finds every burst of errors up to 64 bits.

use crc_fast::{CrcAlgorithm, Digest};

/// A checksum that is fed piece by piece.
#[derive(Debug)]
pub struct Checksum(Digest);

impl Default for Checksum {
    fn default() -> Checksum {
        Checksum::new()
    }
}

impl Checksum {
    /// The checksum of nothing.
    pub fn new() -> Checksum {
        Checksum(Digest::new(CrcAlgorithm::Crc64Nvme))
    }

    /// Takes in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of what was added so far.
    pub fn value(&self) -> u64 {
        self.0.finalize()
    }
}

/// The checksum over the parts, one after the other.
pub fn checksum(parts: &[&[u8]]) -> u64 {
    let mut sum = Checksum::new();
    parts.iter().for_each(|part| sum.update(part));
    sum.value()
}
