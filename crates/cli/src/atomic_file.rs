//! [`AtomicFile`]: a file that appears completely or not at all, and replaces another one only on request.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use everturn::disk::{Disk, DiskFile, FilePermissions, Flush, RealDisk};
use everturn::names::FilePath;

use crate::error::Error;
use crate::exit::Exit;

/// How many temporary names are tried.
const NAMES: u32 = 1000;

/// Whether an existing file may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExistingFile {
    Kept,
    Replaced,
}

/// A file that is being written under a temporary name.
pub(crate) struct AtomicFile {
    disk: RealDisk,
    path: PathBuf,
    name: FilePath,
    existing: ExistingFile,
    /// The temporary name, until the file is finished.
    unfinished: Option<FilePath>,
    file: Box<dyn DiskFile>,
}

fn failed(path: &Path, cause: io::Error) -> Error {
    let exists = cause.kind() == io::ErrorKind::AlreadyExists;
    let shown = path.display();
    match exists {
        true => Error::new(Exit::Request, format!("{shown} already exists"))
            .hint("choose another name, or replace the file with --force"),
        false => Error::new(Exit::Request, format!("cannot write {shown}")).caused_by(cause),
    }
}

impl AtomicFile {
    pub(crate) fn create(path: &Path, existing: ExistingFile) -> Result<AtomicFile, Error> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = FilePath::parse(&name.unwrap_or_default())?;
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let above = above.map_or_else(|| PathBuf::from("."), Path::to_owned);
        let disk = RealDisk::open(&above).map_err(|cause| failed(path, cause))?;
        let there = disk.stat(&name).map_err(|cause| failed(path, cause))?;
        if there.is_some() && existing == ExistingFile::Kept {
            return Err(failed(path, io::ErrorKind::AlreadyExists.into()));
        }
        let mode =
            there.map_or(FilePermissions::Default, |there| FilePermissions::Exact(there.mode));
        let mut number = 0;
        let (unfinished, file) = loop {
            let unfinished =
                FilePath::parse(&format!(".everturn-{}-{number}.part", std::process::id()))?;
            match disk.create(&unfinished, mode) {
                Ok(file) => break (unfinished, file),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < NAMES => {
                    number += 1;
                }
                Err(cause) => return Err(failed(path, cause)),
            }
        };
        let (path, unfinished) = (path.to_owned(), Some(unfinished));
        Ok(AtomicFile { disk, path, name, existing, unfinished, file })
    }

    /// Gives the file its name; from then on it exists and survives a power cut.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let done = self.install();
        done.map_err(|cause| failed(&self.path, cause))
    }

    fn install(&mut self) -> io::Result<()> {
        self.file.sync(Flush::CloseFile)?;
        let Some(unfinished) = self.unfinished.clone() else { return Ok(()) };
        match self.existing {
            ExistingFile::Replaced => {
                self.disk.rename(&unfinished, &self.name)?;
                self.unfinished = None;
            }
            // A link fails if the name exists, even if another process was faster.
            ExistingFile::Kept => self.disk.link(&unfinished, &self.name)?,
        }
        self.disk.sync_dir(&FilePath::root(), Flush::CheckpointDir)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(self.file.append(bytes)?.written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(unfinished) = &self.unfinished {
            // A partial file is worse than none; if removing it fails too, the earlier error is enough.
            self.disk.remove(unfinished).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let disk = RealDisk::open(dir).unwrap();
        let listing = disk.list(&FilePath::root()).unwrap();
        listing.entries.iter().map(|entry| entry.name.to_string()).collect()
    }

    fn write(path: &Path, text: &str, existing: ExistingFile) -> Result<(), Error> {
        let mut target = AtomicFile::create(path, existing)?;
        target.write_all(text.as_bytes()).unwrap();
        target.finish()
    }

    #[test]
    fn a_file_is_there_when_it_is_finished_and_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("story.txt");
        let mut target = AtomicFile::create(&path, ExistingFile::Kept).unwrap();
        target.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(target);
        assert_eq!(names(dir.path()), [""; 0]);
        write(&path, "whole", ExistingFile::Kept).unwrap();
        assert_eq!(names(dir.path()), ["story.txt"]);
        assert_eq!(io::read_to_string(open(&path)).unwrap(), "whole");
    }

    #[expect(clippy::disallowed_methods, reason = "a test looks at what was written")]
    fn open(path: &Path) -> std::fs::File {
        std::fs::File::open(path).unwrap()
    }

    #[test]
    fn a_file_that_is_there_stays_unless_it_shall_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("story.txt");
        write(&path, "one", ExistingFile::Kept).unwrap();
        let error = write(&path, "two", ExistingFile::Kept).unwrap_err();
        assert!(error.to_string().contains("already exists"), "{error}");
        // Another process was faster.
        let target = AtomicFile::create(&dir.path().join("new.txt"), ExistingFile::Kept).unwrap();
        write(&dir.path().join("new.txt"), "first", ExistingFile::Kept).unwrap();
        assert!(target.finish().is_err());
        write(&path, "three", ExistingFile::Replaced).unwrap();
        assert_eq!(io::read_to_string(open(&path)).unwrap(), "three");
        assert_eq!(names(dir.path()), ["new.txt", "story.txt"]);
    }
}
