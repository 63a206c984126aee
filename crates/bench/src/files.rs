//! The file operations of the benchmark itself.
#![expect(
    clippy::disallowed_methods,
    reason = "the raw peers are plain files by definition, and the run directory is not a store"
)]

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::peer::PeerError;

/// Converts an I/O error at `path` to a peer error.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> PeerError {
    move |source| PeerError::Io { path: path.to_owned(), source }
}

/// Creates an empty file in append mode.
pub(crate) fn create_for_append(path: &Path) -> Result<File, PeerError> {
    File::options().create_new(true).append(true).open(path).map_err(at(path))
}

/// Returns the lines of a file, each with its newline.
pub(crate) fn read_lines(path: &Path) -> Result<Vec<Vec<u8>>, PeerError> {
    let bytes = read(path)?;
    Ok(bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect())
}

/// Returns the files and directories directly in `dir`.
pub(crate) fn entries(dir: &Path) -> Result<Vec<PathBuf>, PeerError> {
    let paths = fs::read_dir(dir).and_then(|found| {
        found.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<PathBuf>>>()
    });
    paths.map_err(at(dir))
}

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, PeerError> {
    fs::read(path).map_err(at(path))
}

/// Returns the length of a file; `None` for a directory.
pub(crate) fn length(path: &Path) -> Result<Option<u64>, PeerError> {
    let metadata = fs::symlink_metadata(path).map_err(at(path))?;
    Ok((!metadata.is_dir()).then_some(metadata.len()))
}

/// Returns the disk space used by the files below `dir`, without holes.
pub(crate) fn bytes_on_disk(dir: &Path) -> Result<u64, PeerError> {
    let mut bytes = 0;
    for path in entries(dir)? {
        let metadata = fs::symlink_metadata(&path).map_err(at(&path))?;
        bytes += if metadata.is_dir() { bytes_on_disk(&path)? } else { allocated(&metadata) };
    }
    Ok(bytes)
}

#[cfg(unix)]
fn allocated(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    /// The unit of `st_blocks`, regardless of the block size of the file system.
    const STAT_BLOCK_BYTES: u64 = 512;
    metadata.blocks() * STAT_BLOCK_BYTES
}

#[cfg(not(unix))]
fn allocated(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

/// Creates `dir` and its missing parents.
pub(crate) fn create_dir(dir: &Path) -> Result<(), PeerError> {
    fs::create_dir_all(dir).map_err(at(dir))
}

/// Flushes `dir`, and what a journalling file system wrote before it, so that the next run does not pay for the last
/// one.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), PeerError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(at(dir))
}

/// Flushes all file systems, so that no background writes disturb the next measurement.
pub(crate) fn sync_all() {
    rustix::fs::sync();
}

/// Returns the absolute path of `dir`, without symbolic links.
pub(crate) fn absolute(dir: &Path) -> Result<PathBuf, PeerError> {
    fs::canonicalize(dir).map_err(at(dir))
}

/// Reads the text of a file that may not exist, such as those below `/proc`.
pub(crate) fn read_if_there(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Reads the text of a file that must exist.
pub(crate) fn read_text(path: &Path) -> Result<String, PeerError> {
    fs::read_to_string(path).map_err(at(path))
}

/// Replaces the content of a file, without flushing it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), PeerError> {
    fs::write(path, bytes).map_err(at(path))
}

/// Appends to a file, which is created if necessary, without flushing it.
pub(crate) fn append(path: &Path, bytes: &[u8]) -> Result<(), PeerError> {
    let file = File::options().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(bytes)).map_err(at(path))
}

/// Renames a file.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), PeerError> {
    fs::rename(from, to).map_err(at(from))
}

/// Writes a file so that a power cut leaves the old or the new content; returns when it is durable.
pub(crate) fn write_safely(path: &Path, bytes: &[u8]) -> Result<(), PeerError> {
    let waiting = path.with_extension("tmp");
    let written = File::create(&waiting).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_data()
    });
    written.map_err(at(&waiting))?;
    rename(&waiting, path)?;
    path.parent().map_or(Ok(()), sync_dir)
}

/// Returns the number of files at or below `dir`, and their total size in bytes.
pub(crate) fn count(dir: &Path) -> Result<(u64, u64), PeerError> {
    let metadata = fs::symlink_metadata(dir).map_err(at(dir))?;
    if !metadata.is_dir() {
        return Ok((1, metadata.len()));
    }
    let mut total = (0, 0);
    for path in entries(dir)? {
        let (files, bytes) = count(&path)?;
        total = (total.0 + files, total.1 + bytes);
    }
    Ok(total)
}

/// Returns the path of this program, to start it again.
pub(crate) fn this_program() -> Result<PathBuf, PeerError> {
    std::env::current_exe().map_err(at(Path::new("this program")))
}

/// Returns whether `path` exists.
pub(crate) fn is_there(path: &Path) -> bool {
    path.exists()
}
