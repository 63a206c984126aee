//! Cards inside PNG pictures: a text chunk named `ccv3` or `chara` that contains the card in base64.
//!
//! The picture is not trusted. Lengths are checked against the data, checksums are verified, and decompression is
//! limited. Damage that does not affect the card is a note.

use std::borrow::Cow;
use std::io::Read;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use crc_fast::CrcAlgorithm;
use flate2::read::ZlibDecoder;

use super::error::{CardError, PngError};
use super::{CharacterCard, read};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The names of texts that contain cards, newest first.
const KEYWORDS: [&str; 2] = ["ccv3", "chara"];

/// The maximum size of a decompressed text.
const MOST_UNPACKED: u64 = 64 << 20;

pub(super) fn is_png(bytes: &[u8]) -> bool {
    bytes.starts_with(SIGNATURE)
}

/// The card in a picture: the newest kind that is readable.
pub(super) fn read_card(bytes: &[u8], id: &str) -> Result<CharacterCard, CardError> {
    let (texts, mut notes) = find_card_texts(bytes);
    if texts.is_empty() {
        return Err(PngError::NoCard { notes }.into());
    }
    for keyword in KEYWORDS {
        for text in texts.iter().filter(|text| text.keyword == keyword) {
            let read = text
                .json()
                .and_then(|json| read::json_card(&json, id).map_err(|error| error.to_string()));
            match read {
                Ok(mut card) => {
                    card.notes.splice(0..0, notes);
                    return Ok(card);
                }
                Err(why) => notes.push(format!("text {keyword} at byte {}: {why}", text.at)),
            }
        }
    }
    Err(PngError::Unusable { notes }.into())
}

/// A text of a picture that should be a card.
struct CardText<'a> {
    keyword: &'static str,
    at: usize,
    content: Result<Cow<'a, [u8]>, String>,
}

impl CardText<'_> {
    /// The JSON in it. Some programs write it plainly, most in base64.
    fn json(&self) -> Result<Vec<u8>, String> {
        let content = self.content.as_deref().map_err(Clone::clone)?;
        let content = content.trim_ascii();
        if content.starts_with(b"{") {
            return Ok(content.to_vec());
        }
        let digits: Vec<u8> =
            content.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let config = GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true);
        GeneralPurpose::new(&STANDARD, config)
            .decode(digits)
            .map_err(|error| format!("not base64: {error}"))
    }
}

/// A chunk of a picture.
struct PngChunk<'a> {
    at: usize,
    kind: [u8; 4],
    data: &'a [u8],
    sum_is_right: bool,
}

impl PngChunk<'_> {
    fn name(&self) -> String {
        self.kind.escape_ascii().to_string()
    }
}

/// The texts that should be cards, and the problems of the picture.
fn find_card_texts(bytes: &[u8]) -> (Vec<CardText<'_>>, Vec<String>) {
    let (mut texts, mut notes) = (Vec::new(), Vec::new());
    let mut at = SIGNATURE.len();
    loop {
        let chunk = match parse_chunk(bytes, at) {
            Ok(chunk) => chunk,
            Err(why) => {
                notes.push(why);
                break;
            }
        };
        if !chunk.sum_is_right {
            notes.push(format!("chunk {} at byte {at}: checksum mismatch", chunk.name()));
        }
        texts.extend(parse_card_text(&chunk));
        if &chunk.kind == b"IEND" {
            break;
        }
        at += 12 + chunk.data.len();
    }
    (texts, notes)
}

/// Parses the chunk at a position: length, kind, data, checksum.
fn parse_chunk(bytes: &[u8], at: usize) -> Result<PngChunk<'_>, String> {
    let rest = bytes.get(at..).unwrap_or_default();
    let cut = || format!("the image ends inside a chunk, at byte {at}");
    let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
    let (kind, after) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    let (data, after) = after.split_at_checked(length).ok_or_else(|| {
        let name = kind.escape_ascii();
        format!(
            "chunk {name} at byte {at} declares {length} bytes, but only {} are left",
            after.len()
        )
    })?;
    let sum = after.first_chunk::<4>().ok_or_else(cut)?;
    let summed = rest.get(..4 + length).unwrap_or_default();
    let right = crc_fast::checksum(CrcAlgorithm::Crc32IsoHdlc, summed);
    let sum_is_right = u64::from(u32::from_be_bytes(*sum)) == right;
    Ok(PngChunk { at, kind: *kind, data, sum_is_right })
}

/// The content of a chunk, if it is a text that should be a card.
fn parse_card_text<'a>(chunk: &PngChunk<'a>) -> Option<CardText<'a>> {
    if ![b"tEXt", b"zTXt", b"iTXt"].contains(&&chunk.kind) {
        return None;
    }
    let (keyword, rest) = split_at_nul(chunk.data)?;
    let keyword = *KEYWORDS.iter().find(|known| known.as_bytes().eq_ignore_ascii_case(keyword))?;
    let content = match &chunk.kind {
        b"tEXt" => Ok(Cow::Borrowed(rest)),
        b"zTXt" => match rest.split_first() {
            Some((0, packed)) => decompress(packed).map(Cow::Owned),
            _ => Err("unknown compression method".to_owned()),
        },
        _ => itxt_content(rest),
    };
    Some(CardText { keyword, at: chunk.at, content })
}

/// The text of an `iTXt` chunk, after its flags, language and translated keyword.
fn itxt_content(rest: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let cut = "the chunk is too short";
    let ([compressed, _method], rest) = rest.split_first_chunk::<2>().ok_or(cut)?;
    let (_language, rest) = split_at_nul(rest).ok_or(cut)?;
    let (_translated, rest) = split_at_nul(rest).ok_or(cut)?;
    match compressed {
        0 => Ok(Cow::Borrowed(rest)),
        _ => decompress(rest).map(Cow::Owned),
    }
}

fn split_at_nul(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|&byte| byte == 0)?;
    Some((bytes.get(..at)?, bytes.get(at + 1..)?))
}

fn decompress(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut unpacked = Vec::new();
    let mut decoder = ZlibDecoder::new(packed).take(MOST_UNPACKED + 1);
    decoder.read_to_end(&mut unpacked).map_err(|error| format!("cannot decompress: {error}"))?;
    if unpacked.len() as u64 > MOST_UNPACKED {
        return Err(format!("it decompresses to more than {MOST_UNPACKED} bytes"));
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use base64::prelude::{BASE64_STANDARD, Engine};
    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let summed = [kind, data].concat();
        let sum = crc_fast::checksum(CrcAlgorithm::Crc32IsoHdlc, &summed);
        let length = u32::try_from(data.len()).unwrap();
        let sum = u32::try_from(sum).unwrap();
        [&length.to_be_bytes()[..], &summed, &sum.to_be_bytes()].concat()
    }

    fn picture(chunks: &[Vec<u8>]) -> Vec<u8> {
        let header = chunk(b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
        [SIGNATURE, &header, &chunks.concat(), &chunk(b"IEND", b"")].concat()
    }

    fn card_json(name: &str) -> String {
        format!(r#"{{"spec":"chara_card_v2","spec_version":"2.0","data":{{"name":"{name}"}}}}"#)
    }

    fn text_chunk(keyword: &str, name: &str) -> Vec<u8> {
        let encoded = BASE64_STANDARD.encode(card_json(name));
        chunk(b"tEXt", &[keyword.as_bytes(), b"\0", encoded.as_bytes()].concat())
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[track_caller]
    fn check(picture: &[u8], name: &str, notes: &[&str]) {
        let card = read_card(picture, "id").unwrap();
        assert_eq!(card.name, name);
        assert_eq!(card.notes.len(), notes.len(), "{:?}", card.notes);
        for (note, expect) in card.notes.iter().zip(notes) {
            assert!(note.contains(expect), "{note}");
        }
    }

    #[track_caller]
    fn refused(picture: &[u8], expect: &str) {
        let error = read_card(picture, "id").unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    }

    #[test]
    fn cards_are_found_in_every_kind_of_text() {
        check(&picture(&[text_chunk("chara", "Rem")]), "Rem", &[]);
        check(&picture(&[text_chunk("Chara", "Rem")]), "Rem", &[]);
        check(&picture(&[text_chunk("chara", "old"), text_chunk("ccv3", "new")]), "new", &[]);
        let plain = [b"chara\0", card_json("plain").as_bytes()].concat();
        check(&picture(&[chunk(b"tEXt", &plain)]), "plain", &[]);
        let base64 = BASE64_STANDARD.encode(card_json("odd")).trim_end_matches('=').to_owned();
        let odd = format!("chara\0 {}\r\n{}\n", &base64[..40], &base64[40..]);
        check(&picture(&[chunk(b"tEXt", odd.as_bytes())]), "odd", &[]);
        let base64 = BASE64_STANDARD.encode(card_json("z"));
        let z = [b"chara\0\0", &packed(base64.as_bytes())[..]].concat();
        check(&picture(&[chunk(b"zTXt", &z)]), "z", &[]);
        let i = [b"ccv3\0\0\0en\0ccv3\0", base64.as_bytes()].concat();
        check(&picture(&[chunk(b"iTXt", &i)]), "z", &[]);
        let i = [b"ccv3\0\x01\0\0\0", &packed(base64.as_bytes())[..]].concat();
        check(&picture(&[chunk(b"iTXt", &i)]), "z", &[]);
    }

    #[test]
    fn damage_beside_the_card_is_a_note() {
        let mut wrong_sum = text_chunk("chara", "Rem");
        *wrong_sum.last_mut().unwrap() ^= 1;
        check(&picture(&[wrong_sum]), "Rem", &["chunk tEXt at byte 33: checksum mismatch"]);
        let mut torn = picture(&[text_chunk("chara", "Rem")]);
        torn.truncate(torn.len() - 3);
        check(&torn, "Rem", &["the image ends inside a chunk"]);
        let huge = [&u32::MAX.to_be_bytes()[..], b"IDATxx"].concat();
        let huge = [SIGNATURE, &text_chunk("chara", "Rem"), &huge].concat();
        check(&huge, "Rem", &["declares 4294967295 bytes, but only 2 are left"]);
        let broken = chunk(b"tEXt", b"ccv3\0!!!");
        let older = text_chunk("chara", "older");
        check(&picture(&[broken, older]), "older", &["text ccv3 at byte 33: not base64"]);
    }

    #[test]
    fn a_picture_without_a_card_says_why() {
        refused(SIGNATURE, "it has no ccv3 or chara text");
        refused(&picture(&[]), "it has no ccv3 or chara text");
        refused(&picture(&[chunk(b"tEXt", b"Comment\0hello")]), "it has no ccv3");
        refused(&picture(&[chunk(b"tEXt", b"chara")]), "it has no ccv3");
        refused(&picture(&[chunk(b"tEXt", b"chara\0")]), "text chara at byte 33");
        refused(&picture(&[chunk(b"tEXt", b"chara\0e30=")]), "not a character card");
        refused(&picture(&[chunk(b"tEXt", b"chara\0bm8=")]), "not JSON");
        refused(&picture(&[chunk(b"zTXt", b"chara\0\0garbage")]), "cannot decompress");
        refused(&picture(&[chunk(b"zTXt", b"chara\0\x07")]), "unknown compression");
        refused(&picture(&[chunk(b"iTXt", b"chara\0\0")]), "too short");
        let bomb = [b"chara\0\0", &packed(&vec![b' '; (64 << 20) + 1])[..]].concat();
        refused(&picture(&[chunk(b"zTXt", &bomb)]), "decompresses to more than");
    }

    #[test]
    fn no_cut_and_no_flipped_byte_makes_reading_panic() {
        let whole = picture(&[text_chunk("chara", "Rem"), text_chunk("ccv3", "Ram")]);
        for end in 0..whole.len() {
            drop(read_card(&whole[..end], "id"));
        }
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x15;
            drop(read_card(&flipped, "id"));
        }
    }
}
