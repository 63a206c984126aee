//! [`PictureDirectory`]: the picture files beside a session, for exports.

#![expect(clippy::disallowed_methods, reason = "pictures are not session data, and are only read")]

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use everturn_export::PictureFiles;

/// Reads picture files below a directory. A session of another user must not make an export contain files from
/// elsewhere, so paths that lead out of the directory, also by links, are refused.
pub(crate) struct PictureDirectory {
    directory: PathBuf,
}

impl PictureDirectory {
    pub(crate) fn new(directory: PathBuf) -> PictureDirectory {
        PictureDirectory { directory }
    }
}

impl PictureFiles for PictureDirectory {
    fn read(&self, path: &str, limit: usize) -> Option<Vec<u8>> {
        let path = Path::new(path);
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        let directory = self.directory.canonicalize().ok().filter(|_| is_inside)?;
        let file = directory.join(path).canonicalize().ok()?;
        if !file.starts_with(&directory) || !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        let more = u64::try_from(limit).ok()?.checked_add(1)?;
        File::open(file).ok()?.take(more).read_to_end(&mut bytes).ok()?;
        (bytes.len() <= limit).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_the_directory_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("log");
        std::fs::create_dir_all(inside.join("maps")).unwrap();
        for file in ["secret.png", "log/a.png", "log/maps/b.png"] {
            std::fs::write(dir.path().join(file), file).unwrap();
        }
        std::os::unix::fs::symlink("../secret.png", inside.join("link.png")).unwrap();
        std::os::unix::fs::symlink("a.png", inside.join("near.png")).unwrap();
        let files = PictureDirectory::new(inside);
        let read =
            |path: &str| files.read(path, 100).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(read("a.png").as_deref(), Some("log/a.png"));
        assert_eq!(read("maps/b.png").as_deref(), Some("log/maps/b.png"));
        assert_eq!(read("near.png").as_deref(), Some("log/a.png"));
        for path in ["../secret.png", "link.png", "maps", "", "none.png", "maps/../a.png"] {
            assert_eq!(read(path), None, "{path}");
        }
        assert_eq!(read(dir.path().join("log/a.png").to_str().unwrap()), None);
        assert_eq!(files.read("a.png", 3), None);
    }
}
