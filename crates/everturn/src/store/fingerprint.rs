//! A short value that tells one content from another.

use crate::checksum::checksum;

/// Tells whether a file still has the content that was read. Not a defence against forgers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    pub(crate) len: u64,
    pub(crate) sum: u64,
}

impl Fingerprint {
    /// The fingerprint of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Fingerprint {
        Fingerprint { len: bytes.len() as u64, sum: checksum(&[bytes]) }
    }
}
