//! Tokens with a distinctive prefix: parts with a certain alphabet and length.

use std::ops::Range;

use crc_fast::{CrcAlgorithm, checksum};

use super::boundaries::{begins_word, is_word, run_end};
use super::dummy_values::{is_dummy, is_mixed};
use super::{Certainty, SecretMatch, proofs};

/// The alphabet of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    Digits,
    /// Digits and lower-case letters up to f.
    Hex,
    /// Hexadecimal digits in lower or upper case.
    AnyHex,
    /// Upper-case letters and digits.
    Capitals,
    /// Letters and digits.
    Letters,
    /// Letters, digits and `_`.
    Words,
    /// Letters, digits, `_` and `-`.
    Url,
    /// Letters, digits, `+`, `/` and `=`.
    Base64,
    /// Letters, digits, `_`, `-` and `.`.
    Dotted,
}

impl Alphabet {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Alphabet::Digits => byte.is_ascii_digit(),
            Alphabet::Hex => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            Alphabet::AnyHex => byte.is_ascii_hexdigit(),
            Alphabet::Capitals => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
            Alphabet::Letters => byte.is_ascii_alphanumeric(),
            Alphabet::Words => is_word(byte),
            Alphabet::Url => is_word(byte) || byte == b'-',
            Alphabet::Base64 => byte.is_ascii_alphanumeric() || b"+/=".contains(&byte),
            Alphabet::Dotted => is_word(byte) || b"-.".contains(&byte),
        }
    }
}

/// A part of a token.
#[derive(Debug, Clone, Copy)]
pub(super) enum TokenPart {
    /// Between so many and so many bytes of an alphabet.
    Run(Alphabet, usize, usize),
    /// Literal bytes.
    Text(&'static str),
}

/// What validates a token besides its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenProof {
    /// Nothing.
    Form,
    /// The last six characters are the CRC-32 of the rest, in base 62.
    Crc62,
    /// The last eight characters are the CRC-32 of the rest with its prefix, in hexadecimal.
    HexCrc,
    /// Bech32: the last six characters are a checksum of the rest with its prefix.
    Bech32,
    /// Base 58 with four bytes of a double SHA-256 at the end.
    Base58Check,
}

impl TokenProof {
    /// What the checksum says about a token; `whole` includes the prefix.
    fn certainty(self, whole: &[u8], body: &[u8]) -> Certainty {
        let by = |is_right: bool| if is_right { Certainty::Certain } else { Certainty::Possible };
        match self {
            TokenProof::Form => Certainty::Likely,
            TokenProof::Crc62 => by(has_crc62(body)),
            TokenProof::HexCrc => match proofs::has_hex_crc(whole) {
                true => Certainty::Certain,
                false => Certainty::Likely,
            },
            TokenProof::Bech32 => by(proofs::is_bech32(whole)),
            TokenProof::Base58Check => by(proofs::is_base58_check(whole)),
        }
    }
}

/// A kind of token.
#[derive(Debug)]
pub(super) struct TokenPattern {
    pub(super) family: &'static str,
    pub(super) starts: &'static [&'static str],
    pub(super) parts: &'static [TokenPart],
    pub(super) proof: TokenProof,
}

pub(super) const fn token(
    family: &'static str,
    starts: &'static [&'static str],
    parts: &'static [TokenPart],
    proof: TokenProof,
) -> TokenPattern {
    TokenPattern { family, starts, parts, proof }
}

impl TokenPattern {
    /// The token whose prefix is in this range, if there is one.
    pub(super) fn match_at(&self, bytes: &[u8], start: &Range<usize>) -> Option<SecretMatch> {
        if !begins_word(bytes, start.start) {
            return None;
        }
        let end = self.end(bytes, start.end).or_else(|| self.end_on_next_line(bytes, start.end))?;
        let body = bytes.get(start.end..end)?;
        let is_random =
            is_mixed(body) || matches!(self.parts, [TokenPart::Run(Alphabet::Capitals, ..)]);
        if is_dummy(body) || !is_random {
            return None;
        }
        let whole = without_line_break(bytes.get(start.start..end)?);
        let certainty = self.proof.certainty(&whole, &without_line_break(body));
        Some(SecretMatch::plain(start.start..end, self.family, certainty))
    }

    /// The end of the parts that start at this position.
    fn end(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        for (number, part) in self.parts.iter().enumerate() {
            at = match *part {
                TokenPart::Text(text) => {
                    bytes.get(at..)?.starts_with(text.as_bytes()).then_some(at + text.len())?
                }
                TokenPart::Run(alphabet, least, most) => {
                    let mut end = run_end(bytes, at, most, |byte| alphabet.has(byte));
                    if number + 1 == self.parts.len() {
                        // A trailing full stop or dash belongs to the sentence.
                        while end > at && matches!(bytes.get(end - 1), Some(b'.' | b'-')) {
                            end -= 1;
                        }
                    }
                    (least..=most).contains(&(end - at)).then_some(end)?
                }
            };
        }
        let follows = bytes.get(at).copied().unwrap_or(b' ');
        (!is_word(follows)).then_some(at)
    }

    /// The same for a token of one part and a fixed length that was wrapped at the end of a line.
    fn end_on_next_line(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let [TokenPart::Run(alphabet, least, most)] = self.parts else { return None };
        if least != most {
            return None;
        }
        let first = run_end(bytes, from, *most, |byte| alphabet.has(byte));
        let rest = bytes.get(first..)?;
        let wrap = WRAPS.iter().find(|wrap| rest.starts_with(wrap))?.len();
        let missing = most.checked_sub(first - from).filter(|missing| *missing > 0)?;
        let end = run_end(bytes, first + wrap, missing, |byte| alphabet.has(byte));
        let follows = bytes.get(end).copied().unwrap_or(b' ');
        (first > from && end - first - wrap == missing && !is_word(follows)).then_some(end)
    }
}

/// Line endings, plain and escaped in JSON.
const WRAPS: [&[u8]; 4] = [b"\r\n", b"\n", b"\\r\\n", b"\\n"];

/// The token without the line ending in it.
fn without_line_break(token: &[u8]) -> Vec<u8> {
    let wrap = line_break(token, "");
    match token.windows(wrap.len().max(1)).position(|window| window == wrap) {
        Some(at) if !wrap.is_empty() => {
            let (before, rest) = token.split_at(at);
            [before, rest.get(wrap.len()..).unwrap_or_default()].concat()
        }
        _ => token.to_vec(),
    }
}

/// The line ending in a wrapped token, which is kept when the token is replaced. In key blocks it is not.
pub(super) fn line_break(secret: &[u8], family: &str) -> &'static [u8] {
    if family == super::key_block::FAMILY {
        return b"";
    }
    let has = |wrap: &&&[u8]| secret.windows(wrap.len()).any(|window| window == **wrap);
    WRAPS.iter().find(has).copied().unwrap_or(b"")
}

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A CRC-32 as six digits in base 62.
fn crc62(bytes: &[u8]) -> [u8; 6] {
    let mut rest = checksum(CrcAlgorithm::Crc32IsoHdlc, bytes);
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        let value = usize::try_from(rest % 62).unwrap_or_default();
        *digit = BASE62.get(value).copied().unwrap_or(b'0');
        rest /= 62;
    }
    digits
}

fn has_crc62(body: &[u8]) -> bool {
    let Some((random, sum)) = body.split_last_chunk::<6>() else { return false };
    crc62(random) == *sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_in_base_62_is_known() {
        // Concatenated, so that no secret scanner reports the example.
        let body = ["zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17"].concat();
        assert!(has_crc62(body.as_bytes()));
        assert!(!has_crc62(body.replace("zQ", "zR").as_bytes()));
        assert!(!has_crc62(b"0mLq1"));
    }
}
