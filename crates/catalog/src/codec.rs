//! The encoding of the catalog's own files: numbers and strings in sequence, with a checksum at the end.

use crc_fast::{CrcAlgorithm, checksum};

/// Returns the checksum of some bytes.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    checksum(CrcAlgorithm::Crc64Nvme, bytes)
}

/// Encodes a file.
#[derive(Default)]
pub(crate) struct CatalogEncoder(Vec<u8>);

impl CatalogEncoder {
    /// Starts a file with its name, which includes the version.
    pub(crate) fn new(name: &str) -> CatalogEncoder {
        let mut encoder = CatalogEncoder::default();
        encoder.text(name);
        encoder
    }

    /// Appends a number, seven bits at a time, lowest first.
    pub(crate) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push((number & 0x7f) as u8);
    }

    pub(crate) fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)).cast_unsigned());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    pub(crate) fn option<T>(
        &mut self,
        value: Option<T>,
        write: impl FnOnce(&mut CatalogEncoder, T),
    ) {
        self.number(u64::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let sum = sum(&self.0);
        self.0.extend_from_slice(&sum.to_le_bytes());
        self.0
    }
}

/// Decodes a file. All methods return `None` on malformed data, and the whole file is then ignored.
pub(crate) struct CatalogDecoder<'a>(&'a [u8]);

impl<'a> CatalogDecoder<'a> {
    /// Opens a file if its checksum and its name are right.
    pub(crate) fn open(bytes: &'a [u8], name: &str) -> Option<CatalogDecoder<'a>> {
        let (body, seal) = bytes.split_last_chunk::<8>()?;
        if sum(body) != u64::from_le_bytes(*seal) {
            return None;
        }
        let mut decoder = CatalogDecoder(body);
        (decoder.text()? == name).then_some(decoder)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    pub(crate) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut CatalogDecoder<'a>) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.number()? {
            0 => Some(None),
            _ => read(self).map(Some),
        }
    }

    /// Reads a list that is preceded by its length.
    pub(crate) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut CatalogDecoder<'a>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let count = self.number()?;
        (0..count).map(|_| read(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_damage_is_seen() {
        let mut encoder = CatalogEncoder::new("test 1");
        let numbers = [0, 1, 127, 128, 300, u64::MAX];
        numbers.iter().for_each(|number| encoder.number(*number));
        [0, -1, i64::MIN, i64::MAX].iter().for_each(|number| encoder.signed(*number));
        encoder.text("結");
        encoder.option(None::<&str>, CatalogEncoder::text);
        encoder.option(Some("x"), CatalogEncoder::text);
        let bytes = encoder.finish();
        let mut decoder = CatalogDecoder::open(&bytes, "test 1").unwrap();
        numbers.iter().for_each(|number| assert_eq!(decoder.number(), Some(*number)));
        [0, -1, i64::MIN, i64::MAX].iter().for_each(|n| assert_eq!(decoder.signed(), Some(*n)));
        assert_eq!(decoder.text(), Some("結"));
        assert_eq!(decoder.option(CatalogDecoder::text), Some(None));
        assert_eq!(decoder.option(CatalogDecoder::text), Some(Some("x")));
        assert_eq!(decoder.number(), None);
        assert!(CatalogDecoder::open(&bytes, "test 2").is_none());
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(CatalogDecoder::open(&damaged, "test 1").is_none(), "byte {at}");
            assert!(CatalogDecoder::open(&bytes[..at], "test 1").is_none(), "cut at {at}");
        }
    }
}
