//! Surveys the directory of a session: unknown files, file sizes, duplicates and the parent session.

use super::Survey;
use super::documents::index_total;
use crate::error::GameError;
use crate::paths::{DocumentFile, GameStatus, LogFile, LogKind, SnapshotFile, archive, join_names};
use everturn_json::finding::FindingCode;
use everturn_json::names::{FilePath, SessionId};
use everturn_session::marks;
use everturn_store::disk::FileKind;

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;

/// The target size of a file, and its maximum size.
struct FileSizeLimits {
    target: u64,
    most: u64,
}

/// Returns the size limits for a file of a session, by its name; `None` for an unknown file.
fn limits(path: &str) -> Option<FileSizeLimits> {
    let limits = |target, most| Some(FileSizeLimits { target, most });
    let documents =
        [DocumentFile::Meta, DocumentFile::World, DocumentFile::Player, DocumentFile::Npcs];
    if let Some(document) = documents.into_iter().find(|document| document.as_str() == path) {
        return match document {
            DocumentFile::Meta => limits(10 * KB, 50 * KB),
            DocumentFile::World | DocumentFile::Npcs => limits(500 * KB, 2 * MB),
            DocumentFile::Player => limits(50 * KB, 200 * KB),
        };
    }
    if path == marks::FILE {
        return limits(50 * KB, 2 * MB);
    }
    let (dir, name) = path.rsplit_once('/')?;
    match dir {
        "turns" => LogFile::parse(LogKind::Turns, name).and_then(|_| limits(MB, 2 * MB)),
        "deltas" => LogFile::parse(LogKind::Deltas, name).and_then(|_| limits(MB, 2 * MB)),
        "snapshots" | "snapshots/archived" => {
            SnapshotFile::parse(name).and_then(|_| limits(MB, 5 * MB))
        }
        "scenes" if name.starts_with("scene-") && name.ends_with(".json") => {
            limits(50 * KB, 200 * KB)
        }
        "indexes" => index_total(name).and_then(|_| limits(100 * KB, 500 * KB)),
        _ => None,
    }
}

impl Survey<'_> {
    /// Checks the names in the session's directory.
    pub(super) fn check_directory(&mut self) -> Result<(), GameError> {
        for dir in ["", "turns", "deltas", "snapshots", "snapshots/archived", "scenes", "indexes"] {
            let names: Vec<&str> = dir.split('/').filter(|name| !name.is_empty()).collect();
            let place = join_names(&self.session.dir, &names);
            let listing = match self.session.store.list(&place) {
                Err(everturn_store::StoreError::Missing { .. }) => continue,
                other => other.map_err(GameError::from),
            };
            let Some(listing) = self.readable(&place, listing)? else { continue };
            for entry in listing.entries {
                let path = place.join(&entry.name);
                let within = if dir.is_empty() {
                    entry.name.to_string()
                } else {
                    format!("{dir}/{}", entry.name)
                };
                self.entry(&path, &within, entry.kind)?;
            }
        }
        self.marks()?;
        self.check_duplicate_session()?;
        self.parent()
    }

    fn marks(&mut self) -> Result<(), GameError> {
        let (dir, last) = (self.session.dir.clone(), self.session.turn);
        let file = marks::marks_file(&dir);
        if self.session.store.stat(&file)?.is_none() {
            return Ok(());
        }
        self.begin(&file);
        let found = marks::check_marks(&self.session.store, &dir, last).map_err(GameError::from);
        for finding in self.readable(&file, found)?.unwrap_or_default() {
            // A mark of a turn that does not exist is whole.
            self.facts.wrong_marks |= finding.code != FindingCode::UnknownReference;
            self.report(finding);
        }
        Ok(())
    }

    fn entry(&mut self, path: &FilePath, within: &str, kind: FileKind) -> Result<(), GameError> {
        const DIRS: [&str; 6] =
            ["turns", "deltas", "snapshots", "snapshots/archived", "scenes", "indexes"];
        let limits = limits(within);
        match kind {
            FileKind::Dir if DIRS.contains(&within) => {}
            FileKind::File if limits.is_some() => {
                let stat = self.session.store.stat(path).map_err(GameError::from);
                let len = self.readable(path, stat)?.flatten().map_or(0, |stat| stat.len);
                if let Some(limits) = limits {
                    self.size(path, len, &limits, !within.ends_with(".jsonl"));
                }
            }
            // A link that leads outside is reported by the check of all names.
            FileKind::LinkOutside => {}
            _ => self.note(
                path,
                FindingCode::UnknownFile,
                "it does not belong to a session, and is ignored",
            ),
        }
        Ok(())
    }

    fn size(&mut self, path: &FilePath, len: u64, limits: &FileSizeLimits, targeted: bool) {
        if len > limits.most {
            let message = format!("{len} bytes exceed the maximum of {}", limits.most);
            self.note(path, FindingCode::SizeOverMax, message);
        } else if targeted && len > limits.target {
            let message = format!("{len} bytes exceed the recommended {}", limits.target);
            self.note(path, FindingCode::SizeOverTarget, message);
        }
    }

    /// Checks the size of a log. A log is full when it reaches its target, so it may exceed it by its last lines.
    pub(super) fn log_size(&mut self, path: &FilePath, last_lines: u64) {
        if last_lines > MB {
            let message = format!("lines were appended after it had reached {MB} bytes");
            self.note(path, FindingCode::SizeOverTarget, message);
        }
    }

    /// Checks whether the session exists in another status directory, too.
    fn check_duplicate_session(&mut self) -> Result<(), GameError> {
        let (Some(id), Some(status)) = (&self.place.id, self.place.status) else { return Ok(()) };
        let Ok(id) = SessionId::parse(id) else { return Ok(()) };
        // Only the first one found is used.
        for other in GameStatus::ALL.into_iter().take_while(|other| *other != status) {
            let place = other.session(&id);
            if self.place.dir == status.session(&id) && self.session.store.stat(&place)?.is_some() {
                let message = format!(
                    "there is another session with this id in {place}, and only that session is used"
                );
                self.note(&self.session.dir, FindingCode::SessionTwice, message);
            }
        }
        Ok(())
    }

    /// Checks whether the session from which this one was made exists.
    fn parent(&mut self) -> Result<(), GameError> {
        let parent = self.meta.and_then(|meta| meta.text(&["lineage", "parent"]));
        let Some(id) = parent.and_then(|parent| SessionId::parse(&parent).ok()) else {
            return Ok(());
        };
        let mut places: Vec<FilePath> =
            GameStatus::ALL.iter().map(|status| status.session(&id)).collect();
        places.extend(archive(&id));
        for place in places {
            if self.session.store.stat(&place)?.is_some() {
                return Ok(());
            }
        }
        let file = DocumentFile::Meta.in_dir(&self.session.dir);
        self.note(
            &file,
            FindingCode::MissingParent,
            format!("its parent session {id} does not exist"),
        );
        Ok(())
    }
}
