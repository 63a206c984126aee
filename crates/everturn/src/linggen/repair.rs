//! Putting a damaged session right: a plan first, then commits that keep every original.

use std::sync::Arc;

use jiff::Timestamp;

use super::error::LinggenError;
use super::names::SessionFile;
use super::session::{Session, SessionPlace};
use super::writer::meta_text;
use crate::finding::Code;
use crate::names::FilePath;
use crate::repairs::{Action, Keeper, Repair, new_place, own_lines, take_back};
use crate::store::{Store, read_if_there};

/// What is to be written, and why.
struct Mending {
    file: FilePath,
    what: &'static str,
    bytes: Vec<u8>,
}

fn plan(session: &Session, now: Timestamp) -> Result<Vec<Mending>, LinggenError> {
    let mut mendings = Vec::new();
    let file = session.file(SessionFile::Messages);
    if let Some(bytes) = read_if_there(&session.store, &file)? {
        let mut rows = session.rows()?;
        for row in &mut rows {
            row?;
        }
        if !rows.findings.is_empty() {
            let what =
                "lines that are no records are moved out, and each record gets a line of its own";
            mendings.push(Mending { bytes: own_lines(&file, &bytes)?, what, file });
        }
    }
    if session.meta().is_none() {
        let created = session.created()?.unwrap_or(now);
        let title = session.made_up_title()?.unwrap_or_default();
        let meta = meta_text(&session.place().id, &title, created)?;
        let what = "made anew from the id and the first message";
        let (file, bytes) = (session.file(SessionFile::Meta), meta.text().as_bytes().to_vec());
        mendings.push(Mending { file, what, bytes });
    }
    Ok(mendings)
}

fn actions(mendings: &[Mending]) -> Vec<Action> {
    let action =
        |mending: &Mending| Action { file: mending.file.clone(), what: mending.what.to_owned() };
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

/// Repairs a session. Records stay as they are, byte for byte, and keep their numbers.
pub fn repair(
    store: &Arc<dyn Store>,
    place: &SessionPlace,
    now: Timestamp,
) -> Result<Repair, LinggenError> {
    let trash = new_place(store, &place.id, now)?;
    let writer = store.lock(&[place.dir.clone(), trash.clone()])?;
    let session = Session::open(Arc::clone(store), place)?;
    let mendings = plan(&session, now)?;
    let actions = actions(&mendings);
    let mut repair = Repair { actions, findings: Vec::new(), kept: None };
    if !mendings.is_empty() {
        let mut keeper = Keeper::new(store, &*writer, &trash, &place.id, &repair.actions, now);
        for Mending { file, bytes, .. } in mendings {
            keeper.write(&file, bytes)?;
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
    Ok(take_back(store, &place.id, std::slice::from_ref(&place.dir), now)?)
}
