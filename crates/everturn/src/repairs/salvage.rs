//! Records that still are in a damaged log, also behind bytes that belong to nothing.

use crate::lines::{Item, Scan};
use crate::names::FilePath;
use crate::store::StoreError;

/// How many places of a damaged line are tried.
const MOST_TRIES: usize = 256;

/// What a log still has.
#[derive(Debug, Default)]
pub(crate) struct Salvaged {
    /// Its records, in their order.
    pub(crate) texts: Vec<String>,
    /// How many lines have something besides.
    pub(crate) bad: usize,
}

/// Reads every record of a log. In a line that is not good, one may begin at any brace, if it `is_record`.
pub(crate) fn salvage(
    path: &FilePath,
    bytes: &[u8],
    is_record: &dyn Fn(&str) -> bool,
) -> Result<Salvaged, StoreError> {
    let mut salvaged = Salvaged::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        let (found, is_good) = records(path, line)?;
        if is_good {
            salvaged.texts.extend(found.into_iter().map(|(_, text)| text));
            continue;
        }
        salvaged.bad += 1;
        let mut end = 0;
        let mut known = found.into_iter().peekable();
        let braces = line.iter().enumerate().filter(|(_, byte)| **byte == b'{');
        for at in braces.map(|(at, _)| at).take(MOST_TRIES) {
            while let Some((start, text)) = known.next_if(|(start, _)| *start <= at) {
                end = end.max(start + text.len());
                salvaged.texts.push(text);
            }
            if at < end {
                continue;
            }
            let (behind, _) = records(path, line.get(at..).unwrap_or_default())?;
            if let Some((0, text)) = behind.into_iter().next()
                && is_record(&text)
            {
                end = at + text.len();
                salvaged.texts.push(text);
            }
        }
        salvaged.texts.extend(known.map(|(_, text)| text));
    }
    Ok(salvaged)
}

/// The records of a line with their places, and whether there is nothing else.
fn records(path: &FilePath, line: &[u8]) -> Result<(Vec<(usize, String)>, bool), StoreError> {
    let (mut found, mut is_good) = (Vec::new(), true);
    let scan = Scan::new(line, path.clone()).largest_text(u64::MAX).forward();
    for item in scan.map_err(StoreError::io("read", path))? {
        match item.map_err(StoreError::io("read", path))? {
            Item::Finding(_) => is_good = false,
            Item::Record(record) => {
                let start = usize::try_from(record.offset).unwrap_or(usize::MAX);
                found.push((start, record.text().unwrap_or_default().to_owned()));
            }
        }
    }
    Ok((found, is_good))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], texts: &[&str], bad: usize) {
        let path = FilePath::parse("log.jsonl").unwrap();
        let is_record = |text: &str| text.contains("\"n\"");
        let found = salvage(&path, bytes, &is_record).unwrap();
        assert_eq!(found.texts, texts);
        assert_eq!(found.bad, bad);
    }

    #[test]
    fn records_are_found_behind_bytes_that_belong_to_nothing() {
        check(b"", &[], 0);
        check(b"{\"n\":1}\n{\"n\":2}\n", &["{\"n\":1}", "{\"n\":2}"], 0);
        check(b"\xff\x00x{\"n\":1}\n{\"n\":2}", &["{\"n\":1}", "{\"n\":2}"], 1);
        check(b"{\"n\":{\"n\":1}\n", &["{\"n\":1}"], 1);
        check(b"{\"n\":1}x{\"n\":2}y{\"m\":{}}\n", &["{\"n\":1}", "{\"n\":2}"], 1);
        check(b"{\"n\":1}{\"n\":2}\n", &["{\"n\":1}", "{\"n\":2}"], 1);
    }
}
