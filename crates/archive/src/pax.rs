//! [`PaxHeader`]: the records of a pax header, which extend the header of an entry.

/// The relevant records before an entry; times, owners and attributes are ignored.
#[derive(Debug, Default)]
pub(super) struct PaxHeader<'a> {
    pub(super) path: Option<&'a [u8]>,
    pub(super) size: Option<&'a [u8]>,
    /// Whether the entry is a sparse file.
    pub(super) sparse: bool,
}

impl<'a> PaxHeader<'a> {
    /// Parses all records; `None` if they are malformed. Of duplicate keys the last counts.
    pub(super) fn parse(mut bytes: &'a [u8]) -> Option<PaxHeader<'a>> {
        let mut pax = PaxHeader::default();
        while !bytes.is_empty() {
            let (key, value, rest) = next_record(bytes)?;
            match key {
                b"path" => pax.path = Some(value),
                b"size" => pax.size = Some(value),
                _ => pax.sparse |= key.starts_with(b"GNU.sparse."),
            }
            bytes = rest;
        }
        Some(pax)
    }

    /// Whether it changes neither the path nor the length of an entry.
    pub(super) fn is_harmless(&self) -> bool {
        self.path.is_none() && self.size.is_none() && !self.sparse
    }
}

/// The first record, `<length> <key>=<value>\n`, and the rest.
///
/// The length delimits a record, not the newline: values may contain newlines.
fn next_record(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = bytes.iter().position(|byte| *byte == b' ')?;
    let len = usize::try_from(parse_decimal(bytes.get(..space)?)?).ok()?;
    let (record, rest) = bytes.split_at_checked(len)?;
    let text = record.get(space + 1..)?.strip_suffix(b"\n")?;
    let equals = text.iter().position(|byte| *byte == b'=')?;
    Some((text.get(..equals)?, text.get(equals + 1..)?, rest))
}

/// A number that consists of digits only.
pub(super) fn parse_decimal(digits: &[u8]) -> Option<u64> {
    let text = str::from_utf8(digits).ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(bytes: &str) -> Option<&str> {
        PaxHeader::parse(bytes.as_bytes())?.path.map(|path| str::from_utf8(path).unwrap())
    }

    #[test]
    fn records_are_read_by_their_length() {
        assert_eq!(path("12 path=a/b\n"), Some("a/b"));
        assert_eq!(path("12 path=a\nb\n"), Some("a\nb"));
        assert_eq!(path("10 path=a\n10 path=b\n"), Some("b"));
        assert_eq!(path("11 path=é\n11 mtime=1\n"), Some("é"));
        assert_eq!(path("11 mtime=1\n"), None);
        assert_eq!(path("21 comment=\n9 path=x\n10 path=y\n"), Some("y"));
        assert_eq!(path(""), None);
    }

    #[test]
    fn malformed_records_are_told() {
        for bad in
            ["x", "5", "0 a=b\n", "3 a=b\n", "99 a=b\n", "+6 a=b\n", "6 a=b", "5 ab\n", "6 a=b\n\n"]
        {
            assert!(PaxHeader::parse(bad.as_bytes()).is_none(), "{bad:?} was accepted");
        }
        assert!(PaxHeader::parse(b"6 a=b\n").is_some());
    }
}
