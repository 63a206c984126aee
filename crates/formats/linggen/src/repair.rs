//! Putting a damaged session right: a plan first, then commits that keep every original.
//!
//! Records that are whole stay as they are, byte for byte; what is no message leaves the file. Metadata get what they
//! lack from the name of the directory and the messages. The project's document is mended with the session.

mod project;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::error::LinggenError;
use super::messages::lacking;
use super::names::SessionFile;
use super::session::{Session, SessionPlace};
use super::writer::meta_text;
use everturn_json::finding::Code;
use everturn_json::names::FilePath;
use everturn_session::repairs::{Action, Keeper, Repair, new_place, own_records, take_back};
use everturn_store::{Store, read_if_there};

/// What is to be done with a file, and why.
struct Mending {
    file: FilePath,
    what: String,
    /// What it will hold; nothing, if it is moved away.
    bytes: Option<Vec<u8>>,
}

fn plan(session: &Session, now: Timestamp) -> Result<Vec<Mending>, LinggenError> {
    let mut mendings = Vec::new();
    mendings.extend(messages(session)?);
    mendings.extend(meta(session, now)?);
    if let Err(LinggenError::Damaged { file, .. }) = session.lineage() {
        let what = "does not say where the session comes from, and is moved away".to_owned();
        mendings.push(Mending { file, what, bytes: None });
    }
    if let Some(dir) = project_dir(session.place()) {
        mendings.extend(project::mend(&session.store, &dir, now)?);
    }
    Ok(mendings)
}

/// The messages, each on its own line, and nothing else.
fn messages(session: &Session) -> Result<Option<Mending>, LinggenError> {
    let file = session.file(SessionFile::Messages);
    let Some(bytes) = read_if_there(&session.store, &file)? else { return Ok(None) };
    let (mut rows, mut odd) = (session.rows()?, false);
    for row in &mut rows {
        odd |= row?.lacks().is_some();
    }
    if rows.findings.is_empty() && !odd {
        return Ok(None);
    }
    let sorted = own_records(&file, &bytes, |tree| lacking(tree).is_none())?;
    let what = format!(
        "what is no message is moved out, and each message gets a line of its own{}",
        sorted.places()
    );
    Ok(Some(Mending { bytes: Some(sorted.bytes), what, file }))
}

/// The metadata with everything that programs need.
fn meta(session: &Session, now: Timestamp) -> Result<Option<Mending>, LinggenError> {
    let (file, id) = (session.file(SessionFile::Meta), &session.place().id);
    let created = session.created()?.unwrap_or(now);
    let titled = session.meta().and_then(|meta| meta.yaml.string("title"));
    let anew = |title: Option<String>| -> Result<Vec<u8>, LinggenError> {
        let title = match title {
            Some(title) => title,
            None => session.made_up_title()?.unwrap_or_default(),
        };
        Ok(meta_text(id, &title, created)?.text().as_bytes().to_vec())
    };
    let Some(meta) = session.meta() else {
        let what = "made anew from the id and the first message".to_owned();
        return Ok(Some(Mending { file, what, bytes: Some(anew(None)?) }));
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
        done &= put("title", session.made_up_title()?.unwrap_or_default().into());
    }
    if meta.created().is_none() {
        done &= put("created_at", created.as_second().into());
    }
    // What cannot be changed in place is written anew with what is known.
    let bytes = if done { yaml.text().as_bytes().to_vec() } else { anew(titled)? };
    let why = if is_ours { lacks.join(", ") } else { "it names another session".to_owned() };
    Ok(Some(Mending { file, what: format!("is set right: {why}"), bytes: Some(bytes) }))
}

/// The directory of the project that a session belongs to.
fn project_dir(place: &SessionPlace) -> Option<FilePath> {
    let project = place.dir.parent()?.parent()?;
    let above = project.parent()?;
    (above.name()?.as_str() == "projects").then_some(project)
}

/// All that a repair may change.
fn scopes(place: &SessionPlace) -> Vec<FilePath> {
    let info = project_dir(place).map(|dir| super::names::ProjectPart::Info.of(&dir));
    std::iter::once(place.dir.clone()).chain(info).collect()
}

fn actions(mendings: &[Mending]) -> Vec<Action> {
    let action =
        |mending: &Mending| Action { file: mending.file.clone(), what: mending.what.clone() };
    mendings.iter().map(action).collect()
}

/// Says what a repair would do, and does nothing.
pub fn plan_repair(
    store: &Arc<dyn Store>,
    place: &SessionPlace,
    now: Timestamp,
) -> Result<Repair, LinggenError> {
    let session = Session::open(Arc::clone(store), place)?;
    let actions = actions(&plan(&session, now)?);
    Ok(Repair { actions, findings: session.check()?, kept: None })
}

/// Repairs a session. Messages that are whole stay as they are, byte for byte.
pub fn repair(
    store: &Arc<dyn Store>,
    place: &SessionPlace,
    now: Timestamp,
) -> Result<Repair, LinggenError> {
    let trash = new_place(store, &place.id, now)?;
    let mut locked = scopes(place);
    locked.push(trash.clone());
    let writer = store.lock(&locked)?;
    let session = Session::open(Arc::clone(store), place)?;
    let mendings = plan(&session, now)?;
    let actions = actions(&mendings);
    let mut repair = Repair { actions, findings: Vec::new(), kept: None };
    if !mendings.is_empty() {
        let mut keeper = Keeper::new(store, &*writer, &trash, &place.id, &repair.actions, now);
        for Mending { file, bytes, .. } in mendings {
            match bytes {
                Some(bytes) => keeper.write(&file, bytes)?,
                None => keeper.discard(&file),
            }
        }
        keeper.flush()?;
        repair.kept = Some(trash);
    }
    writer.release()?;
    repair.findings = Session::open(Arc::clone(store), place)?.check()?;
    repair.findings.retain(|finding| finding.code != Code::MissingParent);
    Ok(repair)
}

/// Takes back the newest repair of a session that was not taken back yet.
pub fn undo_repair(
    store: &Arc<dyn Store>,
    place: &SessionPlace,
    now: Timestamp,
) -> Result<Repair, LinggenError> {
    Ok(take_back(store, &place.id, &scopes(place), now)?)
}
