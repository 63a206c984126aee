//! Checksums of tokens.

use crc_fast::{CrcAlgorithm, checksum};
use sha2::{Digest, Sha256};

/// Whether the last eight characters, after a `_`, are the CRC-32 of the rest. Both orders of its bytes are in use.
pub(super) fn has_hex_crc(whole: &[u8]) -> bool {
    let Some((rest, sum)) = whole.split_last_chunk::<8>() else { return false };
    let Some(text) = rest.strip_suffix(b"_") else { return false };
    let crc = u32::try_from(checksum(CrcAlgorithm::Crc32IsoHdlc, text)).unwrap_or_default();
    let forms = [format!("{crc:08x}"), format!("{:08x}", crc.swap_bytes())];
    forms.iter().any(|form| form.as_bytes() == sum)
}

const BECH32: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// Whether a text is valid Bech32: a readable part, `1`, and data with six digits of checksum.
pub(super) fn is_bech32(whole: &[u8]) -> bool {
    let lower = whole.to_ascii_lowercase();
    let Some(at) = lower.iter().rposition(|byte| *byte == b'1') else { return false };
    let (readable, data) = lower.split_at(at);
    let digit = |byte: &u8| BECH32.iter().position(|it| it == byte);
    let mut values: Vec<usize> = readable.iter().map(|byte| usize::from(byte >> 5)).collect();
    values.push(0);
    values.extend(readable.iter().map(|byte| usize::from(byte & 31)));
    for byte in data.get(1..).unwrap_or_default() {
        let Some(digit) = digit(byte) else { return false };
        values.push(digit);
    }
    data.len() > 7 && bech32_sum(&values) == 1
}

/// The checksum of Bech32, a code over numbers of five bits.
fn bech32_sum(values: &[usize]) -> usize {
    const FACTORS: [usize; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    values.iter().fold(1, |sum, value| {
        let top = sum >> 25;
        let shifted = ((sum & 0x1ff_ffff) << 5) ^ value;
        let chosen = FACTORS.iter().enumerate().filter(|(bit, _)| (top >> bit) & 1 == 1);
        chosen.fold(shifted, |sum, (_, factor)| sum ^ factor)
    })
}

const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Whether a text is base 58 whose last four bytes are the start of a double SHA-256 of the rest.
pub(super) fn is_base58_check(whole: &[u8]) -> bool {
    let Some(bytes) = base58(whole) else { return false };
    let Some((rest, sum)) = bytes.split_last_chunk::<4>() else { return false };
    Sha256::digest(Sha256::digest(rest)).starts_with(sum)
}

/// Decodes base 58. Leading zero bytes, which no key has, are dropped.
fn base58(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes: Vec<u8> = Vec::new();
    for byte in text {
        let mut carry = BASE58.iter().position(|it| it == byte)?;
        for digit in &mut bytes {
            carry += usize::from(*digit) * 58;
            *digit = u8::try_from(carry & 0xff).ok()?;
            carry >>= 8;
        }
        while carry > 0 {
            bytes.push(u8::try_from(carry & 0xff).ok()?);
            carry >>= 8;
        }
    }
    bytes.reverse();
    Some(bytes)
}
