//! Secrets in base64.

use std::ops::Range;

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_STANDARD_NO_PAD;

use super::boundaries::{run_end, run_start};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_encode_padding(false);
const PLAIN: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const URL: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// How far a run is decoded on each side of a prefix. Longer runs are files, which contain few words.
const FAR: usize = 16 << 10;

/// The number of digits before a prefix, and from there on, that suffice to recognise a secret.
const BEFORE: usize = 64;
const BEHIND: usize = 1024;

/// The base64 forms of a text, by the number of bytes before it: the digits that do not depend on the context, that
/// number modulo three, and the number of digits omitted at the start.
pub(super) fn base64_patterns(text: &str) -> [(String, usize, usize); 3] {
    [0, 1, 2].map(|shift: usize| {
        let mut bytes = vec![0; shift];
        bytes.extend_from_slice(text.as_bytes());
        let digits = BASE64_STANDARD_NO_PAD.encode(&bytes);
        // A digit is six bits: those with bits of previous bytes are omitted, and the last if it has bits of the next.
        let skipped = (shift * 8).div_ceil(6);
        let whole = bytes.len() * 8 / 6;
        (digits.get(skipped..whole).unwrap_or_default().to_owned(), shift, skipped)
    })
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

/// The run of base64 around a matched prefix, starting at a digit that starts a byte.
pub(super) fn base64_run(
    bytes: &[u8],
    at: usize,
    shift: usize,
    skipped: usize,
) -> Option<Range<usize>> {
    // The group of four digits in which the text begins.
    let group = at.checked_sub(skipped)?;
    let first = run_start(bytes, at, FAR, is_digit);
    let end = run_end(bytes, at, FAR, is_digit);
    let padding = run_end(bytes, end, 1, |byte| byte == b'=');
    let start = if group < first && shift > 0 {
        return None;
    } else {
        first + (group.checked_sub(first)?) % 4
    };
    // A single trailing digit encodes no byte.
    let end = if (end - start) % 4 == 1 { end - 1 } else { padding };
    (end > start + 8).then_some(start..end)
}

/// The part of a run that must show a secret at `at`: much shorter than the run of a picture.
pub(super) fn nearby_part(run: &Range<usize>, at: usize) -> Range<usize> {
    let before = at.saturating_sub(run.start).saturating_sub(BEFORE) / 4 * 4;
    let start = run.start + before;
    let end = run.end.min(start + BEHIND);
    start..end
}

/// Decodes a run.
pub(super) fn decode(run: &[u8]) -> Option<Vec<u8>> {
    let end = run.iter().rposition(|byte| *byte != b'=')? + 1;
    let digits = run.get(..end)?;
    engine(digits).decode(digits).ok()
}

fn engine(digits: &[u8]) -> &'static GeneralPurpose {
    let is_url = digits.iter().any(|byte| b"-_".contains(byte));
    if is_url { &URL } else { &PLAIN }
}

/// Encodes bytes as base64, in the style of the run that they replace.
pub(super) fn encode(bytes: &[u8], like: &[u8]) -> String {
    let mut digits = engine(like).encode(bytes);
    let is_padded = like.len().is_multiple_of(4);
    while is_padded && !digits.len().is_multiple_of(4) {
        digits.push('=');
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_known_wherever_it_stands() {
        for before in 0..9 {
            let text = format!("{}ghp_ and so on", "x".repeat(before));
            let digits = BASE64_STANDARD_NO_PAD.encode(&text);
            let found: Vec<_> = base64_patterns("ghp_")
                .into_iter()
                .filter(|(it, _, _)| digits.contains(it))
                .collect();
            let [(pattern, shift, skipped)] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!(*shift, before % 3);
            let at = digits.find(pattern).unwrap();
            let range = base64_run(digits.as_bytes(), at, *shift, *skipped).unwrap();
            assert_eq!(decode(&digits.as_bytes()[range]).unwrap(), text.as_bytes(), "{before}");
        }
    }

    #[test]
    fn what_was_decoded_is_encoded_in_the_same_manner() {
        for digits in ["YWJjZA==", "YWJjZA", "YWJj", "-_-_YWJj", "+/+/YWJj"] {
            assert_eq!(encode(&decode(digits.as_bytes()).unwrap(), digits.as_bytes()), digits);
        }
    }
}
