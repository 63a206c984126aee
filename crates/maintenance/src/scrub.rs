//! Secrets taken out of sessions: out of logs, snapshots, checkpoints, archives, indexes, the trash and the quarantine,
//! as one operation that keeps every original until somebody purges them.
//!
//! Placeholders stand in their place (see [`scan`](everturn_secrets::scan)), and everything else stays byte for byte: signatures,
//! what was signed, the order and spelling of records. What follows from the contents, such as checksums of
//! snapshots, is made true again by the layout. An audit record says what was done, without the secrets.

mod contents;
mod protected;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;
use thiserror::Error;

use crate::seal;
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_secrets::scan::{Counts, Rules};
use everturn_session::belongings::{Belongings, files_below};
use everturn_session::layout::{Layout, LayoutError};
use everturn_session::repairs::{Action, Keeper, RepairError, free_place, kept, take_back_done};
use everturn_session::view::Place;
use everturn_store::{At, Durability, Step, Store, StoreError, audit_dir};

use contents::{Work, work_on};

/// What the trash calls the originals.
const DONE: &str = "scrub";

/// Why secrets could not be taken out. Nothing was changed.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ScrubError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A name that cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The layout said no.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// It cannot be taken back.
    #[error(transparent)]
    Back(#[from] RepairError),
}

/// A file in which secrets are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The file.
    pub file: FilePath,
    /// How many secrets of which families.
    pub counts: Counts,
    /// What stands in their places, each once.
    pub placeholders: Vec<String>,
}

/// What a scrub does, or has done.
#[derive(Debug, Clone, Default)]
pub struct Scrub {
    /// The files in which secrets are.
    pub changed: Vec<Changed>,
    /// Files that follow from those, and are made true again or go until they are made anew.
    pub followed: Vec<FilePath>,
    /// Files with secrets that stay, because they are signed, or stand where no text may stand.
    pub left: Vec<(FilePath, usize)>,
    /// Where the originals are, once it is done.
    pub kept: Option<FilePath>,
    /// The heads of the seal before and after, if the session has one that is whole.
    pub seals: Option<(String, String)>,
}

/// The file in which it is noted what was scrubbed.
#[must_use]
pub fn audit_file() -> FilePath {
    audit_dir().below("scrubs.jsonl")
}

/// Whether a place in the trash holds originals of a scrub.
fn is_originals(place: &FilePath) -> bool {
    place.name().is_some_and(|name| {
        let name = name.as_str().trim_end_matches(|c: char| c.is_ascii_digit());
        name.trim_end_matches('-').ends_with("-scrub")
    })
}

/// A session with all that belongs to it.
struct Target<'a> {
    store: &'a Arc<dyn Store>,
    layout: &'a dyn Layout,
    place: &'a Place,
    belongings: Belongings,
    /// Copies in the trash, without originals of scrubs.
    copies: Vec<FilePath>,
    originals: Vec<FilePath>,
    quarantined: Vec<FilePath>,
}

impl<'a> Target<'a> {
    fn find(
        store: &'a Arc<dyn Store>,
        layout: &'a dyn Layout,
        place: &'a Place,
    ) -> Result<Target<'a>, ScrubError> {
        let belongings = layout.belongings(store, place)?;
        let (originals, copies) = belongings.copies(store)?.into_iter().partition(is_originals);
        let quarantined = belongings.quarantined(store)?;
        Ok(Target { store, layout, place, belongings, copies, originals, quarantined })
    }

    /// The name by which the trash knows what is done to the session.
    fn id(&self) -> Result<SessionId, NameError> {
        SessionId::parse(self.belongings.names.last().unwrap_or(&self.place.id))
    }

    /// Everything that is locked while it is changed.
    fn scopes(&self) -> Result<Vec<FilePath>, LayoutError> {
        let mut scopes = self.belongings.scopes.clone();
        scopes.extend(self.belongings.paths.iter().cloned());
        scopes.extend(self.copies.iter().chain(&self.quarantined).cloned());
        scopes.push(audit_file());
        scopes.push(seal::seal_file(self.layout, self.place)?);
        scopes.sort();
        scopes.dedup();
        // A place within another is locked with it.
        let all = scopes.clone();
        scopes.retain(|it| !all.iter().any(|other| other != it && it.is_within(other)));
        Ok(scopes)
    }

    /// The places from which the session's own files can be told: it itself, and its copies in the trash.
    fn roots(&self) -> Result<Vec<FilePath>, StoreError> {
        let mut roots = vec![self.place.path.clone()];
        for copy in &self.copies {
            for scope in &self.belongings.scopes {
                let root = kept(copy, scope);
                if self.store.stat(&root).is_ok_and(|stat| stat.is_some()) {
                    roots.push(root);
                }
            }
        }
        Ok(roots)
    }

    fn work(&self, rules: &Rules) -> Result<(Work, Vec<FilePath>), ScrubError> {
        let mut files = Vec::new();
        for path in self.belongings.paths.iter().chain(&self.copies) {
            files.extend(files_below(self.store, path)?);
        }
        files.extend(self.quarantined.iter().cloned());
        files.sort();
        files.dedup();
        let mut work = work_on(self.store, self.layout, &files, rules)?;
        let found: Vec<FilePath> = work.changes.keys().cloned().collect();
        for root in self.roots()? {
            self.layout.follow(self.store, &root, &mut work.changes)?;
        }
        let followed = work.changes.keys().filter(|file| !found.contains(file)).cloned().collect();
        Ok((work, followed))
    }
}

/// Says what a scrub of a session would do, and does nothing.
pub fn plan(
    store: &Arc<dyn Store>,
    layout: &dyn Layout,
    place: &Place,
    rules: &Rules,
) -> Result<Scrub, ScrubError> {
    let (work, followed) = Target::find(store, layout, place)?.work(rules)?;
    let Work { changed, left, .. } = work;
    Ok(Scrub { changed, followed, left, kept: None, seals: None })
}

/// Takes the secrets out of a session. The originals are kept, and [`take_back`] puts them back.
pub fn scrub(
    store: &Arc<dyn Store>,
    layout: &dyn Layout,
    place: &Place,
    rules: &Rules,
    now: Timestamp,
) -> Result<Scrub, ScrubError> {
    layout.must_be_own(place)?;
    let target = Target::find(store, layout, place)?;
    let id = target.id()?;
    let trash = free_place(store, &id, DONE, now)?;
    let writer = store.lock(&[target.scopes()?, vec![trash.clone()]].concat())?;
    let (work, followed) = target.work(rules)?;
    let Work { changes, changed, left } = work;
    let mut done = Scrub { changed, followed, left, kept: None, seals: None };
    if changes.is_empty() {
        writer.release()?;
        // A crash may have come between the files and the index.
        layout.retell(store, place)?;
        return Ok(done);
    }
    let renewal = seal::renew(store, layout, place, &changes, now)?;
    done.seals = renewal.as_ref().map(|it| (it.before.clone(), it.after.clone()));
    done.kept = Some(trash.clone());
    let action = |changed: &Changed| {
        let count: usize = changed.counts.values().sum();
        Action { file: changed.file.clone(), what: format!("secrets that were replaced: {count}") }
    };
    let actions: Vec<Action> = done.changed.iter().map(action).collect();
    let mut keeper = Keeper::new(store, &*writer, &trash, &id, &actions, now);
    let lines = audit(layout, place, &done, now);
    keeper.also(Step::Append { file: audit_file(), at: At::End, lines });
    if let Some(renewal) = renewal {
        keeper.write(&renewal.file, renewal.bytes)?;
    }
    for (file, bytes) in changes {
        match bytes {
            Some(bytes) => keeper.write(&file, bytes)?,
            None => keeper.discard(&file),
        }
    }
    keeper.flush()?;
    writer.release()?;
    layout.retell(store, place)?;
    Ok(done)
}

/// The line that says what was done, without the secrets.
fn audit(layout: &dyn Layout, place: &Place, done: &Scrub, now: Timestamp) -> Vec<u8> {
    let files: Vec<_> = done
        .changed
        .iter()
        .map(|it| {
            let secrets: serde_json::Map<String, serde_json::Value> = it
                .counts
                .iter()
                .map(|(family, count)| ((*family).to_owned(), (*count).into()))
                .collect();
            json!({"file": it.file.as_str(), "secrets": secrets, "placeholders": it.placeholders})
        })
        .collect();
    let left: usize = done.left.iter().map(|(_, count)| count).sum();
    let seal = done.seals.as_ref().map(|(before, after)| json!({"before": before, "after": after}));
    let line = json!({
        "time": now.to_string(), "layout": layout.name(), "session": place.id,
        "path": place.path.as_str(), "kept": done.kept.as_ref().map(FilePath::as_str),
        "files": files, "left": left, "seal": seal,
    });
    format!("{line}\n").into_bytes()
}

/// Takes back the newest scrub of a session: every file is again, byte for byte, what it was.
pub fn take_back(
    store: &Arc<dyn Store>,
    layout: &dyn Layout,
    place: &Place,
    now: Timestamp,
) -> Result<Vec<Action>, ScrubError> {
    layout.must_be_own(place)?;
    let target = Target::find(store, layout, place)?;
    let done = take_back_done(store, &target.id()?, &target.scopes()?, DONE, now)?;
    layout.retell(store, place)?;
    Ok(done.actions)
}

/// The originals that scrubs of a session have kept, each with its bytes.
pub fn originals(
    store: &Arc<dyn Store>,
    layout: &dyn Layout,
    place: &Place,
) -> Result<Vec<(FilePath, u64)>, ScrubError> {
    let target = Target::find(store, layout, place)?;
    let size =
        |place: FilePath| Ok((place.clone(), everturn_session::trash::size_of(store, place)?));
    target.originals.into_iter().map(size).collect()
}

/// Originals of a session's scrubs that are to go, each with its bytes, as [`originals`] found them.
pub struct Doomed<'a> {
    /// The layout of the session.
    pub layout: &'a dyn Layout,
    /// The session.
    pub place: &'a Place,
    /// The originals.
    pub originals: Vec<(FilePath, u64)>,
}

/// Removes originals for good, and whatever the store and the indexes remember of them.
pub fn purge(store: &Arc<dyn Store>, doomed: &[Doomed<'_>]) -> Result<(), ScrubError> {
    for Doomed { layout, place, originals } in doomed {
        layout.must_be_own(place)?;
        let places: Vec<FilePath> = originals.iter().map(|(place, _)| place.clone()).collect();
        if !places.is_empty() {
            let writer = store.lock(&places)?;
            let steps = places.into_iter().map(|path| Step::Remove { path }).collect();
            writer.commit(steps, Durability::Synced)?;
            writer.release()?;
        }
    }
    let mut told: Vec<&str> = Vec::new();
    for Doomed { layout, place, .. } in doomed {
        layout.retell(store, place)?;
    }
    for Doomed { layout, place, .. } in doomed {
        if !told.contains(&layout.name()) {
            told.push(layout.name());
            layout.forget(store, place)?;
        }
    }
    Ok(store.scour()?)
}

/// A session and its branches: those that came from it, and from those.
pub fn branches(
    store: &Arc<dyn Store>,
    layout: &dyn Layout,
    place: &Place,
) -> Result<Vec<Place>, LayoutError> {
    let mut rest = Vec::new();
    for other in layout.places(store)?.places {
        if other != *place {
            // What cannot be read is of nobody.
            let parent = layout.summary(store, &other).ok().and_then(|summary| summary.parent);
            rest.push((other, parent));
        }
    }
    let mut family = vec![place.clone()];
    let mut at = 0;
    while let Some(id) = family.get(at).map(|place| place.id.clone()) {
        let (mut found, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|(_, parent)| parent.as_deref() == Some(id.as_str()));
        family.extend(found.drain(..).map(|(place, _)| place));
        rest = others;
        at += 1;
    }
    Ok(family)
}
