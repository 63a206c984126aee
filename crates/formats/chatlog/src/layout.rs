//! Chat logs in the common view: a turn is a message, and the state is that of the tools.

mod editor;
mod reader;

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::branch::fork;
use super::check::{is_document, lone_journal, says_so};
use super::content::Content;
use super::create::NewLog;
use super::error::ChatError;
use super::follow::follow;
use super::index::Index;
use super::life;
use super::log::ChatLog;
use super::names::{Files, chats_dir, document_named, id_of};
use super::repair::{plan_repair, repair, undo_repair};
use super::salvage::salvage;
use super::shape::time;
use super::writer::ChatWriter;
use everturn_archive::Progress;
use everturn_external as foreign;
use everturn_json::finding::{Code, Finding};
use everturn_json::names::FilePath;
use everturn_session::belongings::Belongings;
use everturn_session::layout::{Editor, Layout, LayoutError, Reader, Repairing, Stage, chain};
use everturn_session::repairs::Repair;
use everturn_session::view::{
    Branch, Evidence, Exported, Forking, New, Place, Places, Staged, Summary, Trashed,
};
use everturn_store::disk::Kind as FileKind;
use everturn_store::overlay::Changes;
use everturn_store::{Store, StoreError};
use everturn_value::tree::Tree;

/// The layout of chat logs.
#[derive(Debug, Clone, Copy)]
pub struct ChatLayout;

/// The name that users write.
const NAME: &str = "chatlog";

/// How large a document may be that is read whole only to be listed.
const LISTED_WHOLE: u64 = 8 << 20;

/// How much of a larger one is read for that.
const GLANCE: u64 = 256 << 10;

/// The place of the chat log whose document is at `path`.
pub(super) fn place(path: &FilePath) -> Place {
    Place { id: id_of(path).unwrap_or_default(), path: path.clone() }
}

/// How much of a document is read to see that it is a chat log: it says so at its beginning.
const BEGINNING: u64 = 1 << 10;

/// Whether a document below `chats/` is a session of another program, some of which have such a directory, too. One
/// that says that it is a chat log is none, and neither is one that nobody knows, which may be damaged.
fn is_of_others(store: &Arc<dyn Store>, path: &FilePath) -> bool {
    let says = |length| store.read(path, 0..length).is_ok_and(|bytes| says_so(&bytes));
    let has_journal = || {
        let files = Files::of(path).ok();
        files.is_some_and(|files| store.stat(&files.journal).is_ok_and(|stat| stat.is_some()))
    };
    !says(BEGINNING)
        && foreign::claims(store, path).is_ok_and(|is| is)
        && !says(GLANCE)
        && !has_journal()
}

/// Collects places, and what could not be looked at.
struct Search<'s> {
    store: &'s Arc<dyn Store>,
    found: Places,
    /// The paths of those, because a long list is not looked through for each name.
    known: HashSet<FilePath>,
}

impl Search<'_> {
    fn note(&mut self, dir: &FilePath, code: Code, message: String) {
        let file = dir.clone();
        self.found.findings.push(Finding { file, line: None, offset: None, code, message });
    }

    /// Looks at the files of a directory; returns the directories in it.
    fn dir(&mut self, dir: &FilePath, is_one: impl Fn(&FilePath) -> bool) -> Vec<FilePath> {
        let listing = match self.store.list(dir) {
            Ok(listing) => listing,
            Err(StoreError::Missing { .. }) => return Vec::new(),
            Err(error) => {
                self.note(dir, Code::Unreadable, format!("cannot be read: {}", chain(&error)));
                return Vec::new();
            }
        };
        if !dir.is_root() {
            for (name, reason) in listing.refused {
                let message = format!("holds {name:?}, which is left alone: {reason}");
                self.note(dir, Code::BadName, message);
            }
        }
        let mut dirs = Vec::new();
        for entry in listing.entries {
            let path = dir.join(&entry.name);
            match entry.kind {
                FileKind::Dir if !entry.linked => dirs.push(path),
                FileKind::File if is_one(&path) => {
                    let lone = lone_journal(self.store, &path).ok().flatten();
                    let Some(path) = lone.or_else(|| document_named(&path)) else { continue };
                    if self.known.insert(path.clone()) {
                        self.found.places.push(place(&path));
                    }
                }
                _ => {}
            }
        }
        dirs
    }
}

impl Layout for ChatLayout {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Every document below `chats/` that is not of another program, journals there whose documents are gone, and
    /// documents of the root itself that say that they are chat logs.
    fn places(&self, store: &Arc<dyn Store>) -> Result<Places, LayoutError> {
        let mut search = Search { store, found: Places::default(), known: HashSet::new() };
        search.dir(&FilePath::root(), |path| is_document(store, path).is_ok_and(|is| is));
        let mut waiting = vec![chats_dir()];
        while let Some(dir) = waiting.pop() {
            let is_one = |path: &FilePath| match path.as_str().ends_with(".json") {
                true => !is_of_others(store, path),
                false => lone_journal(store, path).is_ok_and(|document| document.is_some()),
            };
            waiting.extend(search.dir(&dir, is_one));
        }
        Ok(search.found)
    }

    fn read_summary(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Summary, LayoutError> {
        let mut summary = Summary {
            place: place.clone(),
            layout: NAME,
            title: place.id.clone(),
            created: None,
            updated: None,
            status: "active".to_owned(),
            turns: None,
            parent: None,
            findings: Vec::new(),
        };
        let head = match glance(store, place)? {
            Some(head) => head,
            None => {
                let log = ChatLog::open(store, &place.path)?;
                summary.turns = Some(log.len());
                summary.findings = log.findings().to_vec();
                summary.updated = log.modified();
                log.head()
            }
        };
        let text = |path: &[&str]| head.string_at(path).filter(|text| !text.is_empty());
        let when = |path: &[&str]| text(path).and_then(|text| time(&text));
        if let Some(title) = text(&["metadata", "title"]) {
            summary.title = title;
        }
        summary.created = when(&["metadata", "created"]);
        let modified = || when(&["metadata", "modified"]);
        summary.updated = summary.updated.or_else(modified).or(summary.created);
        summary.parent = text(&["metadata", "lineage", "parent"]);
        if text(&["type"]).as_deref() != Some("chat-log") {
            let (file, code) = (place.path.clone(), Code::BadDocument);
            let message = "does not say that it is a chat log".to_owned();
            summary.findings.push(Finding { file, line: None, offset: None, code, message });
        }
        Ok(summary)
    }

    fn snapshot_paths(&self, place: &Place) -> Result<Vec<FilePath>, LayoutError> {
        Ok(Files::of(&place.path)?.to_read())
    }

    fn evidence(&self, _store: &Arc<dyn Store>, place: &Place) -> Result<Evidence, LayoutError> {
        let Files { document, journal, folded, .. } = Files::of(&place.path)?;
        let files = vec![document, journal, folded];
        Ok(Evidence { summary: files.clone(), entries: files, log: None })
    }

    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
    ) -> Result<Box<dyn Reader>, LayoutError> {
        Ok(Box::new(reader::ChatReader { log: ChatLog::open(store, &place.path)? }))
    }

    fn create(
        &self,
        store: &Arc<dyn Store>,
        new: &New,
        now: Timestamp,
    ) -> Result<Box<dyn Editor>, LayoutError> {
        let writer = ChatWriter::create(store, &new_log(new), now)?;
        Ok(Box::new(editor::ChatEditor { writer }))
    }

    fn edit(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Box<dyn Editor>, LayoutError> {
        Ok(Box::new(editor::ChatEditor { writer: ChatWriter::open(store, &place.path)? }))
    }

    fn fork(
        &self,
        store: &Arc<dyn Store>,
        from: &Place,
        how: &Forking,
        now: Timestamp,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Branch, LayoutError> {
        let made = fork(store, &from.path, how.turn, how.id.as_deref(), now)?;
        Ok(Branch { place: place(&made.path), turn: made.messages, findings: Vec::new() })
    }

    fn rewind(
        &self,
        store: &Arc<dyn Store>,
        from: &Place,
        turn: u64,
        now: Timestamp,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Branch, LayoutError> {
        let mut writer = ChatWriter::open(store, &from.path)?;
        let made = writer.rewind(turn, now)?;
        writer.release()?;
        Ok(Branch { place: place(&made.path), turn, findings: Vec::new() })
    }

    fn stage(
        &self,
        store: &Arc<dyn Store>,
        from: &Place,
        stage: Stage,
        now: Timestamp,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Staged, LayoutError> {
        if stage != Stage::Trash {
            return Err(self.not_offered(stage.doing()));
        }
        let name = life::trash(store, &from.path, &from.id, now)?;
        Ok(Staged { place: from.clone(), trashed: Some(name), overdue: None })
    }

    fn belongings(&self, _: &Arc<dyn Store>, place: &Place) -> Result<Belongings, LayoutError> {
        let files = Files::of(&place.path)?;
        let scopes = files.scopes();
        let names = vec![place.id.clone(), place.path.flat_name("").as_str().to_owned()];
        let Files { document, journal, index, folded, trash, .. } = files;
        Ok(Belongings { scopes, paths: vec![document, journal, index, folded, trash], names })
    }

    fn follow(
        &self,
        store: &Arc<dyn Store>,
        root: &FilePath,
        changes: &mut Changes,
    ) -> Result<(), LayoutError> {
        Ok(follow(store, root, changes)?)
    }

    fn trashed(&self, store: &Arc<dyn Store>) -> Result<Vec<Trashed>, LayoutError> {
        Ok(life::trashed(store)?)
    }

    fn restore(&self, store: &Arc<dyn Store>, name: &str) -> Result<Place, LayoutError> {
        Ok(life::restore(store, name)?)
    }

    fn purge(&self, store: &Arc<dyn Store>, trashed: &[Trashed]) -> Result<(), LayoutError> {
        Ok(life::purge(store, trashed)?)
    }

    fn notes_exports(&self) -> bool {
        true
    }

    fn note_export(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        exported: &Exported,
        now: Timestamp,
    ) -> Result<(), LayoutError> {
        let mut writer = ChatWriter::open(store, &place.path)?;
        writer.note_export(exported, now)?;
        let editor: Box<dyn Editor> = Box::new(editor::ChatEditor { writer });
        editor.release()
    }

    fn repair(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        repairing: Repairing,
        now: Timestamp,
    ) -> Result<Repair, LayoutError> {
        Ok(match repairing {
            Repairing::Plan => plan_repair(store, &place.path)?,
            Repairing::Mend => repair(store, &place.path, now)?,
            Repairing::TakeBack => undo_repair(store, &place.path, now)?,
        })
    }
}

/// What a large document that has no index says of itself at its beginning, so that one giant does not slow a list.
fn glance(store: &Arc<dyn Store>, place: &Place) -> Result<Option<Tree>, ChatError> {
    let files = Files::of(&place.path)?;
    let Some(content) = Content::open(store, &files.document)? else { return Ok(None) };
    if content.len() <= LISTED_WHOLE || store.stat(&files.folded)?.is_some() {
        return Ok(None);
    }
    if Index::open(store, &files.index, content.mark()?)?.is_some() {
        return Ok(None);
    }
    let start = salvage(&content.read(0..GLANCE)?).unwrap_or_default();
    let text = String::from_utf8(start).unwrap_or_default();
    Ok(Tree::parse(text.trim_start_matches('\u{feff}').to_owned()).ok())
}

/// What is given for a new chat log: parts of it in its own shape, or `title` and `series` at the top.
fn new_log(new: &New) -> NewLog {
    let text = |key: &str| new.fields.string_at(&[key]);
    let short = ["id", "sessionId", "title", "series"];
    let members = new.fields.children().into_iter();
    let members = members.filter(|(key, _)| !short.contains(&key.as_str()));
    NewLog {
        id: new.id.clone(),
        title: text("title"),
        series: text("series"),
        protagonist: new.name.clone(),
        settings: new.config.clone(),
        fields: Tree::of_members(members),
    }
}
