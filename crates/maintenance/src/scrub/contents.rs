//! Replaces secrets in files with placeholders.

use std::ops::Range;
use std::sync::Arc;

use super::protected::protected;
use super::{ScrubError, ScrubbedFile};
use crate::scan_files::{archive_top, is_vault};
use everturn_archive::{ArchiveLimits, pack, verify};
use everturn_json::names::{FilePath, Name};
use everturn_secrets::scan::{FamilyCounts, SecretMatch, SecretRules};
use everturn_session::format::unpack_to_memory;
use everturn_session::format::{SessionError, SessionFormat, error_chain};
use everturn_session::session_files::files_below;
use everturn_store::overlay::FileChanges;
use everturn_store::{Durability, FileMode, Precondition, Step, Store, StoreError};
use everturn_value::tree::JsonTree;

/// The changes to write, and what was found.
#[derive(Default)]
pub(super) struct ScrubChanges {
    pub(super) changes: FileChanges,
    pub(super) changed: Vec<ScrubbedFile>,
    /// The number of secrets that stay, because they are signed or replacing them would break the JSON, by file.
    pub(super) left: Vec<(FilePath, usize)>,
    /// The files that could not be read or changed, with the reason.
    pub(super) failed: Vec<(FilePath, String)>,
}

/// A content without its secrets.
struct MaskedContent {
    bytes: Vec<u8>,
    counts: FamilyCounts,
    placeholders: Vec<String>,
}

/// Scans files and computes their new contents. A file that cannot be read does not stop the others. Without a format,
/// archives have no derived data.
pub(super) fn mask_files(
    store: &Arc<dyn Store>,
    layout: Option<&dyn SessionFormat>,
    files: &[FilePath],
    rules: &SecretRules,
) -> ScrubChanges {
    let mut work = ScrubChanges::default();
    for file in files.iter().filter(|file| !is_vault(file)) {
        let read = || Ok(mask_plain(file, &store.read(file, 0..u64::MAX)?, rules));
        let masked = match archive_top(file) {
            Some(top) => mask_archive(store, layout, file, &top, rules),
            None => read(),
        };
        let (masked, left) = match masked {
            Ok(masked) => masked,
            // It was removed since it was listed.
            Err(ScrubError::Store(StoreError::Missing { .. })) => continue,
            Err(error) => {
                work.failed.push((file.clone(), error_chain(&error)));
                continue;
            }
        };
        if left > 0 {
            work.left.push((file.clone(), left));
        }
        if let Some(MaskedContent { bytes, counts, placeholders }) = masked {
            work.changed.push(ScrubbedFile { file: file.clone(), counts, placeholders });
            work.changes.insert(file.clone(), Some(bytes));
        }
    }
    work
}

/// YAML parses a bracket at the start of a value as a list.
fn placeholder_style(file: &FilePath) -> fn(String) -> String {
    let is_yaml = [".yaml", ".yml"].iter().any(|end| file.as_str().ends_with(end));
    match is_yaml {
        true => |text| format!("({})", text.trim_start_matches('[').trim_end_matches(']')),
        false => |text| text,
    }
}

fn mask_plain(
    file: &FilePath,
    bytes: &[u8],
    rules: &SecretRules,
) -> (Option<MaskedContent>, usize) {
    let mut hits = rules.find_bytes(bytes);
    let all = hits.len();
    if all == 0 {
        return (None, 0);
    }
    let kept = protected(bytes);
    let meets = |hit: &SecretMatch| {
        kept.iter().any(|range| hit.range.start < range.end && range.start < hit.range.end)
    };
    hits.retain(|hit| !meets(hit));
    let dress = placeholder_style(file);
    let hits = keep_valid_json(bytes, hits, rules);
    let left = all - hits.len();
    if hits.is_empty() {
        return (None, left);
    }
    let mut placeholders: Vec<String> = hits
        .iter()
        .map(|hit| rules.placeholder(hit.family, bytes.get(hit.range.clone()).unwrap_or_default()))
        .collect();
    placeholders.sort();
    placeholders.dedup();
    let (bytes, counts) = rules.replace_with(bytes, &hits, dress);
    (Some(MaskedContent { bytes, counts, placeholders }), left)
}

/// The secrets whose replacement leaves JSON lines valid: one outside a string stays.
fn keep_valid_json(bytes: &[u8], hits: Vec<SecretMatch>, rules: &SecretRules) -> Vec<SecretMatch> {
    let mut kept = Vec::with_capacity(hits.len());
    let mut rest = hits.into_iter().peekable();
    while let Some(first) = rest.next() {
        let lines = line_around(bytes, &first.range);
        let mut group = vec![first];
        while let Some(next) = rest.next_if(|hit| hit.range.start < lines.end) {
            group.push(next);
        }
        let line = bytes.get(lines.clone()).unwrap_or_default();
        let without = |hits: &[SecretMatch]| {
            let moved = |hit: &SecretMatch| {
                let range = hit.range.start - lines.start..hit.range.end - lines.start;
                SecretMatch { range, ..hit.clone() }
            };
            let within = hits.iter().all(|hit| hit.range.end <= lines.end);
            !within || is_json(&rules.replace(line, &hits.iter().map(moved).collect::<Vec<_>>()).0)
        };
        if is_json(line) && !without(&group) {
            group.retain(|hit| without(std::slice::from_ref(hit)));
        }
        kept.append(&mut group);
    }
    kept
}

/// The line in which a range begins.
fn line_around(bytes: &[u8], range: &Range<usize>) -> Range<usize> {
    let is_end = |byte: &u8| *byte == b'\n';
    let before = bytes.get(..range.start).unwrap_or_default();
    let start = before.iter().rposition(is_end).map_or(0, |at| at + 1);
    let after = bytes.get(range.start..).unwrap_or_default();
    let end = after.iter().position(is_end).map_or(bytes.len(), |at| range.start + at);
    start..end
}

/// Whether a line is JSON, or a line of a pretty-printed document.
fn is_json(line: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(line) else { return false };
    let text = text.trim().trim_end_matches(',');
    JsonTree::parse(text).is_ok() || JsonTree::parse(format!("{{{text}}}")).is_ok()
}

/// Repacks an archive, if something in it changes.
fn mask_archive(
    store: &Arc<dyn Store>,
    layout: Option<&dyn SessionFormat>,
    file: &FilePath,
    top: &Name,
    rules: &SecretRules,
) -> Result<(Option<MaskedContent>, usize), ScrubError> {
    let dir = FilePath::root().join(top);
    let held = unpack_to_memory(store, file, top, &dir)?;
    let mut work = mask_files(&held, layout, &files_below(&held, &dir)?, rules);
    let left = work.left.iter().map(|(_, count)| count).sum();
    if work.changes.is_empty() {
        return Ok((None, left));
    }
    if let Some(derived) = layout.and_then(|layout| layout.capabilities().derived) {
        derived.update_derived(&held, &dir, &mut work.changes)?;
    }
    let writer = held.lock(&[FilePath::root()])?;
    let (expect, mode) = (Precondition::Anything, FileMode::Default);
    let step = |(file, bytes): (FilePath, Option<Vec<u8>>)| match bytes {
        Some(bytes) => Step::Replace { file, expect, bytes, mode },
        None => Step::Remove { path: file },
    };
    writer.commit(work.changes.into_iter().map(step).collect(), Durability::Buffered)?;
    writer.release()?;
    let bad =
        |error| SessionError::damaged(format!("{file} cannot be packed: {}", error_chain(&error)));
    let limits = ArchiveLimits::default();
    let packed = pack(&*held, &dir, top, &limits, &mut |_| {}).map_err(bad)?;
    verify(&packed.bytes[..], &packed.contents, &limits).map_err(bad)?;
    let mut counts = FamilyCounts::new();
    let mut placeholders = Vec::new();
    for changed in work.changed {
        for (family, count) in changed.counts {
            *counts.entry(family).or_default() += count;
        }
        placeholders.extend(changed.placeholders);
    }
    placeholders.sort();
    placeholders.dedup();
    Ok((Some(MaskedContent { bytes: packed.bytes, counts, placeholders }), left))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token that is assembled here, so that it is in no source file.
    fn token() -> String {
        format!("gsk_{}", "aB3dE5gH7jK9mN1p".repeat(4).get(..52).unwrap())
    }

    #[track_caller]
    fn check(file: &str, text: &str, expect: &str, stays: usize) {
        let (token, rules) = (token(), SecretRules::standard());
        let placeholder = rules.placeholder("groq-key", token.as_bytes());
        let text = text.replace("TOKEN", &token);
        let (masked, left) = mask_plain(&FilePath::parse(file).unwrap(), text.as_bytes(), rules);
        let found = masked.map_or(text.clone(), |it| String::from_utf8(it.bytes).unwrap());
        let digits = placeholder.trim_matches(['[', ']']);
        assert_eq!(found, expect.replace("TOKEN", &token).replace("DIGITS", digits), "{text}");
        assert_eq!(left, stays, "{text}");
    }

    #[test]
    fn placeholders_fit_where_they_stand() {
        check("a.jsonl", "{\"a\":\"x TOKEN\"}\n{}\n", "{\"a\":\"x [DIGITS]\"}\n{}\n", 0);
        check("a.yaml", "title: TOKEN\nid: 1\n", "title: (DIGITS)\nid: 1\n", 0);
        check("a.txt", "TOKEN TOKEN", "[DIGITS] [DIGITS]", 0);
        check(
            "a.json",
            "{\n  \"a\": \"TOKEN\",\n  \"b\": 1\n}",
            "{\n  \"a\": \"[DIGITS]\",\n  \"b\": 1\n}",
            0,
        );
        check("a.json", "{\"TOKEN\":1}", "{\"[DIGITS]\":1}", 0);
        check("a.txt", "nothing", "nothing", 0);
        check("a.jsonl", "{\"signature\":\"TOKEN\"}", "{\"signature\":\"TOKEN\"}", 1);
    }

    #[test]
    fn a_number_behind_a_name_stays_a_number() {
        let line = "{\"api_key\":1.2345678901234567e10,\"b\":\"TOKEN\"}";
        check("a.jsonl", line, "{\"api_key\":1.2345678901234567e10,\"b\":\"[DIGITS]\"}", 0);
    }
}
