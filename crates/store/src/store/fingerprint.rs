//! A short value that tells one content from another.

use everturn_json::checksum::checksum;

/// Tells whether a file still has the content that was read. Not a defence against forgers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// How many bytes there are.
    pub len: u64,
    /// Their checksum.
    pub sum: u64,
}

impl Fingerprint {
    /// The fingerprint of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Fingerprint {
        Fingerprint { len: bytes.len() as u64, sum: checksum(&[bytes]) }
    }
}
