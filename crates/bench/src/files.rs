//! The few things the benchmark itself does with files, in one place.
#![expect(
    clippy::disallowed_methods,
    reason = "the raw peers are plain files by definition, and the run directory is not a store"
)]

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::peer::PeerError;

/// Turns an I/O error at `path` into a peer's error.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> PeerError {
    move |source| PeerError::Io { path: path.to_owned(), source }
}

/// Creates an empty file whose every write goes to its end.
pub(crate) fn create_for_append(path: &Path) -> Result<File, PeerError> {
    File::options().create_new(true).append(true).open(path).map_err(at(path))
}

/// The lines of a file, each with its newline.
pub(crate) fn read_lines(path: &Path) -> Result<Vec<Vec<u8>>, PeerError> {
    let bytes = read(path)?;
    Ok(bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect())
}

/// The files and directories directly in `dir`.
pub(crate) fn entries(dir: &Path) -> Result<Vec<PathBuf>, PeerError> {
    let paths = fs::read_dir(dir).and_then(|found| {
        found.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<PathBuf>>>()
    });
    paths.map_err(at(dir))
}

/// All of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, PeerError> {
    fs::read(path).map_err(at(path))
}

/// How long a file is; nothing, if it is a directory.
pub(crate) fn length(path: &Path) -> Result<Option<u64>, PeerError> {
    let metadata = fs::symlink_metadata(path).map_err(at(path))?;
    Ok((!metadata.is_dir()).then_some(metadata.len()))
}

/// The bytes that the files below `dir` take up on the disk, holes left out.
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
    /// The unit of `st_blocks`, whatever the block size of the file system.
    const STAT_BLOCK_BYTES: u64 = 512;
    metadata.blocks() * STAT_BLOCK_BYTES
}

#[cfg(not(unix))]
fn allocated(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

/// Creates `dir` and the directories above it where they are missing.
pub(crate) fn create_dir(dir: &Path) -> Result<(), PeerError> {
    fs::create_dir_all(dir).map_err(at(dir))
}

/// Waits until the disk has taken `dir` and what a journalling file system wrote before it, so that
/// the next run does not pay for the last one.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), PeerError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(at(dir))
}

/// Waits until the disk has taken everything, so that nothing is written behind the back of what is
/// measured next.
pub(crate) fn sync_all() {
    rustix::fs::sync();
}

/// The absolute path of `dir`, without symbolic links.
pub(crate) fn absolute(dir: &Path) -> Result<PathBuf, PeerError> {
    fs::canonicalize(dir).map_err(at(dir))
}

/// The text of a file that a system may lack, such as those below `/proc`.
pub(crate) fn read_if_there(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The text of a file that must be there.
pub(crate) fn read_text(path: &Path) -> Result<String, PeerError> {
    fs::read_to_string(path).map_err(at(path))
}

/// Writes a file anew, without flushing it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), PeerError> {
    fs::write(path, bytes).map_err(at(path))
}

/// Adds to the end of a file, which is created if need be, without flushing it.
pub(crate) fn append(path: &Path, bytes: &[u8]) -> Result<(), PeerError> {
    let file = File::options().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(bytes)).map_err(at(path))
}

/// Gives a file another name.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), PeerError> {
    fs::rename(from, to).map_err(at(from))
}

/// Writes a file so that a power cut leaves the old content or the new one, and returns when it is safe.
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

/// How many files there are below `dir`, or at it, and how many bytes they hold.
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

/// This program, to be started once more.
pub(crate) fn this_program() -> Result<PathBuf, PeerError> {
    std::env::current_exe().map_err(at(Path::new("this program")))
}

/// Whether anything stands at `path`.
pub(crate) fn is_there(path: &Path) -> bool {
    path.exists()
}
