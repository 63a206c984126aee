//! Sessions of OpenCode in a directory with a file per session, message and part.

use std::sync::Arc;

use super::conversation::OpenCodeConversation;
use super::message::{drafts, message};
use super::storage::{any_storage_of, below, document, files, storage_of};
use crate::fetch::RecordFetcher;
use crate::record::{Parent, RecordInfo, RecordSpan};
use crate::stem;
use crate::survey::{ScannedRecord, Survey, Surveyor, title};
use crate::thread_tree::{ForkPolicy, Placement};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::model::SessionRef;
use everturn_store::{Store, StoreError};
use everturn_value::outline::text_at;
use everturn_value::tree::JsonTree;

/// The parts of a message: the usable ones, and the findings of the others.
fn parts_of(
    store: &Arc<dyn Store>,
    storage: &FilePath,
    message: &str,
) -> Result<(Vec<JsonTree>, Vec<Finding>), SessionError> {
    let (mut parts, mut findings) = (Vec::new(), Vec::new());
    for file in files(store, &below(storage, &["part", message])?)? {
        match document(store, &file)? {
            Ok(part) => parts.push(part),
            Err((code, message)) => findings.push(Finding::new(&file, code, message)),
        }
    }
    Ok((parts, findings))
}

/// Reads messages with their parts from a directory.
pub(super) struct DirectoryFetcher {
    pub(super) store: Arc<dyn Store>,
    pub(super) files: Vec<FilePath>,
}

impl RecordFetcher for DirectoryFetcher {
    fn fetch(&mut self, at: RecordSpan) -> Result<JsonTree, SessionError> {
        let file = self.files.get(at.file as usize).cloned().unwrap_or_default();
        let changed = || SessionError::from(StoreError::Changed { file: file.clone() });
        let tree = document(&self.store, &file)?.map_err(|_| changed())?;
        if at.length == 0 {
            return Ok(tree);
        }
        let storage = self.files.first().and_then(any_storage_of).ok_or_else(changed)?;
        let (parts, _) = parts_of(&self.store, &storage, &stem(&file))?;
        Ok(message(tree, &parts).into_expanded())
    }
}

/// The first pass over a session.
pub(super) fn directory(
    store: &Arc<dyn Store>,
    place: &SessionRef,
    storage: &FilePath,
) -> Result<Survey, SessionError> {
    let mut surveyor = Surveyor::of_file(&place.path);
    let mut talk = OpenCodeConversation::default();
    if storage_of(&place.path).is_none() {
        let message = "there are messages of a session whose session file is missing".to_owned();
        surveyor.survey.findings.push(Finding::new(&place.path, FindingCode::OrphanPart, message));
    } else {
        match document(store, &place.path)? {
            Ok(info) => {
                let at = RecordSpan { file: 0, offset: 0, length: 0 };
                let seen = ScannedRecord { tree: &info, text: "", at, line: None };
                talk.begin(&mut surveyor, &seen, &info);
            }
            Err((code, message)) => surveyor.quarantine(Finding::new(&place.path, code, message)),
        }
    }
    changes(store, &mut surveyor, storage, &place.id)?;
    for file in files(store, &below(storage, &["message", &place.id])?)? {
        let (parts, findings) = parts_of(store, storage, &stem(&file))?;
        findings.into_iter().for_each(|finding| surveyor.quarantine(finding));
        let number = u32::try_from(surveyor.survey.files.len()).unwrap_or(u32::MAX);
        match document(store, &file)? {
            Ok(info) => {
                surveyor.survey.files.push(file);
                let tree = message(info, &parts).into_expanded();
                let at = RecordSpan { file: number, offset: 0, length: 1 };
                surveyor.count_also(parts.len() as u64);
                talk.keep(&mut surveyor, &ScannedRecord { tree: &tree, text: "", at, line: None });
            }
            Err((code, what)) => {
                surveyor.quarantine(Finding::new(&file, code, what));
                orphans(store, &mut surveyor, &below(storage, &["part", &stem(&file)])?)?;
            }
        }
    }
    Ok(talk.finish(surveyor))
}

/// Adds the file changes of a session, which the program keeps in a separate document.
fn changes(
    store: &Arc<dyn Store>,
    surveyor: &mut Surveyor,
    storage: &FilePath,
    session: &str,
) -> Result<(), SessionError> {
    let file = below(storage, &["session_diff", &format!("{session}.json")])?;
    if store.stat(&file)?.is_none() {
        return Ok(());
    }
    let tree = match document(store, &file)? {
        Ok(tree) => tree,
        Err((code, message)) => {
            surveyor.quarantine(Finding::new(&file, code, message));
            return Ok(());
        }
    };
    let number = u32::try_from(surveyor.survey.files.len()).unwrap_or(u32::MAX);
    surveyor.survey.files.push(file);
    let at = RecordSpan { file: number, offset: 0, length: 0 };
    let look = RecordInfo::from_drafts(drafts(&tree));
    let seen = ScannedRecord { tree: &tree, text: "", at, line: None };
    let node = surveyor.add(&seen, &look, Parent::Root);
    if let Some(node) = surveyor.node(node) {
        node.placement = Placement::Aside;
    }
    Ok(())
}

/// The parts of a missing message, as a session of their own.
pub(super) fn orphaned_parts_session(
    store: &Arc<dyn Store>,
    place: &SessionRef,
) -> Result<Survey, SessionError> {
    let mut surveyor = Surveyor::of_file(&place.path);
    orphans(store, &mut surveyor, &place.path)?;
    let first = files(store, &place.path)?.into_iter().next();
    let first = first.map(|file| document(store, &file)).transpose()?.and_then(Result::ok);
    let mut survey = surveyor.finish(ForkPolicy::EveryFork, None);
    survey.title = first.as_ref().and_then(|part| title(&text_at(part, &["text"])?));
    survey.parent = first.and_then(|part| text_at(&part, &["sessionID"]));
    Ok(survey)
}

/// Keeps and reports parts that belong to no message.
fn orphans(
    store: &Arc<dyn Store>,
    surveyor: &mut Surveyor,
    dir: &FilePath,
) -> Result<(), SessionError> {
    for file in files(store, dir)? {
        let Ok(part) = document(store, &file)? else { continue };
        let number = u32::try_from(surveyor.survey.files.len()).unwrap_or(u32::MAX);
        surveyor.survey.files.push(file);
        let at = RecordSpan { file: number, offset: 0, length: 0 };
        let seen = ScannedRecord { tree: &part, text: "", at, line: None };
        let look = RecordInfo::from_drafts(drafts(&part));
        let node = surveyor.add(&seen, &look, Parent::Root);
        if let Some(node) = surveyor.node(node) {
            node.placement = Placement::Aside;
        }
        surveyor.repair(
            node,
            FindingCode::OrphanPart,
            "a part of a message that does not exist".to_owned(),
        );
    }
    Ok(())
}
