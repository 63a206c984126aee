//! [`Fingerprint`]: a short value that distinguishes contents.

use everturn_json::checksum::checksum;

/// Shows whether a file still has the content that was read. Not a defence against forgery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// The number of bytes.
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
