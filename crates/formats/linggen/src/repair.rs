//! Repairs a damaged session: a plan first, then commits that keep every original.
//!
//! Whole records stay as they are, byte for byte, except that a missing `is_observation` is added; anything else leaves
//! the message file. Missing metadata is derived
//! from the name of the directory and the messages. The project's document is repaired with the session.

mod project;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::error::LinggenError;
use super::messages::lacking;
use super::paths::SessionFile;
use super::session::{Session, SessionLocation};
use super::writer::meta_text;
use everturn_json::finding::FindingCode;
use everturn_json::jsonl::{JsonlScan, ScanItem};
use everturn_json::names::FilePath;
use everturn_session::repair::{
    OriginalsBackup, RepairAction, RepairReport, allocate_originals, clean_log_of_objects, revert,
};
use everturn_store::{Store, StoreError, read_optional};
use everturn_value::tree::JsonTree;

/// The repair of a file, and its reason.
struct FileRepair {
    file: FilePath,
    what: String,
    /// The new content; `None` if the file is moved away.
    bytes: Option<Vec<u8>>,
}

fn plan(session: &Session, now: Timestamp) -> Result<Vec<FileRepair>, LinggenError> {
    let mut fixes = Vec::new();
    fixes.extend(repair_messages(session)?);
    fixes.extend(repair_meta(session, now)?);
    if let Err(LinggenError::Damaged { file, .. }) = session.lineage() {
        let what = "moved out, because it does not name the parent session".to_owned();
        fixes.push(FileRepair { file, what, bytes: None });
    }
    if let Some(dir) = project_dir(session.place()) {
        fixes.extend(project::repair_project(&session.store, &dir, now)?);
    }
    Ok(fixes)
}

/// The messages, each on its own line, and nothing else. Records that programs skip stay; those that only lack
/// `is_observation` get its default.
fn repair_messages(session: &Session) -> Result<Option<FileRepair>, LinggenError> {
    let file = session.file(SessionFile::Messages);
    let Some(mut bytes) = read_optional(&session.store, &file)? else { return Ok(None) };
    let mut what = Vec::new();
    let mut rows = session.rows()?;
    for row in &mut rows {
        row?;
    }
    if !rows.findings.is_empty() {
        let sorted = clean_log_of_objects(&file, &bytes, |tree| lacking(tree).is_none())?;
        let places = sorted.describe_left_out();
        what.push(format!("rewritten with one message per line; other bytes moved out{places}"));
        bytes = sorted.bytes;
    }
    let ends = incomplete_ends(&file, &bytes)?;
    if !ends.is_empty() {
        what.push(format!("added `is_observation` to {} messages", ends.len()));
    }
    for end in ends.into_iter().rev() {
        bytes.splice(end..end, ADDITION.bytes());
    }
    let what = what.join("; ");
    Ok((!what.is_empty()).then_some(FileRepair { bytes: Some(bytes), what, file }))
}

/// What a message that only lacks `is_observation` gets at its end.
const ADDITION: &str = r#","is_observation":false"#;

/// The offsets of the closing braces of messages that only lack `is_observation`.
fn incomplete_ends(file: &FilePath, bytes: &[u8]) -> Result<Vec<usize>, LinggenError> {
    let mut ends = Vec::new();
    let failed = || StoreError::io("read", file);
    for item in JsonlScan::new(bytes, file.clone()).forward().map_err(failed())? {
        let ScanItem::Record(record) = item.map_err(failed())? else { continue };
        let Some(text) = record.text() else { continue };
        if JsonTree::from_trusted_str(text).value_at(&["is_observation"]).is_some() {
            continue;
        }
        let Some(start) = text.trim_end().strip_suffix('}') else { continue };
        let whole = JsonTree::parse(format!("{start}{ADDITION}}}"));
        if whole.is_ok_and(|whole| lacking(&whole).is_none()) {
            ends.extend(usize::try_from(record.offset + start.len() as u64));
        }
    }
    Ok(ends)
}

/// The metadata with everything that programs require.
fn repair_meta(session: &Session, now: Timestamp) -> Result<Option<FileRepair>, LinggenError> {
    let (file, id) = (session.file(SessionFile::Meta), &session.place().id);
    let created = session.created()?.unwrap_or(now);
    let titled = session.meta().and_then(|meta| meta.yaml.string("title"));
    let anew = |title: Option<String>| -> Result<Vec<u8>, LinggenError> {
        let title = match title {
            Some(title) => title,
            None => session.derived_title()?.unwrap_or_default(),
        };
        Ok(meta_text(id, &title, created)?.text().as_bytes().to_vec())
    };
    let Some(meta) = session.meta() else {
        let what = "rebuilt from the id and the first message".to_owned();
        return Ok(Some(FileRepair { file, what, bytes: Some(anew(None)?) }));
    };
    let is_ours = meta.yaml.string("id").as_deref() == Some(id.as_str());
    let lacks = meta.lacks();
    if is_ours && lacks.is_empty() {
        return Ok(None);
    }
    let once = meta.yaml.without_repeats();
    let is_once = once.is_some();
    let mut yaml = once.unwrap_or_else(|| meta.yaml.clone());
    let mut put = |key: &str, value: Value| yaml.set(key, &value).is_ok();
    let mut done = is_once && (is_ours || put("id", id.as_str().into()));
    if titled.is_none() {
        done &= put("title", session.derived_title()?.unwrap_or_default().into());
    }
    if meta.created().is_none() {
        done &= put("created_at", created.as_second().into());
    }
    // If it cannot be edited in place, it is rewritten from what is known.
    let bytes = if done { yaml.text().as_bytes().to_vec() } else { anew(titled)? };
    let why = if is_ours { lacks.join(", ") } else { "it names another session".to_owned() };
    Ok(Some(FileRepair { file, what: format!("fixed: {why}"), bytes: Some(bytes) }))
}

/// The directory of the project that a session belongs to.
fn project_dir(place: &SessionLocation) -> Option<FilePath> {
    let project = place.dir.parent()?.parent()?;
    let above = project.parent()?;
    (above.name()?.as_str() == "projects").then_some(project)
}

/// All files that a repair may change.
fn scopes(place: &SessionLocation) -> Vec<FilePath> {
    let info = project_dir(place).map(|dir| super::paths::ProjectPart::Info.of(&dir));
    std::iter::once(place.dir.clone()).chain(info).collect()
}

fn actions(fixes: &[FileRepair]) -> Vec<RepairAction> {
    let action = |fix: &FileRepair| RepairAction { file: fix.file.clone(), what: fix.what.clone() };
    fixes.iter().map(action).collect()
}

/// Plans a repair; changes nothing.
pub fn plan_repair(
    store: &Arc<dyn Store>,
    place: &SessionLocation,
    now: Timestamp,
) -> Result<RepairReport, LinggenError> {
    let session = Session::open(Arc::clone(store), place)?;
    let actions = actions(&plan(&session, now)?);
    Ok(RepairReport { actions, findings: session.check()?, originals: None })
}

/// Repairs a session. Intact messages stay as they are, byte for byte.
pub fn repair(
    store: &Arc<dyn Store>,
    place: &SessionLocation,
    now: Timestamp,
) -> Result<RepairReport, LinggenError> {
    let trash = allocate_originals(store, &place.id, now)?;
    let mut locked = scopes(place);
    locked.push(trash.clone());
    let writer = store.lock(&locked)?;
    let session = Session::open(Arc::clone(store), place)?;
    let fixes = plan(&session, now)?;
    let actions = actions(&fixes);
    let mut repair = RepairReport { actions, findings: Vec::new(), originals: None };
    if !fixes.is_empty() {
        let mut keeper =
            OriginalsBackup::new(store, &*writer, &trash, &place.id, &repair.actions, now);
        for FileRepair { file, bytes, .. } in fixes {
            match bytes {
                Some(bytes) => keeper.write(&file, bytes)?,
                None => keeper.move_away(&file),
            }
        }
        keeper.flush()?;
        repair.originals = Some(trash);
    }
    writer.release()?;
    repair.findings = Session::open(Arc::clone(store), place)?.check()?;
    repair.findings.retain(|finding| finding.code != FindingCode::MissingParent);
    Ok(repair)
}

/// Undoes the newest repair of a session that is not undone yet.
pub fn undo_repair(
    store: &Arc<dyn Store>,
    place: &SessionLocation,
    now: Timestamp,
) -> Result<RepairReport, LinggenError> {
    Ok(revert(store, &place.id, &scopes(place), now)?)
}
