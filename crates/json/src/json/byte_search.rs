//! Fast searches for the first or last byte that matters.

/// The number of bytes that are compared together; the compiler vectorizes the loop over them.
const BLOCK: usize = 32;

/// The number of bytes that are compared together if a match is probably near.
const NEAR: usize = 8;

/// The index of the first byte for which `matters` holds, or the length.
pub fn find_byte(bytes: &[u8], matters: impl Fn(u8) -> bool) -> usize {
    let far = skip_quiet_blocks::<BLOCK>(bytes, &matters);
    let rest = bytes.get(far..).unwrap_or_default();
    let near = skip_quiet_blocks::<NEAR>(rest, &matters);
    let rest = rest.get(near..).unwrap_or_default();
    far + near + rest.iter().position(|&byte| matters(byte)).unwrap_or(rest.len())
}

/// The index of the next quote, backslash or control character in a string, or the length.
///
/// Strings have escapes every few words or none at all, so the first bytes are searched in another way than the rest.
pub fn find_string_special(bytes: &[u8]) -> usize {
    let first = bytes.get(..BLOCK).unwrap_or(bytes);
    let near = find_special_by_words(first);
    if near < first.len() || first.len() == bytes.len() {
        return near;
    }
    let is_special = |byte| (byte < b' ') | (byte == b'"') | (byte == b'\\');
    let rest = bytes.get(BLOCK..).unwrap_or_default();
    let far = BLOCK + skip_quiet_blocks::<BLOCK>(rest, &is_special);
    far + find_special_by_words(bytes.get(far..).unwrap_or_default())
}

/// The same, eight bytes at a time: a match has its highest bit set in `found`, and perhaps some bytes after it, but
/// none before it.
fn find_special_by_words(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; NEAR]);
    const HIGHEST: u64 = u64::from_le_bytes([0x80; NEAR]);
    const fn all(byte: u8) -> u64 {
        u64::from_le_bytes([byte; NEAR])
    }
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let (eights, last) = bytes.as_chunks::<NEAR>();
    for (at, eight) in eights.iter().enumerate() {
        let word = u64::from_le_bytes(*eight);
        let control = word.wrapping_sub(all(b' ')) & !word;
        let found = control | is_zero(word ^ all(b'"')) | is_zero(word ^ all(b'\\'));
        if found & HIGHEST != 0 {
            return at * NEAR + ((found & HIGHEST).trailing_zeros() / u8::BITS) as usize;
        }
    }
    let is_special = |&byte: &u8| matches!(byte, ..b' ' | b'"' | b'\\');
    bytes.len() - last.len() + last.iter().position(is_special).unwrap_or(last.len())
}

/// The length of the prefix without matches, in whole blocks.
fn skip_quiet_blocks<const SIZE: usize>(bytes: &[u8], matters: &impl Fn(u8) -> bool) -> usize {
    let (blocks, _) = bytes.as_chunks::<SIZE>();
    let is_quiet =
        |block: &&[u8; SIZE]| !block.iter().fold(false, |seen, &byte| seen | matters(byte));
    blocks.iter().take_while(is_quiet).count() * SIZE
}

/// The index after the last byte for which `matters` holds, or 0.
pub(crate) fn find_last_byte(bytes: &[u8], matters: impl Fn(u8) -> bool) -> usize {
    let (_, blocks) = bytes.as_rchunks::<BLOCK>();
    let quiet = blocks
        .iter()
        .rev()
        .take_while(|block| !block.iter().fold(false, |seen, &byte| seen | matters(byte)))
        .count()
        * BLOCK;
    let rest = bytes.get(..bytes.len() - quiet).unwrap_or_default();
    rest.iter().rposition(|&byte| matters(byte)).map_or(0, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_match_is_found_wherever_it_lies() {
        for length in 0..100 {
            let mut bytes = vec![b'.'; length];
            assert_eq!(find_byte(&bytes, |b| b == b'x'), length);
            for at in (0..length).rev() {
                bytes[at] = b'x';
                assert_eq!(find_byte(&bytes, |b| b == b'x'), at);
            }
        }
    }

    #[test]
    fn the_end_of_a_part_of_a_string_is_found_wherever_it_lies() {
        for special in [b'"', b'\\', 0, b'\n', 0x1f] {
            for other in [b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
                for length in 0..100 {
                    let mut bytes = vec![other; length];
                    assert_eq!(find_string_special(&bytes), length);
                    for at in (0..length).rev() {
                        bytes[at] = special;
                        assert_eq!(find_string_special(&bytes), at, "{special} in {other}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_last_match_is_found_wherever_it_lies() {
        for length in 0..100 {
            let mut bytes = vec![b'.'; length];
            assert_eq!(find_last_byte(&bytes, |b| b == b'x'), 0);
            for at in 0..length {
                bytes[at] = b'x';
                assert_eq!(find_last_byte(&bytes, |b| b == b'x'), at + 1);
            }
        }
    }
}
