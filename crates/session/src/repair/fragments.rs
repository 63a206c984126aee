//! Finds intact objects in damaged bytes, whatever surrounds them.

use std::ops::Range;

use super::line_end;
use everturn_json::json::value_end;
use everturn_json::jsonl::{JsonlScan, ScanItem};
use everturn_json::names::FilePath;
use everturn_store::StoreError;
use everturn_value::tree::{JsonTree, ValueKind};

/// How many times all bytes may be scanned: an unclosed brace makes the scan restart after it.
const PASSES: usize = 16;

/// The number of bytes that may be scanned in any case.
const LEAST: usize = 64 << 10;

/// How many omitted ranges are listed.
const NAMED: usize = 5;

/// Finds the intact objects that are wanted, outermost first and in order. Searches inside objects that are not wanted.
/// Also returns where the search was abandoned, if it took too long.
pub fn find_objects(
    bytes: &[u8],
    mut wanted: impl FnMut(Range<usize>, &JsonTree) -> bool,
) -> (Vec<Range<usize>>, Option<usize>) {
    let mut found = Vec::new();
    let mut budget = bytes.len().saturating_mul(PASSES).saturating_add(LEAST);
    let mut at = 0;
    while let Some(ahead) = bytes.get(at..).and_then(|rest| rest.iter().position(|b| *b == b'{')) {
        let start = at + ahead;
        let looked = match value_end(bytes, start) {
            Ok(end) => {
                if parse_tree(bytes, &(start..end)).is_some_and(|tree| wanted(start..end, &tree)) {
                    found.push(start..end);
                    at = end;
                    continue;
                }
                end - start
            }
            Err(bad) => usize::try_from(bad.at).unwrap_or(usize::MAX).saturating_sub(start),
        };
        at = start + 1;
        match budget.checked_sub(looked + 1) {
            Some(left) => budget = left,
            None => return (found, Some(at)),
        }
    }
    (found, None)
}

/// A whole value, unless it is not UTF-8.
pub fn parse_tree(bytes: &[u8], span: &Range<usize>) -> Option<JsonTree> {
    let text = std::str::from_utf8(bytes.get(span.clone())?).ok()?;
    Some(JsonTree::from_trusted_str(text))
}

/// A log with exactly one record on each line.
pub struct CleanedLog {
    pub bytes: Vec<u8>,
    /// The ranges outside the records, without white space.
    pub(crate) left_out: Vec<Range<usize>>,
}

impl CleanedLog {
    /// Describes the omitted ranges.
    pub fn describe_left_out(&self) -> String {
        describe_ranges(&self.left_out)
    }
}

/// Describes ranges of bytes; empty if there are none.
pub fn describe_ranges(left_out: &[Range<usize>]) -> String {
    if left_out.is_empty() {
        return String::new();
    }
    let named = left_out.iter().take(NAMED).map(|part| match part.len() {
        1 => format!("byte {}", part.start),
        _ => format!("bytes {} to {}", part.start, part.end - 1),
    });
    let named: Vec<String> = named.collect();
    let more = left_out.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("; omitted: {}{more}", named.join(", "))
}

/// A range without the white space around it; `None` if it is only white space.
pub fn trim_whitespace(bytes: &[u8], part: Range<usize>) -> Option<Range<usize>> {
    let inner = bytes.get(part.clone())?;
    let start = inner.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let end = inner.iter().rposition(|byte| !byte.is_ascii_whitespace())? + 1;
    Some(part.start + start..part.start + end)
}

/// The ranges of the records of a log that are kept, including wanted ones on a damaged line.
fn find_record_spans(
    path: &FilePath,
    bytes: &[u8],
    kept: impl Fn(&JsonTree) -> bool,
    wanted: impl Fn(&JsonTree) -> bool,
) -> Result<Vec<Range<usize>>, StoreError> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut done = 0;
    let between = |part: Range<usize>, spans: &mut Vec<Range<usize>>| {
        let inner = bytes.get(part.clone()).unwrap_or_default();
        let (found, _) = find_objects(inner, |_, tree| wanted(tree));
        spans.extend(found.into_iter().map(|span| part.start + span.start..part.start + span.end));
    };
    let scan = JsonlScan::new(bytes, path.clone()).largest_text(0).forward();
    for item in scan.map_err(StoreError::io("read", path))? {
        let ScanItem::Record(record) = item.map_err(StoreError::io("read", path))? else {
            continue;
        };
        let start = usize::try_from(record.offset).unwrap_or(usize::MAX);
        let length = usize::try_from(record.length).unwrap_or(0);
        let span = start..start.saturating_add(length);
        if parse_tree(bytes, &span).is_some_and(|tree| kept(&tree)) {
            between(done..start, &mut spans);
            done = span.end;
            spans.push(span);
        }
    }
    between(done..bytes.len(), &mut spans);
    Ok(spans)
}

/// The ranges outside the records, without white space.
fn uncovered_ranges(bytes: &[u8], spans: &[Range<usize>]) -> Vec<Range<usize>> {
    let starts = spans.iter().map(|span| span.start).chain([bytes.len()]);
    let ends = [0].into_iter().chain(spans.iter().map(|span| span.end));
    ends.zip(starts).filter_map(|(end, start)| trim_whitespace(bytes, end..start)).collect()
}

/// The wanted records of a log, each on its own line, byte for byte.
pub fn clean_log(
    path: &FilePath,
    bytes: &[u8],
    wanted: impl Fn(&JsonTree) -> bool,
) -> Result<CleanedLog, StoreError> {
    Ok(one_per_line(bytes, &find_record_spans(path, bytes, &wanted, &wanted)?))
}

/// All whole objects of a log, each on its own line, byte for byte. Among the bytes around them, which may be parts of
/// such objects, only wanted ones are records.
pub fn clean_log_of_objects(
    path: &FilePath,
    bytes: &[u8],
    wanted: impl Fn(&JsonTree) -> bool,
) -> Result<CleanedLog, StoreError> {
    let is_object = |tree: &JsonTree| tree.kind() == ValueKind::Object;
    Ok(one_per_line(bytes, &find_record_spans(path, bytes, is_object, wanted)?))
}

fn one_per_line(bytes: &[u8], spans: &[Range<usize>]) -> CleanedLog {
    let end = line_end(bytes).as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    for span in spans {
        out.extend_from_slice(bytes.get(span.clone()).unwrap_or_default());
        out.extend_from_slice(end);
    }
    CleanedLog { bytes: out, left_out: uncovered_ranges(bytes, spans) }
}

/// The intact records of a damaged log.
pub struct IntactRecords {
    /// The wanted records, in order.
    pub texts: Vec<String>,
    /// The number of ranges outside them.
    pub bad: usize,
}

/// The wanted records of a log as strings.
pub fn intact_records(
    path: &FilePath,
    bytes: &[u8],
    wanted: impl Fn(&JsonTree) -> bool,
) -> Result<IntactRecords, StoreError> {
    let spans = find_record_spans(path, bytes, &wanted, &wanted)?;
    let text = |span: &Range<usize>| std::str::from_utf8(bytes.get(span.clone())?).ok();
    let texts = spans.iter().filter_map(text).map(str::to_owned).collect();
    Ok(IntactRecords { texts, bad: uncovered_ranges(bytes, &spans).len() })
}

/// The first whole value after a key, anywhere in damaged bytes.
pub fn find_value_after(bytes: &[u8], key: &str) -> Option<JsonTree> {
    let word = format!("\"{key}\"");
    let mut at = 0;
    loop {
        let rest = bytes.get(at..)?;
        at += rest.windows(word.len()).position(|part| part == word.as_bytes())? + word.len();
        let skip = |at: usize| {
            let blank = bytes.get(at..)?.iter().position(|byte| !byte.is_ascii_whitespace())?;
            Some(at + blank)
        };
        let Some(colon) = skip(at).filter(|at| bytes.get(*at) == Some(&b':')) else { continue };
        let Some(start) = skip(colon + 1) else { continue };
        let Ok(end) = value_end(bytes, start) else { continue };
        // A number at the very end may have lost digits.
        if end == bytes.len() && bytes.get(end - 1).is_some_and(u8::is_ascii_digit) {
            continue;
        }
        if let Some(tree) = parse_tree(bytes, &(start..end)) {
            return Some(tree);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &[u8], expect: &[&str]) {
        let (found, _) = find_objects(text, |_, tree| tree.value_at(&["m"]).is_some());
        let found: Vec<&str> =
            found.into_iter().map(|span| std::str::from_utf8(&text[span]).unwrap()).collect();
        assert_eq!(found, expect, "{}", text.escape_ascii());
    }

    #[test]
    fn whole_objects_are_found_whatever_stands_around_them() {
        check(b"", &[]);
        check(br#"{"m":1}"#, &[r#"{"m":1}"#]);
        check(br#"{"m":{"m":2}}"#, &[r#"{"m":{"m":2}}"#]);
        check(br#"{"x":[{"m":1},{"n":2},{"m":3}]}"#, &[r#"{"m":1}"#, r#"{"m":3}"#]);
        check(br#"{"m":"cut off{"m":"a } b"}"#, &[r#"{"m":"a } b"}"#]);
        check(b"\0\0{\"m\":1}\xff{\"m\":2}\0", &[r#"{"m":1}"#, r#"{"m":2}"#]);
        check(b"{\"m\":\"\xff\"}{\"m\":2}", &[r#"{"m":2}"#]);
        check(br#"[{"m":1},{"m":2,{"m":3}"#, &[r#"{"m":1}"#, r#"{"m":3}"#]);
    }

    #[test]
    fn braces_without_end_are_given_up() {
        let many = "{\"a\":".repeat(100_000);
        let (found, stopped) = find_objects(many.as_bytes(), |_, _| true);
        assert!(found.is_empty() && stopped.is_some());
    }

    #[test]
    fn records_get_lines_and_the_rest_is_named() {
        let file = FilePath::parse("a.jsonl").unwrap();
        let check = |text: &str, expect: &str, places: &str| {
            let is_wanted = |tree: &JsonTree| tree.value_at(&["m"]).is_some();
            let sorted = clean_log(&file, text.as_bytes(), is_wanted).unwrap();
            assert_eq!(sorted.bytes, expect.as_bytes(), "{text:?}");
            assert_eq!(sorted.describe_left_out(), places, "{text:?}");
            let salvaged = intact_records(&file, text.as_bytes(), is_wanted).unwrap();
            assert_eq!(salvaged.texts, expect.lines().collect::<Vec<_>>(), "{text:?}");
            assert_eq!(salvaged.bad, sorted.left_out.len(), "{text:?}");
        };
        check("{\"m\":1}\n{\"m\":2}\n", "{\"m\":1}\n{\"m\":2}\n", "");
        check("{\"m\":1}{\"m\":2}", "{\"m\":1}\n{\"m\":2}\n", "");
        check("{\"m\":1}\nno{\"m\":2}\n", "{\"m\":1}\n{\"m\":2}\n", "; omitted: bytes 8 to 9");
        check("7\r\n{\"m\":1}\r\n{}\r\n", "{\"m\":1}\r\n", "; omitted: byte 0, bytes 12 to 13");
    }

    #[test]
    fn values_are_found_after_their_keys() {
        let check = |text: &str, expect: Option<&str>| {
            let found = find_value_after(text.as_bytes(), "k").map(|tree| tree.to_line());
            assert_eq!(found.as_deref(), expect, "{text:?}");
        };
        check(r#"{"k": "a", "k": 2"#, Some("\"a\""));
        check(r#"{"k", "k" : 2,"#, Some("2"));
        check(r#"{"k": 2"#, None);
        check(r#"{"k": "a"#, None);
        check(r#""k""#, None);
    }
}
