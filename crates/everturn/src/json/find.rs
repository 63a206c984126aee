//! A search for the first byte that matters, fast over the many that do not.

/// How many bytes are looked at together; the compiler turns the loop over them into vector code.
const BLOCK: usize = 32;

/// How many bytes are looked at together where the first one must be near.
const NEAR: usize = 8;

/// The index of the first byte for which `matters` holds, or the length.
pub(crate) fn find(bytes: &[u8], matters: impl Fn(u8) -> bool) -> usize {
    let far = quiet::<BLOCK>(bytes, &matters);
    let rest = bytes.get(far..).unwrap_or_default();
    let near = quiet::<NEAR>(rest, &matters);
    let rest = rest.get(near..).unwrap_or_default();
    far + near + rest.iter().position(|&byte| matters(byte)).unwrap_or(rest.len())
}

/// How many bytes at the beginning do not matter, counted in whole blocks.
fn quiet<const SIZE: usize>(bytes: &[u8], matters: &impl Fn(u8) -> bool) -> usize {
    let (blocks, _) = bytes.as_chunks::<SIZE>();
    let is_quiet =
        |block: &&[u8; SIZE]| !block.iter().fold(false, |seen, &byte| seen | matters(byte));
    blocks.iter().take_while(is_quiet).count() * SIZE
}

/// The index after the last byte for which `matters` holds, or 0.
pub(crate) fn find_last(bytes: &[u8], matters: impl Fn(u8) -> bool) -> usize {
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
            assert_eq!(find(&bytes, |b| b == b'x'), length);
            for at in (0..length).rev() {
                bytes[at] = b'x';
                assert_eq!(find(&bytes, |b| b == b'x'), at);
            }
        }
    }

    #[test]
    fn the_last_match_is_found_wherever_it_lies() {
        for length in 0..100 {
            let mut bytes = vec![b'.'; length];
            assert_eq!(find_last(&bytes, |b| b == b'x'), 0);
            for at in 0..length {
                bytes[at] = b'x';
                assert_eq!(find_last(&bytes, |b| b == b'x'), at + 1);
            }
        }
    }
}
