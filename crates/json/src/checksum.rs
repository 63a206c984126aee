//! The checksum that all crates use: CRC-64/NVME, which detects every burst error of up to 64 bits.

use crc_fast::{CrcAlgorithm, Digest};

/// An incremental checksum.
#[derive(Debug)]
pub struct Checksum(Digest);

impl Default for Checksum {
    fn default() -> Checksum {
        Checksum::new()
    }
}

impl Checksum {
    /// The checksum of no bytes.
    pub fn new() -> Checksum {
        Checksum(Digest::new(CrcAlgorithm::Crc64Nvme))
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of all bytes so far.
    pub fn value(&self) -> u64 {
        self.0.finalize()
    }
}

/// The checksum of the concatenated parts.
pub fn checksum(parts: &[&[u8]]) -> u64 {
    let mut sum = Checksum::new();
    parts.iter().for_each(|part| sum.update(part));
    sum.value()
}
