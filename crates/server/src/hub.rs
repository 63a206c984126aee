//! [`LiveHub`]: which files have changed, by this process or another.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use everturn::names::FilePath;
use everturn::store::OWN_DIR;
use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::broadcast;

use crate::options::ServeOptions;

/// How many changes a stream may be behind. It then looks for itself.
const BACKLOG: usize = 256;

/// A file that has changed.
#[derive(Debug, Clone)]
pub(crate) struct FileChange {
    /// The source.
    pub(crate) source: usize,
    /// The path below the source.
    pub(crate) path: String,
}

impl FileChange {
    /// Whether a file or directory of a session is concerned.
    pub(crate) fn concerns(&self, source: usize, paths: &[FilePath]) -> bool {
        let is_below = |one: &str, two: &str| {
            one.strip_prefix(two).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.source == source
            && paths.iter().any(|path| {
                is_below(&self.path, path.as_str()) || is_below(path.as_str(), &self.path)
            })
    }
}

/// The directory of a source, and whether it is watched.
struct WatchedDir {
    dir: PathBuf,
    is_watched: bool,
}

/// Reports changes of files.
pub(crate) struct LiveHub {
    changes: broadcast::Sender<FileChange>,
    watcher: Mutex<Option<RecommendedWatcher>>,
    dirs: Mutex<Vec<WatchedDir>>,
}

/// Whether an event may have changed a file. Reading does not.
fn is_change(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(access) => *access == AccessKind::Close(AccessMode::Write),
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}

/// The change of a path, unless the path is Everturn's own, such as a log or the search index.
fn change_at(path: &Path, dirs: &[PathBuf], ignored: Option<&Path>) -> Vec<FileChange> {
    if ignored.is_some_and(|ignored| path.starts_with(ignored)) {
        return Vec::new();
    }
    let change = |(source, dir): (usize, &PathBuf)| {
        let below = path.strip_prefix(dir).ok()?.to_str()?;
        let is_own = below.split('/').next() == Some(OWN_DIR);
        (!is_own).then(|| FileChange { source, path: below.to_owned() })
    };
    dirs.iter().enumerate().filter_map(change).collect()
}

impl LiveHub {
    pub(crate) fn new(options: &ServeOptions) -> Arc<LiveHub> {
        let (changes, _) = broadcast::channel(BACKLOG);
        let real = |dir: &PathBuf| dir.canonicalize().unwrap_or_else(|_| dir.clone());
        let dirs: Vec<PathBuf> = options.sources.iter().map(|source| real(&source.dir)).collect();
        let ignored = options.catalog.as_ref().map(real);
        let (sender, known) = (changes.clone(), dirs.clone());
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            if !is_change(&event.kind) {
                return;
            }
            for path in &event.paths {
                for change in change_at(path, &known, ignored.as_deref()) {
                    // Nobody may be listening.
                    sender.send(change).ok();
                }
            }
        });
        let watched = dirs.into_iter().map(|dir| WatchedDir { dir, is_watched: false });
        let hub = LiveHub {
            changes,
            // Without a watcher, streams still look for themselves from time to time.
            watcher: Mutex::new(watcher.ok()),
            dirs: Mutex::new(watched.collect()),
        };
        Arc::new(hub)
    }

    /// Watches the sources that exist and are not watched yet.
    pub(crate) fn watch(&self) {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(watcher) = watcher.as_mut() else { return };
        let mut dirs = self.dirs.lock().unwrap_or_else(PoisonError::into_inner);
        for watched in dirs.iter_mut().filter(|watched| !watched.is_watched && watched.dir.is_dir())
        {
            watched.is_watched = watcher.watch(&watched.dir, RecursiveMode::Recursive).is_ok();
        }
    }

    /// Reports a change by this process.
    pub(crate) fn changed(&self, source: usize, path: &FilePath) {
        self.changes.send(FileChange { source, path: path.to_string() }).ok();
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<FileChange> {
        self.changes.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_concerns_what_is_above_and_below_it() {
        let change = FileChange { source: 1, path: "sessions/active/a/turns.jsonl".to_owned() };
        let at = |path: &str| [FilePath::parse(path).unwrap()];
        assert!(change.concerns(1, &at("sessions/active/a")));
        assert!(change.concerns(1, &at("sessions/active/a/turns.jsonl")));
        assert!(!change.concerns(0, &at("sessions/active/a")));
        assert!(!change.concerns(1, &at("sessions/active/ab")));
        assert!(!change.concerns(1, &at("sessions/active/a/turns.json")));
        let moved = FileChange { source: 1, path: "sessions".to_owned() };
        assert!(moved.concerns(1, &at("sessions/active/a")));
    }

    #[test]
    fn own_files_are_no_changes() {
        let dirs = [PathBuf::from("/r"), PathBuf::from("/r/sub")];
        let ignored = Path::new("/r/cache");
        let found = |path: &str| change_at(Path::new(path), &dirs, Some(ignored)).len();
        assert_eq!(found("/r/a"), 1);
        assert_eq!(found("/r/sub/a"), 2);
        assert_eq!(found("/r/.everturn/wal/1"), 0);
        assert_eq!(found("/r/cache/index"), 0);
        assert_eq!(found("/other"), 0);
    }
}
