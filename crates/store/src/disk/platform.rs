//! System calls that differ between systems: file metadata (kind, length, identity, permissions) without following
//! links or reading times, reserving space, and reading.
//!
//! On Linux the times are omitted for speed. Since 6.13, reading them makes the next write to the file take a finer
//! time stamp, which dirties the inode and, on ext4, makes every flush of the log half as expensive again.

#![expect(clippy::disallowed_methods, reason = "part of the only module that accesses real files")]

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{FileId, FileKind, FileStat};

/// Writes NUL from `start` to `end`: the portable way to allocate space.
fn fill(file: &File, start: u64, end: u64) -> io::Result<()> {
    const PIECE: usize = 1 << 16;
    let mut at = start;
    while at < end {
        let len = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
        file.write_all_at([0; PIECE].get(..len).unwrap_or_default(), at)?;
        at += len as u64;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::buffer::spare_capacity;
    use rustix::fs::{
        Advice, AtFlags, CWD, FallocateFlags, FileType, Mode, OFlags, ResolveFlags, Statx,
        StatxFlags, StatxTimestamp, fadvise, fallocate, openat2, statx,
    };
    use rustix::io::{Errno, pread};

    use super::{BorrowedFd, File, FileId, FileKind, FileStat, Path, io};

    const WANTED: StatxFlags = StatxFlags::TYPE
        .union(StatxFlags::MODE)
        .union(StatxFlags::INO)
        .union(StatxFlags::SIZE)
        .union(StatxFlags::BTIME);

    pub(crate) fn of_entry(path: &Path) -> io::Result<FileStat> {
        Ok(stat_from(&statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, WANTED)?))
    }

    /// A directory from which paths are looked up, which is shorter than from the root of the system.
    pub(crate) type Base = File;

    pub(crate) fn base(dir: &Path) -> io::Result<Base> {
        File::open(dir)
    }

    /// Returns the metadata of a name in an open directory.
    pub(crate) fn of_name(dir: BorrowedFd<'_>, name: &str) -> io::Result<FileStat> {
        Ok(stat_from(&statx(dir, name, AtFlags::SYMLINK_NOFOLLOW, WANTED)?))
    }

    pub(crate) fn below(dir: &Base, path: &str) -> io::Result<FileStat> {
        let path = if path.is_empty() { "." } else { path };
        Ok(stat_from(&statx(dir, path, AtFlags::SYMLINK_NOFOLLOW, WANTED)?))
    }

    /// As [`below`], with the modification time.
    pub(crate) fn below_with_time(dir: &Base, path: &str) -> io::Result<FileStat> {
        let path = if path.is_empty() { "." } else { path };
        let wanted = WANTED.union(StatxFlags::MTIME);
        let data = statx(dir, path, AtFlags::SYMLINK_NOFOLLOW, wanted)?;
        Ok(FileStat { modified: number(&data.stx_mtime), ..stat_from(&data) })
    }

    /// As [`below`], with the time of the last change of content or metadata instead of the modification time.
    pub(crate) fn below_with_change(dir: &Base, path: &str) -> io::Result<FileStat> {
        let path = if path.is_empty() { "." } else { path };
        let wanted = WANTED.union(StatxFlags::CTIME);
        let data = statx(dir, path, AtFlags::SYMLINK_NOFOLLOW, wanted)?;
        Ok(FileStat { modified: number(&data.stx_ctime), ..stat_from(&data) })
    }

    /// Opens a file for reading in one call, if possible; links must not lead out of `dir`.
    pub(crate) fn open_below(dir: &Base, path: &str) -> Option<File> {
        // Opening a pipe must not wait for its writer.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = openat2(dir, path, flags, Mode::empty(), ResolveFlags::BENEATH);
        opened.ok().map(File::from)
    }

    /// Reads into the spare capacity of `bytes`.
    pub(crate) fn read_more(file: &File, offset: u64, bytes: &mut Vec<u8>) -> io::Result<usize> {
        Ok(pread(file, spare_capacity(bytes), offset)?)
    }

    pub(crate) fn reserve(file: &File, start: u64, end: u64) -> io::Result<()> {
        match fallocate(file, FallocateFlags::empty(), start, end.saturating_sub(start)) {
            Err(Errno::OPNOTSUPP) => super::fill(file, start, end),
            other => Ok(other?),
        }
    }

    /// Drops the clean pages of the whole file from the page cache.
    pub(crate) fn drop_cache(file: &File) -> io::Result<()> {
        Ok(fadvise(file, 0, None, Advice::DontNeed)?)
    }

    pub(crate) fn of_file(file: &File) -> io::Result<FileStat> {
        Ok(stat_from(&statx(file, "", AtFlags::EMPTY_PATH, WANTED)?))
    }

    fn stat_from(data: &Statx) -> FileStat {
        let mode = u32::from(data.stx_mode);
        let kind = match FileType::from_raw_mode(mode) {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Dir,
            _ => FileKind::Other,
        };
        let device = (u64::from(data.stx_dev_major) << 32) | u64::from(data.stx_dev_minor);
        let id = FileId(device, data.stx_ino, number(&data.stx_btime));
        FileStat { kind, len: data.stx_size, id, mode: mode & 0o7777, modified: 0 }
    }

    /// Returns a time as a number that can be compared with another one.
    fn number(time: &StatxTimestamp) -> u64 {
        time.tv_sec.cast_unsigned().rotate_left(32) ^ u64::from(time.tv_nsec)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::os::unix::fs::{FileExt, MetadataExt};
    use std::time::UNIX_EPOCH;

    use rustix::fs::{AtFlags, FileType, statat};

    use super::{BorrowedFd, File, FileId, FileKind, FileStat, Path, io};

    /// Returns the metadata of a name in an open directory. Its identity lacks the creation time.
    #[expect(clippy::unnecessary_cast, reason = "the types differ between systems")]
    pub(crate) fn of_name(dir: BorrowedFd<'_>, name: &str) -> io::Result<FileStat> {
        let data = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = match FileType::from_raw_mode(data.st_mode) {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Dir,
            _ => FileKind::Other,
        };
        let id = FileId(data.st_dev as u64, data.st_ino as u64, 0);
        let (len, mode) = (data.st_size as u64, data.st_mode as u32 & 0o7777);
        let modified = (data.st_mtime as u64).rotate_left(32) ^ data.st_mtime_nsec as u64;
        Ok(FileStat { kind, len, id, mode, modified })
    }

    pub(crate) fn of_entry(path: &Path) -> io::Result<FileStat> {
        Ok(stat_from(&path.symlink_metadata()?))
    }

    pub(crate) type Base = std::path::PathBuf;

    pub(crate) fn base(dir: &Path) -> io::Result<Base> {
        Ok(dir.to_owned())
    }

    pub(crate) fn below(dir: &Base, path: &str) -> io::Result<FileStat> {
        of_entry(&dir.join(path))
    }

    pub(crate) fn below_with_time(dir: &Base, path: &str) -> io::Result<FileStat> {
        below(dir, path)
    }

    pub(crate) fn below_with_change(dir: &Base, path: &str) -> io::Result<FileStat> {
        below(dir, path)
    }

    pub(crate) fn open_below(_: &Base, _: &str) -> Option<File> {
        None
    }

    pub(crate) fn read_more(file: &File, offset: u64, bytes: &mut Vec<u8>) -> io::Result<usize> {
        crate::disk::read_through(bytes, |buf| file.read_at(buf, offset))
    }

    pub(crate) fn reserve(file: &File, start: u64, end: u64) -> io::Result<()> {
        super::fill(file, start, end)
    }

    pub(crate) fn drop_cache(_: &File) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn of_file(file: &File) -> io::Result<FileStat> {
        Ok(stat_from(&file.metadata()?))
    }

    fn stat_from(data: &std::fs::Metadata) -> FileStat {
        let kind = match data.file_type() {
            kind if kind.is_file() => FileKind::File,
            kind if kind.is_dir() => FileKind::Dir,
            _ => FileKind::Other,
        };
        let born = data.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let id = FileId(data.dev(), data.ino(), born.map_or(0, |age| age.as_nanos() as u64));
        let modified =
            data.mtime().cast_unsigned().rotate_left(32) ^ data.mtime_nsec().cast_unsigned();
        FileStat { kind, len: data.len(), id, mode: data.mode() & 0o7777, modified }
    }
}

pub(super) use system::{
    Base, base, below, below_with_change, below_with_time, drop_cache, of_entry, of_file, of_name,
    open_below, read_more, reserve,
};
